"""Reads a disk with its identity and its state, completely once and later only what can change.

`read` is called for each disk at each refresh of the topology. If the disk is still the same one,
its identity and its fixed attributes are copied from the previous record, and only its state and
its settings are read again.

Terms of NVMe: a controller provides one or more namespaces, and each namespace is a disk. With
multipath, several controllers provide the same namespace. The kernel then has one disk for it (the
head) and one hidden disk per controller (a path).

Kernel documents: /sys/block/<md>/md in https://docs.kernel.org/admin-guide/md.html; state,
ioerr_cnt and iotmo_cnt of SCSI devices in drivers/scsi/scsi_sysfs.c; state of NVMe controllers in
drivers/nvme/host/sysfs.c. The modules `block`, `nvme_sysfs`, `scsi_sysfs`, `links` and `pcie` name
the documents of the files that they read.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.linux import block, device_identity, files, links, nvme_sysfs, pcie, scsi_sysfs
from exporter.linux.block import BlockDevice
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.links import LinkFiles, LinkSpeed
from exporter.linux.mmc_sysfs import MmcHealth, read_health
from exporter.linux.pcie import AerFiles, PcieErrors
from exporter.linux.scsi_sysfs import AtaIdentity, Attachment
from exporter.runtime.errors import Parsed, SourceError

#: The speed of the fastest SATA generation, in Gbit/s: the maximum of a SATA drive at a SAS port.
_MAX_SATA_GIGABITS = 6.0

#: The values of sync_action in https://docs.kernel.org/admin-guide/md.html.
_SYNC_ACTIONS = frozenset({"idle", "recover", "resync", "check", "repair", "reshape", "frozen"})


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """A disk as the directory listings of /sys show it, before any attribute is read.

    directory_name: its name in /sys/block, with ``!`` in place of each slash.
    partitions: the names of the directories of its partitions.
    paths: the names of the hidden paths, if this is an NVMe multipath head; else empty.
    inodes: the inode numbers of the links in /sys to the disk, its partitions and its paths. The
        kernel assigns new numbers to a new disk or partition. Kernels before Linux 5.15 have no
        diskseq, and there these numbers show that a disk was replaced.
    """

    directory_name: str
    partitions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    inodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RevalidationFiles:
    """The files whose contents show whether a disk is still the same one.

    The paths are stored because joining them took a fifth of the time of a repeated reading.

    diskseq: the file with `BlockDevice.diskseq`.
    number: the file with the device number.
    size: the file with the capacity.
    """

    diskseq: Path
    number: Path
    size: Path


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The files with the state of a drive. None or an empty tuple means that there is no such file.

    states: the file with the state of the SCSI device, or one file per NVMe controller.
    healthy: the text of these files if the device works: ``running`` or ``live``.
    io_errors: the file with the SCSI device's number of failed requests.
    io_timeouts: the file with the SCSI device's number of timed-out requests.
    links: the files with the speed of each link to the drive.
    pcie_errors: pairs of the name of an NVMe controller and the files with its error totals.
    card: the directory of an eMMC or SD card.
    """

    states: tuple[Path, ...] = ()
    healthy: str = ""
    io_errors: Path | None = None
    io_timeouts: Path | None = None
    links: tuple[LinkFiles, ...] = ()
    pcie_errors: tuple[tuple[str, AerFiles], ...] = ()
    card: Path | None = None


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The state of a drive as the kernel reports it. None means unknown or not counted.

    ok: true if all NVMe controllers are live, or if the SCSI device is running.
    io_errors: the number of requests that failed, since the device appeared. SCSI only.
    io_timeouts: the number of requests that timed out, since the device appeared. SCSI only.
    link: the speed of the link to the drive. If the drive has several links, that of the slowest.
    pcie_errors: pairs of the name of an NVMe controller and its error totals. All namespaces of a
        controller have the same totals.
    mmc: the wear of an eMMC.
    """

    ok: bool | None = None
    io_errors: int | None = None
    io_timeouts: int | None = None
    link: LinkSpeed | None = None
    pcie_errors: tuple[tuple[str, PcieErrors], ...] = ()
    mmc: MmcHealth | None = None


@dataclass(frozen=True, slots=True)
class ArraySync:
    """Which synchronization an md array performs.

    action: the value of sync_action in https://docs.kernel.org/admin-guide/md.html:
        - ``idle``: none.
        - ``recover``: a rebuild on a spare or new member.
        - ``resync``: all members are made consistent, for example after a crash.
        - ``check``, ``repair``: the redundancy is checked; ``repair`` also corrects it.
        - ``reshape``: the layout or the number of members changes.
        - ``frozen``: none, and none can start.
    progress_ratio: the completed share of the action, 0 to 1. None means that there is no action,
        that it is delayed, or that the progress cannot be read.
    """

    action: str
    progress_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A disk of /sys/block with its identity and its state.

    block: the attributes that every disk has.
    identity: the model, the serial number and other fixed properties.
    entry: the directory entries of the disk. The next reading compares them.
    revalidation_files: the files by which the next reading checks that the disk is the same.
    state_files: the files from which the next reading reads the state.
    faults: the parse errors of the fixed attributes. Each later reading reports them again.
    state: the state at the last reading.
    degraded_members: the number of missing members of an md array. None for other disks, and for
        RAID levels without redundancy.
    sync: which synchronization an md array performs. None means unknown, or that the disk is no md
        array.
    """

    block: BlockDevice
    identity: DeviceIdentity
    entry: DeviceEntry
    revalidation_files: RevalidationFiles
    state_files: StateFiles
    faults: tuple[SourceError, ...] = ()
    state: DeviceState = DeviceState()
    degraded_members: int | None = None
    sync: ArraySync | None = None


def read(
    sys: Path, entry: DeviceEntry, known: Device | None = None, *, read_queue: bool = True
) -> Parsed[Device | None]:
    """Returns a disk; the value is None if it has disappeared. Never raises.

    entry: the current directory entries of the disk.
    known: the disk of the same name at the previous reading; None if there was none. If its
        directory entries, device number, diskseq and size are unchanged, the disk is the same, and
        only what can change is read.
    read_queue: False keeps the queue settings of a known disk, because they rarely change.
    """
    if known is not None and _is_same(entry, known):
        return _reread(known, read_queue=read_queue)
    return _read_new(sys, entry)


def read_state(state_files: StateFiles) -> Parsed[DeviceState]:
    """Returns the current state of a drive. Never raises.

    The value of a file that cannot be read is unknown.
    """
    errors: list[tuple[str, PcieErrors]] = []
    faults: tuple[SourceError, ...] = ()
    for controller, aer_files in state_files.pcie_errors:
        parsed = pcie.read_aer_errors(aer_files)
        faults += parsed.faults
        if parsed.value is not None:
            errors.append((controller, parsed.value))
    speeds = (links.read_link(link) for link in state_files.links)
    mmc = Parsed(None) if state_files.card is None else read_health(state_files.card)
    state = DeviceState(
        ok=all_healthy(tuple(map(files.read_attribute, state_files.states)), state_files.healthy),
        io_errors=_read_count(state_files.io_errors),
        io_timeouts=_read_count(state_files.io_timeouts),
        link=links.slowest_link(speed for speed in speeds if speed is not None),
        pcie_errors=tuple(errors),
        mmc=mmc.value,
    )
    return Parsed(state, faults + mmc.faults)


def read_degraded_members(disk: Path) -> int | None:
    """Returns the number of missing members of an md array.

    None means that this is not an md array, or that its RAID level has no redundancy.

    disk: the disk's directory in sysfs.
    """
    return files.read_integer(disk / "md" / "degraded")


def read_sync(disk: Path) -> ArraySync | None:
    """Returns which synchronization an md array performs; None if unknown or if it is no md array.

    disk: the disk's directory in sysfs.
    """
    action = files.read_attribute(disk / "md" / "sync_action")
    if action not in _SYNC_ACTIONS:
        return None
    # The text is "1234 / 5678" in sectors, or "none" or "delayed".
    done, _, total = (files.read_attribute(disk / "md" / "sync_completed") or "").partition(" / ")
    if not (done.isdecimal() and total.isdecimal() and 0 < int(total) < files.COUNTER_END):
        return ArraySync(action)
    return ArraySync(action, min(1.0, int(done) / int(total)))


def nvme_state_files(controllers: Iterable[tuple[Path, Path | None]]) -> StateFiles:
    """Returns the files with the state of an NVMe drive.

    controllers: one pair per controller: the directory of the controller, and the directory of its
        PCI function. The second is None for NVMe over fabrics.
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
    """Returns the files with the state of a SCSI disk.

    device: the directory of the SCSI device (/sys/block/sda/device).
    link: the files of the link to the drive; None means unknown.
    """
    return StateFiles(
        states=(device / "state",),
        healthy="running",
        io_errors=_if_readable(device / "ioerr_cnt"),
        io_timeouts=_if_readable(device / "iotmo_cnt"),
        links=() if link is None else (link,),
    )


def all_healthy(states: tuple[str | None, ...], healthy: str) -> bool | None:
    """Returns True if all states are equal to `healthy`, and False if a known state differs.

    None if there are no states, or if all known states are equal to `healthy` and another state is
    unknown.

    states: the texts of the state files; None for each file that cannot be read.
    healthy: the text for a working device.
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
    return _read_changing(known if disk is known.block else replace(known, block=disk))


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
    revalidation_files = RevalidationFiles(
        diskseq=directory / "diskseq", number=directory / "dev", size=directory / "size"
    )
    return _read_changing(
        Device(disk, identity, entry, revalidation_files, state_files, faults=faults)
    )


def _read_changing(device: Device) -> Parsed[Device | None]:
    """Returns the device with its current state, and the faults of all its attributes."""
    state = read_state(device.state_files)
    current, directory = device, device.block.directory
    if device.block.kind == "md":
        degraded, sync = read_degraded_members(directory), read_sync(directory)
        current = replace(device, degraded_members=degraded, sync=sync)
    if state.value != device.state:
        current = replace(current, state=state.value)
    return Parsed(current, device.faults + state.faults)


def _read_nvme(
    sys: Path, disk: BlockDevice, owner: Path, entry: DeviceEntry
) -> tuple[DeviceIdentity, StateFiles]:
    controllers = nvme_sysfs.find_controllers(sys, owner, entry.paths)
    identity = nvme_sysfs.read_identity(disk.directory, owner, controllers)
    if disk.kind == "path":
        # The state is not read for a hidden path, because the head reports that of all controllers.
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
        return device_identity.read_mmc(directory), StateFiles(card=directory / "device"), ()
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
    # The kernel prints these numbers with %#x, for example 0x1f, but 0 without a prefix. Base 0
    # accepts both.
    return None if path is None else files.read_integer(path, 0)


def _if_readable(path: Path) -> Path | None:
    return None if files.read_attribute(path) is None else path
