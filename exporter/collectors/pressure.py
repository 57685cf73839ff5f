"""Pressure stall information of the host."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from exporter.errors import NotThere, SourceError
from exporter.linux import pressure
from exporter.linux.files import Parsed
from exporter.linux.pressure import Pressure
from exporter.metrics import compat
from exporter.metrics import cpu as metrics
from exporter.metrics.desc import Sample

_RESOURCES = ("io", "cpu", "memory", "irq")


def read(proc: Path) -> Parsed[dict[str, Pressure]]:
    """The host's pressures by resource: io, cpu, memory, irq, those that the kernel keeps.

    Raises:
        NotThere: it keeps none.
    """
    found: dict[str, Pressure] = {}
    faults: list[SourceError] = []
    for resource in _RESOURCES:
        try:
            found[resource] = pressure.read(proc / "pressure" / resource)
        except NotThere:
            continue
        except SourceError as e:
            faults.append(type(e)(f"{resource}: {e}"))
    if not found and not faults:
        raise NotThere(f"{proc}/pressure: this kernel keeps no pressure (before 4.20, or psi=0)")
    return Parsed(found, tuple(faults))


def samples(pressures: Mapping[str, Pressure], *, node_exporter: bool) -> Iterator[Sample]:
    """Waiting and stalled time by resource, and under node_exporter's names where asked for."""
    for resource, found in pressures.items():
        for kind, seconds in (
            ("waiting", found.waiting_seconds),
            ("stalled", found.stalled_seconds),
        ):
            if seconds is None:
                continue
            if desc := metrics.PRESSURE.get((resource, kind)):
                yield desc(seconds)
            if node_exporter and (desc := compat.PRESSURE.get((resource, kind))):
                yield desc(seconds)
