"""Reads the web configuration file and the certificates and keys that it names.

The event loop reads these files when they change. So a pipe, a device or an endless file at one of
their paths must not block the loop or fill the memory.
"""

import errno
import os
import stat
from pathlib import Path

#: Maximum size of a file in bytes. A bundle of all public CAs has 0.2 MB.
MAX_FILE_BYTES = 1 << 20


def read(path: Path) -> bytes:
    """Returns the content of a regular file, without waiting for more than the disk.

    Symbolic links are followed: certbot and Kubernetes replace files by changing a link.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger than `MAX_FILE_BYTES`.
            `strerror` contains the reason.
    """
    # The status is read first, because opening a device can have an effect.
    _check_is_regular(os.stat(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        _check_is_regular(os.fstat(descriptor))
        parts: list[bytes] = []
        left = MAX_FILE_BYTES + 1
        while left and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
    if not left:
        raise OSError(errno.EFBIG, "larger than 1 MiB")
    return b"".join(parts)


def _check_is_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
