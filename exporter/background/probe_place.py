"""Where a probe's directory lies: on which filesystem, of which devices, and how full that is."""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import ReadError, SourceError
from exporter.linux import files, mountinfo
from exporter.linux.topology import Topology
from exporter.tools import probe_filesystem

#: What an md array does that reads or writes all of its members.
_REBUILDING = frozenset({"resync", "recover", "check", "repair", "reshape"})


@dataclass(frozen=True, slots=True)
class Place:
    """A directory's filesystem.

    device: the label: the drive below where that is one, else the disk that carries the mount.
    leaves: the drives below.
    """

    device: str
    leaves: tuple[str, ...]
    fstype: str
    mountpoint: str
    readonly: bool

    def unfit(self, *, copy_on_write: bool) -> str:
        """Why no probe may run here, for people; empty where one may."""
        if why := probe_filesystem.unfit(self.fstype, copy_on_write=copy_on_write):
            return why
        return f"{self.mountpoint} is mounted read-only" if self.readonly else ""


@dataclass(frozen=True, slots=True)
class Space:
    """What of a filesystem is free; inodes are None where it has no fixed number of them."""

    size_bytes: int
    avail_bytes: int
    avail_inodes: int | None


def read(directory: Path, topology: Topology, proc: Path) -> Place:
    """The place of a directory, which need not be there yet; its parent must.

    Raises:
        ReadError: it lies on no block device that is known, or nothing there can be read.
    """
    try:
        there = Path(os.path.realpath(directory if directory.exists() else directory.parent))
        text = files.read(proc / "self" / "mountinfo")
    except (OSError, SourceError) as e:
        raise ReadError(f"where {directory} lies is not known: {e}") from e
    mount = mountinfo.containing(mountinfo.parse(text).value, str(there))
    if mount is None:
        raise ReadError(f"where {directory} lies is not known: no mount is above it")
    above = topology.stack.devices_of(mount)
    if not above:
        why = probe_filesystem.unfit(mount.fstype, copy_on_write=True)
        raise ReadError(why or f"{directory}: {mount.source} is no block device that is known")
    leaves = topology.stack.drives_of(mount)
    disk = topology.stack.parents.get(above[0], above[0])
    return Place(
        device=leaves[0] if len(leaves) == 1 else disk,
        leaves=leaves,
        fstype=mount.fstype,
        mountpoint=mount.mountpoint,
        readonly=mount.filesystem_readonly or mount.mount_readonly,
    )


def space(directory: Path) -> Space:
    """How full the filesystem of a directory, or of its parent, is.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        found = os.statvfs(directory if directory.exists() else directory.parent)
    except OSError as e:
        raise ReadError(f"{directory}: {e.strerror or e}") from e
    return Space(
        size_bytes=found.f_blocks * found.f_frsize,
        avail_bytes=found.f_bavail * found.f_frsize,
        avail_inodes=found.f_favail if found.f_files else None,
    )


def is_rebuilding(place: Place, topology: Topology) -> bool:
    """An array that shares a drive with the place is rebuilt or checked: md/sync_action."""
    for name, device in topology.devices.items():
        if device.block.kind == "md" and set(topology.leaves_of(name)) & set(place.leaves):
            action = files.attribute(device.block.directory / "md" / "sync_action")
            if action in _REBUILDING:
                return True
    return False
