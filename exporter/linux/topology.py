"""How full a mounted filesystem is, and what errors it has found in itself.

What is plugged into a host, what stands on it, and which of it serves MySQL.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from exporter.errors import NotAvailable, ParseError, ReadError, SourceError
from exporter.linux import block, device, files, mountinfo, mysqld, nvme_sysfs, stack
from exporter.linux.device import Device, DeviceEntry
from exporter.linux.files import Parsed
from exporter.linux.mountinfo import Mount, Mounts
from exporter.linux.mysqld import MysqlServer
from exporter.linux.stack import Stack


@dataclass(frozen=True, slots=True)
class FilesystemUsage:
    """A filesystem's size, and what of it an ordinary user may still fill."""

    size_bytes: int
    avail_bytes: int


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A filesystem on block devices, at its mountpoint in the host's view.

    `devices` are the disks at the bottom of it. `usage` and `errors` are looked up only where
    someone asked for the mount, and None where they could not be had.
    """

    mountpoint: str
    fstype: str
    number: str
    devices: tuple[str, ...]
    readonly: bool
    usage: FilesystemUsage | None = None
    errors: int | None = None


def read_usage(rootfs: Path, mountpoint: str) -> FilesystemUsage | None:
    """statvfs(3) of a mountpoint below `rootfs`, where the host's / is mounted for the reader."""
    try:
        found = os.statvfs(rootfs / mountpoint.lstrip("/"))
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return None
    return FilesystemUsage(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def read_error_count(sys: Path, device: str) -> int | None:
    """The errors that ext4 noted in its superblock, by the disk or partition it lies on.

    https://docs.kernel.org/admin-guide/ext4.html
    """
    return files.read_integer(sys / "fs" / "ext4" / device.replace("/", "!") / "errors_count")


#: A host of containers has thousands of mounts, and few filesystems.
_MOST_FILESYSTEMS = 256

_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})

#: A filesystem by its number; autofs and what it mounts may share one, and the type differs.
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StorageRole:
    """What a directory does for a server (mysql-data, ...), and the drives under it.

    `directory` is in the server's view, `mountpoint` in the host's; None where the host does not
    see the filesystem mounted. Without a `pid` the role is one that was configured.
    """

    name: str
    pid: int | None
    directory: str
    mountpoint: str | None
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """One consistent view of a host's storage.

    `devices` are all disks of /sys/block by the kernel's name, stacked and hidden ones included.
    `filesystems` are those on block devices, once each. `first_namespaces` is the lowest
    namespace of each NVMe controller, under which what belongs to the controller is shown.
    """

    devices: Mapping[str, Device]
    stack: Stack
    mounts: Mounts
    filesystems: tuple[Filesystem, ...]
    servers: tuple[MysqlServer, ...]
    roles: tuple[StorageRole, ...]
    first_namespaces: Mapping[str, str]

    def leaves_of(self, name: str) -> tuple[str, ...]:
        """The drives at the bottom of a disk or partition."""
        return self.stack.leaves_of(name)


def read(
    sys: Path,
    proc: Path,
    root: Path,
    known: Topology | None = None,
    configured: Mapping[str, Sequence[str]] = _NONE,
    *,
    look_for_servers: bool = True,
    read_queues: bool = True,
) -> Parsed[Topology]:
    """The topology now; of disks that `known` has already only what changes is read.

    `root` is where the host's / is mounted for the reader. `configured` are directories of the
    host and devices by the role that they are said to have. Without `look_for_servers` those of
    `known` stand as they are: going through all processes costs more than all the rest. Without
    `read_queues` so do the settings of their queues, half of what is read of a disk.
    """
    found = _devices(sys, {} if known is None else known.devices, read_queues=read_queues)
    devices, faults = found.value, list(found.faults)
    if not devices:
        faults.append(ReadError(f"{sys}/block: no block device: see --path.sysfs"))
    blocks = {name: each.block for name, each in devices.items()}
    its_stack = stack.build_stack(blocks, stack.read_mapped(blocks.values()), stack.read_pools(sys))
    try:
        parsed = mountinfo.read(proc)
    except NotAvailable:
        parsed = Parsed(Mounts())
    except ReadError as e:
        parsed = Parsed(Mounts(), (ParseError(f"no mounts known: {e}"),))
    mounts = parsed.value
    if known is None or look_for_servers:
        servers = mysqld.read(proc, root, mounts.mounts)
    else:
        servers = Parsed(known.servers)
    faults += parsed.faults + servers.faults
    places = _by_filesystem(mounts)
    roles = (
        *_roles(servers.value, places, its_stack),
        *_configured_roles(configured, root, mounts, places, its_stack),
    )
    asked = {each.mountpoint for each in roles if each.mountpoint is not None}
    topology = Topology(
        devices=devices,
        stack=its_stack,
        mounts=mounts,
        filesystems=tuple(_filesystems(sys, root, mounts, its_stack, asked)),
        servers=servers.value,
        roles=roles,
        first_namespaces=_first_namespaces(devices.values()),
    )
    return Parsed(topology, tuple(faults))


def _devices(
    sys: Path, known: Mapping[str, Device], *, read_queues: bool
) -> Parsed[dict[str, Device]]:
    devices: dict[str, Device] = {}
    faults: list[SourceError] = []
    for entry in list_entries(sys):
        name = entry.directory_name.replace("!", "/")
        parsed = device.read(sys, entry, known.get(name), read_queue=read_queues)
        faults.extend(parsed.faults)
        if parsed.value is not None:
            devices[name] = parsed.value
    return Parsed(devices, tuple(faults))


def list_entries(sys: Path) -> Iterator[DeviceEntry]:
    """The disks of /sys/block by name, each with its partitions and hidden paths."""
    disks = _inodes(sys / "block")
    partitions = _inodes(sys / "class" / "block")
    ordered = sorted(partitions, key=lambda name: (len(name), name))
    by_disk = block.partitions_by_disk(ordered, disks.keys())
    by_head = nvme_sysfs.paths_by_head(sorted(disks))
    for name in sorted(disks):
        its_partitions, its_paths = by_disk.get(name, ()), by_head.get(name, ())
        inodes = (
            disks[name],
            *(partitions[each] for each in its_partitions),
            *(disks[each] for each in its_paths),
        )
        yield DeviceEntry(name, tuple(its_partitions), tuple(its_paths), inodes)


def _inodes(directory: Path) -> dict[str, int]:
    try:
        with os.scandir(directory) as found:
            return {each.name: each.inode() for each in found}
    except OSError:
        return {}


def _roles(
    servers: Collection[MysqlServer], places: Mapping[_Key, list[Mount]], its_stack: Stack
) -> Iterator[StorageRole]:
    for server in servers:
        for each in server.directories:
            mount = mountinfo.mount_containing(server.mounts, each.directory)
            if mount is None:
                continue
            drives = its_stack.drives_of(mount)
            shown = _shown(mount, places) if drives else None
            mountpoint = None if shown is None else shown.mountpoint
            yield StorageRole(each.role, server.pid, each.directory, mountpoint, drives)


def _configured_roles(
    configured: Mapping[str, Sequence[str]],
    root: Path,
    mounts: Mounts,
    places: Mapping[_Key, list[Mount]],
    its_stack: Stack,
) -> Iterator[StorageRole]:
    for name, everywhere in configured.items():
        for place in everywhere:
            if not place.startswith("/"):
                yield StorageRole(name, None, "", None, its_stack.leaves_of(place))
                continue
            mount = mountinfo.mount_containing(mounts.mounts, files.resolve_symlinks(root, place))
            if mount is not None:
                shown = _shown(mount, places)
                mountpoint = None if shown is None else shown.mountpoint
                yield StorageRole(name, None, place, mountpoint, its_stack.drives_of(mount))


def _by_filesystem(mounts: Mounts) -> dict[_Key, list[Mount]]:
    found: dict[_Key, list[Mount]] = {}
    for mount in visible_mounts(mounts):
        found.setdefault((mount.number, mount.fstype), []).append(mount)
    return found


def _shown(mount: Mount, places: Mapping[_Key, list[Mount]]) -> Mount | None:
    """Where the host shows a mount's filesystem: whole rather than bound, else as it is mounted.

    A btrfs is mounted once per subvolume: that of the same root tells it apart.
    """
    same = places.get((mount.number, mount.fstype), ())
    return min(same, key=lambda m: (m.is_bind, m.root != mount.root), default=None)


def visible_mounts(mounts: Mounts) -> tuple[Mount, ...]:
    """The mounts that no later one at the same mountpoint hides."""
    return tuple({mount.mountpoint: mount for mount in mounts.mounts}.values())


def _filesystems(
    sys: Path, root: Path, mounts: Mounts, its_stack: Stack, asked: Collection[str]
) -> Iterator[Filesystem]:
    shown: set[tuple[str, str]] = set()
    for mount in visible_mounts(mounts):
        wanted = mount.mountpoint in asked
        again = mount.is_bind or (mount.number, mount.root) in shown
        if not wanted and (again or len(shown) >= _MOST_FILESYSTEMS):
            continue
        names = its_stack.devices_of(mount)
        if not names:
            continue
        shown.add((mount.number, mount.root))
        yield Filesystem(
            mountpoint=mount.mountpoint,
            fstype=mount.fstype,
            number=mount.number,
            devices=its_stack.drives_of(mount),
            # A sandboxed reader sees its own read-only mounts: ProtectSystem= of systemd.
            readonly=mount.filesystem_readonly or (mounts.of_host and mount.mount_readonly),
            usage=read_usage(root, mount.mountpoint) if wanted else None,
            errors=read_error_count(sys, names[0]) if wanted else None,
        )


def _first_namespaces(devices: Collection[Device]) -> dict[str, str]:
    lowest: dict[str, tuple[int, str]] = {}
    for each in devices:
        number = each.block.name.rpartition("n")[2]
        if each.block.kind == "disk" and number.isascii() and number.isdigit():
            this = (int(number), each.block.name)
            for controller in each.identity.controllers:
                lowest[controller] = min(lowest.get(controller, this), this)
    return {controller: name for controller, (_, name) in lowest.items()}
