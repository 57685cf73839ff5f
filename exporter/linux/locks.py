"""Finds the process that holds the lock on a file, from /proc/locks.

Only locks of flock(2) are considered:
https://man7.org/linux/man-pages/man5/proc_locks.5.html

The text of the file::

    1: FLOCK  ADVISORY  WRITE 1843 fd:01:262406 0 EOF
    1: -> FLOCK  ADVISORY  WRITE 2001 fd:01:262406 0 EOF

The columns are: number, type, advisory or mandatory, mode, process ID, device (hexadecimal
major:minor) with inode, and the locked range. A line with an arrow is a process that waits for the
lock.
"""

import os
import re
from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import files

_ROW = re.compile(
    r"\d+: FLOCK +\S+ +\S+ +(\d{1,10}) +([0-9a-f]{1,8}):([0-9a-f]{1,8}):(\d{1,20}) ", re.ASCII
)


def read_flock_holder(proc: Path, file: Path) -> int | None:
    """Returns the ID of the process that holds the flock(2) lock on a file.

    None means that no process holds the lock, that the holder is in another PID namespace, or that
    the file or /proc/locks cannot be read.
    """
    try:
        status = os.stat(file, follow_symlinks=False)
        return parse_flock_holder(files.read(proc / "locks"), status.st_dev, status.st_ino)
    except (OSError, SourceError):
        return None


def parse_flock_holder(text: str, device: int, inode: int) -> int | None:
    """Returns the ID of the process that took the flock(2) lock on a file.

    None means that there is no such lock, or that the process is in another PID namespace: the
    kernel then prints 0. The process may have ended already while its children still hold the
    lock.

    text: the text of /proc/locks.
    device: the st_dev of the file.
    inode: the st_ino of the file.
    """
    wanted = os.major(device), os.minor(device), inode
    for line in text.splitlines():
        row = _ROW.match(line)
        if row and (int(row[2], 16), int(row[3], 16), int(row[4])) == wanted:
            return int(row[1]) or None
    return None
