"""One disk with all that is known of it: read once in full, then only what changes."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import (
    block,
    device_identity,
    device_state,
    files,
    links,
    nvme_sysfs,
    scsi_sysfs,
)
from exporter.linux.block import BlockDevice
from exporter.linux.device_identity import Identity
from exporter.linux.device_state import DeviceState, StateSources
from exporter.linux.files import Parsed
from exporter.linux.scsi_sysfs import Attachment
from exporter.linux.vpd import AtaIdentity

#: What SATA can do at its best, on a port that may do more.
_SATA_GIGABITS = 6.0


@dataclass(frozen=True, slots=True)
class Entry:
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
class Places:
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
    identity: Identity
    state: DeviceState
    degraded_members: int | None
    entry: Entry
    places: Places
    sources: StateSources
    faults: tuple[SourceError, ...] = ()


def read(
    sys: Path, entry: Entry, known: Device | None = None, *, read_queue: bool = True
) -> Parsed[Device | None]:
    """A disk in full, or, where `known` is the same disk, only what changes; None if it vanished.

    The same is a disk with the same links in /sys, number, diskseq and size. Without `read_queue`
    its queue's settings, which only people change, are left as they are.
    """
    if known is not None and _is_same(entry, known):
        return _refreshed(known, read_queue=read_queue)
    return _discovered(sys, entry)


def _is_same(entry: Entry, known: Device) -> bool:
    places, its_block = known.places, known.block
    return (
        entry == known.entry
        and files.integer(places.diskseq) == its_block.diskseq
        and block.read_number(places.number) == its_block.number
        and block.read_capacity(places.size) == its_block.capacity_bytes
    )


def _refreshed(known: Device, *, read_queue: bool) -> Parsed[Device | None]:
    directory, its_block = known.block.directory, known.block
    its_queue = block.refreshed_queue(directory, its_block.queue) if read_queue else its_block.queue
    if its_queue != its_block.queue:
        its_block = replace(its_block, queue=its_queue)
    if its_block.kind not in ("disk", "path"):
        its_block = replace(its_block, slaves=block.read_slaves(directory))
    now = device_state.read(known.sources)
    device = Device(
        block=its_block,
        identity=known.identity,
        state=now.value,
        degraded_members=device_state.read_degraded(directory) if its_block.kind == "md" else None,
        entry=known.entry,
        places=known.places,
        sources=known.sources,
        faults=known.faults,
    )
    return Parsed(device, known.faults + now.faults)


def _discovered(sys: Path, entry: Entry) -> Parsed[Device | None]:
    its_block = block.read(sys, entry.directory_name, entry.partitions)
    if its_block is None:
        return Parsed(None)
    faults: tuple[SourceError, ...] = ()
    who, sources = Identity(), StateSources()
    above = nvme_sysfs.owner(its_block.directory)
    if above is not None:
        who, sources = _nvme(sys, its_block, above, entry)
    elif its_block.kind == "disk":
        who, sources, faults = _other(sys, its_block)
    now = device_state.read(sources)
    degraded = device_state.read_degraded(its_block.directory) if its_block.kind == "md" else None
    places = _places(its_block.directory)
    device = Device(its_block, who, now.value, degraded, entry, places, sources, faults)
    return Parsed(device, faults + now.faults)


def _places(directory: Path) -> Places:
    return Places(
        diskseq=directory / "diskseq",
        number=directory / "dev",
        size=directory / "size",
    )


def _nvme(
    sys: Path, its_block: BlockDevice, above: Path, entry: Entry
) -> tuple[Identity, StateSources]:
    controllers = nvme_sysfs.controllers(sys, above, entry.paths)
    who = nvme_sysfs.identity(its_block.directory, above, controllers)
    if its_block.kind == "path":
        # Its head has the same controllers, and is what people see.
        return who, StateSources()
    pairs = [(each, nvme_sysfs.pci_function(each)) for each in controllers]
    return who, device_state.nvme_sources(pairs)


def _other(
    sys: Path, its_block: BlockDevice
) -> tuple[Identity, StateSources, tuple[SourceError, ...]]:
    directory = its_block.directory
    subsystem = os.path.basename(os.path.realpath(directory / "device" / "subsystem"))
    if subsystem == "virtio":
        return device_identity.virtio(directory), StateSources(), ()
    if subsystem == "mmc":
        return device_identity.mmc(directory), StateSources(), ()
    if subsystem != "scsi":
        return Identity(), StateSources(), ()
    place = block.place(sys, directory)
    attached = scsi_sysfs.attachment(Path(os.path.realpath(sys)), place)
    ata, ata_faults = scsi_sysfs.read_ata(directory)
    serial, serial_faults = scsi_sysfs.read_serial(directory)
    who = scsi_sysfs.identity(directory, attached, ata, serial)
    its_link = _scsi_link(its_block, attached, scsi_sysfs.channel(place), ata, who)
    sources = device_state.scsi_sources(directory / "device", its_link)
    return who, sources, ata_faults + serial_faults


def _scsi_link(
    its_block: BlockDevice,
    attached: Attachment,
    channel: str,
    ata: AtaIdentity | None,
    who: Identity,
) -> links.LinkSource | None:
    drive_gigabits = None if ata is None else ata.max_gigabits
    match attached:
        case Attachment("usb", _):
            return links.usb_link_source(its_block.directory)
        case Attachment("sata", Path() as port):
            return links.sata_link_source(port, channel, drive_gigabits)
        case Attachment("sas", Path() as end_device):
            best = (drive_gigabits or _SATA_GIGABITS) if who.protocol == "ata" else None
            return links.sas_link_source(end_device, best)
        case _:
            return None
