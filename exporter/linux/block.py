"""Reads the whole disks in /sys/block, with their queue settings and their partitions.

Kernel documents:

- /sys/block and partitions: https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)
- queue/: https://docs.kernel.org/block/queue-sysfs.html

In this module, a "disk" is what the kernel calls a whole disk: a physical drive, or a virtual
device such as dm, md or loop. Some virtual devices are stacked: they store their data on other
disks or partitions.
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.linux import files
from exporter.linux.diskstats import SECTOR_BYTES

#: The smallest unit in which SSDs map their flash, in bytes. A page of 4096 bytes that lies in two
#: units is slow to write, also on drives that report blocks of 512 bytes.
_FLASH_UNIT_BYTES = 4096

#: The kinds of drives for removable media, keyed by the letters of the kernel's name: sr0 is an
#: optical drive, fd0 a floppy drive.
_REMOVABLE_KINDS = {"sr": "optical", "fd": "floppy"}
#: The kinds of disks that are stacked on other devices, or that do not store data of the host.
_NON_LEAF_KINDS = frozenset({"dm", "md", "path", "optical", "floppy", "boot"})

_EMMC_BOOT = re.compile(r"mmcblk\d+boot\d+", re.ASCII)
_NVME_PATH = re.compile(r"nvme\d+c\d+n\d+", re.ASCII)
_LETTERS = re.compile(r"[a-z]*", re.ASCII)
_DEVICE_NUMBER = re.compile(r"\d{1,5}:\d{1,8}", re.ASCII)
_ACTIVE_SCHEDULER = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a disk. None means that the kernel does not report the value.

    name: the kernel's name, such as ``sda1``.
    number: the device number, ``major:minor``.
    start_bytes: the position on the disk, in bytes.
    size_bytes: the size, in bytes.
    misaligned: true if pages of 4096 bytes in this partition cross the boundaries of the drive's
        blocks. See `is_misaligned`.
    """

    name: str
    number: str | None
    start_bytes: int | None
    size_bytes: int | None
    misaligned: bool | None


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a disk's request queue. None means that the kernel does not report the value.

    scheduler: the active I/O scheduler, such as ``mq-deadline`` or ``none``.
    write_cache: ``write back`` (the drive has a volatile cache and receives flushes) or
        ``write through``.
    fua: true if the drive supports writes that bypass its cache (Force Unit Access).
    discard: true if the drive supports discards (TRIM).
    rotational: true if the drive is a hard disk.
    requests: the maximum number of requests per hardware queue.
    logical_block_bytes: the size of a logical block, in bytes.
    physical_block_bytes: the size of a physical block, in bytes.
    optimal_io_bytes: the preferred request size, in bytes. Do not align anything to this value,
        because USB bridges report arbitrary values such as 33553920.
    """

    scheduler: str | None
    write_cache: str | None
    fua: bool | None
    discard: bool | None
    rotational: bool | None
    requests: int | None
    logical_block_bytes: int | None
    physical_block_bytes: int | None
    optimal_io_bytes: int | None


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """A whole disk of /sys/block. None means that the kernel does not report the value.

    With NVMe multipath, one disk can be reached through several controllers. The kernel then has
    one disk with a device node (the head), and one hidden disk per controller (a path).

    name: the kernel's name as in /proc/diskstats, with slashes (cciss/c0d0).
    directory: the disk's directory in sysfs, with all symbolic links followed.
    number: the device number, ``major:minor``; None for a hidden path.
    diskseq: the sequence number of the disk. No other disk since boot has the same, and a new
        medium gets a new number. None before Linux 5.15.
    kind: ``disk`` for a device that stores data itself, ``path`` for a hidden path of NVMe
        multipath, ``optical``, ``floppy``, ``boot`` for the boot areas of an eMMC, or the kernel's
        name of a virtual device: ``dm``, ``md``, ``loop``, ``ram``, ``zram``, ``nbd``, ``bcache``.
    capacity_bytes: the capacity in bytes; 0 if the drive has no medium.
    slaves: the names of the disks and partitions on which a stacked device is built; empty for
        other disks.
    queue: the settings of the request queue.
    partitions: the partitions of the disk.
    """

    name: str
    directory: Path
    number: str | None
    diskseq: int | None
    kind: str
    capacity_bytes: int | None
    slaves: tuple[str, ...]
    queue: QueueSettings
    partitions: tuple[Partition, ...]

    @property
    def is_leaf(self) -> bool:
        """True if this disk is a drive, which means that it is not built on other disks.

        It is also true for loop, ram and nbd. It is false for hidden paths of NVMe multipath,
        optical drives, floppy drives and the boot areas of an eMMC.
        """
        return self.kind not in _NON_LEAF_KINDS and not self.slaves


def read(sys: Path, directory_name: str, partitions: Sequence[str]) -> BlockDevice | None:
    """Returns the disk with this name in /sys/block; None if it has disappeared.

    Attributes that cannot be read are None in the record.

    directory_name: the name of the disk's directory, with ``!`` in place of each slash.
    partitions: the names of the directories of its partitions.
    """
    directory = Path(os.path.realpath(sys / "block" / directory_name))
    name = directory_name.replace("!", "/")
    kind = device_kind(name, sysfs_path(sys, directory))
    number = read_device_number(directory / "dev")
    if number is None and kind != "path":
        return None
    queue = read_queue(directory)
    return BlockDevice(
        name=name,
        directory=directory,
        number=number,
        diskseq=files.read_integer(directory / "diskseq"),
        kind=kind,
        capacity_bytes=read_capacity_bytes(directory / "size"),
        slaves=read_slaves(directory),
        queue=queue,
        partitions=tuple(
            read_partition(directory, partition, queue.physical_block_bytes)
            for partition in partitions
        ),
    )


def read_device_number(path: Path) -> str | None:
    """Returns the device number ``major:minor`` from a ``dev`` file.

    None means that the file is absent or malformed.
    """
    number = files.read_attribute(path)
    return number if number is not None and _DEVICE_NUMBER.fullmatch(number) else None


def read_capacity_bytes(path: Path) -> int | None:
    """Returns the capacity in bytes from a ``size`` file; None if it cannot be read.

    A drive without a medium has the capacity 0.
    """
    return _sectors_to_bytes(files.read_integer(path))


def read_slaves(directory: Path) -> tuple[str, ...]:
    """Returns the kernel's names of the disks and partitions on which a stacked device is built.

    directory: the stacked device's directory in sysfs.
    """
    return tuple(name.replace("!", "/") for name in files.list_names(directory / "slaves"))


def read_queue(disk: Path) -> QueueSettings:
    """Returns the queue settings of a disk; each one that cannot be read is None.

    disk: the disk's directory in sysfs.
    """
    # This joins strings, because joining Path objects took a third of the time of each refresh of
    # the topology on a host with 24 drives.
    queue = f"{disk}/queue"
    return reread_queue(
        disk,
        QueueSettings(
            scheduler=None,
            write_cache=None,
            fua=_read_flag(f"{queue}/fua"),
            discard=None,
            rotational=None,
            requests=None,
            logical_block_bytes=files.read_integer(f"{queue}/logical_block_size"),
            physical_block_bytes=files.read_integer(f"{queue}/physical_block_size"),
            optimal_io_bytes=files.read_integer(f"{queue}/optimal_io_size"),
        ),
    )


def reread_queue(disk: Path, known: QueueSettings) -> QueueSettings:
    """Returns the current queue settings of a disk whose settings have been read before.

    Only settings that an administrator can change are read. The others are those of `known`.

    disk: the disk's directory in sysfs.
    known: the result of an earlier reading.
    """
    queue = f"{disk}/queue"
    discard_bytes = files.read_integer(f"{queue}/discard_max_bytes")
    return QueueSettings(
        scheduler=parse_scheduler(files.read_attribute(f"{queue}/scheduler") or ""),
        write_cache=files.read_attribute(f"{queue}/write_cache"),
        fua=known.fua,
        discard=None if discard_bytes is None else discard_bytes > 0,
        rotational=_read_flag(f"{queue}/rotational"),
        requests=files.read_integer(f"{queue}/nr_requests"),
        logical_block_bytes=known.logical_block_bytes,
        physical_block_bytes=known.physical_block_bytes,
        optimal_io_bytes=known.optimal_io_bytes,
    )


def read_partition(disk: Path, directory_name: str, physical_block_bytes: int | None) -> Partition:
    """Returns one partition of a disk.

    disk: the disk's directory in sysfs.
    directory_name: the name of the partition's directory, which is in that of the disk.
    physical_block_bytes: the size of the disk's physical blocks, in bytes; None means unknown.
    """
    directory = disk / directory_name
    start = _sectors_to_bytes(files.read_integer(directory / "start"))
    # The kernel reports -1 if the partition cannot be aligned by any offset.
    offset = files.read_integer(directory / "alignment_offset", minimum=-1)
    return Partition(
        name=directory_name.replace("!", "/"),
        number=files.read_attribute(directory / "dev"),
        start_bytes=start,
        size_bytes=_sectors_to_bytes(files.read_integer(directory / "size")),
        misaligned=None if start is None else is_misaligned(start, physical_block_bytes, offset),
    )


def device_kind(name: str, path: PurePath) -> str:
    """Returns the `BlockDevice.kind` of a disk.

    name: the kernel's name of the disk.
    path: the disk's directory relative to /sys.

    >>> device_kind("sda", PurePath("devices/pci0000:00/0000:00:17.0/ata1/host0/block/sda"))
    'disk'
    >>> device_kind("dm-0", PurePath("devices/virtual/block/dm-0"))
    'dm'
    """
    if path.parts[:3] == ("devices", "virtual", "block"):
        match = _LETTERS.match(name)
        return (match[0] if match else "") or "virtual"
    if _EMMC_BOOT.fullmatch(name):
        return "boot"
    if _NVME_PATH.fullmatch(name):
        return "path"
    return _REMOVABLE_KINDS.get(name.rstrip("0123456789"), "disk")


def sysfs_path(sys: Path, directory: Path) -> PurePath:
    """Returns a device's directory relative to /sys; an empty path if it is not below /sys.

    Callers search the result for the names of buses. It does not contain the directories above
    `sys`, because their names could be those of buses too.
    """
    root = Path(os.path.realpath(sys))
    return directory.relative_to(root) if directory.is_relative_to(root) else PurePath()


def partitions_by_disk(names: Iterable[str], disks: Collection[str]) -> dict[str, list[str]]:
    """Returns the names of the partitions of each disk, keyed by the name of the disk.

    The name of a partition is that of its disk, followed by a number. If the name of the disk ends
    with a digit, the kernel puts a ``p`` before the number: sda1, but nvme0n1p1.

    names: the names in /sys/class/block. The partitions in the result are in the same order.
    disks: the names of all disks.
    """
    partitions: dict[str, list[str]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        if name in disks or stem == name:
            continue
        if stem.endswith("p") and stem[-2:-1].isdigit():
            stem = stem[:-1]
        if stem in disks:
            partitions.setdefault(stem, []).append(name)
    return partitions


def parse_scheduler(text: str) -> str | None:
    """Returns the active scheduler from the text of a ``scheduler`` file.

    The text lists all schedulers, with the active one in brackets: ``none [mq-deadline] kyber``.
    Devices without a choice of schedulers, such as dm and md, report the single word ``none``. The
    result is None if the text names no active scheduler.
    """
    match = _ACTIVE_SCHEDULER.search(text)
    if match:
        return match[1]
    words = text.split()
    return words[0] if len(words) == 1 and not set("[]") & set(text) else None


def is_misaligned(
    start_bytes: int, physical_block_bytes: int | None, alignment_offset_bytes: int | None
) -> bool:
    """True if the pages of a partition cross the boundaries of the drive's blocks.

    The start of an aligned partition is a multiple of the physical block size or of 4096 bytes,
    whichever is larger, and the kernel reports the alignment offset 0. It need not be a multiple
    of optimal_io_size: if a USB bridge reports 33553920, parted starts partitions at sector 65535,
    and these are misaligned.

    start_bytes: the position of the partition on the disk, in bytes.
    physical_block_bytes: the size of the disk's physical blocks, in bytes; None means unknown.
    alignment_offset_bytes: the kernel's alignment_offset of the partition. It is 0 if the kernel
        considers the partition aligned. None means unknown.
    """
    unit = max(_FLASH_UNIT_BYTES, physical_block_bytes or 0)
    return start_bytes % unit != 0 or bool(alignment_offset_bytes)


def _sectors_to_bytes(sectors: int | None) -> int | None:
    return None if sectors is None else sectors * SECTOR_BYTES


def _read_flag(path: str) -> bool | None:
    return {"0": False, "1": True}.get(files.read_attribute(path) or "")
