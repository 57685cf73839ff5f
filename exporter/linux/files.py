"""Paths of a host whose / may be mounted elsewhere for the reader, as /host in a container.

Reading the kernel's files whole, within bounds, and telling "not there" from "broken".
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from exporter.errors import NotAvailable, ParseError, ReadError, SourceError

#: As many as the kernel follows: path_resolution(7).
_MOST_LINKS = 40

#: PATH_MAX of linux/limits.h.
_LONGEST_PATH = 4096


def path_below(rootfs: Path, path: str) -> Path:
    return rootfs / path.lstrip("/")


def resolve_symlinks(rootfs: Path, path: str) -> str:
    """A path of the host with its symbolic links followed, never out of `rootfs`.

    What cannot be read is taken for no link: below a directory of mode 0700 the rest stays as it
    is. A ring of links is given up, not followed for ever, and so is a path that is longer than
    the kernel takes: any user may call a process mysqld and give it a command line.
    """
    if len(path) > _LONGEST_PATH:
        return path
    done: list[str] = []
    waiting = _parts(path)
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            del done[-1:]
            continue
        target = _target(rootfs.joinpath(*done, part)) if links < _MOST_LINKS else None
        if target is None:
            done.append(part)
            continue
        links += 1
        if target.startswith("/"):
            done.clear()
        waiting.extend(_parts(target))
        if len(waiting) > _LONGEST_PATH:
            break
    return "/" + "/".join(done)


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _target(path: Path) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):  # ValueError: a null byte in an option file's path
        return None


T = TypeVar("T")

#: 2,000 devices make about 200 KB of diskstats, 4,096 CPUs about 5 MB of softirqs.
LARGEST_FILE_BYTES = 32 << 20

_CHUNK_BYTES = 1 << 16
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK

#: What a kernel answers for a feature that it lacks or that is switched off, as PSI with psi=0.
_ABSENT = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP, errno.ESRCH}
)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What a file said, and what in it was not understood.

    A broken line costs its own record only: it stands in `faults`, the rest in `value`.
    """

    value: T
    faults: tuple[SourceError, ...] = ()


class RawFile(NamedTuple):
    """What reading a file gave, to be made sense of later; `error` is what it raised."""

    path: Path | str
    content: bytes
    error: OSError | ReadError | None = None


def read_raw(path: Path | str) -> RawFile:
    """A kernel file, whole, as it is; never raises."""
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            return _whole(path, descriptor)
        finally:
            os.close(descriptor)
    except OSError as e:
        return RawFile(path, b"", e)


class OpenFile:
    """A kernel file that is read every second, and stays open: to look its path up, open and close
    it each time costs as much as to read it.

    One in /proc says something new each time that it is read from its beginning
    (https://docs.kernel.org/filesystems/seq_file.html). For one thread.
    """

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def __del__(self) -> None:
        self._close()

    def read(self, *, check_replaced: bool = True) -> RawFile:
        """As `raw` of the path; without `look_up` of what it led to before."""
        try:
            descriptor = self._descriptor
            # To ask is a third of what reading costs with cold caches.
            if check_replaced and descriptor is not None and not os.fstat(descriptor).st_nlink:
                # Another took its place: a recorded host, or a /proc of FUSE that began anew.
                self._close()
                descriptor = None
            if descriptor is None:
                descriptor = self._descriptor = os.open(self._path, _FLAGS)
            else:
                os.lseek(descriptor, 0, os.SEEK_SET)
            return _whole(self._path, descriptor)
        except OSError as e:
            self._close()
            return RawFile(self._path, b"", e)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _whole(path: Path | str, descriptor: int) -> RawFile:
    """Until the end of file: seq_file hands out about a page per read(2) whatever the buffer."""
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_FILE_BYTES:
            too_large = f"{path}: larger than {LARGEST_FILE_BYTES} bytes; not read"
            return RawFile(path, b"", ReadError(too_large))
    return RawFile(path, b"".join(chunks))


def decode(found: RawFile) -> str:
    """The text of what was read; bytes that are no UTF-8 come as backslash escapes, so that every
    name prints.

    Raises:
        NotAvailable: the kernel has no such file, or says that the feature is off.
        ReadError: the file is there and cannot be read, or is larger than `LARGEST_FILE_BYTES`.
    """
    error = found.error
    if isinstance(error, OSError):
        raise _source_error(found.path, error) from error
    if error is not None:
        raise error
    return found.content.decode("utf-8", "backslashreplace")


def decode_required(found: RawFile) -> str:
    """The text of a file that every kernel has: that it is not there is a failure.

    Raises:
        ReadError: it is not there, or as `text`.
    """
    try:
        return decode(found)
    except NotAvailable as e:
        hint = "every kernel has it: see --path.procfs, and ProcSubset= of systemd"
        raise ReadError(f"{e}; {hint}") from e


def read(path: Path | str) -> str:
    """The whole text of a kernel file; raises as `text`."""
    return decode(read_raw(path))


def read_attribute(path: Path | str) -> str | None:
    """A sysfs attribute without its line end; None where there is none or it cannot be read.

    Drivers answer EINVAL, EIO, EAGAIN and more for attributes that they do not support on this
    device, so for one attribute every failure reads as "not known". An empty one is not known.
    """
    # Not by `read`: one is a page at most and comes in one read(2)
    # (https://docs.kernel.org/filesystems/sysfs.html), and a survey asks for hundreds.
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            content = os.read(descriptor, _CHUNK_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    return content.decode("utf-8", "backslashreplace").strip() or None


def read_integer(path: Path | str, base: int = 10, least: int = 0) -> int | None:
    """A sysfs attribute as a number of 64 bits; None where there is none or it is no such number.

    Base 0 takes the kernel's own prefixes: 0x10 is 16.
    """
    text = read_attribute(path)
    try:
        number = None if text is None else int(text, base)
    except ValueError:
        return None
    return None if number is None or not least <= number < 1 << 64 else number


def parse_counter(text: str, base: int = 10) -> int:
    """One of the kernel's unsigned counters, at most 64 bits wide; ValueError else."""
    number = int(text, base)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{text[:40]!r} is no counter of the kernel")
    return number


def split_complete_lines(file: str, text: str) -> tuple[list[str], list[ParseError]]:
    """The lines that end, and a fault for a rest that does not.

    The kernel ends every line; a number that was cut off would read as a smaller one.
    """
    *lines, rest = text.split("\n")
    if not rest:
        return lines, []
    return lines, [ParseError(f"{file}: the last line is cut off: {rest[:200]!r}")]


def list_names(path: Path) -> tuple[str, ...]:
    """What a directory holds, sorted; nothing where it cannot be listed."""
    try:
        return tuple(sorted(os.listdir(path)))
    except OSError:
        return ()


def _source_error(path: Path | str, e: OSError) -> NotAvailable | ReadError:
    kind = NotAvailable if e.errno in _ABSENT else ReadError
    return kind(f"{path}: {e.strerror or e}")
