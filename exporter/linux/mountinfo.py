r"""Reads /proc/<pid>/mountinfo: the mounts that a process sees.

https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html

::

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue

The kernel escapes space, tab, newline and backslash as ``\040``, ``\011``, ``\012`` and ``\134``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotAvailable, ParseError, ReadError
from exporter.linux import files
from exporter.linux.files import Parsed

_ESCAPE = re.compile(r"\\([0-3][0-7]{2})", re.ASCII)
_DEVICE_NUMBER = re.compile(r"\d{1,10}:\d{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount.

    number: the filesystem's device number ``major:minor``.
    root: the directory of the filesystem that is mounted: ``/``, except for bind mounts and btrfs
        subvolumes.
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
        """Whether the whole filesystem is read-only, for example after errors=remount-ro."""
        return "ro" in self.super_options

    @property
    def mount_readonly(self) -> bool:
        """Whether this mount is read-only. Other mounts of the filesystem may be writable."""
        return "ro" in self.options

    @property
    def is_bind(self) -> bool:
        """Whether this mount shows only a part of a filesystem, other than a btrfs subvolume."""
        if self.fstype == "btrfs":
            # The options name the mounted subvolume. The root of a bind mount is below it.
            return self.root != "/" and f"subvol={self.root}" not in self.super_options
        return self.root != "/"


@dataclass(frozen=True, slots=True)
class Mounts:
    """All mounts of one mount namespace, in the order of mounting.

    `of_host` is false if they are the exporter's own mounts. In a sandbox, filesystems may be
    read-only for the exporter although the host can write to them.
    """

    mounts: tuple[Mount, ...] = ()
    of_host: bool = True


def read(proc: Path) -> Parsed[Mounts]:
    """Returns the host's mounts, from process 1; the exporter's own if those cannot be read.

    Raises:
        NotAvailable: neither file exists.
        ReadError: neither file can be read.
    """
    try:
        parsed, of_host = read_process(proc, 1), True
    except (NotAvailable, ReadError):
        parsed, of_host = parse(files.read(proc / "self" / "mountinfo")), False
    return Parsed(Mounts(parsed.value, of_host), parsed.faults)


def read_process(proc: Path, pid: int) -> Parsed[tuple[Mount, ...]]:
    """Returns the mounts that a process sees. A container has its own.

    Raises:
        NotAvailable: the process has ended.
        ReadError: permission denied.
    """
    return parse(files.read(proc / str(pid) / "mountinfo"))


def parse(text: str) -> Parsed[tuple[Mount, ...]]:
    """Returns the mounts in the order of the file; each malformed line is a fault. Never raises."""
    mounts: list[Mount] = []
    faults: list[ParseError] = []
    # splitlines() would also split at characters that the kernel does not escape in names.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        try:
            mounts.append(_parse_line(line))
        except ParseError as e:
            faults.append(ParseError(f"mountinfo:{number}: {e}"))
    return Parsed(tuple(mounts), tuple(faults))


def mount_containing(mounts: Iterable[Mount], directory: str) -> Mount | None:
    """Returns the mount that contains a directory; None if no mountpoint is above it.

    This is the mount with the longest mountpoint, and the last one of equal mountpoints.
    """
    best: Mount | None = None
    for mount in mounts:
        if is_inside(directory, mount.mountpoint) and (
            best is None or len(mount.mountpoint) >= len(best.mountpoint)
        ):
            best = mount
    return best


def is_inside(directory: str, mountpoint: str) -> bool:
    """Whether a directory is the mountpoint or is below it."""
    return directory == mountpoint or directory.startswith(mountpoint.rstrip("/") + "/")


def _parse_line(line: str) -> Mount:
    fields = line.split(" ")
    # A single hyphen ends the optional fields after the sixth. A source may be empty.
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
        options=tuple(options.split(",")),
        fstype=_unescape(fstype),
        source=_unescape(source),
        super_options=tuple(_unescape(option) for option in super_options.split(",")),
    )


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text
