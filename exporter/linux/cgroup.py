"""Reads how much control groups (cgroup v2) read and wrote on each device, and lists the services.

The counters are in io.stat:
https://docs.kernel.org/admin-guide/cgroup-v2.html#io-interface-files

A line of the file::

    259:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021

A service is a control group (cgroup v2) at which systemd or a container runtime starts processes.
The tree above consists of slices and similar groups, which have no processes of their own:
https://systemd.io/CGROUP_DELEGATION/. The counters of a group include those of the groups below,
also of those that were removed.

Examples of paths, and the names that `service_name` returns::

    system.slice/mysql.service                                          mysql.service
    system.slice/docker-<64 digits>.scope                               docker-0123456789ab.scope
    kubepods.slice/kubepods-pod<uid>.slice/cri-containerd-<id>.scope    cri-containerd-….scope
    docker/<64 digits>                                                  docker/0123456789ab
    user.slice/user-1000.slice/session-3.scope                          user-1000.slice
    user.slice/user-1000.slice/user@1000.service/app.slice/b.service    user@1000/b.service
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from exporter.linux import files
from exporter.runtime.errors import (
    Faults,
    LimitReached,
    NotAvailable,
    Parsed,
    ParseError,
    SourceError,
)
from exporter.runtime.printable import printable

#: The maximum size of io.stat, in bytes. It has about 100 bytes for each device.
_MAX_FILE_BYTES = 1 << 20


#: The maximum number of groups whose io.stat is read, the maximum number of directories that are
#: listed, and the maximum depth. A host with 500 containers of Kubernetes has about 1,000 groups
#: in 500 directories and 5 levels. A user can create groups below his own one.
MAX_GROUPS, MAX_DIRECTORIES, MAX_DEPTH = 4096, 2048, 10

#: The maximum size of io.stat of one group, in bytes. It has about 100 bytes for each device.
_MAX_GROUP_BYTES = 1 << 18

#: The maximum size of the io.stat of all groups together, in bytes, and the maximum number of
#: devices in them. A host with 500 containers, 1,000 groups and 24 drives has 2.4 MB and 24,000
#: devices. One device of one group takes up to 1 KB of memory, and a daemon with 1,000 disks has
#: 40 MB left below its ceiling.
MAX_BYTES, MAX_GROUP_DEVICES = 4 << 20, 30_000

#: The part of these limits that groups more than two levels deep may use. The rest remains for the
#: slices above, such as user.slice/user-1000.slice, so that the I/O of other groups counts there.
_DEEP_PART = 7 / 8
_SLICE_DEPTH = 2

#: The ends of the names of groups that are a service, whatever groups it creates below.
_UNIT_SUFFIXES = (".service", ".scope", ".socket", ".mount", ".swap")

#: Matches the IDs of containers and of pods. Their first 12 and 8 digits are unique on a host.
_CONTAINER_ID = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}")
_POD_ID = re.compile(r"pod([0-9a-f]{8})[-_0-9a-f]{24,28}")

#: Matches units that get a new name each time they start, so that they have one name here.
_SESSION = re.compile(r"session-[^.]+\.scope")
_TRANSIENT = re.compile(r"run-[a-z]?[0-9a-f][-0-9a-z]*\.(service|scope)")


@dataclass(frozen=True, slots=True)
class CgroupIo:
    """The I/O of one control group on one device since the group was created.

    The kernel counts a request when it is issued to the device, before requests are merged and
    after they are split. So the numbers of requests differ from those of /proc/diskstats. The
    device is a whole disk. A request to a stacked device is counted on this device. It is counted
    again on the disk below if the driver issues it for the same group. dm-crypt, RAID 5 and ZFS
    issue requests from threads of the kernel, which belong to no group.

    read_bytes, written_bytes: the bytes.
    reads, writes: the numbers of requests; None if the line lacks them.
    """

    read_bytes: int
    written_bytes: int
    reads: int | None = None
    writes: int | None = None


#: The counters of a control group, keyed by the device number ``major:minor``.
IoStat = dict[str, CgroupIo]


def unified_root(sys: Path) -> Path:
    """Returns the root directory of the cgroup v2 hierarchy.

    This is fs/cgroup below `sys`, or fs/cgroup/unified on hosts that use cgroup v1 and v2 together.
    """
    root = sys / "fs" / "cgroup"
    unified = root / "unified"
    return unified if os.path.isdir(unified) else root


def read_io_stat(group: Path) -> Parsed[IoStat]:
    """Returns the I/O counters of a control group, keyed by device number.

    Each malformed line adds an exception to `Parsed.faults`.

    group: the directory of the control group.

    Raises:
        NotAvailable: the io controller is not enabled for this group.
        ReadError: the file exists but cannot be read.
    """
    return parse_io_stat(files.read(group / "io.stat", _MAX_FILE_BYTES))


def parse_io_stat(text: str) -> Parsed[IoStat]:
    """Returns the counters from the text of an io.stat file, keyed by device number.

    Never raises: each malformed line adds an exception to `Parsed.faults`. A line with a device
    number and no counters is skipped, because kernels print such lines for unused devices.
    """
    stat: IoStat = {}
    lines, faults = files.split_complete_lines("io.stat", text, files.MAX_DEVICES)
    for number, line in enumerate(lines, start=1):
        if len(stat) >= files.MAX_DEVICES:
            faults.add(
                LimitReached(f"io.stat: only the first {files.MAX_DEVICES} devices are used")
            )
            break
        device, *pairs = line.split() or [""]
        if not pairs and ":" in device:
            continue
        try:
            values = dict(pair.split("=", 1) for pair in pairs)
            major, minor = (int(part) for part in device.split(":"))
            stat[f"{major}:{minor}"] = CgroupIo(
                *(files.parse_counter(values[key]) for key in ("rbytes", "wbytes")),
                *(
                    files.parse_counter(values[key]) if key in values else None
                    for key in ("rios", "wios")
                ),
            )
        except (ValueError, KeyError):
            faults.add(ParseError(f"io.stat:{number}: {line[:120]!r}"))
    return Parsed(stat, faults.listed())


@dataclass(frozen=True, slots=True)
class ServiceGroup:
    """A control group with its counters.

    path: the path below the root of the hierarchy, such as "system.slice/mysql.service".
    name: the name of the service, from `service_name`.
    parent: the path of the group above; None if that group is the root.
    inode: the number that the kernel gave this group. A group that is created again gets another.
    io_stat: the content of io.stat; None if it could not be read, or beyond a limit.
    """

    path: str
    name: str
    parent: str | None
    inode: int
    io_stat: bytes | None


@dataclass(frozen=True, slots=True)
class ServiceTree:
    """The groups of a host.

    groups: the groups. The groups below a group come before it, and their counters were read before
        its counters.
    uncounted: the paths of the slices whose services are not counted one by one, because the io
        controller is not enabled for them.
    is_complete: false if a limit was reached.
    """

    groups: tuple[ServiceGroup, ...]
    uncounted: tuple[str, ...]
    is_complete: bool = True


def read_services(root: Path) -> Parsed[ServiceTree]:
    """Returns the groups below a root of the cgroup v2 hierarchy, and slices without counters.

    Raises:
        NotAvailable: `root` is no cgroup v2 hierarchy, or it has no io controller. The message
            states what to do.
    """
    controllers = files.read_attribute(root / "cgroup.controllers")
    if "io" not in (controllers or "").split():
        raise NotAvailable(
            f"I/O by service is unknown: {root} has no cgroup v2 with the io controller "
            "(boot with systemd.unified_cgroup_hierarchy=1)"
        )
    if not _counts_children(str(root)):
        raise NotAvailable(
            f"I/O by service is unknown: the io controller is not enabled below {root} "
            "(set DefaultIOAccounting=yes in /etc/systemd/system.conf and reboot)"
        )
    walk = _Walk(str(root))
    groups = tuple(walk.groups_in(None, 1))
    return Parsed(
        ServiceTree(groups, tuple(walk.uncounted), walk.is_complete), walk.faults.listed()
    )


@lru_cache(maxsize=1024)
def service_name(path: str) -> str:
    """Returns the name of the service whose group has this path; see the module docstring.

    The name is that of the unit. Units that get a new name at each start have a common name. If a
    group is below a container or a user's service manager, the name of the container or manager is
    a prefix.

    Unprintable characters are written as escapes, because the owner of a group chooses the names of
    the groups below it.

    path: the path below the root, not empty.
    """
    return printable(_service_name(path))


def _service_name(path: str) -> str:
    *above, last = path.split("/")
    if _SESSION.fullmatch(last) and above:
        return above[-1]
    if found := _TRANSIENT.fullmatch(last):
        last = f"run-*.{found[1]}"
    owners = (name for name in reversed(above) if not name.endswith(".slice"))
    owner = next(owners, None)
    return _shortened(last) if owner is None else f"{_shortened(owner)}/{_shortened(last)}"


def owning_service(path: str) -> str | None:
    """Returns the name of the service that a process belongs to; None for the root group.

    If the path contains no service, the result is a name for the group itself.

    path: the path of the process's group, as in /proc/<pid>/cgroup. It may be below a service.
    """
    parts = [part for part in path.split("/") if part]
    for end, part in enumerate(parts, start=1):
        if _is_service(part):
            return service_name("/".join(parts[:end]))
    return service_name("/".join(parts)) if parts else None


def _shortened(name: str) -> str:
    name = _CONTAINER_ID.sub(r"\1", name)
    name = _POD_ID.sub(r"pod\1", name)
    return name.removesuffix(".service") if name.startswith("user@") else name


def _counts_children(path: str) -> bool:
    """Returns True if the groups in this group have a file io.stat."""
    enabled = files.read_attribute(f"{path}/cgroup.subtree_control")
    return "io" in (enabled or "").split()


def _is_service(name: str) -> bool:
    return name.endswith(_UNIT_SUFFIXES) and not name.startswith("user@")


class _Walk:
    """Reads the tree once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._groups = self._directories = 0
        self._bytes = self._devices = 0
        self._is_deep_part_used = self._is_all_used = False
        self.uncounted: list[str] = []
        self.faults = Faults()
        self.is_complete = True

    def groups_in(self, parent: str | None, depth: int) -> Iterator[ServiceGroup]:
        """Yields all groups below a group, the deepest ones first."""
        for name, inode in self._children(parent):
            if self._groups >= MAX_GROUPS:
                self._limit(f"only the first {MAX_GROUPS} groups are used")
                return
            self._groups += 1
            path = name if parent is None else f"{parent}/{name}"
            if not _is_service(name):
                if depth >= MAX_DEPTH:
                    self._limit(f"groups more than {MAX_DEPTH} levels deep are not listed")
                elif _counts_children(f"{self._root}/{path}"):
                    yield from self.groups_in(path, depth + 1)
                elif name == "system.slice":
                    self.uncounted.append(path)
            try:
                content = self._io_stat(path, is_deep=depth > _SLICE_DEPTH)
            except NotAvailable:
                continue  # The group was removed.
            yield ServiceGroup(path, service_name(path), parent, inode, content)

    def _io_stat(self, path: str, *, is_deep: bool) -> bytes | None:
        """Returns the content of a group's io.stat; None if it cannot be read.

        Raises:
            NotAvailable: the group was removed.
        """
        if self._is_all_used or (is_deep and self._is_deep_part_used):
            return None
        raw = files.read_raw(f"{self._root}/{path}/io.stat", _MAX_GROUP_BYTES)
        if raw.error is not None:
            try:
                files.decode(raw)
            except NotAvailable:
                raise
            except SourceError as e:
                self.faults.add(e)
            return None
        size = self._bytes + len(raw.content)
        devices = self._devices + raw.content.count(b"\n")
        part = _DEEP_PART if is_deep else 1.0
        if size > part * MAX_BYTES or devices > part * MAX_GROUP_DEVICES:
            self._is_deep_part_used = True
            self._is_all_used = not is_deep
            self._limit(
                f"the io.stat of all groups have more than {MAX_BYTES} bytes or"
                f" {MAX_GROUP_DEVICES} devices; the rest counts as that of the groups above"
            )
            return None
        self._bytes, self._devices = size, devices
        return raw.content

    def _children(self, parent: str | None) -> list[tuple[str, int]]:
        """Returns the names and the inode numbers of the groups in a group, sorted by name."""
        if self._directories >= MAX_DIRECTORIES:
            self._limit(f"only the first {MAX_DIRECTORIES} directories are listed")
            return []
        self._directories += 1
        directory = self._root if parent is None else f"{self._root}/{parent}"
        children: list[tuple[str, int]] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if len(children) > MAX_GROUPS:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        children.append((entry.name, entry.inode()))
        except OSError:
            return []  # The group was removed.
        return sorted(children)

    def _limit(self, what: str) -> None:
        if self.is_complete:
            self.is_complete = False
            self.faults.add(LimitReached(f"{self._root}: {what}"))
