"""Finds the drives to poll: with smartctl's scan, in /sys, and in the settings.

smartctl --scan-open does not find all drives (lib/os_linux.cpp of smartmontools): it finds no disks
that mptsas or hpsa hide, no slots of cciss, aacraid, areca and 3ware controllers, and at most a
hundred /dev/nvme*. NVMe controllers and hidden disks are therefore also read from /sys. The slots
must be configured.

smartctl --scan-open opens each drive. If it fails, a second scan completes its result. The second
scan opens no drive and is called a listing.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from exporter.drives.drive_identity import Protocol
from exporter.linux import device_nodes, files, scsi_sysfs
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import addressing
from exporter.smart.addressing import AttachmentPoint
from exporter.smart.drive_labels import labels
from exporter.smart.smartctl import Address, Scanned, may_be_killed

_PROTOCOLS = {"nvme": Protocol.NVME, "ata": Protocol.ATA, "scsi": Protocol.SCSI}

#: The protocol of each configured type. The first pattern that matches the whole type applies.
_BY_TYPE = (
    (re.compile(r"(?:nvme|snt)[^/]*", re.ASCII), Protocol.NVME),
    (re.compile(r"(?:ata|sat|usb)(?!,auto).*", re.ASCII), Protocol.ATA),
    (re.compile(r"scsi", re.ASCII), Protocol.SCSI),
)

#: A part of smartctl's message for a RAID volume: the type with which its drives can be polled.
_CONTROLLER = re.compile(r"-d (?:megaraid|cciss|3ware|areca|aacraid)", re.ASCII)


#: Names of stacked and virtual block devices.
_VIRTUAL = re.compile(r"dm-|md|loop|ram|zram", re.ASCII)


@dataclass(frozen=True, slots=True)
class Override:
    """Settings of one drive. None and an empty text mean that the general setting applies.

    type: the value of smartctl's option -d, instead of the type that was found. A block device with
        a configured type is polled even if no scan finds it.
    interval_seconds: the interval of the polls.
    timeout_seconds: the time limit of one poll.
    off: True if this drive must not be polled.
    """

    type: str = ""
    interval_seconds: float | None = None
    timeout_seconds: float | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The settings that select the drives to poll.

    include, exclude: regular expressions that are searched in "PATH" and in "PATH TYPE" of the
        drives that were found. They do not apply to configured drives. Empty means no restriction.
    drives: the configured drives as pairs of path and type. A range in a type stands for several
        drives ("cciss,0-3").
    overrides: the settings of single drives, keyed by device label, by path, or by "PATH TYPE". If
        several keys apply to a drive, "PATH TYPE" takes precedence over the path, and the path over
        the label.
    """

    include: str = ""
    exclude: str = ""
    drives: tuple[tuple[str, str], ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drive that may be polled.

    adapter: the PCI function of the drive's host adapter, which other drives may share; the device
        path if there is none.
    protocol: the presumed protocol. None means that only the drive itself can report it.
    configured: True if the drive is in the settings (`Selection.drives`).
    found: False if only the settings name the drive: it may be an empty slot of a controller.
    volume: True if this may be a RAID volume, whose drives have addresses of their own. A volume
        that does not answer is not a failure.
    interval_seconds, timeout_seconds: the values of the drive's `Override`; None means that the
        general setting applies.
    """

    address: Address
    adapter: str
    protocol: Protocol | None = None
    configured: bool = False
    found: bool = True
    volume: bool = False
    interval_seconds: float | None = None
    timeout_seconds: float | None = None


def find_candidates(
    sys: Path, root: Path, scanned: Iterable[Scanned], selection: Selection
) -> tuple[tuple[Candidate, ...], DeviceNodes]:
    """Returns the drives that are present, and the device nodes that were read to find them.

    sys: the path of /sys.
    root: the path of the / in which smartctl runs. Links such as /dev/disk/by-id/... are resolved
        there.
    scanned: the drives that smartctl's scan has found.

    Raises:
        ConfigError: a configured range is invalid. `config_validation` checks this at the start.
    """
    nodes = device_nodes.read(sys, root)
    configured = [
        address
        for path, kind in selection.drives
        for address in addressing.expanded(files.resolve_symlinks(root, path), kind)
    ]
    return candidates(scanned, nodes, configured, selection), nodes


def device_names(sys: Path) -> frozenset[str]:
    """Returns the names of all block devices and NVMe controllers, to detect added or removed ones.

    Stacked and virtual devices are left out.
    """
    blocks = (name for name in files.list_names(sys / "block") if not _VIRTUAL.match(name))
    return frozenset((*blocks, *files.list_names(sys / "class" / "nvme")))


def candidates(
    scanned: Iterable[Scanned],
    nodes: DeviceNodes,
    configured: Sequence[Address],
    selection: Selection,
) -> tuple[Candidate, ...]:
    """Returns one candidate for each attachment point (see `addressing`).

    If several addresses have the same attachment point, the configured address is used. Without
    one, the first of these is used: scanned addresses, addresses from /sys, addresses of overrides.
    """
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
    # smartctl writes to the volume to access some types. Such a type is used only if an operator
    # has configured it.
    harmless = [row for row in rows if may_be_killed(row.address.type)]
    # A disk's block device comes before its generic node (/dev/sg*), which a later smartctl may
    # list as well.
    return sorted(harmless, key=lambda row: row.address.path.startswith("/dev/sg"))


def _overlooked(nodes: DeviceNodes) -> Iterator[Scanned]:
    for name in nodes.controllers:
        if name in nodes.present:
            yield Scanned(Address(f"/dev/{name}", "nvme"), Protocol.NVME.value)
    for generic in nodes.generics:
        if generic.is_hidden_disk and generic.name in nodes.present:
            # No type is given, so that smartctl detects an ATA drive behind the SCSI address.
            protocol = Protocol.ATA if generic.vendor == "ATA" else Protocol.SCSI
            yield Scanned(Address(f"/dev/{generic.name}"), protocol.value)


def _named(
    overrides: Mapping[str, Override], nodes: DeviceNodes, paths: Collection[str]
) -> Iterator[Scanned]:
    """Yields the block devices with a configured type that no scan has found.

    Such a device is often in a USB enclosure. paths: the paths that were found.
    """
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
        # A controller reports all its drives as SCSI before they are polled, even SATA drives.
        None if slot else presumed,
        volume=_CONTROLLER.search(row.open_error) is not None,
    )


def _is_wanted(address: Address, selection: Selection) -> bool:
    # The path alone is searched too, because a pattern for it may end in "$".
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
        # Two configured types at one path are two drives of a USB dock: usbjmicron,0 and
        # usbjmicron,1.
        point, before = AttachmentPoint(point.place, address.type), None
    elif before is not None and not address.type:
        address = Address(address.path, before.address.type)
    guess = None if addressing.slot(address) else _guess(address.type)
    if guess is None and before is not None:
        guess = before.protocol
    adapter = _adapter(address, nodes)
    found = before is not None
    by_point[point] = Candidate(address, adapter, guess, configured=True, found=found)


def _guess(kind: str) -> Protocol | None:
    return next((protocol for pattern, protocol in _BY_TYPE if pattern.fullmatch(kind)), None)


def _adapter(address: Address, nodes: DeviceNodes) -> str:
    place = nodes.sysfs_path(address.path)
    return (None if place is None else device_nodes.pci_adapter(place)) or address.path


def _volumes(
    by_point: Mapping[AttachmentPoint, Candidate], nodes: DeviceNodes
) -> set[AttachmentPoint]:
    """Returns the attachment points of block devices that may be RAID volumes.

    These are the block devices on a SCSI host that also has drives without a block device, such as
    drives in controller slots.
    """
    hosts = {point: _host(row.address, nodes) for point, row in by_point.items()}
    direct = {point for point, row in by_point.items() if addressing.is_direct(row.address, nodes)}
    behind = {host for point, host in hosts.items() if point not in direct and host is not None}
    return {
        point
        for point in direct
        # A device on a SATA, SAS or USB link of its own is a drive, even if the host has volumes.
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
