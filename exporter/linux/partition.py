"""The partitions of a disk, and whether they start where the flash likes it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

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


def misaligned(
    start_bytes: int, physical_block_bytes: int | None, alignment_offset_bytes: int | None
) -> bool:
    """Whether writes of whole pages straddle the drive's blocks.

    The unit is the physical block, at least 4096, and never optimal_io_size: behind a USB bridge
    that claims 33553920 parted starts partitions at sector 65535, and calls that optimal.
    """
    unit = max(_FLASH_UNIT_BYTES, physical_block_bytes or 0)
    return start_bytes % unit != 0 or bool(alignment_offset_bytes)


def by_disk(names: Iterable[str], disks: Collection[str]) -> dict[str, list[str]]:
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


def read(disk: Path, directory_name: str, physical_block_bytes: int | None) -> Partition:
    """One partition of a disk's sysfs directory."""
    directory = disk / directory_name
    start = _bytes(files.integer(directory / "start"))
    # -1 is the kernel's word for a partition that no offset would align.
    offset = files.integer(directory / "alignment_offset", least=-1)
    return Partition(
        name=directory_name.replace("!", "/"),
        number=files.attribute(directory / "dev"),
        start_bytes=start,
        size_bytes=_bytes(files.integer(directory / "size")),
        misaligned=None if start is None else misaligned(start, physical_block_bytes, offset),
    )


def _bytes(sectors: int | None) -> int | None:
    return None if sectors is None or sectors < 0 else sectors * SECTOR_BYTES
