"""How full a mounted filesystem is, and what errors it has found in itself."""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files


@dataclass(frozen=True, slots=True)
class Usage:
    """A filesystem's size, and what of it an ordinary user may still fill."""

    size_bytes: int
    avail_bytes: int


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A filesystem on block devices, at its mountpoint in the host's view.

    `devices` are the disks at the bottom of it. `usage` and `errors` are looked up only where
    someone asked for the mount, and None where they could not be had.
    """

    mountpoint: str
    fstype: str
    number: str
    devices: tuple[str, ...]
    readonly: bool
    usage: Usage | None = None
    errors: int | None = None


def read_usage(rootfs: Path, mountpoint: str) -> Usage | None:
    """statvfs(3) of a mountpoint below `rootfs`, where the host's / is mounted for the reader."""
    try:
        found = os.statvfs(rootfs / mountpoint.lstrip("/"))
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return None
    return Usage(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def read_errors(sys: Path, device: str) -> int | None:
    """The errors that ext4 noted in its superblock, by the disk or partition it lies on.

    https://docs.kernel.org/admin-guide/ext4.html
    """
    return files.integer(sys / "fs" / "ext4" / device.replace("/", "!") / "errors_count")
