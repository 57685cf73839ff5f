"""Files for flock(2), which keeps two processes from using the same thing."""

import contextlib
import fcntl
import os
from pathlib import Path

from exporter import untrusted_file


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
