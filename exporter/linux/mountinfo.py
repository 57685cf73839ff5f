r"""/proc/<pid>/mountinfo: proc_pid_mountinfo(5).

::

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue

Space, tab, newline and backslash stand in it as ``\040``, ``\011``, ``\012`` and ``\134``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotAvailable, ParseError, ReadError
from exporter.linux import files
from exporter.linux.files import Parsed

_ESCAPE = re.compile(r"\\([0-3][0-7]{2})", re.ASCII)
_NUMBER = re.compile(r"\d{1,10}:\d{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount. `root` is the directory of the filesystem that is mounted, / but for binds and
    btrfs subvolumes; `options` are the mount's own, `super_options` those of the filesystem.
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
        """The filesystem takes no writes from anyone, as after errors=remount-ro."""
        return "ro" in self.super_options

    @property
    def mount_readonly(self) -> bool:
        """Whoever comes by this mount cannot write."""
        return "ro" in self.options

    @property
    def is_bind(self) -> bool:
        """The mount shows a part of a filesystem, other than the subvolume of a btrfs."""
        if self.fstype == "btrfs":
            # The kernel names the mounted subvolume; a bind's root lies somewhere below it.
            return self.root != "/" and f"subvol={self.root}" not in self.super_options
        return self.root != "/"


@dataclass(frozen=True, slots=True)
class Mounts:
    """All mounts of one view, in the order they were made.

    `of_host` is false for the reader's own view, where a sandbox has made mounts read-only that
    are not so for others.
    """

    mounts: tuple[Mount, ...] = ()
    of_host: bool = True


def parse(text: str) -> Parsed[tuple[Mount, ...]]:
    mounts: list[Mount] = []
    faults: list[ParseError] = []
    # Not splitlines: names hold any character but those escaped, and it splits at many of them.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        try:
            mounts.append(_mount(line))
        except ParseError as e:
            faults.append(ParseError(f"mountinfo:{number}: {e}"))
    return Parsed(tuple(mounts), tuple(faults))


def read(proc: Path) -> Parsed[Mounts]:
    """The host's mounts, as process 1 sees them; the reader's own where that is hidden.

    Raises:
        NotAvailable, ReadError: neither can be read.
    """
    try:
        parsed, of_host = read_process(proc, 1), True
    except (NotAvailable, ReadError):
        parsed, of_host = parse(files.read(proc / "self" / "mountinfo")), False
    return Parsed(Mounts(parsed.value, of_host), parsed.faults)


def read_process(proc: Path, pid: int) -> Parsed[tuple[Mount, ...]]:
    """The mounts that a process sees: in a container others than the host's.

    Raises:
        NotAvailable: the process has ended.
        ReadError: it is hidden.
    """
    return parse(files.read(proc / str(pid) / "mountinfo"))


def mount_containing(mounts: Iterable[Mount], directory: str) -> Mount | None:
    """The mount that a directory lies in: the longest mountpoint above it, the last of equals."""
    best: Mount | None = None
    for mount in mounts:
        if is_inside(directory, mount.mountpoint) and (
            best is None or len(mount.mountpoint) >= len(best.mountpoint)
        ):
            best = mount
    return best


def is_inside(directory: str, mountpoint: str) -> bool:
    return directory == mountpoint or directory.startswith(mountpoint.rstrip("/") + "/")


def _mount(line: str) -> Mount:
    fields = line.split(" ")
    # The optional fields after the sixth end with a lone hyphen. A source may be empty.
    try:
        separator = fields.index("-", 6)
        _id, _parent, number, root, mountpoint, options = fields[:6]
        fstype, source, super_options = fields[separator + 1 : separator + 4]
    except ValueError as e:
        raise ParseError(f"too few fields: {line[:200]!r}") from e
    if not _NUMBER.fullmatch(number) or not mountpoint.startswith("/"):
        raise ParseError(f"no device number or mountpoint: {line[:200]!r}")
    return Mount(
        number=number,
        root=_unescaped(root),
        mountpoint=_unescaped(mountpoint),
        options=tuple(options.split(",")),
        fstype=_unescaped(fstype),
        source=_unescaped(source),
        super_options=tuple(_unescaped(each) for each in super_options.split(",")),
    )


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text
