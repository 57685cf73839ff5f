r"""Reads the mounts that a process sees from /proc/<pid>/mountinfo.

https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html

A line of the file::

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue

The kernel escapes space, tab, newline and backslash as ``\040``, ``\011``, ``\012`` and ``\134``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files
from exporter.runtime.errors import (
    Faults,
    LimitReached,
    NotAvailable,
    Parsed,
    ParseError,
    ReadError,
)

#: The maximum number of mounts of the host. A host with 250 containers has about 2,000.
_MAX_MOUNTS = 16_384

#: The maximum size of the mounts of the host, in bytes. The options of a mount of a container may
#: have 4 KB.
_MAX_FILE_BYTES = 6 << 20

#: The number of bytes that contain the first line of mountinfo. The kernel limits the options of a
#: mount to one page.
_FIRST_LINE_BYTES = 1 << 16

_ESCAPE = re.compile(r"\\([0-3][0-7]{2})", re.ASCII)
_DEVICE_NUMBER = re.compile(r"\d{1,10}:\d{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount: a filesystem, or a directory of it, that is visible at a mountpoint.

    number: the device number of the filesystem, ``major:minor``.
    root: the directory of the filesystem that is visible at the mountpoint. It is ``/``, except for
        bind mounts and btrfs subvolumes.
    mountpoint: the path of the mountpoint, in the view of the process.
    options: the options of this mount.
    fstype: the type of the filesystem, such as ``ext4``.
    source: the device or other source, such as ``/dev/sda1`` or ``tmpfs``.
    super_options: the options of the filesystem.
    """

    number: str
    root: str
    mountpoint: str
    options: tuple[str, ...]
    fstype: str
    source: str
    super_options: tuple[str, ...]

    @property
    def filesystem_readonly(self) -> bool:
        """True if the whole filesystem is read-only, for example because of errors=remount-ro."""
        return "ro" in self.super_options

    @property
    def mount_readonly(self) -> bool:
        """True if this mount is read-only. Other mounts of the filesystem may be writable."""
        return "ro" in self.options

    @property
    def is_bind(self) -> bool:
        """True if this mount shows only a part of a filesystem, or of a btrfs subvolume."""
        if self.fstype == "btrfs":
            # The options contain the path of the subvolume. The root is the same path, or a path
            # below it if this is a bind mount.
            return self.root != "/" and f"subvol={self.root}" not in self.super_options
        return self.root != "/"


@dataclass(frozen=True, slots=True)
class Mounts:
    """All mounts of one mount namespace.

    mounts: the mounts, in the order of the file.
    of_host: true if these are the mounts of the host; false if they are those of the exporter's own
        mount namespace. There, a mount may be read-only although the host can write to it.
    """

    mounts: tuple[Mount, ...] = ()
    of_host: bool = True


def read(proc: Path) -> Parsed[Mounts]:
    """Returns the mounts of the host, which are those of process 1.

    If these cannot be read, the result contains the exporter's own mounts. `Mounts.of_host` is then
    false.

    Raises:
        NotAvailable: the mounts of process 1 cannot be read, and the exporter's own file is absent.
        ReadError: neither the mounts of process 1 nor the exporter's own mounts can be read.
    """
    try:
        parsed, of_host = read_process(proc, 1), True
    except (NotAvailable, ReadError):
        text = files.read(proc / "self" / "mountinfo", _MAX_FILE_BYTES)
        parsed, of_host = parse(text), False
    return Parsed(Mounts(parsed.value, of_host), parsed.faults)


def read_process(proc: Path, pid: int) -> Parsed[tuple[Mount, ...]]:
    """Returns the mounts that a process sees. Processes in a container see other mounts.

    Raises:
        NotAvailable: the process has ended.
        ReadError: the file cannot be read, for example because permission is denied.
    """
    return parse(files.read(proc / str(pid) / "mountinfo", _MAX_FILE_BYTES))


def read_first_line(proc: Path, pid: int) -> bytes:
    """Returns the first line of a process's mountinfo file; empty if it cannot be read.

    It identifies the mount namespace and the root directory of the process: it begins with the ID
    of a mount, and no two mounts of the host have the same ID.
    """
    text = files.read_start(proc / str(pid) / "mountinfo", _FIRST_LINE_BYTES)
    return text.partition(b"\n")[0]


def parse(text: str) -> Parsed[tuple[Mount, ...]]:
    """Returns the mounts from the text of a mountinfo file, in the order of its lines.

    Never raises: each malformed line adds an exception to `Parsed.faults`. At most 16,384 mounts
    are returned, and a fault reports that there are more.
    """
    mounts: list[Mount] = []
    faults = Faults()
    # Mounts with equal options share one tuple, because a host has few different options.
    options: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(files.lines_of(text), start=1):
        if number > _MAX_MOUNTS:
            faults.add(LimitReached(f"mountinfo: only the first {_MAX_MOUNTS} mounts are used"))
            break
        if not line:
            continue
        try:
            mounts.append(_parse_line(line, options))
        except ParseError as e:
            faults.add(ParseError(f"mountinfo:{number}: {e}"))
    return Parsed(tuple(mounts), faults.listed())


def mount_containing(mounts: Iterable[Mount], directory: str) -> Mount | None:
    """Returns the mount that contains a directory; None if there is none.

    Of all mountpoints that are the directory or above it, the longest is used. If several mounts
    have this mountpoint, the last one is returned, because it hides the others.
    """
    best: Mount | None = None
    for mount in mounts:
        if is_inside(directory, mount.mountpoint) and (
            best is None or len(mount.mountpoint) >= len(best.mountpoint)
        ):
            best = mount
    return best


def is_inside(directory: str, mountpoint: str) -> bool:
    """True if a directory is the mountpoint or is below it."""
    return directory == mountpoint or directory.startswith(mountpoint.rstrip("/") + "/")


def _parse_line(line: str, known_options: dict[str, tuple[str, ...]]) -> Mount:
    fields = line.split(" ")
    # The sixth field is followed by any number of optional fields, and then by a single hyphen. The
    # source may be an empty field.
    try:
        separator = fields.index("-", 6)
        _id, _parent, number, root, mountpoint, options = fields[:6]
        fstype, source, super_options = fields[separator + 1 : separator + 4]
    except ValueError as e:
        raise ParseError(f"too few fields: {line[:200]!r}") from e
    if not _DEVICE_NUMBER.fullmatch(number) or not mountpoint.startswith("/"):
        raise ParseError(f"no device number or mountpoint: {line[:200]!r}")
    return Mount(
        number=number,
        root=_unescape(root),
        mountpoint=_unescape(mountpoint),
        options=_split_options(options, known_options),
        fstype=_unescape(fstype),
        source=_unescape(source),
        super_options=_split_options(super_options, known_options),
    )


def _split_options(text: str, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    options = known.get(text)
    if options is None:
        options = known[text] = tuple(_unescape(option) for option in text.split(","))
    return options


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text
