"""Reads /sys/block: the whole disks, their queue settings and their partitions.

Kernel documents:

- /sys/block and partitions: https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)
- queue/: https://docs.kernel.org/block/queue-sysfs.html

"Disk" here means what the kernel calls a whole disk: physical drives, and also virtual devices
such as dm, md and loop.
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.linux import files
from exporter.linux.diskstats import SECTOR_BYTES

#: The smallest unit in which SSDs map their flash, in bytes. Drives that report blocks of 512 bytes
#: also slow down when a page of 4096 bytes straddles two units.
_FLASH_UNIT_BYTES = 4096

#: Removable media that the kernel lists as disks: sr0 is an optical drive, fd0 a floppy drive.
_REMOVABLE_KINDS = {"sr": "optical", "fd": "floppy"}
#: Kinds that are stacked on other devices, or do not store data of the host.
_NON_LEAF_KINDS = frozenset({"dm", "md", "path", "optical", "floppy", "boot"})

_EMMC_BOOT = re.compile(r"mmcblk\d+boot\d+", re.ASCII)
_NVME_PATH = re.compile(r"nvme\d+c\d+n\d+", re.ASCII)
_LETTERS = re.compile(r"[a-z]*", re.ASCII)
_DEVICE_NUMBER = re.compile(r"\d{1,5}:\d{1,8}", re.ASCII)
_ACTIVE_SCHEDULER = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; None means that the kernel does not report the value.

    `name` is the kernel's (sda1), `number` is ``major:minor``. `start_bytes` and `size_bytes` are
    in bytes. `misaligned` is true if writes of 4096 bytes straddle the blocks of the drive.
    """

    name: str
    number: str | None
    start_bytes: int | None
    size_bytes: int | None
    misaligned: bool | None


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a disk's request queue; None means that this kernel does not report one.

    scheduler: the active I/O scheduler, such as ``mq-deadline`` or ``none``.
    write_cache: ``write back`` (the drive has a volatile cache and receives flushes) or
        ``write through``.
    fua: the drive supports writes that bypass its cache (Force Unit Access).
    discard: the drive supports discards (TRIM).
    rotational: the drive is a hard disk.
    requests: the maximum number of requests per hardware queue.
    logical_block_bytes, physical_block_bytes: block sizes in bytes.
    optimal_io_bytes: the preferred request size in bytes. USB bridges report arbitrary values such
        as 33553920, so do not align anything to it.
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
    """A whole disk of /sys/block; None means that the kernel does not report the value.

    name: the kernel's name as in /proc/diskstats, with slashes (cciss/c0d0).
    directory: the device's directory in sysfs with all links followed.
    number: ``major:minor``; None for a hidden path of NVMe multipath.
    diskseq: increases with each disk since boot and with each new medium (Linux 5.15).
    kind: ``disk`` for a device that stores data itself, ``path`` for a hidden path of NVMe
        multipath, ``optical``, ``floppy``, ``boot`` for the boot areas of an eMMC, or the kernel's
        name of a virtual device: ``dm``, ``md``, ``loop``, ``ram``, ``zram``, ``nbd``, ``bcache``.
    capacity_bytes: the capacity in bytes; 0 if the drive has no medium.
    slaves: the names of the disks and partitions below a stacked device.
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
        """Whether this device is at the bottom of a stack; true also for loop, ram and nbd."""
        return self.kind not in _NON_LEAF_KINDS and not self.slaves


def read(sys: Path, directory_name: str, partitions: Sequence[str]) -> BlockDevice | None:
    """Returns the disk with this name in /sys/block; None if it has disappeared.

    `partitions` are the directory names of its partitions. Attributes that cannot be read are None
    in the record.
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
    """Returns a ``dev`` attribute, ``major:minor``; None if it is absent or malformed."""
    number = files.read_attribute(path)
    return number if number is not None and _DEVICE_NUMBER.fullmatch(number) else None


def read_capacity_bytes(path: Path) -> int | None:
    """Returns a ``size`` attribute in bytes; 0 means a drive without a medium."""
    return _sectors_to_bytes(files.read_integer(path))


def read_slaves(directory: Path) -> tuple[str, ...]:
    """Returns the kernel's names of the disks and partitions below a stacked device."""
    return tuple(name.replace("!", "/") for name in files.list_names(directory / "slaves"))


def read_queue(disk: Path) -> QueueSettings:
    """Returns the queue settings of a disk's sysfs directory, None for each unreadable one."""
    # Strings instead of Path: joining Paths took a third of each survey on a host of 24 drives.
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
    """Returns `known` with the settings that an administrator can change read again."""
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
    """Returns one partition from the sysfs directory of its disk."""
    directory = disk / directory_name
    start = _sectors_to_bytes(files.read_integer(directory / "start"))
    # The kernel reports -1 for a partition that no offset would align.
    offset = files.read_integer(directory / "alignment_offset", minimum=-1)
    return Partition(
        name=directory_name.replace("!", "/"),
        number=files.read_attribute(directory / "dev"),
        start_bytes=start,
        size_bytes=_sectors_to_bytes(files.read_integer(directory / "size")),
        misaligned=None if start is None else is_misaligned(start, physical_block_bytes, offset),
    )


def device_kind(name: str, path: PurePath) -> str:
    """Returns the `BlockDevice.kind` for a name and a path below /sys.

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
    """Returns a device's directory relative to /sys; empty if it is not below /sys.

    Callers search the result for names of buses. The directories above `sys` must not match.
    """
    root = Path(os.path.realpath(sys))
    return directory.relative_to(root) if directory.is_relative_to(root) else PurePath()


def partitions_by_disk(names: Iterable[str], disks: Collection[str]) -> dict[str, list[str]]:
    """Returns the partitions of each disk among the names of /sys/class/block, in their order.

    The kernel puts a ``p`` between a name that ends with a digit and the number of the partition:
    sda1, but nvme0n1p1.
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
    """Returns the active scheduler: ``mq-deadline`` for ``none [mq-deadline] kyber``.

    Devices without a choice of schedulers, such as dm and md, report the single word ``none``.
    Returns None if the text names no active scheduler.
    """
    match = _ACTIVE_SCHEDULER.search(text)
    if match:
        return match[1]
    words = text.split()
    return words[0] if len(words) == 1 and not set("[]") & set(text) else None


def is_misaligned(
    start_bytes: int, physical_block_bytes: int | None, alignment_offset_bytes: int | None
) -> bool:
    """Whether writes of whole pages straddle the blocks of the drive. All values are in bytes.

    The unit is the physical block, or 4096 bytes if that is larger. It is never optimal_io_size:
    behind a USB bridge that reports 33553920, parted starts partitions at sector 65535.
    """
    unit = max(_FLASH_UNIT_BYTES, physical_block_bytes or 0)
    return start_bytes % unit != 0 or bool(alignment_offset_bytes)


def _sectors_to_bytes(sectors: int | None) -> int | None:
    return None if sectors is None else sectors * SECTOR_BYTES


def _read_flag(path: str) -> bool | None:
    return {"0": False, "1": True}.get(files.read_attribute(path) or "")
