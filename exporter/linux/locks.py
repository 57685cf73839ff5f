"""/proc/locks: which process holds which file lock.

    1: FLOCK  ADVISORY  WRITE 1843 fd:01:262406 0 EOF
    1: -> FLOCK  ADVISORY  WRITE 2001 fd:01:262406 0 EOF

The number, the kind, advisory or mandatory, the mode, the process, the device in hexadecimal and
the inode, the range; a row with an arrow waits (fs/locks.c).
"""

import os
import re
from pathlib import Path

from exporter.errors import SourceError
from exporter.linux import files

_ROW = re.compile(
    r"\d+: FLOCK +\S+ +\S+ +(\d{1,10}) +([0-9a-f]{1,8}):([0-9a-f]{1,8}):(\d{1,20}) ", re.ASCII
)


def parse_flock_holder(text: str, device: int, inode: int) -> int | None:
    """The process that took a flock on a file, by st_dev and st_ino; None where none is told.

    The lock may have gone on to its children, and a process of another namespace is told as 0.
    """
    wanted = os.major(device), os.minor(device), inode
    for line in text.splitlines():
        row = _ROW.match(line)
        if row and (int(row[2], 16), int(row[3], 16), int(row[4])) == wanted:
            return int(row[1]) or None
    return None


def read_flock_holder(proc: Path, file: Path) -> int | None:
    """The process that holds a flock on `file`; None where none is told or it cannot be read."""
    try:
        found = os.stat(file, follow_symlinks=False)
        return parse_flock_holder(files.read(proc / "locks"), found.st_dev, found.st_ino)
    except (OSError, SourceError):
        return None
