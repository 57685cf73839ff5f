"""Finds the drives to poll: by smartctl's scan, in /sys where it overlooks them, and by settings.

smartctl --scan-open does not find disks hidden behind mptsas or hpsa, slots of cciss, aacraid,
areca and 3ware controllers, and more than a hundred /dev/nvme* (lib/os_linux.cpp of smartmontools).

If the scan that opens each drive fails, a scan that opens no drive completes its result.
"""

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from exporter.clock import Clock
from exporter.drives.health import Protocol
from exporter.errors import ParseError
from exporter.linux import device_nodes, files, scsi_sysfs
from exporter.linux.device_nodes import DeviceNodes
from exporter.programs.child import End, Finished
from exporter.smart import addressing, smartctl
from exporter.smart.addressing import AttachmentPoint
from exporter.smart.drive_labels import labels
from exporter.smart.poll_document import poll_result
from exporter.smart.poll_scheduler import LISTING, PollScheduler
from exporter.smart.smartctl import Address, Scanned, may_be_killed

log = logging.getLogger(__name__)

#: Timeout of a scan that opens each drive, in seconds. It hangs with the first drive that hangs.
_SCAN_SECONDS = 30.0

#: Timeout of a scan that opens no drive, in seconds.
_LISTING_SECONDS = 10.0

_PROTOCOLS = {"nvme": Protocol.NVME, "ata": Protocol.ATA, "scsi": Protocol.SCSI}

#: The protocol of a configured type.
_BY_TYPE = (
    (re.compile(r"(?:nvme|snt)[^/]*", re.ASCII), Protocol.NVME),
    (re.compile(r"(?:ata|sat|usb)(?!,auto).*", re.ASCII), Protocol.ATA),
    (re.compile(r"scsi", re.ASCII), Protocol.SCSI),
)

#: smartctl's message for a controller's volume: its drives have another type.
_CONTROLLER = re.compile(r"-d (?:megaraid|cciss|3ware|areca|aacraid)", re.ASCII)


#: Names of stacked and virtual block devices.
_VIRTUAL = re.compile(r"dm-|md\d|loop|ram|zram", re.ASCII)


@dataclass(frozen=True, slots=True)
class Override:
    """Settings of one drive. None and an empty text mean the settings of all drives.

    type: smartctl's -d option, instead of the type that was found. With a type, a block device is
    polled that no scan finds.
    off: never poll this drive.
    """

    type: str = ""
    interval_seconds: float | None = None
    timeout_seconds: float | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The settings that select the drives to poll.

    include, exclude: regular expressions searched in "PATH" and in "PATH TYPE" of drives that were
    found. Neither applies to configured drives.
    drives: configured drives as path and type. A range names several ("cciss,0-3").
    overrides: by device label, by path, or by "PATH TYPE"; a later one of these takes precedence.
    """

    include: str = ""
    exclude: str = ""
    drives: tuple[tuple[str, str], ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drive that may be polled.

    adapter: the PCI function that the drive shares with others, else its path.
    protocol: presumed protocol; None if only the drive can report it.
    volume: True if this may be a RAID volume, whose drives have addresses of their own. A volume
    that does not answer is not a failure.
    """

    address: Address
    adapter: str
    protocol: Protocol | None = None
    configured: bool = False
    volume: bool = False
    interval_seconds: float | None = None
    timeout_seconds: float | None = None


def find_candidates(
    sys: Path, root: Path, scanned: Iterable[Scanned], selection: Selection
) -> tuple[tuple[Candidate, ...], DeviceNodes]:
    """The drives that are present, and the device nodes that they were found by.

    root: the / in which smartctl runs. Names such as /dev/disk/by-id/... are links there.

    Raises:
        ConfigError: a configured range is invalid; `config_validation` checks it at the start.
    """
    nodes = device_nodes.read(sys, root)
    configured = [
        address
        for path, kind in selection.drives
        for address in addressing.expanded(files.resolve_symlinks(root, path), kind)
    ]
    return candidates(scanned, nodes, configured, selection), nodes


def device_names(sys: Path) -> frozenset[str]:
    """Names that change when a drive is added or removed, without stacked and virtual devices."""
    blocks = (name for name in files.list_names(sys / "block") if not _VIRTUAL.match(name))
    return frozenset((*blocks, *files.list_names(sys / "class" / "nvme")))


def candidates(
    scanned: Iterable[Scanned],
    nodes: DeviceNodes,
    configured: Sequence[Address],
    selection: Selection,
) -> tuple[Candidate, ...]:
    """One candidate per attachment point: the configured address, else the first row."""
    by_point: dict[AttachmentPoint, Candidate] = {}
    rows = [*_scanned(scanned), *_overlooked(nodes)]
    for row in (*rows, *_named(selection.overrides, nodes, {row.address.path for row in rows})):
        if _is_wanted(row.address, selection):
            by_point.setdefault(
                addressing.attachment_point(row.address, nodes), _candidate(row, nodes)
            )
    for address in configured:
        _add_configured(by_point, address, nodes)
    shown = labels([candidate.address for candidate in by_point.values()], nodes)
    volumes = _volumes(by_point, nodes)
    return tuple(
        replace(result, volume=result.volume or point in volumes)
        for point, candidate in by_point.items()
        if (result := _overridden(candidate, shown[candidate.address], selection.overrides))
        is not None
    )


def _scanned(rows: Iterable[Scanned]) -> list[Scanned]:
    # Types that are accessed by writes to the volume must be configured.
    harmless = [row for row in rows if may_be_killed(row.address.type)]
    # A disk's own node comes before its generic one, which a later smartctl may list as well.
    return sorted(harmless, key=lambda row: row.address.path.startswith("/dev/sg"))


def _overlooked(nodes: DeviceNodes) -> Iterator[Scanned]:
    for name in nodes.controllers:
        if name in nodes.present:
            yield Scanned(Address(f"/dev/{name}", "nvme"), Protocol.NVME.value)
    for generic in nodes.generics:
        if generic.is_hidden_disk and generic.name in nodes.present:
            # Without a type smartctl detects an ATA drive behind the SCSI address.
            protocol = Protocol.ATA if generic.vendor == "ATA" else Protocol.SCSI
            yield Scanned(Address(f"/dev/{generic.name}"), protocol.value)


def _named(
    overrides: Mapping[str, Override], nodes: DeviceNodes, paths: Collection[str]
) -> Iterator[Scanned]:
    """Block devices with a configured type that no scan finds, such as those in USB enclosures."""
    for name, override in overrides.items():
        path = f"/dev/{name.removeprefix('/dev/')}"
        if override.type and path not in paths and nodes.sysfs_path(path) is not None:
            yield Scanned(Address(path, override.type))


def _candidate(row: Scanned, nodes: DeviceNodes) -> Candidate:
    slot = addressing.slot(row.address)
    presumed = _PROTOCOLS.get(row.protocol.lower()) or _guess(row.address.type)
    return Candidate(
        row.address,
        _adapter(row.address, nodes),
        # A controller reports its drives as SCSI before they are polled, also SATA drives.
        None if slot else presumed,
        volume=_CONTROLLER.search(row.open_error) is not None,
    )


def _is_wanted(address: Address, selection: Selection) -> bool:
    # The path alone is searched too, because a pattern may end in "$".
    texts = (address.path, f"{address.path} {address.type}")

    def matches(pattern: str) -> bool:
        return any(re.search(pattern, text) for text in texts)

    if selection.include and not matches(selection.include):
        return False
    return not (selection.exclude and matches(selection.exclude))


def _add_configured(
    by_point: dict[AttachmentPoint, Candidate], address: Address, nodes: DeviceNodes
) -> None:
    point = addressing.attachment_point(address, nodes)
    before = by_point.get(point)
    if before is not None and before.configured:
        if point.slot or before.address.type == address.type:
            return
        # Two types at one path are the two drives of a dock: usbjmicron,0 and usbjmicron,1.
        point = AttachmentPoint(point.place, address.type)
    elif before is not None and not address.type:
        address = Address(address.path, before.address.type)
    guess = None if addressing.slot(address) else _guess(address.type)
    if guess is None and before is not None:
        guess = before.protocol
    by_point[point] = Candidate(address, _adapter(address, nodes), guess, configured=True)


def _guess(kind: str) -> Protocol | None:
    return next((protocol for pattern, protocol in _BY_TYPE if pattern.fullmatch(kind)), None)


def _adapter(address: Address, nodes: DeviceNodes) -> str:
    place = nodes.sysfs_path(address.path)
    return (None if place is None else device_nodes.pci_adapter(place)) or address.path


def _volumes(
    by_point: Mapping[AttachmentPoint, Candidate], nodes: DeviceNodes
) -> set[AttachmentPoint]:
    """The block devices on a SCSI host whose drives also have addresses in controller slots."""
    hosts = {point: _host(row.address, nodes) for point, row in by_point.items()}
    direct = {point for point, row in by_point.items() if addressing.is_direct(row.address, nodes)}
    behind = {host for point, host in hosts.items() if point not in direct and host is not None}
    return {
        point
        for point in direct
        # A device on a link of its own is a drive, also beside volumes.
        if hosts[point] in behind
        and scsi_sysfs.parse_attachment(Path(), PurePath(point.place)).transport == "scsi"
    }


def _host(address: Address, nodes: DeviceNodes) -> PurePath | None:
    place = nodes.sysfs_path(address.path)
    return None if place is None else device_nodes.scsi_host(place)


def _overridden(
    candidate: Candidate, label: str, overrides: Mapping[str, Override]
) -> Candidate | None:
    path, kind = candidate.address
    for name in (label, path, f"{path} {kind}"):
        override = overrides.get(name)
        if override is None:
            continue
        if override.off:
            return None
        if override.type:
            candidate = replace(
                candidate,
                address=Address(path, override.type),
                protocol=_guess(override.type) or candidate.protocol,
            )
        candidate = replace(
            candidate,
            interval_seconds=override.interval_seconds or candidate.interval_seconds,
            timeout_seconds=override.timeout_seconds or candidate.timeout_seconds,
        )
    return candidate


class Scanner:
    """Runs scans on the scheduler, and keeps the result of the last ones.

    rows: the drives that were found. at: when the last complete scan ended, in seconds of Unix
    time; None before the first. problem: why the last scan failed, for people; else empty.
    """

    def __init__(self, scheduler: PollScheduler, clock: Clock, *, sys: Path, root: Path) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._sys = sys
        self._root = root
        self._is_listing = False
        self.rows: tuple[Scanned, ...] = ()
        self.at: float | None = None
        self.problem = ""

    @property
    def is_settled(self) -> bool:
        """Whether a scan has ended and no second one runs to complete it."""
        return (self.at is not None or bool(self.problem)) and not self._is_listing

    def start(self) -> bool:
        """Start a scan; False if the last one still runs."""
        if self._scheduler.start_scan(_SCAN_SECONDS):
            return True
        # A scan that cannot be ended does not prevent one that opens no drive.
        return self._scheduler.is_scan_stuck and self._list()

    def receive(self, scan: Finished) -> None:
        """Record the result of a scan, from `PollScheduler.take_scan`."""
        if scan.key == LISTING:
            self._take_listing(scan)
            return
        problem = scan.message
        if scan.end is End.EXITED:
            try:
                self.rows = smartctl.parse_scan(scan.output)
                self.at = self._clock.wall()
            except ParseError as e:
                # smartctl is too old, or was killed.
                problem = poll_result(scan)[1] or str(e)
        elif scan.end is End.NOT_STARTED:
            problem += "; install smartmontools or set --smartctl.path"
        if problem:
            # A drive that hangs blocks the scan. The other drives must still be found.
            self.rows += _unscanned(device_nodes.read(self._sys, self._root), self.rows)
            if scan.end is not End.NOT_STARTED:
                self._list()
        self._log(problem and f"scanning for drives failed: {problem}")

    def _list(self) -> bool:
        is_started = self._scheduler.start_scan(_LISTING_SECONDS, LISTING)
        self._is_listing |= is_started
        return is_started

    def _take_listing(self, listing: Finished) -> None:
        """Record a scan that opened no drive. The problem of the one that did remains."""
        self._is_listing = False
        if listing.end is not End.EXITED:
            return
        try:
            listed = smartctl.parse_scan(listing.output)
        except ParseError as e:
            log.debug("listing drives without opening them failed too: %s", e)
            return
        self.rows = _typed(listed, self.rows)
        self.at = self._clock.wall()

    def _log(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem


def _unscanned(nodes: DeviceNodes, scanned: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """The other SCSI disks in /sys, without a type; smartctl detects it."""
    names = sorted(name for name in nodes.blocks & nodes.present if name.startswith("sd"))
    paths = {row.address.path for row in scanned}
    return tuple(Scanned(Address(f"/dev/{n}")) for n in names if f"/dev/{n}" not in paths)


def _typed(listed: Iterable[Scanned], earlier: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """The drives listed without opening them, with the types of an earlier scan that did."""
    before: dict[str, list[Scanned]] = {}
    for row in earlier:
        before.setdefault(row.address.path, []).append(row)
    result: list[Scanned] = []
    for row in listed:
        if addressing.slot(row.address):
            result.append(row)
        elif row.address.path in before:
            result += before[row.address.path]
        elif row.address.type == "scsi":
            # --scan reports this type for every disk, SATA or SAS.
            result.append(Scanned(Address(row.address.path)))
        else:
            result.append(row)
    return tuple(dict.fromkeys(result))
