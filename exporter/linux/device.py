"""Reads one disk with its identity and its state: fully once, later only what can change.

`read` is called at each survey. If a disk is still the same one, its identity and fixed attributes
are taken from the previous record, and only its state and settings are read again.

Kernel documents: /sys/block/<md>/md in https://docs.kernel.org/admin-guide/md.html; state,
ioerr_cnt and iotmo_cnt of SCSI devices in drivers/scsi/scsi_sysfs.c; state of NVMe controllers in
drivers/nvme/host/sysfs.c. The modules `block`, `nvme_sysfs`, `scsi_sysfs`,
`links` and `pcie` name the documents of their files.
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

#: The fastest SATA generation, in Gbit/s. It limits a SATA drive at a faster SAS port.
_MAX_SATA_GIGABITS = 6.0


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """A disk as the directory listings of /sys show it, before any attribute is read.

    directory_name: its name in /sys/block, with ``!`` for slashes.
    partitions: the names of its partitions.
    paths: the names of the hidden paths of an NVMe multipath head.
    inodes: the inodes of the links in /sys to the disk, its partitions and its paths. The kernel
        assigns new ones to a new disk or partition, also before Linux 5.15, which has no diskseq.
    """

    directory_name: str
    partitions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    inodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RevalidationFiles:
    """The files that show whether a disk is still the same one.

    The paths are kept because joining them took a fifth of the time of a repeated reading.
    """

    diskseq: Path
    number: Path
    size: Path


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The files with the state of a drive; None and () mean that it has no such file.

    states: the state of the SCSI device, or of each NVMe controller.
    healthy: the text of these files for a working device: ``running`` or ``live``.
    io_errors, io_timeouts: the SCSI device's counters.
    links: the links to the drive.
    pcie_errors: the error counters of each NVMe controller, by its name.
    """

    states: tuple[Path, ...] = ()
    healthy: str = ""
    io_errors: Path | None = None
    io_timeouts: Path | None = None
    links: tuple[LinkFiles, ...] = ()
    pcie_errors: tuple[tuple[str, AerFiles], ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The state of a drive as the kernel reports it; None means unknown or not counted.

    ok: whether all NVMe controllers are live, or the SCSI device is running.
    io_errors: the number of requests that failed, since the device appeared. SCSI only.
    io_timeouts: the number of requests that timed out, since the device appeared. SCSI only.
    link: the speed of the link; of several links, the slowest.
    pcie_errors: the error totals of each NVMe controller, by its name. All namespaces of a
        controller have the same totals.
    """

    ok: bool | None = None
    io_errors: int | None = None
    io_timeouts: int | None = None
    link: LinkSpeed | None = None
    pcie_errors: tuple[tuple[str, PcieErrors], ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """A disk of /sys/block with its identity and its state.

    degraded_members: the number of missing members of an md array; None for other disks, and for
        RAID levels without redundancy.
    entry, revalidation_files, state_files: kept for the next reading.
    faults: the parse errors of the fixed attributes. Each later reading reports them again.
    """

    block: BlockDevice
    identity: DeviceIdentity
    state: DeviceState
    degraded_members: int | None
    entry: DeviceEntry
    revalidation_files: RevalidationFiles
    state_files: StateFiles
    faults: tuple[SourceError, ...] = ()


def read(
    sys: Path, entry: DeviceEntry, known: Device | None = None, *, read_queue: bool = True
) -> Parsed[Device | None]:
    """Returns a disk; the value is None if it has disappeared. Never raises.

    If `known` is the same disk, only what can change is read. The same disk has the same links in
    /sys, number, diskseq and size. If `read_queue` is false, the queue settings are not read
    again, because only administrators change them.
    """
    if known is not None and _is_same(entry, known):
        return _reread(known, read_queue=read_queue)
    return _read_new(sys, entry)


def read_state(state_files: StateFiles) -> Parsed[DeviceState]:
    """Returns the current state; files that have disappeared count as unknown. Never raises."""
    errors: list[tuple[str, PcieErrors]] = []
    faults: tuple[SourceError, ...] = ()
    for controller, aer_files in state_files.pcie_errors:
        parsed = pcie.read_aer_errors(aer_files)
        faults += parsed.faults
        if parsed.value is not None:
            errors.append((controller, parsed.value))
    speeds = (links.read_link(link) for link in state_files.links)
    state = DeviceState(
        ok=all_healthy(tuple(map(files.read_attribute, state_files.states)), state_files.healthy),
        io_errors=_read_count(state_files.io_errors),
        io_timeouts=_read_count(state_files.io_timeouts),
        link=links.slowest_link(speed for speed in speeds if speed is not None),
        pcie_errors=tuple(errors),
    )
    return Parsed(state, faults)


def read_degraded_members(disk: Path) -> int | None:
    """Returns the number of missing members of an md array.

    None means that this is not an md array, or that its RAID level has no redundancy.
    """
    return files.read_integer(disk / "md" / "degraded")


def nvme_state_files(controllers: Iterable[tuple[Path, Path | None]]) -> StateFiles:
    """Returns the state files of an NVMe namespace.

    `controllers` are the directories of its controllers, each with that of its PCI function, or
    None for NVMe over fabrics.
    """
    pairs = tuple(controllers)
    functions = [(path.name, function) for path, function in pairs if function is not None]
    pcie_links = (links.find_pcie_link(function) for _, function in functions)
    aer_files = ((name, pcie.find_aer_files(function)) for name, function in functions)
    return StateFiles(
        states=tuple(controller / "state" for controller, _ in pairs),
        healthy="live",
        links=tuple(link for link in pcie_links if link is not None),
        pcie_errors=tuple((name, aer) for name, aer in aer_files if aer is not None),
    )


def scsi_state_files(device: Path, link: LinkFiles | None) -> StateFiles:
    """Returns the state files of a SCSI disk from its device directory (/sys/block/sda/device)."""
    return StateFiles(
        states=(device / "state",),
        healthy="running",
        io_errors=_if_readable(device / "ioerr_cnt"),
        io_timeouts=_if_readable(device / "iotmo_cnt"),
        links=() if link is None else (link,),
    )


def all_healthy(states: tuple[str | None, ...], healthy: str) -> bool | None:
    """Whether all states have the healthy text.

    False if any known state differs. Otherwise None if a state is unknown or there are no states.
    """
    if any(state is not None and state != healthy for state in states):
        return False
    return None if not states or None in states else True


def _is_same(entry: DeviceEntry, known: Device) -> bool:
    paths, known_block = known.revalidation_files, known.block
    return (
        entry == known.entry
        and files.read_integer(paths.diskseq) == known_block.diskseq
        and block.read_device_number(paths.number) == known_block.number
        and block.read_capacity_bytes(paths.size) == known_block.capacity_bytes
    )


def _reread(known: Device, *, read_queue: bool) -> Parsed[Device | None]:
    disk = known.block
    directory = disk.directory
    queue = block.reread_queue(directory, disk.queue) if read_queue else disk.queue
    if queue != disk.queue:
        disk = replace(disk, queue=queue)
    if disk.kind not in ("disk", "path"):
        disk = replace(disk, slaves=block.read_slaves(directory))
    state = read_state(known.state_files)
    device = Device(
        block=disk,
        identity=known.identity,
        state=state.value,
        degraded_members=read_degraded_members(directory) if disk.kind == "md" else None,
        entry=known.entry,
        revalidation_files=known.revalidation_files,
        state_files=known.state_files,
        faults=known.faults,
    )
    return Parsed(device, known.faults + state.faults)


def _read_new(sys: Path, entry: DeviceEntry) -> Parsed[Device | None]:
    disk = block.read(sys, entry.directory_name, entry.partitions)
    if disk is None:
        return Parsed(None)
    directory = disk.directory
    faults: tuple[SourceError, ...] = ()
    identity, state_files = DeviceIdentity(), StateFiles()
    owner = nvme_sysfs.find_owner(directory)
    if owner is not None:
        identity, state_files = _read_nvme(sys, disk, owner, entry)
    elif disk.kind == "disk":
        identity, state_files, faults = _read_other(sys, disk)
    state = read_state(state_files)
    device = Device(
        block=disk,
        identity=identity,
        state=state.value,
        degraded_members=read_degraded_members(directory) if disk.kind == "md" else None,
        entry=entry,
        revalidation_files=RevalidationFiles(
            diskseq=directory / "diskseq", number=directory / "dev", size=directory / "size"
        ),
        state_files=state_files,
        faults=faults,
    )
    return Parsed(device, faults + state.faults)


def _read_nvme(
    sys: Path, disk: BlockDevice, owner: Path, entry: DeviceEntry
) -> tuple[DeviceIdentity, StateFiles]:
    controllers = nvme_sysfs.find_controllers(sys, owner, entry.paths)
    identity = nvme_sysfs.read_identity(disk.directory, owner, controllers)
    if disk.kind == "path":
        # The multipath head has the same controllers and reports their state.
        return identity, StateFiles()
    functions = [
        (controller, nvme_sysfs.find_pci_function(controller)) for controller in controllers
    ]
    return identity, nvme_state_files(functions)


def _read_other(
    sys: Path, disk: BlockDevice
) -> tuple[DeviceIdentity, StateFiles, tuple[SourceError, ...]]:
    directory = disk.directory
    subsystem = os.path.basename(os.path.realpath(directory / "device" / "subsystem"))
    if subsystem == "virtio":
        return device_identity.read_virtio(directory), StateFiles(), ()
    if subsystem == "mmc":
        return device_identity.read_mmc(directory), StateFiles(), ()
    if subsystem != "scsi":
        return DeviceIdentity(), StateFiles(), ()
    path = block.sysfs_path(sys, directory)
    attachment = scsi_sysfs.parse_attachment(Path(os.path.realpath(sys)), path)
    ata, ata_faults = scsi_sysfs.read_ata_identity(directory)
    serial, serial_faults = scsi_sysfs.read_serial(directory)
    identity = scsi_sysfs.read_identity(directory, attachment, ata, serial)
    link = _find_scsi_link(disk, attachment, scsi_sysfs.parse_channel(path), ata, identity)
    state_files = scsi_state_files(directory / "device", link)
    return identity, state_files, ata_faults + serial_faults


def _find_scsi_link(
    disk: BlockDevice,
    attachment: Attachment,
    channel: str,
    ata: AtaIdentity | None,
    identity: DeviceIdentity,
) -> LinkFiles | None:
    drive_gigabits = None if ata is None else ata.max_gigabits
    match attachment:
        case Attachment("usb", _):
            return links.find_usb_link(disk.directory)
        case Attachment("sata", Path() as port):
            return links.find_sata_link(port, channel, drive_gigabits)
        case Attachment("sas", Path() as end_device):
            is_ata = identity.protocol == "ata"
            maximum = (drive_gigabits or _MAX_SATA_GIGABITS) if is_ata else None
            return links.find_sas_link(end_device, maximum)
        case _:
            return None


def _read_count(path: Path | None) -> int | None:
    # The kernel prints these with %#x. Base 0 accepts 0x1f, and also a plain 0.
    return None if path is None else files.read_integer(path, 0)


def _if_readable(path: Path) -> Path | None:
    return None if files.read_attribute(path) is None else path
