"""Creates, checks and removes the file that probes read and write, in a private directory.

fio opens the file by its name, so the name is checked before each run: it must be a regular file of
this user with one hard link. The file is filled with random data once and kept, for three reasons.
Reads of a file that is only allocated do not reach the drive (0.4 µs measured instead of 64 µs).
Drives compress zeros. A new file causes allocations and discards.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.errors import ReadError

#: The file is filled in chunks of this many bytes.
CHUNK_BYTES = 1 << 20
#: Data is synced after this many bytes, so that the drive does not get the whole file at once.
_SYNC_INTERVAL_BYTES = 8 << 20

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


class UnsafeProbeFile(ReadError):
    """A probe may not use the file or its directory; the message says what to do."""


class FilesystemFull(ReadError):
    """The filesystem or a quota is full. The data written so far is removed."""


def prepare(
    directory: Path,
    name: str,
    size_bytes: int,
    *,
    fill: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Returns the file `name` in `directory`, at least `size_bytes` long; creates both if missing.

    fill: fill the missing part with random data and sync it; if False, only the length is set, for
    a run that writes the whole file. progress: receives the length in bytes after each chunk. If it
    raises or the disk is full, the file gets its earlier length, or is removed if it is new.

    Raises:
        UnsafeProbeFile: a link, a device node, another user's file, a read-only filesystem, and
            the like.
        FilesystemFull: the disk or a quota is full.
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
            os.fsync(parent)
    return path


def check_usable(directory: Path, name: str) -> None:
    """Check that the name is unused or a file that may be filled. Creates the directory if missing.

    Raises:
        UnsafeProbeFile, FilesystemFull: as `prepare`.
    """
    with _opened(directory, make=True) as parent:
        _checked_file(parent, directory / name)


def check(directory: Path, name: str, size_bytes: int) -> Path:
    """Returns the file if it is still as `prepare` left it. Call immediately before each run.

    fio deletes a file that is too short, so a short file is refused.

    Raises:
        UnsafeProbeFile: the file is missing, short, or another file.
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
    """Returns how many bytes of the file are not allocated yet."""
    try:
        status = os.lstat(directory / name)
    except OSError:
        return size_bytes
    # The allocated bytes and not the length: a sparse file takes its space when it is written.
    allocated = status.st_blocks * 512 if stat.S_ISREG(status.st_mode) else 0
    return max(0, size_bytes - allocated)


def shorten(directory: Path, name: str, size_bytes: int) -> None:
    """Truncate the file to `size_bytes`. A shorter or missing file does not change.

    Raises:
        UnsafeProbeFile: the file is not ours, or cannot be truncated.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        if _checked_file(parent, path) is None:
            return
        with _as_probe_error(path), _descriptor(parent, name, os.O_RDWR) as descriptor:
            if _checked(path, os.fstat(descriptor)).st_size > size_bytes:
                os.ftruncate(descriptor, size_bytes)


def remove(directory: Path, name: str) -> None:
    """Delete the file; a missing file is not an error.

    Raises:
        UnsafeProbeFile: the file is not ours, or cannot be deleted.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        if _checked_file(parent, path) is not None:
            with _as_probe_error(path):
                os.unlink(name, dir_fd=parent)


@contextmanager
def _opened(directory: Path, *, make: bool) -> Iterator[int]:
    """Opens the directory. It must be private, so that no other user can replace the file in it."""
    with _as_probe_error(directory):
        if make:
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
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
    # O_NONBLOCK: without it, opening a named pipe waits for its other end.
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _as_probe_error(path: Path) -> Iterator[None]:
    """Converts an OSError into `FilesystemFull` or `UnsafeProbeFile`."""
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
    """Returns the status of the file if it is usable; None without a file.

    The check comes before opening, because opening a device node may have effects.
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
    """Restore the file. If that fails, the check before the next run detects it by the length."""
    with suppress(OSError):
        if before is None:
            os.unlink(name, dir_fd=parent)
        else:
            os.ftruncate(descriptor, before.st_size)
