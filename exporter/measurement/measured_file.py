"""The file of a measurement: filled at a bearable pace, and taken away again."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ConfigError
from exporter.probe import probe_file

#: What production bears beside it: the daemon's pace.
_BYTES_PER_SECOND = 64 << 20

#: Who is later than this, as after a stall, does not catch up.
_LATE_SECONDS = 0.25


def missing_bytes(directory: Path, name: str, size_bytes: int) -> int:
    """What filling the file writes.

    A file that is long enough and has holes, as an aborted run leaves them, is filled anew.
    """
    missing = probe_file.missing_bytes(directory, name, size_bytes)
    return size_bytes if missing and _length(directory / name) >= size_bytes else missing


def fill_seconds(missing: int) -> float:
    """How long it takes to fill so much, on a drive that is faster than we want to be."""
    return missing / _BYTES_PER_SECOND


def fill(
    directory: Path,
    name: str,
    size_bytes: int,
    *,
    missing: int,
    clock: Clock,
    filling: Callable[[int], None],
) -> None:
    """Fill what is missing; `filling` hears how far the file reaches, and may raise to give up.

    Raises:
        ConfigError: the directory or the file is none that may be used.
        NoSpace: the disk is full; what was begun is taken away again.
    """
    due, before = clock.monotonic(), size_bytes - missing

    def progress(at: int) -> None:
        nonlocal due, before
        filling(at)
        due = max(due, clock.monotonic() - _LATE_SECONDS)
        due, before = due + max(0, at - before) / _BYTES_PER_SECOND, max(at, before)
        if (left := due - clock.monotonic()) > 0:
            clock.sleep(left)

    with _usable(directory):
        if _length(directory / name) >= size_bytes:
            probe_file.remove(directory, name)
        probe_file.prepare(directory, name, size_bytes, progress=progress)


def look(directory: Path, name: str) -> None:
    """See that the file may be used, before anything is charged for it; the directory is made.

    Raises:
        ConfigError: the directory or the file is none that may be used.
    """
    with _usable(directory):
        probe_file.look(directory, name)


def sized(directory: Path, name: str, size_bytes: int) -> Path:
    """The file, at least of that length, as it must be right before a run.

    Raises:
        ConfigError: the directory or the file is none that may be used.
        NoSpace: the disk is full.
    """
    with _usable(directory):
        probe_file.prepare(directory, name, size_bytes, fill=False)
        return probe_file.check(directory, name, size_bytes)


@contextmanager
def removed(
    directory: Path, name: str, stays: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """The file is gone afterwards, and so is the directory where it was not there before.

    stays: asked at the end whether both are left, because something writes there still.
    """
    is_new = not os.path.lexists(directory)
    try:
        yield
    finally:
        if not stays():
            # What is not ours is left alone.
            with suppress(probe_file.Refused, probe_file.NoSpace):
                probe_file.remove(directory, name)
            if is_new:
                with suppress(OSError):
                    os.rmdir(directory)


@contextmanager
def _usable(directory: Path) -> Iterator[None]:
    try:
        yield
    except probe_file.Refused as e:
        hint = "a directory that does not exist yet is best: it is made, for us alone"
        if not os.path.lexists(directory):
            hint = "run this as root, or name a place where you may make one"
        raise ConfigError(str(e), hint) from e


def _length(file: Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return -1
