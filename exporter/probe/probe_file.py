"""The file that probes read and write: one a device, in a directory that is ours alone.

fio is told of it by its name, so what the name stands for is looked at before each run: a regular
file, ours, with no second name. It is filled with random data once and kept: reads of a file that
was only allocated never reach the drive (0.4 µs measured, against 64 µs), drives compress zeros,
and a file made anew costs allocation and discards.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.errors import ReadError

#: The file is filled in such pieces.
CHUNK_BYTES = 1 << 20
#: Written back so often, lest all of it reaches the drive at once.
_SYNCED_BYTES = 8 << 20

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


class UnsafeProbeFile(ReadError):
    """The file or its directory is none that a probe may use; the words say what to do."""


class FilesystemFull(ReadError):
    """The filesystem or a quota is full; what was begun has been taken away again."""


def prepare(
    directory: Path,
    name: str,
    size_bytes: int,
    *,
    fill: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """The file `name` in `directory`, at least `size_bytes` long; both are made where missing.

    What the file lacks is filled with random data, in chunks, and made to last; `progress` hears
    the file's size after each. Where it raises, as to give up, or the disk is full, the file is
    as it was. Without `fill` the file is given its length only: for a run that writes it
    once from end to end.

    Raises:
        Refused: a link, a device node, someone else's file, a read-only filesystem...
        NoSpace: the disk is full.
    """
    path = directory / name
    with _opened(directory, make=True) as parent:
        before = _looked_at(parent, path)
        with _words(path), _descriptor(parent, name, os.O_RDWR | os.O_CREAT) as descriptor:
            found = _checked(path, os.fstat(descriptor))
            if found.st_size >= size_bytes:
                return path
            is_done = False
            try:
                if fill:
                    _fill(descriptor, found.st_size, size_bytes, progress)
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
    """See that nothing is there, or a file that may be filled; the directory is made.

    Raises:
        Refused, NoSpace: as `prepare`.
    """
    with _opened(directory, make=True) as parent:
        _looked_at(parent, directory / name)


def check(directory: Path, name: str, size_bytes: int) -> Path:
    """The file where it is as `prepare` left it; to be asked right before each run.

    fio deletes a file that is shorter than it wants, so a short one is refused too.

    Raises:
        Refused: it is not, or is gone.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        found = _looked_at(parent, path)
        if found is None:
            raise UnsafeProbeFile(f"{path} is gone; it is made anew before the next probe")
        if found.st_size < size_bytes:
            raise UnsafeProbeFile(
                f"{path} is shorter than {size_bytes} bytes; it is filled before a probe"
            )
    return path


def missing_bytes(directory: Path, name: str, size_bytes: int) -> int:
    """What of the file is not on the disk yet: for the look at the free space, and the budget."""
    try:
        found = os.lstat(directory / name)
    except OSError:
        return size_bytes
    # Not its length: a file that was not filled takes its space when it is written.
    there = found.st_blocks * 512 if stat.S_ISREG(found.st_mode) else 0
    return max(0, size_bytes - there)


def shorten(directory: Path, name: str, size_bytes: int) -> None:
    """Give back what the file has beyond `size_bytes`; one that is no longer stays as it is.

    Raises:
        Refused: it is not ours, or cannot be shortened.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        if _looked_at(parent, path) is None:
            return
        with _words(path), _descriptor(parent, name, os.O_RDWR) as descriptor:
            if _checked(path, os.fstat(descriptor)).st_size > size_bytes:
                os.ftruncate(descriptor, size_bytes)


def remove(directory: Path, name: str) -> None:
    """Delete the file, where it is ours; that it is not there is well too.

    Raises:
        Refused: it is not ours, or cannot be deleted.
    """
    path = directory / name
    with _opened(directory, make=False) as parent:
        if _looked_at(parent, path) is not None:
            with _words(path):
                os.unlink(name, dir_fd=parent)


@contextmanager
def _opened(directory: Path, *, make: bool) -> Iterator[int]:
    """The directory, ours alone, so that nobody can put another file in the place of ours."""
    with _words(directory):
        if make:
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise UnsafeProbeFile(
                f"{directory} belongs to user {found.st_uid}, not {os.geteuid()};"
                " probes need a directory of their own: chown it, or name another"
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise UnsafeProbeFile(
                f"{directory} is open to other users; chmod 0700 it, or name another"
            )
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _descriptor(parent: int, name: str, flags: int) -> Iterator[int]:
    # Not waiting: a pipe in its place would have us wait for its other end.
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _words(path: Path) -> Iterator[None]:
    """What the system says, as one of our errors."""
    try:
        yield
    except OSError as e:
        if e.errno in _NO_SPACE:
            raise FilesystemFull(
                f"{path}: {e.strerror}; what was begun was taken away again"
            ) from e
        if e.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafeProbeFile(
                f"{path} is a link, or lies in no directory; probes follow none"
            ) from e
        raise UnsafeProbeFile(f"{path}: {e.strerror or e}") from e


def _looked_at(parent: int, path: Path) -> os.stat_result | None:
    """What is there, before it is opened: opening a device node may do something."""
    with _words(path):
        try:
            found = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
    return _checked(path, found)


def _checked(path: Path, found: os.stat_result) -> os.stat_result:
    if stat.S_ISLNK(found.st_mode):
        raise UnsafeProbeFile(f"{path} is a link; probes follow none: remove it")
    if stat.S_ISBLK(found.st_mode) or stat.S_ISCHR(found.st_mode):
        raise UnsafeProbeFile(
            f"{path} is a device node; a probe would destroy what is on it: remove it"
        )
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeProbeFile(f"{path} is no regular file: remove it")
    if found.st_uid != os.geteuid():
        raise UnsafeProbeFile(
            f"{path} belongs to user {found.st_uid}, not {os.geteuid()}: remove it"
        )
    if found.st_nlink != 1:
        raise UnsafeProbeFile(
            f"{path} has {found.st_nlink} names; a probe would write another's file"
        )
    return found


def _fill(descriptor: int, begin: int, end: int, progress: Callable[[int], None] | None) -> None:
    place = begin
    while place < end:
        chunk = memoryview(os.urandom(min(CHUNK_BYTES, end - place)))
        while chunk:
            written = os.pwrite(descriptor, chunk, place)
            chunk = chunk[written:]
            place += written
        if place % _SYNCED_BYTES == 0:
            os.fdatasync(descriptor)
        if progress is not None:
            progress(place)


def _undo(parent: int, name: str, descriptor: int, before: os.stat_result | None) -> None:
    """Leave the file as it was; what cannot be undone is found too short the next time."""
    with suppress(OSError):
        if before is None:
            os.unlink(name, dir_fd=parent)
        else:
            os.ftruncate(descriptor, before.st_size)
