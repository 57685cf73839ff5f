"""Finds the drives below a mount, a partition or a stacked device.

A stacked device, such as dm, md or bcache, stores its data on other disks or partitions. A drive
is a disk at the bottom of a stack.

The structure comes from /sys/block/<disk>/slaves, /sys/block/<dm>/dm/name and
/sys/fs/btrfs/<uuid>/devices: https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-block-dm)
and https://github.com/kdave/btrfs-progs/blob/devel/Documentation/ch-sysfs.rst.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files
from exporter.linux.block import BlockDevice
from exporter.linux.mountinfo import Mount


@dataclass(frozen=True, slots=True)
class Stack:
    """The block devices of a host, with mappings to find them by different names.

    disks: the whole disks, keyed by the kernel's name.
    parents: the name of the disk of each partition, keyed by the name of the partition.
    numbers: the name of each disk and partition, keyed by its device number ``major:minor``.
    mapped: the kernel's name of each dm device, keyed by its name in /dev/mapper.
    pools: the names of the devices of each btrfs, one set per btrfs. A mount names only one of
        these devices.
    """

    disks: Mapping[str, BlockDevice]
    parents: Mapping[str, str]
    numbers: Mapping[str, str]
    mapped: Mapping[str, str]
    pools: tuple[frozenset[str], ...] = ()

    def leaves_of(self, name: str) -> tuple[str, ...]:
        """Returns the names of the drives below a disk or partition; a drive returns itself.

        The result is empty if the device does not exist. Each disk is visited once, so a cycle of
        devices does no harm.
        """
        leaves: dict[str, None] = {}
        visited: set[str] = set()
        pending = [name]
        while pending:
            current = pending.pop()
            disk = self.disks.get(self.parents.get(current, current))
            if disk is None or disk.name in visited:
                continue
            visited.add(disk.name)
            if disk.is_leaf:
                leaves[disk.name] = None
            pending.extend(reversed(disk.slaves))
        return tuple(leaves)

    def devices_of(self, mount: Mount) -> tuple[str, ...]:
        """Returns the names of the disks or partitions on which a mounted filesystem is stored.

        The result is empty for tmpfs, NFS and ZFS. The device is found by the device number of the
        filesystem. If the kernel assigned an anonymous number (major 0), as for btrfs, the device
        is found by the source of the mount.
        """
        name = self.numbers.get(mount.number)
        if name is None and mount.number.startswith("0:"):
            name = self._device_of_source(mount.source)
        if name is None:
            return ()
        pool = next((pool for pool in self.pools if name in pool), frozenset({name}))
        return tuple(sorted(pool))

    def drives_of(self, mount: Mount) -> tuple[str, ...]:
        """Returns the names of the drives below a mounted filesystem, each once."""
        drives = (drive for name in self.devices_of(mount) for drive in self.leaves_of(name))
        return tuple(dict.fromkeys(drives))

    def _device_of_source(self, source: str) -> str | None:
        if not source.startswith("/dev/"):
            return None
        name = source.removeprefix("/dev/")
        if name.startswith("mapper/"):
            return self.mapped.get(name.removeprefix("mapper/"))
        return name if name in self.disks or name in self.parents else None


def build_stack(
    disks: Mapping[str, BlockDevice],
    mapped: Mapping[str, str],
    pools: tuple[frozenset[str], ...] = (),
) -> Stack:
    """Returns the stack that consists of these disks.

    disks: all whole disks, keyed by the kernel's name.
    mapped: the result of `read_mapped`.
    pools: the result of `read_pools`.
    """
    parents: dict[str, str] = {}
    numbers: dict[str, str] = {}
    for name, disk in disks.items():
        if disk.number is not None:
            numbers[disk.number] = name
        for partition in disk.partitions:
            parents[partition.name] = name
            if partition.number is not None:
                numbers[partition.number] = partition.name
    return Stack(disks, parents, numbers, mapped, pools)


def read_mapped(disks: Iterable[BlockDevice]) -> dict[str, str]:
    """Returns the kernel's names of the dm devices, keyed by their names in /dev/mapper."""
    names = (
        (files.read_attribute(disk.directory / "dm" / "name"), disk.name)
        for disk in disks
        if disk.kind == "dm"
    )
    return {mapped: name for mapped, name in names if mapped is not None}


def read_pools(sys: Path) -> tuple[frozenset[str], ...]:
    """Returns the names of the devices of each mounted btrfs, one set per filesystem."""
    btrfs = sys / "fs" / "btrfs"
    pools = (files.list_names(btrfs / uuid / "devices") for uuid in files.list_names(btrfs))
    return tuple(frozenset(n.replace("!", "/") for n in names) for names in pools if names)
