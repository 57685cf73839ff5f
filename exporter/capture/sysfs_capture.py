"""The part of /sys that the exporter reads, as a list of files and links.

Only what stands in the lists below is taken, so nothing of a host comes along unseen.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.capture import identity_redaction
from exporter.capture.redactor import Redactor
from exporter.linux import cgroup, files

#: An attribute is at most a page; VPD pages and AER counts are the largest.
_LARGEST_ATTRIBUTE_BYTES = 1 << 16

_CLASSES = (
    *("block", "class/block", "class/nvme", "class/nvme-subsystem"),
    *("class/scsi_generic", "class/scsi_host"),
)

#: Attributes of the directories of devices and of what stands above them.
_ATTRIBUTES = (
    *("dev", "diskseq", "size", "hidden", "partition", "start", "alignment_offset"),
    *("vendor", "model", "rev", "type", "state", "ioerr_cnt", "iotmo_cnt", "wwid", "serial"),
    *("vpd_pg80", "vpd_pg89", "name", "fwrev", "firmware_rev", "transport", "cntlid", "cntrltype"),
    *("current_link_speed", "current_link_width", "max_link_speed", "max_link_width"),
    *("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal", "speed"),
    *("md/level", "md/array_state", "md/raid_disks", "md/degraded", "dm/name"),
    *("queue/scheduler", "queue/write_cache", "queue/fua", "queue/rotational"),
    *("queue/nr_requests", "queue/discard_max_bytes", "queue/logical_block_size"),
    *("queue/physical_block_size", "queue/optimal_io_size"),
)
#: Attributes of directories below, whose names differ.
_PATTERNS = (
    *("link*/ata_link/link*/sata_spd", "link*/ata_link/link*/hw_sata_spd_limit"),
    *("sas_device/*/target_port_protocols",),
    *("sas_phy/*/negotiated_linkrate", "sas_phy/*/maximum_linkrate_hw"),
)
_LINKS = ("device", "subsystem", "driver")
#: Links to other devices: the controllers of an NVMe subsystem, the phys of a SAS port.
_MORE_LINKS = re.compile(r"nvme\d+|nvme\d+c\d+n\d+|phy-[\d:]+", re.ASCII)

#: Attributes in words of the drive or of people; the others are numbers and the kernel's words.
_NAMES = frozenset(
    {"vendor", "model", "rev", "fwrev", "firmware_rev", "name", "serial", "wwid"}
    | {"vpd_pg80", "vpd_pg89"}
)

_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")


@dataclass(frozen=True, slots=True)
class Directory:
    path: str


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    path: str
    target: str


@dataclass(frozen=True, slots=True)
class File:
    path: str
    content: bytes


Entry = Directory | SymbolicLink | File


def entries(sys: Path, cgroups: Iterable[str]) -> Iterator[Entry]:
    """What the exporter would read, as it is; paths are below /sys. cgroups: names of groups."""
    sys = Path(os.path.realpath(sys))
    waiting: list[Path] = []
    for place in _CLASSES:
        for name in files.list_names(sys / place):
            path = sys / place / name
            yield from _link(sys, path)
            waiting.append(path)
    yield from _devices(sys, waiting)
    yield from _filesystems(sys)
    root = cgroup.unified_root(sys)
    for group in dict.fromkeys(cgroups):
        its = root / group.strip("/")
        if group.strip("/") and ".." not in its.parts and its.is_dir():
            yield Directory(str(its.relative_to(sys)))
            yield from _files(sys, its, ("io.stat", "io.pressure"))


def redacted(entry: Entry, redactor: Redactor) -> Entry:
    """The entry without what names a drive or a host."""
    path = _redacted_path(entry.path, redactor)
    if isinstance(entry, SymbolicLink):
        return SymbolicLink(path, redactor.text(entry.target))
    if isinstance(entry, Directory):
        return Directory(path)
    name = entry.path.rpartition("/")[2]
    content = entry.content
    if entry.path.endswith("dm/name"):
        mapped = content.decode("utf-8", "surrogateescape").strip("\n")
        content = f"{redactor.name(mapped)}\n".encode("utf-8", "surrogateescape")
    elif name in _NAMES:
        content = identity_redaction.redacted(name, content, redactor)
    return File(path, content)


def tree(found: Iterable[Entry]) -> str:
    """The entries as the text of a sys.tree; those whose path no line can hold are left out."""
    by_directory: dict[str, dict[str, Entry]] = {}
    for entry in found:
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
        "\n".join((f"{path}/", *(_line(name, rows[name]) for name in sorted(rows)), ""))
        for path, rows in sorted(by_directory.items())
        if rows or path not in parents
    )


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _line(name: str, entry: Entry) -> str:
    if isinstance(entry, SymbolicLink):
        return f"  {name} -> {entry.target}"
    content = entry.content if isinstance(entry, File) else b""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        text = ""
    *whole, rest = text.split("\n")
    if rest or not whole or not "".join(whole).replace("\t", " ").isprintable():
        return f"  {name} := {content.hex()}"
    if len(whole) == 1:
        return f"  {name} = {whole[0]}"
    return "\n".join((f"  {name} |", *(f"    | {each}" for each in whole)))


def _redacted_path(path: str, redactor: Redactor) -> str:
    if path.startswith("fs/cgroup/"):
        return redactor.path(path)
    return redactor.text(path)


def _devices(sys: Path, waiting: list[Path]) -> Iterator[Entry]:
    """The directories of the devices, those above them, and those that they refer to."""
    seen: set[Path] = set()
    while waiting:
        directory = Path(os.path.realpath(waiting.pop()))
        while directory not in seen and directory.is_relative_to(sys) and directory != sys:
            seen.add(directory)
            yield Directory(str(directory.relative_to(sys)))
            yield from _files(sys, directory, _ATTRIBUTES)
            for pattern in _PATTERNS:
                names = (str(each.relative_to(directory)) for each in directory.glob(pattern))
                yield from _files(sys, directory, names)
            for path in _links(directory):
                yield from _link(sys, path)
                # A driver's and a bus's directories are of no interest, only what they are called.
                if path.name not in {"subsystem", "driver"} and os.path.isdir(path):
                    waiting.append(path)
            directory = directory.parent


def _links(directory: Path) -> Iterator[Path]:
    yield from (directory / name for name in _LINKS)
    yield from (directory / n for n in files.list_names(directory) if _MORE_LINKS.fullmatch(n))
    yield from (directory / "slaves" / name for name in files.list_names(directory / "slaves"))


def _filesystems(sys: Path) -> Iterator[Entry]:
    for name in files.list_names(sys / "fs" / "ext4"):
        yield from _files(sys, sys / "fs" / "ext4" / name, ("errors_count",))
    for uuid in files.list_names(sys / "fs" / "btrfs"):
        devices = sys / "fs" / "btrfs" / uuid / "devices"
        for name in files.list_names(devices):
            yield from _link(sys, devices / name)


def _link(sys: Path, path: Path) -> Iterator[Entry]:
    where = str(path.relative_to(sys))
    try:
        yield SymbolicLink(where, os.readlink(path))
    except FileNotFoundError:
        return
    except OSError:
        # It is a directory, as it is in trees that were written by hand.
        if os.path.isdir(path):
            yield Directory(where)


def _files(sys: Path, directory: Path, names: Iterable[str]) -> Iterator[Entry]:
    for name in names:
        try:
            content = _read(directory / name)
        except OSError:
            continue
        yield File(str((directory / name).relative_to(sys)), content)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        content = b""
        while len(content) < _LARGEST_ATTRIBUTE_BYTES:
            chunk = os.read(descriptor, _LARGEST_ATTRIBUTE_BYTES)
            if not chunk:
                break
            content += chunk
        return content[:_LARGEST_ATTRIBUTE_BYTES]
    finally:
        os.close(descriptor)
