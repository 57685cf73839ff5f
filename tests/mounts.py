"""Filesystems that tests mount."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.duration import PATIENCE_SECONDS
from tests.required import lacking


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


@contextmanager
def small_memory_disk(place: Path) -> Iterator[Path]:
    """Mounts a file system of 128 KiB in memory, and yields its mount point in the directory.

    The test is skipped if mounting is not permitted.
    """
    disk = place / "disk"
    disk.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(argv, capture_output=True, check=False).returncode:
        lacking("no right to mount a tmpfs")
    try:
        yield disk
    finally:
        unmount(disk)


def filled(disk: Path) -> Path:
    """Fills the disk, and returns a file that a test can delete to free space again."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return ballast


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Context manager in which the disk is full."""
    ballast = filled(disk)
    yield
    ballast.unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Context manager in which the disk is mounted read-only."""
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
