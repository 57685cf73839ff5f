"""Opens files that another user may have written, and checks the numbers in them.

These are the files in the state directory and in the agent's directory. The user who owns such a
directory can put anything at a file's path: a link to another user's file, a pipe for which a
reader waits for ever, a device, or a file without an end. This module opens only regular files, and
reads a limited number of bytes. No other module of this package opens these files;
tests/runtime/test_untrusted_file.py checks it.

The user can also replace a file at any time. Therefore a path is used once, with O_PATH, which
opens nothing (open(2)). The file behind this descriptor is checked, and is then opened through
/proc/self/fd.

The path itself may also come from another user (`read_named`, `list_named`): an option file on the
command line of a process. It may name any file of the kernel, and reading some of these has
effects. Reading /proc/kmsg removes messages.
"""

import contextlib
import errno
import itertools
import math
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

_COMMON = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


#: The latest time that a file may contain, in seconds of Unix time: the year 5138. A later time is
#: an error, and an entry with it would never become too old.
MAX_UNIX_TIME = 1e11


class UnusableFile(OSError):
    """The file exists, but is not a regular file, is too large, or is not trusted.

    `strerror` contains the reason, such as "it is a pipe".
    """

    def __init__(self, reason: str, path: Path | str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


class TooLargeFile(UnusableFile):
    """The file is larger than the limit."""


def accept_every_owner(_status: os.stat_result) -> str:
    """Returns an empty text: a file of any owner with any permissions is read."""
    return ""


def read(
    path: Path | str,
    limit_bytes: int,
    *,
    directory: int | None = None,
    refusal: Callable[[os.stat_result], str] = accept_every_owner,
) -> bytes:
    """Returns the contents of a file.

    limit_bytes: the largest size of the file.
    directory: a descriptor of the directory to which `path` is relative.
    refusal: returns why a file with this status must not be read; empty if it may be read. It is
        called before the file is opened for reading.

    Raises:
        TooLargeFile: it is larger than the limit.
        UnusableFile: it is not a regular file, or is refused.
        OSError: the file does not exist or cannot be read.
    """
    with _located(path, directory) as (place, status):
        if reason := kind_problem(status) or refusal(status):
            raise UnusableFile(reason, path)
        return _content(path, place, status, limit_bytes)


def read_named(
    path: Path | str,
    limit_bytes: int,
    refusal: Callable[[os.stat_result], str] = accept_every_owner,
) -> bytes:
    """Returns the contents of a file whose path another user has chosen.

    The contents are empty if the file has the size 0, as most files of the kernel have. Such a file
    is not opened. A file on a filesystem without blocks, such as /sys, is refused and not opened
    either.

    path: the last component must not be a link. The caller has followed the links.
    limit_bytes, refusal: as for `read`.

    Raises:
        TooLargeFile: it is larger than the limit.
        UnusableFile: it is not a regular file, is a file of the kernel, or is refused.
        OSError: the file does not exist or cannot be read.
        ValueError: the path contains a null byte.
    """
    with _located(path) as (place, status):
        if reason := kind_problem(status) or refusal(status):
            raise UnusableFile(reason, path)
        if not status.st_size:
            return b""
        _require_blocks(path, place)
        return _content(path, place, status, limit_bytes)


def list_named(
    path: Path | str,
    limit: int,
    refusal: Callable[[os.stat_result], str] = accept_every_owner,
) -> tuple[str, ...]:
    """Returns the sorted names in a directory whose path another user has chosen.

    path, refusal: as for `read_named`.
    limit: the largest number of names.

    Raises:
        TooLargeFile: the directory has more names.
        UnusableFile: it is not a directory, belongs to the kernel, or is refused.
        OSError: the directory does not exist or cannot be read.
        ValueError: the path contains a null byte.
    """
    with _located(path) as (place, status):
        if not stat.S_ISDIR(status.st_mode):
            raise UnusableFile("it is not a directory", path)
        if reason := refusal(status):
            raise UnusableFile(reason, path)
        _require_blocks(path, place)
        descriptor = _reopened(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
        try:
            with os.scandir(descriptor) as entries:
                names = [entry.name for entry in itertools.islice(entries, limit + 1)]
        finally:
            os.close(descriptor)
    if len(names) > limit:
        raise TooLargeFile(f"it has more than {limit} names", path)
    return tuple(sorted(names))


def opened(path: Path | str, flags: int) -> int:
    """Returns a descriptor of a regular file. Nothing else is opened.

    Raises:
        UnusableFile: it is not a regular file.
        OSError: the file does not exist or cannot be opened.
    """
    with _located(path) as (place, status):
        if reason := kind_problem(status):
            raise UnusableFile(reason, path)
        return _reopened(place, flags)


def read_part(path: Path | str, offset: int, count_bytes: int) -> bytes:
    """Returns bytes of a file; fewer than `count_bytes` if the file is shorter.

    offset: the place of the first byte. A negative one counts from the end of the file.

    Raises:
        UnusableFile: it is not a regular file.
        OSError: the file does not exist or cannot be read.
    """
    descriptor = opened(path, os.O_RDONLY)
    try:
        if offset < 0:
            offset = max(0, os.fstat(descriptor).st_size + offset)
        return os.pread(descriptor, count_bytes, offset)
    finally:
        os.close(descriptor)


def check(path: Path | str, limit_bytes: int) -> None:
    """Checks a file before a library opens it by its path.

    A user who can write to the directory can replace the file after the check. So this process must
    have only rights that this user has too (`privileges.as_owner`).

    Raises:
        TooLargeFile: it is larger than the limit.
        UnusableFile: it is not a regular file.
        OSError: the file does not exist or its status cannot be read.
    """
    status = os.stat(path, follow_symlinks=False)
    if reason := kind_problem(status):
        raise UnusableFile(reason, path)
    _check_size(path, status.st_size, limit_bytes)


def create(path: Path | str, mode: int, *, directory: int | None = None) -> int:
    """Creates a file and returns its descriptor, open for writing.

    mode: the permissions, which the umask reduces.
    directory: a descriptor of the directory to which `path` is relative.

    Raises:
        FileExistsError: something exists at the path. It is not opened.
        OSError: the file cannot be created.
    """
    return os.open(path, _NEW, mode, dir_fd=directory)


def replace(
    name: str,
    content: bytes,
    mode: int,
    *,
    directory: int,
    wait_for_disk: bool = True,
    owner: tuple[int, int] | None = None,
) -> None:
    """Replaces a file atomically: it contains either the old or the new contents.

    Each file has one fixed temporary name. So a temporary file that remains after a kill is removed
    by the next call. Two processes or threads must not replace the same file at the same time.

    name: the name of the file in its directory.
    mode: the permissions, which the umask reduces.
    directory: a descriptor of the directory.
    wait_for_disk: call fsync for the file and for the directory. The file then survives a power
        failure, but a disk that hangs blocks the caller.
    owner: the user ID and the group ID of the new file, which then has exactly the permissions
        `mode`. None means those of this process.

    Raises:
        OSError: the file cannot be written, and the old file is unchanged. With `wait_for_disk`
            there is a second case: the directory cannot be synced. The file is then already
            replaced, but the new file may not survive a power failure.
    """
    temporary = f".{name}.new"
    try:
        descriptor = create(temporary, mode, directory=directory)
    except FileExistsError:
        os.unlink(temporary, dir_fd=directory)
        descriptor = create(temporary, mode, directory=directory)
    try:
        try:
            _write(descriptor, content)
            if owner is not None:
                os.fchown(descriptor, *owner)
                os.fchmod(descriptor, mode)
            if wait_for_disk:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        # The incomplete file is removed, because the disk may be full.
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    if wait_for_disk:
        os.fsync(directory)


def replace_at(path: Path, content: bytes, mode: int, *, wait_for_disk: bool = True) -> None:
    """Does the same as `replace`, for a path instead of a name and a directory.

    Raises:
        OSError: as for `replace`; or the directory does not exist or cannot be opened.
    """
    with opened_directory(path.parent) as directory:
        replace(path.name, content, mode, directory=directory, wait_for_disk=wait_for_disk)


@contextlib.contextmanager
def opened_directory(path: Path) -> Iterator[int]:
    """Context manager that yields a descriptor of a directory. The path may be a symbolic link.

    Raises:
        OSError: the directory does not exist or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_problem(directory: Path) -> str:
    """Returns why no file can be created in a directory; empty if one can be created."""
    name = f".write-test.{os.getpid()}"
    try:
        with opened_directory(directory) as descriptor:
            # The file of an earlier process with this number, which was killed, is removed.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
            os.close(create(name, 0o600, directory=descriptor))
            os.unlink(name, dir_fd=descriptor)
    except OSError as e:
        return e.strerror or str(e)
    return ""


def number(value: object, least: float, most: float) -> float | None:
    """Returns a number of a parsed file, if it is at least `least` and at most `most`.

    None means that the value is not a number, is NaN, or is out of range. A Boolean is not a
    number. The limits are compared first, because an integer of 400 digits overflows a float.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if least <= value <= most and math.isfinite(value) else None


def kind_problem(status: os.stat_result) -> str:
    """Returns why a file is not a regular file, such as "it is a pipe, ..."; empty if it is one."""
    if stat.S_ISREG(status.st_mode):
        return ""
    kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "a special file")
    return f"it is {kind}, not a regular file"


@contextlib.contextmanager
def _located(
    path: Path | str, directory: int | None = None
) -> Iterator[tuple[int, os.stat_result]]:
    """Context manager that yields a descriptor of what is at a path, and its status.

    The descriptor refers to this file whatever is at the path later. Nothing was opened: it is
    only suitable for `_reopened` and for reading the status.
    """
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        yield descriptor, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _reopened(place: int, flags: int) -> int:
    """Returns a descriptor, with these flags, of the file of a descriptor of `_located`.

    /proc is that of this process, whatever `path.procfs` is.
    """
    try:
        return os.open(f"/proc/self/fd/{place}", flags | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as e:
        # Otherwise a caller would take the file for a missing one.
        raise OSError(errno.EIO, "it cannot be opened, because /proc is not mounted") from e


def _content(path: Path | str, place: int, status: os.stat_result, limit_bytes: int) -> bytes:
    _check_size(path, status.st_size, limit_bytes)
    descriptor = _reopened(place, os.O_RDONLY)
    try:
        chunks: list[bytes] = []
        left = limit_bytes + 1
        while left and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
    finally:
        os.close(descriptor)
    # The file may have grown since its size was read.
    _check_size(path, limit_bytes + 1 - left, limit_bytes)
    return b"".join(chunks)


def _write(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _require_blocks(path: Path | str, place: int) -> None:
    """Raises UnusableFile for a filesystem without blocks: sysfs, procfs and others of the kernel.

    simple_statfs() in fs/libfs.c of Linux reports this.
    """
    if not os.fstatvfs(place).f_blocks:
        raise UnusableFile("it is a file of the kernel", path)


def _check_size(path: Path | str, size_bytes: int, limit_bytes: int) -> None:
    if size_bytes > limit_bytes:
        raise TooLargeFile(f"it is larger than {limit_bytes} bytes", path)
