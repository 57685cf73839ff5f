"""Linux software RAID: https://docs.kernel.org/admin-guide/md.html

What changes about a drive while it is plugged in, and where that stands.

One disk with all that is known of it: read once in full, then only what changes.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import block, device_identity, files, links, nvme_sysfs, pcie, scsi_sysfs
from exporter.linux.block import BlockDevice
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.files import Parsed
from exporter.linux.links import LinkFiles, LinkSpeed
from exporter.linux.pcie import AerFiles, PcieErrors
from exporter.linux.scsi_sysfs import AtaIdentity, Attachment


def read_degraded_members(disk: Path) -> int | None:
    """The members that an array lacks; None for levels without redundancy, which have no count."""
    return files.read_integer(disk / "md" / "degraded")


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
class StateFiles:
    """Where a drive's state stands, found once; None and () where this drive has no such file.

    `pcie_errors` are NVMe controllers by name, with where their errors are counted.
    """

    states: tuple[Path, ...] = ()
    healthy: str = ""
    io_errors: Path | None = None
    io_timeouts: Path | None = None
    links: tuple[LinkFiles, ...] = ()
    pcie_errors: tuple[tuple[str, AerFiles], ...] = ()


def nvme_state_files(controllers: Iterable[tuple[Path, Path | None]]) -> StateFiles:
    """The sources of a namespace, from its controllers and their PCI functions (None: a fabric)."""
    pairs = tuple(controllers)
    functions = [(controller.name, each) for controller, each in pairs if each is not None]
    links = (pcie.find_pcie_link(function) for _, function in functions)
    errors = ((name, pcie.find_aer_files(function)) for name, function in functions)
    return StateFiles(
        states=tuple(controller / "state" for controller, _ in pairs),
        healthy="live",
        links=tuple(each for each in links if each is not None),
        pcie_errors=tuple((name, each) for name, each in errors if each is not None),
    )


def scsi_state_files(device: Path, its_link: LinkFiles | None) -> StateFiles:
    """The sources of a SCSI disk from its device directory (/sys/block/sda/device)."""
    return StateFiles(
        states=(device / "state",),
        healthy="running",
        io_errors=_present(device / "ioerr_cnt"),
        io_timeouts=_present(device / "iotmo_cnt"),
        links=() if its_link is None else (its_link,),
    )


def read_state(sources: StateFiles) -> Parsed[DeviceState]:
    """The state now; a file that is gone in the meantime reads as not known."""
    errors: list[tuple[str, PcieErrors]] = []
    faults: tuple[SourceError, ...] = ()
    for controller, source in sources.pcie_errors:
        parsed = pcie.read_aer_errors(source)
        faults += parsed.faults
        if parsed.value is not None:
            errors.append((controller, parsed.value))
    state = DeviceState(
        ok=all_healthy(tuple(map(files.read_attribute, sources.states)), sources.healthy),
        io_errors=_count(sources.io_errors),
        io_timeouts=_count(sources.io_timeouts),
        link=links.slowest_link(
            each for s in sources.links if (each := links.read_link(s)) is not None
        ),
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
    return None if path is None else files.read_integer(path, 0)


def _present(path: Path) -> Path | None:
    return None if files.read_attribute(path) is None else path


#: What SATA can do at its best, on a port that may do more.
_SATA_GIGABITS = 6.0


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """A disk as the directory listings of /sys show it, before anything is read.

    `partitions` and `paths` (the hidden ones of an NVMe multipath head) are names. `inodes` are
    those of the links in /sys to the disk and to each of these: the kernel makes a new one when a
    disk or partition is made anew, also where it has no diskseq to tell (before Linux 5.15).
    """

    directory_name: str
    partitions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    inodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RevalidationFiles:
    """The files that tell whether a disk is still the same.

    Put together once: to join them anew was a fifth of the time that a repeated reading took.
    """

    diskseq: Path
    number: Path
    size: Path


@dataclass(frozen=True, slots=True)
class Device:
    """A disk of /sys/block, who it is, and its state.

    `degraded_members` is an md array's alone. `entry`, `places`, `sources` and `faults` are for
    the next reading, which takes over what cannot have changed.
    """

    block: BlockDevice
    identity: DeviceIdentity
    state: DeviceState
    degraded_members: int | None
    entry: DeviceEntry
    places: RevalidationFiles
    sources: StateFiles
    faults: tuple[SourceError, ...] = ()


def read(
    sys: Path, entry: DeviceEntry, known: Device | None = None, *, read_queue: bool = True
) -> Parsed[Device | None]:
    """A disk in full, or, where `known` is the same disk, only what changes; None if it vanished.

    The same is a disk with the same links in /sys, number, diskseq and size. Without `read_queue`
    its queue's settings, which only people change, are left as they are.
    """
    if known is not None and _is_same(entry, known):
        return _refreshed(known, read_queue=read_queue)
    return _discovered(sys, entry)


def _is_same(entry: DeviceEntry, known: Device) -> bool:
    places, its_block = known.places, known.block
    return (
        entry == known.entry
        and files.read_integer(places.diskseq) == its_block.diskseq
        and block.read_device_number(places.number) == its_block.number
        and block.read_capacity_bytes(places.size) == its_block.capacity_bytes
    )


def _refreshed(known: Device, *, read_queue: bool) -> Parsed[Device | None]:
    directory, its_block = known.block.directory, known.block
    its_queue = block.reread_queue(directory, its_block.queue) if read_queue else its_block.queue
    if its_queue != its_block.queue:
        its_block = replace(its_block, queue=its_queue)
    if its_block.kind not in ("disk", "path"):
        its_block = replace(its_block, slaves=block.read_slaves(directory))
    now = read_state(known.sources)
    device = Device(
        block=its_block,
        identity=known.identity,
        state=now.value,
        degraded_members=read_degraded_members(directory) if its_block.kind == "md" else None,
        entry=known.entry,
        places=known.places,
        sources=known.sources,
        faults=known.faults,
    )
    return Parsed(device, known.faults + now.faults)


def _discovered(sys: Path, entry: DeviceEntry) -> Parsed[Device | None]:
    its_block = block.read(sys, entry.directory_name, entry.partitions)
    if its_block is None:
        return Parsed(None)
    faults: tuple[SourceError, ...] = ()
    who, sources = DeviceIdentity(), StateFiles()
    above = nvme_sysfs.find_owner(its_block.directory)
    if above is not None:
        who, sources = _nvme(sys, its_block, above, entry)
    elif its_block.kind == "disk":
        who, sources, faults = _other(sys, its_block)
    now = read_state(sources)
    degraded = read_degraded_members(its_block.directory) if its_block.kind == "md" else None
    places = _places(its_block.directory)
    device = Device(its_block, who, now.value, degraded, entry, places, sources, faults)
    return Parsed(device, faults + now.faults)


def _places(directory: Path) -> RevalidationFiles:
    return RevalidationFiles(
        diskseq=directory / "diskseq",
        number=directory / "dev",
        size=directory / "size",
    )


def _nvme(
    sys: Path, its_block: BlockDevice, above: Path, entry: DeviceEntry
) -> tuple[DeviceIdentity, StateFiles]:
    controllers = nvme_sysfs.find_controllers(sys, above, entry.paths)
    who = nvme_sysfs.read_identity(its_block.directory, above, controllers)
    if its_block.kind == "path":
        # Its head has the same controllers, and is what people see.
        return who, StateFiles()
    pairs = [(each, nvme_sysfs.find_pci_function(each)) for each in controllers]
    return who, nvme_state_files(pairs)


def _other(
    sys: Path, its_block: BlockDevice
) -> tuple[DeviceIdentity, StateFiles, tuple[SourceError, ...]]:
    directory = its_block.directory
    subsystem = os.path.basename(os.path.realpath(directory / "device" / "subsystem"))
    if subsystem == "virtio":
        return device_identity.read_virtio(directory), StateFiles(), ()
    if subsystem == "mmc":
        return device_identity.read_mmc(directory), StateFiles(), ()
    if subsystem != "scsi":
        return DeviceIdentity(), StateFiles(), ()
    place = block.sysfs_path(sys, directory)
    attached = scsi_sysfs.parse_attachment(Path(os.path.realpath(sys)), place)
    ata, ata_faults = scsi_sysfs.read_ata_identity(directory)
    serial, serial_faults = scsi_sysfs.read_serial(directory)
    who = scsi_sysfs.read_identity(directory, attached, ata, serial)
    its_link = _scsi_link(its_block, attached, scsi_sysfs.parse_channel(place), ata, who)
    sources = scsi_state_files(directory / "device", its_link)
    return who, sources, ata_faults + serial_faults


def _scsi_link(
    its_block: BlockDevice,
    attached: Attachment,
    channel: str,
    ata: AtaIdentity | None,
    who: DeviceIdentity,
) -> links.LinkFiles | None:
    drive_gigabits = None if ata is None else ata.max_gigabits
    match attached:
        case Attachment("usb", _):
            return links.find_usb_link(its_block.directory)
        case Attachment("sata", Path() as port):
            return links.find_sata_link(port, channel, drive_gigabits)
        case Attachment("sas", Path() as end_device):
            best = (drive_gigabits or _SATA_GIGABITS) if who.protocol == "ata" else None
            return links.find_sas_link(end_device, best)
        case _:
            return None
