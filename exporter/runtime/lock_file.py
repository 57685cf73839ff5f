"""Files for flock(2), which keeps two processes from using the same thing.

The kernel lists the holders of locks in /proc/locks
(https://man7.org/linux/man-pages/man5/proc_locks.5.html)::

    1: FLOCK  ADVISORY  WRITE 1843 fd:01:262406 0 EOF
    1: -> FLOCK  ADVISORY  WRITE 2001 fd:01:262406 0 EOF

The columns are: number, type, advisory or mandatory, mode, process ID, device (hexadecimal
major:minor) with inode, and the locked range. A line with an arrow is a process that waits for the
lock.
"""

import contextlib
import fcntl
import os
import re
from pathlib import Path

from exporter.runtime import untrusted_file

#: The maximum size of /proc/locks that is read: about 20,000 locks.
_MAX_LOCKS_BYTES = 1 << 20

_ROW = re.compile(
    r"\d+: FLOCK +\S+ +\S+ +(\d{1,10}) +([0-9a-f]{1,8}):([0-9a-f]{1,8}):(\d{1,20}) ", re.ASCII
)


def open_lock_file(path: Path, mode: int, *, writable: bool = True) -> int:
    """Returns a descriptor of a file for flock(2). The file is created if it is missing.

    Nothing is written to it.

    mode: the permissions of a new file, which the umask reduces.
    writable: False opens it for reading only, which is sufficient for a lock on a local filesystem.

    Raises:
        UnusableFile: it is not a regular file.
        OSError: the file cannot be created or opened.
    """
    flags = os.O_RDWR if writable else os.O_RDONLY
    try:
        return untrusted_file.opened(path, flags)
    except FileNotFoundError:
        # FileExistsError: another process has created it in between.
        with contextlib.suppress(FileExistsError):
            os.close(untrusted_file.create(path, mode))
    return untrusted_file.opened(path, flags)


def lock(descriptor: int) -> bool:
    """Acquires flock(2) without waiting. Returns False if another open file holds the lock.

    Raises:
        OSError: the filesystem does not support locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def flock_holder(proc: Path, file: Path) -> int | None:
    """Returns the ID of the process that holds the flock(2) lock on a file.

    None means that no process holds the lock, that the holder is in another PID namespace, or that
    the file or /proc/locks cannot be read.
    """
    try:
        status = os.stat(file, follow_symlinks=False)
        with open(proc / "locks", "rb") as locks:
            text = locks.read(_MAX_LOCKS_BYTES).decode("ascii", "replace")
    except OSError:
        return None
    return parse_flock_holder(text, status.st_dev, status.st_ino)


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
