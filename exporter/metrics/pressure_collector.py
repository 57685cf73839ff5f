"""The collector `pressure`: the kernel's pressure stall information (PSI) of the host.

"waiting" is the time in which at least one task waited for a resource, and "stalled" the time in
which all non-idle tasks waited.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from exporter.families import compat_families
from exporter.families import cpu_families as metrics
from exporter.families.desc import Sample
from exporter.linux import pressure
from exporter.linux.pressure import Pressure
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import NotAvailable, Parsed, SourceError

#: The resources with pressure. These are the names of the files in /proc/pressure.
_RESOURCES = ("io", "cpu", "memory", "irq")


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        settings = sources.settings
        parsed = read_pressure(settings.path.procfs)
        found = samples(parsed.value, node_exporter=settings.compat.node_exporter)
        return Parsed(list(found), parsed.faults)

    return collect


def read_pressure(proc: Path) -> Parsed[dict[str, Pressure]]:
    """Returns the host's pressure, keyed by resource. Omits resources that the kernel lacks.

    proc: the path of /proc.

    Raises:
        NotAvailable: the kernel has no pressure stall information.
    """
    pressures: dict[str, Pressure] = {}
    faults: list[SourceError] = []
    for resource in _RESOURCES:
        try:
            pressures[resource] = pressure.read(f"{proc}/pressure/{resource}")
        except NotAvailable:
            continue
        except SourceError as e:
            faults.append(type(e)(f"{resource}: {e}"))
    if not pressures and not faults:
        raise NotAvailable(
            f"{proc}/pressure: the kernel has no pressure stall information "
            "(older than 4.20, or booted with psi=0)"
        )
    return Parsed(pressures, tuple(faults))


def samples(pressures: Mapping[str, Pressure], *, node_exporter: bool) -> Iterator[Sample]:
    """Yields the waiting and stalled times of the host.

    pressures: the pressure, keyed by resource.
    node_exporter: True means that the times are also yielded under node_exporter's names.
    """
    for resource, stalls in pressures.items():
        for kind, seconds in (
            ("waiting", stalls.waiting_seconds),
            ("stalled", stalls.stalled_seconds),
        ):
            if seconds is None:
                continue
            if desc := metrics.PRESSURE.get((resource, kind)):
                yield desc(seconds)
            if node_exporter and (desc := compat_families.PRESSURE.get((resource, kind))):
                yield desc(seconds)
