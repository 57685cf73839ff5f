"""The partitions of a disk, and whether they start where the flash likes it.

/sys/block/<disk>/queue: how the kernel treats a disk.

https://docs.kernel.org/block/queue-sysfs.html

/sys/block: the whole disks, and what each of them is.

https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.linux import files

#: The unit of `start` and `size` in sysfs, whatever the device's own sector size.
SECTOR_BYTES = 512

#: The least unit that any SSD maps its flash in; a drive that says 512 still pays for less.
_FLASH_UNIT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; `size_bytes` is that of the first time it was seen."""

    name: str
    number: str | None
    start_bytes: int | None
    size_bytes: int | None
    misaligned: bool | None


def is_misaligned(
    start_bytes: int, physical_block_bytes: int | None, alignment_offset_bytes: int | None
) -> bool:
    """Whether writes of whole pages straddle the drive's blocks.

    The unit is the physical block, at least 4096, and never optimal_io_size: behind a USB bridge
    that claims 33553920 parted starts partitions at sector 65535, and calls that optimal.
    """
    unit = max(_FLASH_UNIT_BYTES, physical_block_bytes or 0)
    return start_bytes % unit != 0 or bool(alignment_offset_bytes)


def partitions_by_disk(names: Iterable[str], disks: Collection[str]) -> dict[str, list[str]]:
    """Which of /sys/class/block's names are partitions of which disk, in the order given.

    The kernel puts a ``p`` between a name that ends in a digit and the partition's number:
    sda1, nvme0n1p1.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        if name in disks or stem == name:
            continue
        if stem.endswith("p") and stem[-2:-1].isdigit():
            stem = stem[:-1]
        if stem in disks:
            found.setdefault(stem, []).append(name)
    return found


def read_partition(disk: Path, directory_name: str, physical_block_bytes: int | None) -> Partition:
    """One partition of a disk's sysfs directory."""
    directory = disk / directory_name
    start = _bytes(files.read_integer(directory / "start"))
    # -1 is the kernel's word for a partition that no offset would align.
    offset = files.read_integer(directory / "alignment_offset", least=-1)
    return Partition(
        name=directory_name.replace("!", "/"),
        number=files.read_attribute(directory / "dev"),
        start_bytes=start,
        size_bytes=_bytes(files.read_integer(directory / "size")),
        misaligned=None if start is None else is_misaligned(start, physical_block_bytes, offset),
    )


def _bytes(sectors: int | None) -> int | None:
    return None if sectors is None or sectors < 0 else sectors * SECTOR_BYTES


_CHOSEN = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """A disk's queue; None is what this kernel does not say.

    `write_cache` is ``write back`` (the drive has a volatile cache and gets flushes) or
    ``write through``. `requests` is the most that wait per hardware queue. A USB bridge may claim
    any `optimal_io_bytes`, 33553920 for one: never align to it.
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


def parse_scheduler(text: str) -> str | None:
    """The scheduler in use: ``mq-deadline`` of ``none [mq-deadline] kyber``.

    Devices that let no one choose, as dm and md, print the one word ``none``.
    """
    match = _CHOSEN.search(text)
    if match:
        return match[1]
    words = text.split()
    return words[0] if len(words) == 1 and not set("[]") & set(text) else None


def read_queue(disk: Path) -> QueueSettings:
    """The queue of a disk's sysfs directory; reading fails attribute by attribute."""
    # Text and not Path: on a host of 24 drives to join them was a third of each survey.
    queue = f"{disk}/queue"
    return reread_queue(
        disk,
        QueueSettings(
            scheduler=None,
            write_cache=None,
            fua=_flag(f"{queue}/fua"),
            discard=None,
            rotational=None,
            requests=None,
            logical_block_bytes=files.read_integer(f"{queue}/logical_block_size"),
            physical_block_bytes=files.read_integer(f"{queue}/physical_block_size"),
            optimal_io_bytes=files.read_integer(f"{queue}/optimal_io_size"),
        ),
    )


def reread_queue(disk: Path, known: QueueSettings) -> QueueSettings:
    """The queue of the same disk again: only what somebody can set is read."""
    queue = f"{disk}/queue"
    discard_bytes = files.read_integer(f"{queue}/discard_max_bytes")
    return QueueSettings(
        scheduler=parse_scheduler(files.read_attribute(f"{queue}/scheduler") or ""),
        write_cache=files.read_attribute(f"{queue}/write_cache"),
        fua=known.fua,
        discard=None if discard_bytes is None else discard_bytes > 0,
        rotational=_flag(f"{queue}/rotational"),
        requests=files.read_integer(f"{queue}/nr_requests"),
        logical_block_bytes=known.logical_block_bytes,
        physical_block_bytes=known.physical_block_bytes,
        optimal_io_bytes=known.optimal_io_bytes,
    )


def _flag(path: str) -> bool | None:
    return {"0": False, "1": True}.get(files.read_attribute(path) or "")


#: sr is an optical drive, fd a floppy; they are disks to the kernel alone.
_NO_DISKS = {"sr": "optical", "fd": "floppy"}
_NO_LEAVES = frozenset({"dm", "md", "path", "optical", "floppy", "boot"})
_EMMC_BOOT = re.compile(r"mmcblk\d+boot\d+", re.ASCII)
_LETTERS = re.compile(r"[a-z]*", re.ASCII)
_NUMBER = re.compile(r"\d{1,5}:\d{1,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """A whole disk of /sys/block; None is what the kernel does not say.

    `name` is the kernel's, as in /proc/diskstats (cciss/c0d0); `directory` is the device's own in
    sysfs, with all links followed. `number` is ``major:minor``, None for a hidden path of NVMe
    multipath. `diskseq` is new for each disk since boot, and for each new medium (Linux 5.15).

    `kind` is ``disk`` for what holds data itself, ``path`` for a hidden path of NVMe multipath,
    ``optical``, ``floppy``, ``boot`` (the boot areas of an eMMC), and else what the kernel calls
    its virtual devices: ``dm md loop ram zram nbd bcache`` and so on.
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
        """Whether data ends here, and not in devices below; loop, ram and nbd count as well."""
        return self.kind not in _NO_LEAVES and not self.slaves


def device_kind(name: str, place: PurePath) -> str:
    """What a disk is, by its name and its place below /sys.

    >>> kind("sda", PurePath("devices/pci0000:00/0000:00:17.0/ata1/host0/block/sda"))
    'disk'
    >>> kind("dm-0", PurePath("devices/virtual/block/dm-0"))
    'dm'
    """
    if place.parts[:3] == ("devices", "virtual", "block"):
        match = _LETTERS.match(name)
        return (match[0] if match else "") or "virtual"
    if _EMMC_BOOT.fullmatch(name):
        return "boot"
    if re.fullmatch(r"nvme\d+c\d+n\d+", name, re.ASCII):
        return "path"
    return _NO_DISKS.get(name.rstrip("0123456789"), "disk")


def read(sys: Path, directory_name: str, partitions: Sequence[str]) -> BlockDevice | None:
    """One disk by its name in /sys/block, with the partitions of the given names.

    None where it has vanished. Everything else that cannot be read is None in the record.
    """
    link = sys / "block" / directory_name
    directory = Path(os.path.realpath(link))
    name = directory_name.replace("!", "/")
    which = device_kind(name, sysfs_path(sys, directory))
    number = read_device_number(directory / "dev")
    if number is None and which != "path":
        return None
    its_queue = read_queue(directory)
    physical = its_queue.physical_block_bytes
    return BlockDevice(
        name=name,
        directory=directory,
        number=number,
        diskseq=files.read_integer(directory / "diskseq"),
        kind=which,
        capacity_bytes=read_capacity_bytes(directory / "size"),
        slaves=read_slaves(directory),
        queue=its_queue,
        partitions=tuple(read_partition(directory, each, physical) for each in partitions),
    )


def sysfs_path(sys: Path, directory: Path) -> PurePath:
    """A device's directory below /sys: what stands above /sys must not look like a bus."""
    root = Path(os.path.realpath(sys))
    return directory.relative_to(root) if directory.is_relative_to(root) else PurePath()


def read_device_number(path: Path) -> str | None:
    """A ``dev`` attribute, ``major:minor``; None where there is none or it is none."""
    number = files.read_attribute(path)
    return number if number is not None and _NUMBER.fullmatch(number) else None


def read_capacity_bytes(path: Path) -> int | None:
    """A ``size`` attribute in bytes; 0 is a drive without a medium."""
    sectors = files.read_integer(path)
    return None if sectors is None or sectors < 0 else sectors * SECTOR_BYTES


def read_slaves(directory: Path) -> tuple[str, ...]:
    """The disks and partitions that a device is made of, by the kernel's names."""
    return tuple(name.replace("!", "/") for name in files.list_names(directory / "slaves"))
