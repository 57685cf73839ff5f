"""Records the part of /sys that the exporter reads, as a list of files, directories and links.

Only the attributes and links that this module lists are recorded. If `exporter.linux` reads a new
attribute, add it to the list.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.capture import identity_redaction
from exporter.capture.redactor import Redactor
from exporter.linux import cgroup, files

#: The largest number of bytes that are read from one attribute. sysfs attributes have at most 4
#: KiB. VPD pages and the AER counters are the largest ones.
_MAX_ATTRIBUTE_BYTES = 1 << 16

_CLASSES = (
    *("block", "class/block", "class/nvme", "class/nvme-subsystem"),
    *("class/scsi_generic", "class/scsi_host"),
)

#: The attributes that are recorded from the directory of each device, and from its parent
#: directories.
_ATTRIBUTES = (
    *("dev", "diskseq", "size", "hidden", "partition", "start", "alignment_offset"),
    *("vendor", "model", "rev", "type", "state", "ioerr_cnt", "iotmo_cnt", "wwid", "serial"),
    *("life_time", "pre_eol_info", "proc_name"),
    *("vpd_pg80", "vpd_pg89", "name", "fwrev", "firmware_rev", "transport", "cntlid", "cntrltype"),
    *("current_link_speed", "current_link_width", "max_link_speed", "max_link_width"),
    *("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal", "speed"),
    *("md/level", "md/array_state", "md/raid_disks", "md/degraded", "dm/name"),
    *("md/sync_action", "md/sync_completed"),
    *("queue/scheduler", "queue/write_cache", "queue/fua", "queue/rotational"),
    *("queue/nr_requests", "queue/discard_max_bytes", "queue/logical_block_size"),
    *("queue/physical_block_size", "queue/optimal_io_size"),
)
#: Further attributes of the same directories. They are in subdirectories whose names vary.
_ATTRIBUTE_PATTERNS = (
    *("link*/ata_link/link*/sata_spd", "link*/ata_link/link*/hw_sata_spd_limit"),
    *("sas_device/*/target_port_protocols",),
    *("sas_phy/*/negotiated_linkrate", "sas_phy/*/maximum_linkrate_hw"),
)
#: The symbolic links that are recorded from the same directories.
_LINKS = ("device", "subsystem", "driver")
#: Matches the names of links to related devices: the controllers and paths of an NVMe subsystem,
#: and the phys (transceivers) of a SAS port.
_DEVICE_LINKS = re.compile(r"nvme\d+|nvme\d+c\d+n\d+|phy-[\d:]+", re.ASCII)

#: The attributes whose text comes from the drive or from an administrator. It may contain
#: identifiers, so they are redacted. The other attributes contain numbers, or texts of the kernel.
_REDACTED_ATTRIBUTES = frozenset(
    {"vendor", "model", "rev", "firmware_rev", "name", "serial", "wwid"} | {"vpd_pg80", "vpd_pg89"}
)

_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory.

    path: the path of the directory, relative to /sys.
    """

    path: str


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    """A symbolic link.

    path: the path of the link, relative to /sys.
    target: the content of the link, as readlink(2) returns it.
    """

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class File:
    """A regular file.

    path: the path of the file, relative to /sys.
    content: the whole content of the file.
    """

    path: str
    content: bytes


TreeEntry = Directory | SymbolicLink | File


def read_entries(sys: Path, cgroups: Iterable[str]) -> Iterator[TreeEntry]:
    """Yields the files, directories and links that the exporter reads. They are not redacted.

    sys: the directory of /sys.
    cgroups: the paths of control groups in the cgroup v2 hierarchy, whose files are read too.

    Files that cannot be read are omitted.
    """
    sys = Path(os.path.realpath(sys))
    pending: list[Path] = []
    for directory in _CLASSES:
        for name in files.list_names(sys / directory):
            path = sys / directory / name
            yield from _read_link(sys, path)
            pending.append(path)
    yield from _read_devices(sys, pending)
    yield from _read_filesystems(sys)
    root = cgroup.unified_root(sys)
    for group in dict.fromkeys(cgroups):
        path = root / group.strip("/")
        if group.strip("/") and ".." not in path.parts and path.is_dir():
            yield Directory(str(path.relative_to(sys)))
            yield from _read_files(sys, path, ("io.stat", "io.pressure"))


def redact_entry(entry: TreeEntry, redactor: Redactor) -> TreeEntry:
    """Returns a file, directory or link without identifiers of drives, hosts and their owners."""
    path = _redact_path(entry.path, redactor)
    if isinstance(entry, SymbolicLink):
        return SymbolicLink(path, redactor.text(entry.target))
    if isinstance(entry, Directory):
        return Directory(path)
    name = entry.path.rpartition("/")[2]
    content = entry.content
    if entry.path.endswith("dm/name"):
        mapped = content.decode("utf-8", "surrogateescape").strip("\n")
        content = f"{redactor.name(mapped)}\n".encode("utf-8", "surrogateescape")
    elif name in _REDACTED_ATTRIBUTES:
        content = identity_redaction.redact_attribute(name, content, redactor)
    return File(path, content)


def format_tree(entries: Iterable[TreeEntry]) -> str:
    """Returns the entries as the text of a file sys.tree. tests/hosts/tree.py describes its format.

    An entry is omitted if its path or the target of its link contains white space or characters
    that are not printable ASCII.
    """
    by_directory: dict[str, dict[str, TreeEntry]] = {}
    for entry in entries:
        target = entry.target if isinstance(entry, SymbolicLink) else ""
        if _UNPRINTABLE.search(f"{entry.path}{target}") is not None:
            continue
        if isinstance(entry, Directory):
            by_directory.setdefault(entry.path, {})
        else:
            directory, _, name = entry.path.rpartition("/")
            by_directory.setdefault(directory, {}).setdefault(name, entry)
    parents = {parent for path in by_directory for parent in _parents(path)}
    return "\n".join(
        "\n".join((f"{path}/", *(_format_entry(name, rows[name]) for name in sorted(rows)), ""))
        for path, rows in sorted(by_directory.items())
        if rows or path not in parents
    )


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _format_entry(name: str, entry: TreeEntry) -> str:
    if isinstance(entry, SymbolicLink):
        return f"  {name} -> {entry.target}"
    content = entry.content if isinstance(entry, File) else b""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        text = ""
    *lines, rest = text.split("\n")
    if rest or not lines or not "".join(lines).replace("\t", " ").isprintable():
        return f"  {name} := {content.hex()}"
    if len(lines) == 1:
        return f"  {name} = {lines[0]}"
    return "\n".join((f"  {name} |", *(f"    | {line}" for line in lines)))


def _redact_path(path: str, redactor: Redactor) -> str:
    if path.startswith("fs/cgroup/"):
        return redactor.path(path)
    return redactor.text(path)


def _read_devices(sys: Path, pending: list[Path]) -> Iterator[TreeEntry]:
    """Yields the directories of devices, with the attributes and links in them.

    The parent directories of the devices, and the directories to which their links lead, are
    yielded too.

    pending: the paths of the devices. The list is changed.
    """
    visited: set[Path] = set()
    while pending:
        directory = Path(os.path.realpath(pending.pop()))
        while directory not in visited and directory.is_relative_to(sys) and directory != sys:
            visited.add(directory)
            yield Directory(str(directory.relative_to(sys)))
            yield from _read_files(sys, directory, _ATTRIBUTES)
            for pattern in _ATTRIBUTE_PATTERNS:
                names = (str(path.relative_to(directory)) for path in directory.glob(pattern))
                yield from _read_files(sys, directory, names)
            for path in _links(directory):
                yield from _read_link(sys, path)
                # Only the names of drivers and buses are recorded, not their directories.
                if path.name not in {"subsystem", "driver"} and os.path.isdir(path):
                    pending.append(path)
            directory = directory.parent


def _links(directory: Path) -> Iterator[Path]:
    yield from (directory / name for name in _LINKS)
    yield from (directory / n for n in files.list_names(directory) if _DEVICE_LINKS.fullmatch(n))
    yield from (directory / "slaves" / name for name in files.list_names(directory / "slaves"))


def _read_filesystems(sys: Path) -> Iterator[TreeEntry]:
    for name in files.list_names(sys / "fs" / "ext4"):
        yield from _read_files(sys, sys / "fs" / "ext4" / name, ("errors_count",))
    for uuid in files.list_names(sys / "fs" / "btrfs"):
        devices = sys / "fs" / "btrfs" / uuid / "devices"
        for name in files.list_names(devices):
            yield from _read_link(sys, devices / name)
        info = sys / "fs" / "btrfs" / uuid / "devinfo"
        for number in files.list_names(info):
            yield from _read_files(sys, info / number, ("error_stats",))


def _read_link(sys: Path, path: Path) -> Iterator[TreeEntry]:
    relative = str(path.relative_to(sys))
    try:
        yield SymbolicLink(relative, os.readlink(path))
    except FileNotFoundError:
        return
    except OSError:
        # Test hosts that were written by hand have a directory in place of the link.
        if os.path.isdir(path):
            yield Directory(relative)


def _read_files(sys: Path, directory: Path, names: Iterable[str]) -> Iterator[TreeEntry]:
    for name in names:
        try:
            content = _read_attribute(directory / name)
        except OSError:
            continue
        yield File(str((directory / name).relative_to(sys)), content)


def _read_attribute(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        content = b""
        while len(content) < _MAX_ATTRIBUTE_BYTES:
            chunk = os.read(descriptor, _MAX_ATTRIBUTE_BYTES)
            if not chunk:
                break
            content += chunk
        return content[:_MAX_ATTRIBUTE_BYTES]
    finally:
        os.close(descriptor)
