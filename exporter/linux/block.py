"""/sys/block: the whole disks, and what each of them is.

https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block)
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.linux import files, partition, queue
from exporter.linux.partition import SECTOR_BYTES, Partition
from exporter.linux.queue import Queue

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
    queue: Queue
    partitions: tuple[Partition, ...]

    @property
    def is_leaf(self) -> bool:
        """Whether data ends here, and not in devices below; loop, ram and nbd count as well."""
        return self.kind not in _NO_LEAVES and not self.slaves


def kind(name: str, place: PurePath) -> str:
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
    which = kind(name, place(sys, directory))
    number = read_number(directory / "dev")
    if number is None and which != "path":
        return None
    its_queue = queue.read(directory)
    physical = its_queue.physical_block_bytes
    return BlockDevice(
        name=name,
        directory=directory,
        number=number,
        diskseq=files.integer(directory / "diskseq"),
        kind=which,
        capacity_bytes=read_capacity(directory / "size"),
        slaves=read_slaves(directory),
        queue=its_queue,
        partitions=tuple(partition.read(directory, each, physical) for each in partitions),
    )


def place(sys: Path, directory: Path) -> PurePath:
    """A device's directory below /sys: what stands above /sys must not look like a bus."""
    root = Path(os.path.realpath(sys))
    return directory.relative_to(root) if directory.is_relative_to(root) else PurePath()


def read_number(path: Path) -> str | None:
    """A ``dev`` attribute, ``major:minor``; None where there is none or it is none."""
    number = files.attribute(path)
    return number if number is not None and _NUMBER.fullmatch(number) else None


def read_capacity(path: Path) -> int | None:
    """A ``size`` attribute in bytes; 0 is a drive without a medium."""
    sectors = files.integer(path)
    return None if sectors is None or sectors < 0 else sectors * SECTOR_BYTES


def read_slaves(directory: Path) -> tuple[str, ...]:
    """The disks and partitions that a device is made of, by the kernel's names."""
    return tuple(name.replace("!", "/") for name in files.names(directory / "slaves"))
