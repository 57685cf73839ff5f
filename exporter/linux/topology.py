"""Reads the topology of a host: its drives, what is stacked on them, and what MySQL stores there.

The topology combines the results of these modules: the disks of /sys/block (`device`), the
structure of stacked devices such as dm and md (`stack`), the mounts (`mountinfo`), and the running
MySQL servers (`mysqld`). This module adds the usage and the errors of filesystems: statvfs(3), and
https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-fs-ext4: errors_count).

A drive is a disk at the bottom of a stack. Terms of NVMe: a controller provides one or more
namespaces, and each namespace is a disk. With multipath, a namespace also has one hidden disk per
controller (a path).
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from exporter.errors import LimitReached, NotAvailable, ParseError, ReadError
from exporter.linux import block, device, files, mountinfo, mysqld, nvme_sysfs, stack
from exporter.linux.device import Device, DeviceEntry
from exporter.linux.faults import Faults
from exporter.linux.files import Parsed
from exporter.linux.mountinfo import Mount, Mounts
from exporter.linux.mysqld import MysqlServer
from exporter.linux.stack import Stack

#: The maximum number of filesystems in a topology. This also limits the number of time series. A
#: host with containers may have thousands of mounts, but has few filesystems.
_MAX_FILESYSTEMS = 256

_NO_ROLES: Mapping[str, Sequence[str]] = MappingProxyType({})

#: Identifies a filesystem: its device number and type. An autofs and the filesystem that it mounts
#: may have the same number.
_FilesystemKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FilesystemUsage:
    """The size of a filesystem, and its free space for unprivileged users, in bytes."""

    size_bytes: int
    avail_bytes: int


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A mounted filesystem on block devices.

    mountpoint: the path of the mountpoint in the host's view.
    fstype: the type of the filesystem, such as ``ext4``.
    number: the device number of the filesystem, ``major:minor``.
    devices: the names of the drives below the filesystem.
    readonly: true if the filesystem or this mount is read-only.
    usage: the size and the free space. It is read only if the mount has a `StorageRole`. None means
        not read, or unknown.
    errors: the number of errors that ext4 has recorded in the filesystem. It is read only if the
        mount has a `StorageRole`. None means not read, or unknown.
    """

    mountpoint: str
    fstype: str
    number: str
    devices: tuple[str, ...]
    readonly: bool
    usage: FilesystemUsage | None = None
    errors: int | None = None


@dataclass(frozen=True, slots=True)
class StorageRole:
    """The purpose of a directory, and the drives below it.

    name: the purpose, such as ``mysql-data``.
    pid: the process ID of the MySQL server that uses the directory; None for a role from the
        settings.
    directory: the path in the server's view, or as in the settings. Empty if the settings name a
        device.
    mountpoint: the mountpoint of the filesystem in the host's view. None if the host does not mount
        it, if the settings name a device, or if a server's directory is not on block devices.
    devices: the names of the drives below the directory.
    """

    name: str
    pid: int | None
    directory: str
    mountpoint: str | None
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """A consistent snapshot of a host's storage.

    devices: all disks of /sys/block, keyed by the kernel's name, including stacked and hidden ones.
    stack: the structure of these devices.
    mounts: all mounts.
    filesystems: the filesystems on block devices. Each is listed once, and again for each further
        mount that has a role. Each btrfs subvolume counts as a filesystem.
    servers: the running MySQL servers.
    roles: the purposes of directories and devices.
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
    look_for_servers: bool = True,
    read_queues: bool = True,
) -> Parsed[Topology]:
    """Returns the current topology. Never raises: `Parsed.faults` contains the errors.

    root: the directory at which the host's root filesystem is mounted for this process.
    known: the previous topology; None if there is none. For disks that it contains, only what can
        change is read.
    configured: the roles in the settings: lists of directories of the host and names of devices,
        keyed by the role.
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
    by_filesystem = _mounts_by_filesystem(mounts)
    roles = (
        *_server_roles(servers.value, by_filesystem, storage),
        *_configured_roles(configured, root, mounts, by_filesystem, storage),
    )
    mountpoints = {role.mountpoint for role in roles if role.mountpoint is not None}
    topology = Topology(
        devices=devices,
        stack=storage,
        mounts=mounts,
        filesystems=tuple(_filesystems(sys, root, mounts, storage, mountpoints)),
        servers=servers.value,
        roles=roles,
        first_namespaces=_first_namespaces(devices.values()),
    )
    return Parsed(topology, tuple(faults))


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


def read_usage(rootfs: Path, mountpoint: str) -> FilesystemUsage | None:
    """Returns the usage of the filesystem at a mountpoint of the host; None if unknown.

    rootfs: the directory at which the host's root filesystem is mounted for this process.
    """
    try:
        status = os.statvfs(rootfs / mountpoint.lstrip("/"))
    except (OSError, ValueError):  # ValueError: the name has a null byte
        return None
    return FilesystemUsage(status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize)


def read_error_count(sys: Path, device: str) -> int | None:
    """Returns the number of errors that ext4 has recorded in a filesystem.

    None means that the filesystem is not a mounted ext4, or that the number cannot be read.

    device: the name of the disk or partition with the filesystem.
    """
    return files.read_integer(sys / "fs" / "ext4" / device.replace("/", "!") / "errors_count")


def visible_mounts(mounts: Mounts) -> tuple[Mount, ...]:
    """Returns the mounts, without those that are hidden by a later mount at the same mountpoint."""
    return tuple({mount.mountpoint: mount for mount in mounts.mounts}.values())


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
    for mount in visible_mounts(mounts):
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


def _filesystems(
    sys: Path, root: Path, mounts: Mounts, storage: Stack, role_mountpoints: Collection[str]
) -> Iterator[Filesystem]:
    reported: set[tuple[str, str]] = set()
    for mount in visible_mounts(mounts):
        has_role = mount.mountpoint in role_mountpoints
        is_repeated = mount.is_bind or (mount.number, mount.root) in reported
        if not has_role and (is_repeated or len(reported) >= _MAX_FILESYSTEMS):
            continue
        names = storage.devices_of(mount)
        if not names:
            continue
        reported.add((mount.number, mount.root))
        yield Filesystem(
            mountpoint=mount.mountpoint,
            fstype=mount.fstype,
            number=mount.number,
            devices=storage.drives_of(mount),
            # A mount of the exporter's own mount namespace may be read-only although the host can
            # write to it, because of ProtectSystem= of systemd.
            readonly=mount.filesystem_readonly or (mounts.of_host and mount.mount_readonly),
            usage=read_usage(root, mount.mountpoint) if has_role else None,
            errors=read_error_count(sys, names[0]) if has_role else None,
        )


def _first_namespaces(devices: Collection[Device]) -> dict[str, str]:
    lowest: dict[str, tuple[int, str]] = {}
    for disk in devices:
        number = disk.block.name.rpartition("n")[2]
        if disk.block.kind == "disk" and number.isascii() and number.isdigit():
            namespace = (int(number), disk.block.name)
            for controller in disk.identity.controllers:
                lowest[controller] = min(lowest.get(controller, namespace), namespace)
    return {controller: name for controller, (_, name) in lowest.items()}
