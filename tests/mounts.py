"""Filesystems that tests mount."""

import subprocess
import time
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
