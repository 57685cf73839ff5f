"""Linux software RAID: https://docs.kernel.org/admin-guide/md.html

What changes about a drive while it is plugged in, and where that stands.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import files, links, pcie
from exporter.linux.files import Parsed
from exporter.linux.links import LinkSource, LinkSpeed
from exporter.linux.pcie import ErrorSource, PcieErrors


def read_degraded(disk: Path) -> int | None:
    """The members that an array lacks; None for levels without redundancy, which have no count."""
    return files.integer(disk / "md" / "degraded")


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A drive's condition as the kernel sees it; None is not known or not counted.

    `ok` is that all NVMe controllers are live, or that the SCSI device is running. `link` is the
    slowest where there are several ways to the drive. `pcie_errors` has the AER totals by NVMe
    controller: they are the controller's, and all its namespaces show the same.
    """

    ok: bool | None = None
    io_errors: int | None = None
    io_timeouts: int | None = None
    link: LinkSpeed | None = None
    pcie_errors: tuple[tuple[str, PcieErrors], ...] = ()


@dataclass(frozen=True, slots=True)
class StateSources:
    """Where a drive's state stands, found once; None and () where this drive has no such file.

    `pcie_errors` are NVMe controllers by name, with where their errors are counted.
    """

    states: tuple[Path, ...] = ()
    healthy: str = ""
    io_errors: Path | None = None
    io_timeouts: Path | None = None
    links: tuple[LinkSource, ...] = ()
    pcie_errors: tuple[tuple[str, ErrorSource], ...] = ()


def nvme_sources(controllers: Iterable[tuple[Path, Path | None]]) -> StateSources:
    """The sources of a namespace, from its controllers and their PCI functions (None: a fabric)."""
    pairs = tuple(controllers)
    functions = [(controller.name, each) for controller, each in pairs if each is not None]
    links = (pcie.link_source(function) for _, function in functions)
    errors = ((name, pcie.error_source(function)) for name, function in functions)
    return StateSources(
        states=tuple(controller / "state" for controller, _ in pairs),
        healthy="live",
        links=tuple(each for each in links if each is not None),
        pcie_errors=tuple((name, each) for name, each in errors if each is not None),
    )


def scsi_sources(device: Path, its_link: LinkSource | None) -> StateSources:
    """The sources of a SCSI disk from its device directory (/sys/block/sda/device)."""
    return StateSources(
        states=(device / "state",),
        healthy="running",
        io_errors=_present(device / "ioerr_cnt"),
        io_timeouts=_present(device / "iotmo_cnt"),
        links=() if its_link is None else (its_link,),
    )


def read(sources: StateSources) -> Parsed[DeviceState]:
    """The state now; a file that is gone in the meantime reads as not known."""
    errors: list[tuple[str, PcieErrors]] = []
    faults: tuple[SourceError, ...] = ()
    for controller, source in sources.pcie_errors:
        parsed = pcie.read_errors(source)
        faults += parsed.faults
        if parsed.value is not None:
            errors.append((controller, parsed.value))
    state = DeviceState(
        ok=all_healthy(tuple(map(files.attribute, sources.states)), sources.healthy),
        io_errors=_count(sources.io_errors),
        io_timeouts=_count(sources.io_timeouts),
        link=links.slowest(each for s in sources.links if (each := links.read_link(s)) is not None),
        pcie_errors=tuple(errors),
    )
    return Parsed(state, faults)


def all_healthy(states: tuple[str | None, ...], healthy: str) -> bool | None:
    """Whether all states are the healthy one; one bad is enough to say no, one unknown for None."""
    if any(state is not None and state != healthy for state in states):
        return False
    return None if not states or None in states else True


def _count(path: Path | None) -> int | None:
    # The kernel prints these with %#x; base 0 takes that and the plain 0 alike.
    return None if path is None else files.integer(path, 0)


def _present(path: Path) -> Path | None:
    return None if files.attribute(path) is None else path
