"""What stands on what: from a mount or a device down to the drives that hold the data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files
from exporter.linux.block import BlockDevice
from exporter.linux.mountinfo import Mount


@dataclass(frozen=True, slots=True)
class Stack:
    """The block devices of a host, by all that may name one.

    `disks` are the whole disks, `parents` the disk of each partition; `numbers` and `mapped` find
    the name of either by ``major:minor`` and by its name in /dev/mapper. `pools` are the devices
    of each btrfs, of which a mount names but one.
    """

    disks: Mapping[str, BlockDevice]
    parents: Mapping[str, str]
    numbers: Mapping[str, str]
    mapped: Mapping[str, str]
    pools: tuple[frozenset[str], ...] = ()

    def leaves_of(self, name: str) -> tuple[str, ...]:
        """The disks at the bottom of a disk or partition: a drive is its own.

        Names of devices that are not there have no leaves; rings in a broken tree end.
        """
        leaves: dict[str, None] = {}
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            above = waiting.pop()
            disk = self.disks.get(self.parents.get(above, above))
            if disk is None or disk.name in seen:
                continue
            seen.add(disk.name)
            if disk.is_leaf:
                leaves[disk.name] = None
            waiting.extend(reversed(disk.slaves))
        return tuple(leaves)

    def devices_of(self, mount: Mount) -> tuple[str, ...]:
        """The disks or partitions that carry a mount; none for tmpfs, overlay, NFS, ZFS.

        By number where the filesystem has one device's, and by source where the kernel gave the
        filesystem an anonymous number of its own, as btrfs.
        """
        name = self.numbers.get(mount.number)
        if name is None and mount.number.startswith("0:"):
            name = self._source(mount.source)
        if name is None:
            return ()
        pool = next((pool for pool in self.pools if name in pool), frozenset({name}))
        return tuple(sorted(pool))

    def drives_of(self, mount: Mount) -> tuple[str, ...]:
        """The disks at the bottom of a mount."""
        each = (leaf for name in self.devices_of(mount) for leaf in self.leaves_of(name))
        return tuple(dict.fromkeys(each))

    def _source(self, source: str) -> str | None:
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
    """The kernel's names of dm devices by those in /dev/mapper."""
    names = (
        (files.read_attribute(d.directory / "dm" / "name"), d.name) for d in disks if d.kind == "dm"
    )
    return {mapped: name for mapped, name in names if mapped is not None}


def read_pools(sys: Path) -> tuple[frozenset[str], ...]:
    """The devices of each mounted btrfs: /sys/fs/btrfs/<uuid>/devices."""
    btrfs = sys / "fs" / "btrfs"
    pools = (files.list_names(btrfs / uuid / "devices") for uuid in files.list_names(btrfs))
    return tuple(frozenset(n.replace("!", "/") for n in names) for names in pools if names)
