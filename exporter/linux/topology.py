"""Reads the topology of a host: its drives, what is stacked on them, and what MySQL stores there.

The topology combines the results of these modules: the disks of /sys/block (`device`), the
structure of stacked devices such as dm and md (`stack`), the mounts (`mountinfo`), the filesystems
(`filesystems`), the running MySQL servers (`mysqld`), and what directories and devices are used for
(`storage_roles`).

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

from exporter.errors import LimitReached, NotAvailable, ParseError, ReadError
from exporter.linux import (
    block,
    device,
    files,
    filesystems,
    mountinfo,
    mysqld,
    nvme_sysfs,
    stack,
    storage_roles,
)
from exporter.linux.device import Device, DeviceEntry
from exporter.linux.faults import Faults
from exporter.linux.files import Parsed
from exporter.linux.filesystems import Filesystem
from exporter.linux.mountinfo import Mounts
from exporter.linux.mysqld import MysqlServer
from exporter.linux.stack import Stack
from exporter.linux.storage_roles import RememberedRole, StorageRole

_NO_ROLES: Mapping[str, Sequence[str]] = MappingProxyType({})


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
    roles = storage_roles.find(
        servers.value, remembered, configured, root=root, mounts=mounts, storage=storage
    )
    mountpoints = {role.mountpoint for role in roles if role.mountpoint is not None}
    topology = Topology(
        devices=devices,
        stack=storage,
        mounts=mounts,
        filesystems=tuple(filesystems.read(sys, root, mounts, storage, mountpoints)),
        pool_states=filesystems.read_pool_states(proc),
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


def _first_namespaces(devices: Collection[Device]) -> dict[str, str]:
    lowest: dict[str, tuple[int, str]] = {}
    for disk in devices:
        number = disk.block.name.rpartition("n")[2]
        if disk.block.kind == "disk" and number.isascii() and number.isdigit():
            namespace = (int(number), disk.block.name)
            for controller in disk.identity.controllers:
                lowest[controller] = min(lowest.get(controller, namespace), namespace)
    return {controller: name for controller, (_, name) in lowest.items()}
