"""Reads kernel files of limited size, and distinguishes absent files from unreadable files.

Two groups of functions:

- For files of /proc, which contain whole tables: `read`, or `read_raw` and later `decode`. `read`
  and `decode` raise `NotAvailable` for an absent file and `ReadError` for an unreadable one.
- For attributes, which are files of /sys with one value: `read_attribute` and `read_integer`. They
  return None for every failure.

`resolve_symlinks` and `path_below` handle paths of a host whose root directory is mounted
elsewhere, such as at /host in a container.
"""

import errno
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from exporter.runtime.errors import (
    Faults,
    LimitReached,
    NotAvailable,
    ParseError,
    ReadError,
)

#: The maximum size of one kernel file, in bytes, unless the reader of a file sets another limit.
#: /proc/net/softnet_stat has 600 KB with 4,096 CPUs.
LARGEST_FILE_BYTES = 2 << 20

#: The maximum number of disks in /sys/block, and of devices in a list of counters. A disk takes
#: about 60 KB of memory. docs/costs.md states the memory of 1,000 disks.
MAX_DEVICES = 4096

#: The maximum number of CPUs: the largest CONFIG_NR_CPUS of the kernel.
MAX_CPUS = 8192

#: The maximum number of names that are read from one directory, such as /sys/block.
MAX_NAMES = 20_000

#: The maximum number of symbolic links that are followed in one path. The kernel has the same
#: limit: path_resolution(7).
_MAX_LINKS = 40

#: The maximum number of system calls for one path and its links. Real paths need fewer than 30.
_MAX_LOOKUPS = 128

#: The maximum length of a path: PATH_MAX of linux/limits.h.
_MAX_PATH_LENGTH = 4096

#: Every unsigned 64-bit counter is smaller than this number.
COUNTER_END = 1 << 64

#: The bytes that are read of an attribute. It fits in one page.
_ATTRIBUTE_BYTES = 2 * os.sysconf("SC_PAGE_SIZE")

_CHUNK_BYTES = 1 << 16
#: The room for growth in the buffer of an open file, in bytes.
_SPARE_BYTES = 1 << 12
_new = tuple.__new__  # faster than the constructor of a named tuple
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK

#: The errors of a feature that is missing or disabled, such as EOPNOTSUPP after a boot with psi=0.
_ABSENT = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP, errno.ESRCH}
)


class RawFile(NamedTuple):
    """The bytes of a file, not yet decoded.

    path: the path of the file.
    content: all bytes of the file; empty after an error.
    error: the exception that occurred; None if the file was read.
    """

    path: Path | str
    content: bytes
    error: OSError | ReadError | None = None


class OpenFile:
    """A kernel file that is read every second and stays open between the readings.

    Opening and closing take as long as the reading. A file in /proc has new content each time it is
    read from offset 0
    (https://docs.kernel.org/filesystems/seq_file.html). Not thread-safe: only one thread may use an
    object at a time.

    limit: the maximum size of the file, in bytes.
    is_single: the kernel generates the whole content at the first read(2), as for /proc/stat
        (single_open of fs/seq_file.c). A second read, which would return nothing, is omitted.
    """

    __slots__ = ("_descriptor", "_is_single", "_limit", "_path", "_room")

    def __init__(
        self, path: Path | str, limit: int = LARGEST_FILE_BYTES, *, is_single: bool = False
    ) -> None:
        self._path = path
        self._limit = limit
        self._is_single = is_single
        self._room = 2 * _SPARE_BYTES
        self._descriptor: int | None = None

    def __del__(self) -> None:
        self._close()

    def read(self, *, check_replaced: bool = True) -> RawFile:
        """Returns the bytes of the whole file. Never raises: `RawFile.error` is the exception.

        check_replaced: also check whether the open file has been deleted, and if so, open the path
            again. The check takes a third of the time of a reading. Callers that can accept a late
            detection pass False.
        """
        try:
            descriptor = self._descriptor
            if check_replaced and descriptor is not None and not os.fstat(descriptor).st_nlink:
                # Another file may be at the path: a test replaced it, or a FUSE /proc restarted.
                self._close()
                descriptor = None
            if descriptor is None:
                descriptor = self._descriptor = os.open(self._path, _FLAGS)
            room = self._room
            content = os.pread(descriptor, room, 0)
            if not self._is_single or len(content) == room:
                content = self._with_rest(descriptor, content)
            if len(content) > self._limit:
                return _too_large(self._path, self._limit)
            return _new(RawFile, (self._path, content, None))
        except OSError as e:
            self._close()
            return RawFile(self._path, b"", e)

    def _with_rest(self, descriptor: int, content: bytes) -> bytes:
        """Returns the bytes up to the end of the file, or to the limit."""
        chunks, size = [content], len(content)
        while size <= self._limit and (chunk := os.pread(descriptor, self._room, size)):
            chunks.append(chunk)
            size += len(chunk)
        # A buffer that is much larger than the file would be allocated and trimmed each time.
        self._room = max(self._room, min(size, _CHUNK_BYTES) + _SPARE_BYTES)
        return b"".join(chunks)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def read(path: Path | str, limit: int = LARGEST_FILE_BYTES) -> str:
    """Returns the text of a kernel file.

    limit: the maximum size of the file, in bytes.

    Raises:
        NotAvailable: the kernel has no such file, or the feature is disabled.
        LimitReached: the file exceeds the limit.
        ReadError: the file exists but cannot be read.
    """
    return decode(read_raw(path, limit))


def read_start(path: Path | str, limit: int) -> bytes:
    """Returns the bytes at the start of a file, at most `limit`; empty if it cannot be read."""
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            content = b""
            while len(content) < limit and (chunk := os.read(descriptor, limit - len(content))):
                content += chunk
            return content
        finally:
            os.close(descriptor)
    except OSError:
        return b""


def read_raw(path: Path | str, limit: int = LARGEST_FILE_BYTES) -> RawFile:
    """Returns the bytes of a kernel file. Never raises: `RawFile.error` is the exception.

    limit: the maximum size of the file, in bytes.
    """
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            return _read_to_end(path, descriptor, limit)
        finally:
            os.close(descriptor)
    except OSError as e:
        return RawFile(path, b"", e)


def decode(raw: RawFile) -> str:
    """Returns the text of a file from its bytes.

    Bytes that are not UTF-8 become hexadecimal escapes with a backslash, so that every name can be
    printed.

    Raises:
        NotAvailable: the kernel has no such file, or the feature is disabled.
        LimitReached: the file exceeds the limit.
        ReadError: the file exists but could not be read.
    """
    error = raw.error
    if isinstance(error, OSError):
        raise _source_error(raw.path, error) from error
    if error is not None:
        raise error
    return raw.content.decode("utf-8", "backslashreplace")


def decode_required(raw: RawFile) -> str:
    """Returns the text of a file that exists in every kernel, from its bytes.

    Because every kernel has the file, its absence is also a ReadError.

    Raises:
        LimitReached: the file exceeds the limit.
        ReadError: the file is absent or could not be read.
    """
    try:
        return decode(raw)
    except NotAvailable as e:
        hint = "every kernel has this file: check --path.procfs, and ProcSubset= of systemd"
        raise ReadError(f"{e}; {hint}") from e


def read_attribute(path: Path | str) -> str | None:
    """Returns the text of a sysfs attribute without surrounding white space.

    None means that the attribute is absent, empty, or cannot be read. Drivers return EINVAL,
    EIO, EAGAIN and other errors for attributes that they do not support on a device.
    """
    # One read(2) is enough (https://docs.kernel.org/filesystems/sysfs.html).
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            content = os.read(descriptor, _ATTRIBUTE_BYTES)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    return content.decode("utf-8", "backslashreplace").strip() or None


def read_integer(path: Path | str, base: int = 10, minimum: int = 0) -> int | None:
    """Returns the number in a sysfs attribute, from `minimum` to 2^64 - 1.

    None means that the attribute cannot be read, is not a number, or is out of that range.

    base: the base of the number, as for `int`. With base 0 the text may have a prefix: 0x10 is 16.
    """
    text = read_attribute(path)
    try:
        number = None if text is None else int(text, base)
    except ValueError:
        return None
    return None if number is None or not minimum <= number < COUNTER_END else number


def list_names(path: Path) -> tuple[str, ...]:
    """Returns the sorted names in a directory; an empty tuple if it cannot be listed.

    At most `MAX_NAMES` names are read.
    """
    try:
        with os.scandir(path) as entries:
            return tuple(sorted(entry.name for entry in islice(entries, MAX_NAMES)))
    except OSError:
        return ()


def parse_counter(text: str, base: int = 10) -> int:
    """Returns the value of a text that is an unsigned 64-bit counter of the kernel.

    base: the base of the number, as for `int`.

    Raises:
        ValueError: the text is not a number, or is out of range.
    """
    number = int(text, base)
    if not 0 <= number < COUNTER_END:
        raise ValueError(f"{text[:40]!r} is not an unsigned 64-bit counter")
    return number


def lines_of(text: str) -> Iterator[str]:
    """Yields the lines of a text, which end at a newline only.

    Unlike split(), this needs no memory for all lines at once. Unlike splitlines(), it does not
    split at characters such as a carriage return, which the kernel does not escape in names.
    """
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def split_complete_lines(file: str, text: str, limit: int) -> tuple[list[str], Faults]:
    """Returns the lines that end with a newline, and the faults.

    There is one fault if the last line has no newline. The kernel ends every line with a newline,
    so a line without one is cut off. It is not used, because a number without its last digits would
    be wrong. There is also a fault if there are more lines than the limit.

    file: the name of the file in the text of the fault.
    limit: the maximum number of lines.
    """
    lines = text.split("\n", limit)
    rest = lines.pop()
    if not rest:
        return lines, Faults()
    if len(lines) == limit:
        return lines, Faults([LimitReached(f"{file}: only the first {limit} lines are used")])
    return lines, Faults([ParseError(f"{file}: the last line is cut off: {rest[:200]!r}")])


def path_below(rootfs: Path, path: str) -> Path:
    """Returns the path by which this process accesses a file of the host.

    rootfs: the directory at which the host's root filesystem is mounted for this process.
    path: the absolute path of the file on the host.
    """
    return rootfs / path.lstrip("/")


def resolve_symlinks(rootfs: Path, path: str) -> str:
    """Returns an absolute path of the host in which the symbolic links have been followed.

    A component that cannot be read is treated as not being a link. Therefore the part of the path
    below a directory of mode 0700 stays unchanged. At most 40 links are followed. A path that is
    longer than PATH_MAX or needs more than 128 lookups is returned unchanged. These limits are
    needed because any user may start a process named mysqld with any path on its command line.

    rootfs: the directory at which the host's root filesystem is mounted for this process.
    path: an absolute path on the host. The result is also a path on the host.
    """
    if len(path) > _MAX_PATH_LENGTH:
        return path
    resolved: list[str] = []
    pending = _reversed_components(path)
    links = 0
    for _ in range(_MAX_LOOKUPS):
        if not pending:
            return "/" + "/".join(resolved)
        component = pending.pop()
        if component == "..":
            del resolved[-1:]
            continue
        candidate = os.path.join(rootfs, *resolved, component)
        target = _link_target(candidate) if links < _MAX_LINKS else None
        if target is None:
            resolved.append(component)
            continue
        links += 1
        if target.startswith("/"):
            resolved.clear()
        pending.extend(_reversed_components(target))
    return path


def _read_to_end(path: Path | str, descriptor: int, limit: int) -> RawFile:
    # A seq_file returns about one page per read(2), even if the buffer is larger.
    chunks: list[bytes] = []
    size = 0
    room = min(_CHUNK_BYTES, limit + 1)
    while chunk := os.read(descriptor, room):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return _too_large(path, limit)
    return RawFile(path, b"".join(chunks))


def _too_large(path: Path | str, limit: int) -> RawFile:
    message = f"{path}: not read, because it is larger than {limit} bytes"
    return RawFile(path, b"", LimitReached(message))


def _source_error(path: Path | str, e: OSError) -> NotAvailable | ReadError:
    kind = NotAvailable if e.errno in _ABSENT else ReadError
    return kind(f"{path}: {e.strerror or e}")


def _reversed_components(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):  # ValueError: a null byte in a path of an option file
        return None
