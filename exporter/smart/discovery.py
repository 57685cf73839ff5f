"""Which drives there are to ask: what smartctl's scan gives, what it overlooks, what is configured.

smartctl --scan-open knows no disk hidden behind mptsas or hpsa, no slot of cciss, aacraid, areca
and 3ware, and of /dev/nvme* the first hundred alone (lib/os_linux.cpp of smartmontools).

Which drives smartctl finds: by opening each, and where that fails by a list of what there is.
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

_PROTOCOLS = {"nvme": Protocol.NVME, "ata": Protocol.ATA, "scsi": Protocol.SCSI}

#: What a type given without a scan tells of the protocol.
_BY_TYPE = (
    (re.compile(r"(?:nvme|snt)[^/]*", re.ASCII), Protocol.NVME),
    (re.compile(r"(?:ata|sat|usb)(?!,auto).*", re.ASCII), Protocol.ATA),
    (re.compile(r"scsi", re.ASCII), Protocol.SCSI),
)

#: What smartctl answers to a controller's volume: that its drives have another type.
_CONTROLLER = re.compile(r"-d (?:megaraid|cciss|3ware|areca|aacraid)", re.ASCII)


_MADE = re.compile(r"dm-|md\d|loop|ram|zram", re.ASCII)


@dataclass(frozen=True, slots=True)
class Override:
    """What is different for one drive; None and empty are as for all.

    type: smartctl's -d, instead of what was found; a block device that nothing finds is asked
    where its type is said here.
    off: never ask this drive.
    """

    type: str = ""
    interval_seconds: float | None = None
    timeout_seconds: float | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the drives are asked.

    include, exclude: regular expressions searched in "PATH" and in "PATH TYPE" of what is found;
    neither applies to a drive that is configured.
    drives: what no scan finds, as path and type; a range stands for several ("cciss,0-3").
    overrides: by device label, path, or path and type with a space between; the last is strongest.
    """

    include: str = ""
    exclude: str = ""
    drives: tuple[tuple[str, str], ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drive to ask.

    adapter: a PCI function that its commands share with others, else the path.
    protocol: a guess, None where only the drive itself can tell.
    volume: this may be a RAID volume, whose drives have addresses of their own: that it does not
    answer is no failure.
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
    """The drives there are now, and the nodes that they were found by.

    `root` is the / in which smartctl runs: names such as /dev/disk/by-id/... are links there.

    Raises:
        ConfigError: a configured range is none; `addressing.expanded` tells at start.
    """
    known = device_nodes.read(sys, root)
    configured = [
        address
        for path, kind in selection.drives
        for address in addressing.expanded(files.resolve_symlinks(root, path), kind)
    ]
    return candidates(scanned, known, configured, selection), known


def device_names(sys: Path) -> frozenset[str]:
    """What changes when a drive comes or goes; not the devices that others are made of."""
    blocks = (name for name in files.list_names(sys / "block") if not _MADE.match(name))
    return frozenset((*blocks, *files.list_names(sys / "class" / "nvme")))


def candidates(
    scanned: Iterable[Scanned],
    known: DeviceNodes,
    configured: Sequence[Address],
    selection: Selection,
) -> tuple[Candidate, ...]:
    """One candidate for each seat; of two addresses of one, the configured or else the first."""
    seats: dict[AttachmentPoint, Candidate] = {}
    found = [*_scanned(scanned), *_overlooked(known)]
    for row in (*found, *_named(selection.overrides, known, {row.address.path for row in found})):
        if _is_wanted(row.address, selection):
            seats.setdefault(
                addressing.attachment_point(row.address, known), _candidate(row, known)
            )
    for address in configured:
        _add_configured(seats, address, known)
    shown = labels([each.address for each in seats.values()], known)
    volumes = _volumes(seats, known)
    return tuple(
        replace(made, volume=made.volume or seat in volumes)
        for seat, each in seats.items()
        if (made := _overridden(each, shown[each.address], selection.overrides)) is not None
    )


def _scanned(rows: Iterable[Scanned]) -> list[Scanned]:
    # What asks by writing to the volume is for the operator alone to try.
    harmless = [row for row in rows if may_be_killed(row.address.type)]
    # A disk's own node before its generic one, which a later smartctl may list as well.
    return sorted(harmless, key=lambda row: row.address.path.startswith("/dev/sg"))


def _overlooked(known: DeviceNodes) -> Iterator[Scanned]:
    for name in known.controllers:
        if name in known.present:
            yield Scanned(Address(f"/dev/{name}", "nvme"), Protocol.NVME.value)
    for each in known.generics:
        if each.is_hidden_disk and each.name in known.present:
            # Without a type smartctl finds out whether an ATA drive is behind the SCSI address.
            protocol = Protocol.ATA if each.vendor == "ATA" else Protocol.SCSI
            yield Scanned(Address(f"/dev/{each.name}"), protocol.value)


def _named(
    overrides: Mapping[str, Override], known: DeviceNodes, found: Collection[str]
) -> Iterator[Scanned]:
    """Drives that nothing finds, but that somebody knows the type of: those in USB enclosures."""
    for name, override in overrides.items():
        path = f"/dev/{name.removeprefix('/dev/')}"
        if override.type and path not in found and known.sysfs_path(path) is not None:
            yield Scanned(Address(path, override.type))


def _candidate(row: Scanned, known: DeviceNodes) -> Candidate:
    behind = addressing.slot(row.address)
    said = _PROTOCOLS.get(row.protocol.lower()) or _guess(row.address.type)
    return Candidate(
        row.address,
        _adapter(row.address, known),
        # A controller's drives are called SCSI before they are asked, also those that are SATA.
        None if behind else said,
        volume=_CONTROLLER.search(row.open_error) is not None,
    )


def _is_wanted(address: Address, selection: Selection) -> bool:
    # The second holds the first, but for a pattern that ends in "$".
    texts = (address.path, f"{address.path} {address.type}")

    def matches(pattern: str) -> bool:
        return any(re.search(pattern, text) for text in texts)

    if selection.include and not matches(selection.include):
        return False
    return not (selection.exclude and matches(selection.exclude))


def _add_configured(
    seats: dict[AttachmentPoint, Candidate], address: Address, known: DeviceNodes
) -> None:
    seat = addressing.attachment_point(address, known)
    before = seats.get(seat)
    if before is not None and before.configured:
        if seat.slot or before.address.type == address.type:
            return
        # Two types at one path are the two drives of a dock: usbjmicron,0 and usbjmicron,1.
        seat = AttachmentPoint(seat.place, address.type)
    elif before is not None and not address.type:
        address = Address(address.path, before.address.type)
    guess = None if addressing.slot(address) else _guess(address.type)
    if guess is None and before is not None:
        guess = before.protocol
    seats[seat] = Candidate(address, _adapter(address, known), guess, configured=True)


def _guess(kind: str) -> Protocol | None:
    return next((protocol for pattern, protocol in _BY_TYPE if pattern.fullmatch(kind)), None)


def _adapter(address: Address, known: DeviceNodes) -> str:
    place = known.sysfs_path(address.path)
    return (None if place is None else device_nodes.pci_adapter(place)) or address.path


def _volumes(
    seats: Mapping[AttachmentPoint, Candidate], known: DeviceNodes
) -> set[AttachmentPoint]:
    """The seats of block devices on a SCSI host whose drives are also reached otherwise."""
    hosts = {seat: _host(each.address, known) for seat, each in seats.items()}
    direct = {seat for seat, each in seats.items() if addressing.is_direct(each.address, known)}
    behind = {host for seat, host in hosts.items() if seat not in direct and host is not None}
    return {
        seat
        for seat in direct
        # What is seen on a link of its own is a drive, also beside volumes.
        if hosts[seat] in behind
        and scsi_sysfs.parse_attachment(Path(), PurePath(seat.place)).transport == "scsi"
    }


def _host(address: Address, known: DeviceNodes) -> PurePath | None:
    place = known.sysfs_path(address.path)
    return None if place is None else device_nodes.scsi_host(place)


def _overridden(
    found: Candidate, label: str, overrides: Mapping[str, Override]
) -> Candidate | None:
    path, kind = found.address
    for name in (label, path, f"{path} {kind}"):
        override = overrides.get(name)
        if override is None:
            continue
        if override.off:
            return None
        if override.type:
            found = replace(
                found,
                address=Address(path, override.type),
                protocol=_guess(override.type) or found.protocol,
            )
        found = replace(
            found,
            interval_seconds=override.interval_seconds or found.interval_seconds,
            timeout_seconds=override.timeout_seconds or found.timeout_seconds,
        )
    return found


log = logging.getLogger(__name__)

#: So long may a look for drives take. It opens each, and one that hangs holds it up.
_SCAN_SECONDS = 30.0

#: So long may the look take that opens no drive.
_LISTING_SECONDS = 10.0


class Scanner:
    """The looks for drives that `poll` runs, and what the last ones found.

    rows: what was found. at: when that was last complete, in seconds of Unix time; None before.
    problem: why the drives could not be opened to find out their types, for people; else empty.
    """

    def __init__(self, poll: PollScheduler, clock: Clock, *, sys: Path, root: Path) -> None:
        self._poll = poll
        self._clock = clock
        self._sys = sys
        self._root = root
        self._is_listing = False
        self.rows: tuple[Scanned, ...] = ()
        self.at: float | None = None
        self.problem = ""

    @property
    def is_settled(self) -> bool:
        """A look has ended, and no other one is to find what it has not."""
        return (self.at is not None or bool(self.problem)) and not self._is_listing

    def start(self) -> bool:
        """Look for drives; False where an earlier look is still under way."""
        if self._poll.start_scan(_SCAN_SECONDS):
            return True
        # One that cannot be ended holds up no look that opens nothing.
        return self._poll.is_scan_stuck and self._list()

    def receive(self, scan: Finished) -> None:
        """What a look has found, as `SmartPoll.take_scan` gives it."""
        if scan.key == LISTING:
            self._take_listing(scan)
            return
        problem = scan.message
        if scan.end is End.EXITED:
            try:
                self.rows = smartctl.parse_scan(scan.output)
                self.at = self._clock.wall()
            except ParseError as e:
                # That it is too old, or was killed.
                problem = poll_result(scan)[1] or str(e)
        elif scan.end is End.NOT_STARTED:
            problem += "; install smartmontools or set --smartctl.path"
        if problem:
            # A drive that hangs holds up the scan, and must not hide the others.
            self.rows += _unscanned(device_nodes.read(self._sys, self._root), self.rows)
            if scan.end is not End.NOT_STARTED:
                self._list()
        self._say(problem and f"looking for drives failed: {problem}")

    def _list(self) -> bool:
        begun = self._poll.start_scan(_LISTING_SECONDS, LISTING)
        self._is_listing |= begun
        return begun

    def _take_listing(self, listing: Finished) -> None:
        """What there is; that the drives could not be opened stays the problem."""
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

    def _say(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem


def _unscanned(known: DeviceNodes, scanned: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """The other SCSI disks of /sys; smartctl is left to find out what each of them is."""
    names = sorted(name for name in known.blocks & known.present if name.startswith("sd"))
    found = {row.address.path for row in scanned}
    return tuple(Scanned(Address(f"/dev/{n}")) for n in names if f"/dev/{n}" not in found)


def _typed(listed: Iterable[Scanned], known: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """What was listed; of what type it is, an earlier look that opened the drives knows better."""
    before: dict[str, list[Scanned]] = {}
    for row in known:
        before.setdefault(row.address.path, []).append(row)
    found: list[Scanned] = []
    for row in listed:
        if addressing.slot(row.address):
            found.append(row)
        elif row.address.path in before:
            found += before[row.address.path]
        elif row.address.type == "scsi":
            # What --scan calls every disk that it has not opened, SATA or SAS.
            found.append(Scanned(Address(row.address.path)))
        else:
            found.append(row)
    return tuple(dict.fromkeys(found))
