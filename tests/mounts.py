"""Filesystems that tests mount."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.duration import PATIENCE_SECONDS


def unmount(mountpoint: Path) -> None:
    """Unmounts a filesystem, lazily if it stays in use.

    A daemon of another test may call statvfs for it at any moment; umount then fails with EBUSY.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while subprocess.run(["umount", mountpoint], capture_output=True, check=False).returncode:
        if time.monotonic() >= until:
            subprocess.run(["umount", "--lazy", mountpoint], check=True)
            return
        time.sleep(0.1)


@contextmanager
def small_disk(place: Path, size_bytes: int) -> Iterator[Path]:
    """Mounts a new filesystem of this size, and yields its mount point in the directory."""
    image, mountpoint = place / "image", place / "mnt"
    mountpoint.mkdir()
    with image.open("wb") as opened:
        opened.truncate(size_bytes)
    subprocess.run([shutil.which("mkfs.ext4") or "/sbin/mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mountpoint], check=True)
    try:
        yield mountpoint
    finally:
        unmount(mountpoint)
