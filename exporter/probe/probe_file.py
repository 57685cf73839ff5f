"""Creates, checks and removes the file that probes read and write, in a private directory.

fio opens the file by its name, so the file is checked before each run. It must be a regular file of
this user and have one hard link.

The file is filled with random data once and then kept, for three reasons. Reads of allocated blocks
without data do not reach the drive: 0.4 µs were measured instead of 64 µs. Drives compress zeros. A
new file for each run would cause allocations and discards.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.runtime.errors import ReadError

#: The file is filled in chunks of this size, in bytes.
CHUNK_BYTES = 1 << 20
#: Data is synced after this many bytes, so that the drive does not get the whole file at once.
_SYNC_INTERVAL_BYTES = 8 << 20

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


class UnsafeProbeFile(ReadError):
    """A probe may not use the file or its directory. The message says what to do."""


class FilesystemFull(ReadError):
    """The filesystem or a quota is full. The data that was written so far is removed."""


def prepare(
    directory: Path,
    name: str,
    size_bytes: int,
    *,
    fill: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Makes the file `name` in the directory at least `size_bytes` long. Returns its path.

    The directory and the file are created if they are missing. After an error or an exception of
    `progress`, the file has its earlier length again, or is deleted if it is new.

    fill: True fills the missing part with random data and syncs it. False sets only the length of
        the file, for a run that writes the whole file.
    progress: receives the length of the file in bytes after each chunk. It may raise an exception
        to stop the filling.

    Raises:
        UnsafeProbeFile: the file or the directory is not safe to use or cannot be written. Examples
            are a link, a device node, the file of another user, and a read-only filesystem.
        FilesystemFull: the filesystem or a quota is full.
    """
    path = directory / name
    with _opened(directory, make=True) as parent:
        before = _checked_file(parent, path)
        with _as_probe_error(path), _descriptor(parent, name, os.O_RDWR | os.O_CREAT) as descriptor:
            status = _checked(path, os.fstat(descriptor))
            if status.st_size >= size_bytes:
                return path
            is_done = False
            try:
                if fill:
                    _fill(descriptor, status.st_size, size_bytes, progress)
                else:
                    os.ftruncate(descriptor, size_bytes)
                os.fsync(descriptor)
                is_done = True
            finally:
                if not is_done:
                    _undo(parent, name, descriptor, before)
        with _as_probe_error(directory):
            os.fsync(parent)
    return path


def check_usable(directory: Path, name: str) -> None:
    """Checks that a probe may fill the file `name`, or that there is no such file.

    The directory is created if it is missing.

    Raises:
        UnsafeProbeFile: the file or the directory is not safe to use, for example because it
            belongs to another user.
        FilesystemFull: the directory cannot be created because the filesystem or a quota is full.
    """
    with _opened(directory, make=True) as parent:
        _checked_file(parent, directory / name)


def check(directory: Path, name: str, size_bytes: int) -> Path:
    """Returns the path of the file if fio may use it. Call it immediately before each run.

    A file that is shorter than `size_bytes` is refused, because fio would delete it.

    Raises:
        UnsafeProbeFile: the file is missing or too short, or the file or the directory is not safe
            to use.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        status = _checked_file(parent, path)
        if status is None:
            raise UnsafeProbeFile(f"{path} no longer exists; the next probe creates it")
        if status.st_size < size_bytes:
            raise UnsafeProbeFile(
                f"{path} is shorter than {size_bytes} bytes; the next probe fills it"
            )
    return path


def missing_bytes(directory: Path, name: str, size_bytes: int) -> int:
    """Returns how many of the first `size_bytes` bytes are not allocated yet.

    Without a file, all bytes are missing.
    """
    try:
        status = os.lstat(directory / name)
    except OSError:
        return size_bytes
    # Use the allocated bytes and not the length, because a sparse file takes its space only when it
    # is written.
    allocated = status.st_blocks * 512 if stat.S_ISREG(status.st_mode) else 0
    return max(0, size_bytes - allocated)


def shorten(directory: Path, name: str, size_bytes: int) -> None:
    """Truncates the file to `size_bytes`. It does nothing if the file is shorter or missing.

    Raises:
        UnsafeProbeFile: the file or the directory is not safe to use, or the file cannot be
            truncated.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        if _checked_file(parent, path) is None:
            return
        with _as_probe_error(path), _descriptor(parent, name, os.O_RDWR) as descriptor:
            if _checked(path, os.fstat(descriptor)).st_size > size_bytes:
                os.ftruncate(descriptor, size_bytes)


def remove(directory: Path, name: str) -> None:
    """Deletes the file. It does nothing if the file is missing.

    Raises:
        UnsafeProbeFile: the file or the directory is not safe to use, or the file cannot be
            deleted.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        if _checked_file(parent, path) is not None:
            with _as_probe_error(path):
                os.unlink(name, dir_fd=parent)


@contextmanager
def _opened(directory: Path, *, make: bool) -> Iterator[int]:
    """Context manager that yields a descriptor of the directory.

    The directory must be private, so that no other user can replace the file in it.

    make: True creates the directory if it is missing.

    Raises:
        UnsafeProbeFile: the directory is not private, belongs to another user, or cannot be opened.
        FilesystemFull: the directory cannot be created because the filesystem or a quota is full.
    """
    with _as_probe_error(directory):
        if make:
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with _as_probe_error(directory):
            status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise UnsafeProbeFile(
                f"{directory} belongs to user {status.st_uid}, not {os.geteuid()};"
                " probes need a private directory: chown it, or name another"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise UnsafeProbeFile(
                f"{directory} is open to other users; chmod 0700 it, or name another"
            )
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _descriptor(parent: int, name: str, flags: int) -> Iterator[int]:
    # Without O_NONBLOCK, opening a named pipe would wait for its other end.
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _as_probe_error(path: Path) -> Iterator[None]:
    """Context manager that converts an OSError into `FilesystemFull` or `UnsafeProbeFile`.

    path: the file or directory that the message names.
    """
    try:
        yield
    except OSError as e:
        if e.errno in _NO_SPACE:
            raise FilesystemFull(f"{path}: {e.strerror}; what was written so far is removed") from e
        if e.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafeProbeFile(
                f"{path} is a link or not in a directory; probes follow no links"
            ) from e
        raise UnsafeProbeFile(f"{path}: {e.strerror or e}") from e


def _checked_file(parent: int, path: Path) -> os.stat_result | None:
    """Returns the status of the file; None if there is no file.

    Call it before the file is opened, because even opening a device node may have effects.

    parent: a descriptor of the directory.

    Raises:
        UnsafeProbeFile: the file is not safe to use.
    """
    with _as_probe_error(path):
        try:
            status = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
    return _checked(path, status)


def _checked(path: Path, status: os.stat_result) -> os.stat_result:
    if stat.S_ISLNK(status.st_mode):
        raise UnsafeProbeFile(f"{path} is a link; probes follow no links: remove it")
    if stat.S_ISBLK(status.st_mode) or stat.S_ISCHR(status.st_mode):
        raise UnsafeProbeFile(f"{path} is a device node; a probe would destroy its data: remove it")
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeProbeFile(f"{path} is not a regular file: remove it")
    if status.st_uid != os.geteuid():
        raise UnsafeProbeFile(
            f"{path} belongs to user {status.st_uid}, not {os.geteuid()}: remove it"
        )
    if status.st_nlink != 1:
        raise UnsafeProbeFile(
            f"{path} has {status.st_nlink} hard links; a probe would overwrite the other file"
        )
    return status


def _fill(descriptor: int, begin: int, end: int, progress: Callable[[int], None] | None) -> None:
    place = begin
    while place < end:
        chunk = memoryview(os.urandom(min(CHUNK_BYTES, end - place)))
        while chunk:
            written = os.pwrite(descriptor, chunk, place)
            chunk = chunk[written:]
            place += written
        if place % _SYNC_INTERVAL_BYTES == 0:
            os.fdatasync(descriptor)
        if progress is not None:
            progress(place)


def _undo(parent: int, name: str, descriptor: int, before: os.stat_result | None) -> None:
    """Restore the file's earlier length, or delete the file if it is new.

    If this fails, the partly filled file stays. The check before the next run refuses it, because
    it is too short.

    before: the status of the file before the change; None if there was no file.
    """
    with suppress(OSError):
        if before is None:
            os.unlink(name, dir_fd=parent)
        else:
            os.ftruncate(descriptor, before.st_size)
