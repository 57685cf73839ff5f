"""Reads the topology of a host: its drives, what is stacked on them, and what MySQL stores there.

The topology combines the results of these modules: the disks of /sys/block (`device`), the
structure of stacked devices such as dm and md (`stack`), the mounts (`mountinfo`), the filesystems
(`filesystems`), and the running MySQL servers (`mysqld`).

A role of a MySQL server is kept after the server has ended. InnoDB aborts when it cannot write, so
the role would otherwise disappear when the filesystem of the database fails. For the same reason
a mounted filesystem is kept after its drive has disappeared.

A drive is a disk at the bottom of a stack. Terms of NVMe: a controller provides one or more
namespaces, and each namespace is a disk. With multipath, a namespace also has one hidden disk per
controller (a path).
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from exporter.errors import Faults, LimitReached, NotAvailable, ParseError, ReadError
from exporter.linux import block, device, files, filesystems, mountinfo, nvme_sysfs, stack
from exporter.linux.device import Device, DeviceEntry
from exporter.linux.files import Parsed
from exporter.linux.filesystems import Filesystem
from exporter.linux.mountinfo import Mount, Mounts
from exporter.linux.mysql import mysqld
from exporter.linux.mysql.mysqld import MysqlServer
from exporter.linux.stack import Stack

_NO_ROLES: Mapping[str, Sequence[str]] = MappingProxyType({})


#: Identifies a filesystem: its device number and type. An autofs and the filesystem that it mounts
#: may have the same number.
_FilesystemKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StorageRole:
    """The purpose of a directory, and the drives below it.

    name: the purpose, such as ``mysql-data``.
    pid: the process ID of the MySQL server that uses the directory; None for a role from the
        settings, and for the last role of a server that has ended.
    directory: the path in the server's view, or as in the settings. Empty if the settings name a
        device.
    mountpoint: the mountpoint of the filesystem in the host's view. None if the host does not mount
        it, if the settings name a device, or if a server's directory is not on block devices.
    devices: the names of the drives below the directory.
    has_ended: true if this is the last role of a server that has ended.
    """

    name: str
    pid: int | None
    directory: str
    mountpoint: str | None
    devices: tuple[str, ...]
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class RememberedRole:
    """The last role of a MySQL server that runs or has ended.

    name, directory, mountpoint, devices: as in `StorageRole`.
    cgroup: the control group of the server; None if it is unknown.
    seen_at_unix_time: when the server was last seen, in seconds of Unix time.
    """

    name: str
    directory: str
    mountpoint: str | None
    devices: tuple[str, ...]
    cgroup: str | None
    seen_at_unix_time: float

    @property
    def place(self) -> tuple[str, str | tuple[str, ...]]:
        """The name of the role, and its mountpoint or devices."""
        return self.name, self.mountpoint or self.devices


@dataclass(frozen=True, slots=True)
class Topology:
    """A consistent snapshot of a host's storage.

    devices: all disks of /sys/block, keyed by the kernel's name, including stacked and hidden ones.
    stack: the structure of these devices.
    mounts: all mounts.
    filesystems: the filesystems on block devices. Each is listed once, and again for each further
        mount that has a role. Each btrfs subvolume counts as a filesystem.
    pool_states: the state of each ZFS pool, keyed by its name.
    servers: the running MySQL servers.
    roles: the purposes of directories and devices. A role of a MySQL server remains after the
        server has ended, because a server ends when its filesystem fails.
    first_namespaces: the name of the namespace with the lowest number of each NVMe controller,
        keyed by the name of the controller. Values of a controller are reported for this namespace.
    """

    devices: Mapping[str, Device]
    stack: Stack
    mounts: Mounts
    filesystems: tuple[Filesystem, ...]
    servers: tuple[MysqlServer, ...]
    roles: tuple[StorageRole, ...]
    first_namespaces: Mapping[str, str]
    pool_states: Mapping[str, str] = field(default_factory=dict)

    def leaves_of(self, name: str) -> tuple[str, ...]:
        """Returns the names of the drives below a disk or partition; a drive returns itself."""
        return self.stack.leaves_of(name)


def read(
    sys: Path,
    proc: Path,
    root: Path,
    known: Topology | None = None,
    configured: Mapping[str, Sequence[str]] = _NO_ROLES,
    *,
    remembered: Sequence[RememberedRole] = (),
    look_for_servers: bool = True,
    read_queues: bool = True,
) -> Parsed[Topology]:
    """Returns the current topology. Never raises: `Parsed.faults` contains the errors.

    root: the directory at which the host's root filesystem is mounted for this process.
    known: the previous topology; None if there is none. For disks that it contains, only what can
        change is read.
    configured: the roles in the settings: lists of directories of the host and names of devices,
        keyed by the role.
    remembered: the last roles of servers that may have ended.
    look_for_servers: False keeps the servers of `known`, because the search through all processes
        takes longer than all other reads.
    read_queues: False keeps the queue settings of `known`, because they are half of the reads per
        disk.
    """
    parsed_devices = _read_devices(
        sys, {} if known is None else known.devices, read_queues=read_queues
    )
    devices, faults = parsed_devices.value, list(parsed_devices.faults)
    if not devices:
        faults.append(ReadError(f"{sys}/block: no block device; check --path.sysfs"))
    blocks = {name: entry.block for name, entry in devices.items()}
    storage = stack.build_stack(blocks, stack.read_mapped(blocks.values()), stack.read_pools(sys))
    parsed_mounts = _read_mounts(proc)
    mounts = parsed_mounts.value
    if known is None or look_for_servers:
        servers = mysqld.read(proc, root, mounts.mounts)
    else:
        servers = Parsed(known.servers)
    faults += parsed_mounts.faults + servers.faults
    roles = _find_roles(
        servers.value, remembered, configured, root=root, mounts=mounts, storage=storage
    )
    mountpoints = {role.mountpoint for role in roles if role.mountpoint is not None}
    topology = Topology(
        devices=devices,
        stack=storage,
        mounts=mounts,
        filesystems=tuple(
            filesystems.read(
                sys,
                root,
                mounts,
                storage,
                role_mountpoints=mountpoints,
                known=() if known is None else known.filesystems,
            )
        ),
        pool_states=filesystems.read_pool_states(proc),
        servers=servers.value,
        roles=roles,
        first_namespaces=_first_namespaces(devices.values()),
    )
    return Parsed(topology, tuple(faults))


def mountpoints_by_drive(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Returns where the filesystems of each drive are mounted, keyed by the drive's name.

    A filesystem on several drives is listed for each of them. The namespaces of an NVMe controller
    are one drive, which has the name of the first namespace. Bind mounts are not listed.
    """
    found: dict[str, dict[str, None]] = {}
    for mount in filesystems.visible_mounts(topology.mounts):
        for name in () if mount.is_bind else topology.stack.drives_of(mount):
            disk = topology.devices.get(name)
            controllers = () if disk is None else disk.identity.controllers
            first = [topology.first_namespaces.get(controller, name) for controller in controllers]
            for drive in first or [name]:
                found.setdefault(drive, {})[mount.mountpoint] = None
    return {drive: tuple(sorted(places)) for drive, places in found.items()}


def list_entries(sys: Path) -> Iterator[DeviceEntry]:
    """Yields the directory entries of each disk in /sys/block, sorted by name.

    An entry contains the disk's partitions and hidden paths.
    """
    disks = _list_inodes(sys / "block")
    partitions = _list_inodes(sys / "class" / "block")
    ordered = sorted(partitions, key=lambda name: (len(name), name))
    by_disk = block.partitions_by_disk(ordered, disks.keys())
    by_head = nvme_sysfs.paths_by_head(sorted(disks))
    for name in sorted(disks):
        partition_names, path_names = by_disk.get(name, ()), by_head.get(name, ())
        inodes = (
            disks[name],
            *(partitions[partition] for partition in partition_names),
            *(disks[path] for path in path_names),
        )
        yield DeviceEntry(name, tuple(partition_names), tuple(path_names), inodes)


def _read_devices(
    sys: Path, known: Mapping[str, Device], *, read_queues: bool
) -> Parsed[dict[str, Device]]:
    devices: dict[str, Device] = {}
    faults = Faults()
    for entry in list_entries(sys):
        if len(devices) >= files.MAX_DEVICES:
            faults.add(LimitReached(f"{sys}/block: only the first {files.MAX_DEVICES} are used"))
            break
        name = entry.directory_name.replace("!", "/")
        parsed = device.read(sys, entry, known.get(name), read_queue=read_queues)
        faults.extend(parsed.faults)
        if parsed.value is not None:
            devices[name] = parsed.value
    return Parsed(devices, faults.listed())


def _read_mounts(proc: Path) -> Parsed[Mounts]:
    try:
        return mountinfo.read(proc)
    except NotAvailable:
        return Parsed(Mounts())
    except ReadError as e:
        return Parsed(Mounts(), (ParseError(f"the mounts are unknown: {e}"),))


def _list_inodes(directory: Path) -> dict[str, int]:
    try:
        with os.scandir(directory) as entries:
            return {entry.name: entry.inode() for entry in islice(entries, files.MAX_NAMES)}
    except OSError:
        return {}


def _find_roles(
    servers: Collection[MysqlServer],
    remembered: Sequence[RememberedRole],
    configured: Mapping[str, Sequence[str]],
    *,
    root: Path,
    mounts: Mounts,
    storage: Stack,
) -> tuple[StorageRole, ...]:
    """Returns the roles of running servers, the last roles of other servers, and those of settings.

    configured: lists of directories of the host and names of devices, keyed by the role.
    root: the directory at which the host's root filesystem is mounted for this process.
    """
    by_filesystem = _mounts_by_filesystem(mounts)
    running = tuple(_server_roles(servers, by_filesystem, storage))
    return (
        *running,
        *_last_roles(remembered, running, mounts, storage),
        *_configured_roles(configured, root, mounts, by_filesystem, storage),
    )


def _last_roles(
    remembered: Sequence[RememberedRole],
    running: Collection[StorageRole],
    mounts: Mounts,
    storage: Stack,
) -> Iterator[StorageRole]:
    """Yields the roles without a running server whose filesystem is still mounted.

    The filesystem must be mounted at the same place. A directory whose filesystem was unmounted
    belongs to the filesystem above it, which does not have the role.
    """
    known = {(role.name, role.mountpoint or role.devices) for role in running}
    by_mountpoint = {mount.mountpoint: mount for mount in filesystems.visible_mounts(mounts)}
    for role in remembered:
        if role.place in known:
            continue
        if role.mountpoint is None:
            devices = tuple(name for name in role.devices if name in storage.disks)
        else:
            mount = by_mountpoint.get(role.mountpoint)
            # Without drives in /sys, the drives of the mounted filesystem have disappeared.
            devices = () if mount is None else storage.drives_of(mount) or role.devices
        if devices:
            yield StorageRole(
                role.name, None, role.directory, role.mountpoint, devices, has_ended=True
            )


def _server_roles(
    servers: Collection[MysqlServer],
    by_filesystem: Mapping[_FilesystemKey, list[Mount]],
    storage: Stack,
) -> Iterator[StorageRole]:
    for server in servers:
        for role in server.directories:
            mount = mountinfo.mount_containing(server.mounts, role.directory)
            if mount is None:
                continue
            drives = storage.drives_of(mount)
            mountpoint = _host_mountpoint(mount, by_filesystem) if drives else None
            yield StorageRole(role.role, server.pid, role.directory, mountpoint, drives)


def _configured_roles(
    configured: Mapping[str, Sequence[str]],
    root: Path,
    mounts: Mounts,
    by_filesystem: Mapping[_FilesystemKey, list[Mount]],
    storage: Stack,
) -> Iterator[StorageRole]:
    for name, places in configured.items():
        for place in places:
            if not place.startswith("/"):
                yield StorageRole(name, None, "", None, storage.leaves_of(place))
                continue
            directory = files.resolve_symlinks(root, place)
            mount = mountinfo.mount_containing(mounts.mounts, directory)
            if mount is not None:
                mountpoint = _host_mountpoint(mount, by_filesystem)
                yield StorageRole(name, None, place, mountpoint, storage.drives_of(mount))


def _mounts_by_filesystem(mounts: Mounts) -> dict[_FilesystemKey, list[Mount]]:
    by_filesystem: dict[_FilesystemKey, list[Mount]] = {}
    for mount in filesystems.visible_mounts(mounts):
        by_filesystem.setdefault((mount.number, mount.fstype), []).append(mount)
    return by_filesystem


def _host_mountpoint(
    mount: Mount, by_filesystem: Mapping[_FilesystemKey, list[Mount]]
) -> str | None:
    """Returns the host's mountpoint of a mount's filesystem; None if the host does not mount it.

    If the host has several mounts of the filesystem, those that are not bind mounts are preferred.
    Of these, the one with the same root as `mount` is preferred, because a btrfs has one mount per
    subvolume.

    mount: a mount as a MySQL server or the host sees it.
    by_filesystem: the mounts of the host, keyed by filesystem.
    """
    candidates = by_filesystem.get((mount.number, mount.fstype), ())
    best = min(candidates, key=lambda m: (m.is_bind, m.root != mount.root), default=None)
    return None if best is None else best.mountpoint


def _first_namespaces(devices: Collection[Device]) -> dict[str, str]:
    lowest: dict[str, tuple[int, str]] = {}
    for disk in devices:
        number = disk.block.name.rpartition("n")[2]
        if disk.block.kind == "disk" and number.isascii() and number.isdigit():
            namespace = (int(number), disk.block.name)
            for controller in disk.identity.controllers:
                lowest[controller] = min(lowest.get(controller, namespace), namespace)
    return {controller: name for controller, (_, name) in lowest.items()}
