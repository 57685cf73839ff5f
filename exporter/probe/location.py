"""Determines the filesystem and the drives of a probe's directory, and whether it is suitable.

A directory is suitable if a probe in it measures a local drive and does no harm.
"""

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from exporter.errors import ReadError, SourceError
from exporter.linux import files, mountinfo
from exporter.linux.topology import Topology

#: Filesystem types by how they write. The first group writes in place on local block devices.
_IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "jfs", "reiserfs"})
_COPY_ON_WRITE = frozenset({"btrfs", "zfs", "bcachefs", "nilfs2"})
_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_STACKED = frozenset({"overlay", "aufs", "unionfs", "ecryptfs"})
_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "beegfs"),
        *("9p", "virtiofs", "afs", "gfs2", "ocfs2", "gpfs", "pvfs2"),
    }
)


class FilesystemKind(str, Enum):
    """How a filesystem writes, as far as a probe depends on it."""

    IN_PLACE = "in_place"
    COPY_ON_WRITE = "copy_on_write"
    MEMORY = "memory"
    STACKED = "stacked"
    NETWORK = "network"
    FUSE = "fuse"
    UNKNOWN = "unknown"


_KINDS = {
    FilesystemKind.IN_PLACE: _IN_PLACE,
    FilesystemKind.COPY_ON_WRITE: _COPY_ON_WRITE,
    FilesystemKind.MEMORY: _MEMORY,
    FilesystemKind.STACKED: _STACKED,
    FilesystemKind.NETWORK: _NETWORK,
}

_UNSUITABLE = {
    FilesystemKind.MEMORY: "is in memory and not on a drive",
    FilesystemKind.STACKED: "is stacked on other filesystems: name a directory on one of those",
    FilesystemKind.NETWORK: "is on the network or shared: there is no local drive to probe",
    FilesystemKind.FUSE: "is served by a program (FUSE): the probe would measure that program",
    FilesystemKind.UNKNOWN: "is of an unknown type, which may not write to a drive",
}


def filesystem_kind(fstype: str) -> FilesystemKind:
    """Returns how a filesystem writes, by its type in mountinfo."""
    if fstype == "fuse" or fstype.startswith(("fuse.", "fuseblk")):
        return FilesystemKind.FUSE
    return next((kind for kind, types in _KINDS.items() if fstype in types), FilesystemKind.UNKNOWN)


def unsuitable_reason(fstype: str, *, copy_on_write: bool) -> str:
    """Returns why no probe may run on this filesystem type, as a message; empty if it may.

    copy_on_write: the operator allows such filesystems. They write each block to a new place, so a
    probe fragments its file, and snapshots keep all blocks that it wrote.
    """
    kind = filesystem_kind(fstype)
    if kind is FilesystemKind.IN_PLACE or (kind is FilesystemKind.COPY_ON_WRITE and copy_on_write):
        return ""
    if kind is FilesystemKind.COPY_ON_WRITE:
        return f"{fstype} is copy-on-write: set probe.copy_on_write to probe it"
    return f"{fstype or 'the filesystem'} {_UNSUITABLE[kind]}"


#: Values of md/sync_action that read or write all members (Documentation/admin-guide/md.rst).
_REBUILDING = frozenset({"resync", "recover", "check", "repair", "reshape"})


@dataclass(frozen=True, slots=True)
class Location:
    """A directory's filesystem and drives.

    device: the label of metrics: the drive below if there is exactly one, else the mounted disk.
    leaves: the device names of the drives below.
    """

    device: str
    leaves: tuple[str, ...]
    fstype: str
    mountpoint: str
    readonly: bool

    def unsuitable(self, *, copy_on_write: bool) -> str:
        """Returns why no probe may run here, as a message; empty if one may."""
        if why := unsuitable_reason(self.fstype, copy_on_write=copy_on_write):
            return why
        return f"{self.mountpoint} is mounted read-only" if self.readonly else ""


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """A filesystem's size and free space; `avail_inodes` is None if their number is not limited."""

    size_bytes: int
    avail_bytes: int
    avail_inodes: int | None


def locate(directory: Path, topology: Topology, proc: Path) -> Location:
    """Returns the location of a directory. It need not exist yet, but its parent must.

    Raises:
        ReadError: the filesystem is not on a known block device, or cannot be read.
    """
    try:
        there = Path(os.path.realpath(directory if directory.exists() else directory.parent))
        text = files.read(proc / "self" / "mountinfo")
    except (OSError, SourceError) as e:
        raise ReadError(f"cannot find the filesystem of {directory}: {e}") from e
    mount = mountinfo.mount_containing(mountinfo.parse(text).value, str(there))
    if mount is None:
        raise ReadError(f"cannot find the filesystem of {directory}: no mount contains it")
    devices = topology.stack.devices_of(mount)
    if not devices:
        why = unsuitable_reason(mount.fstype, copy_on_write=True)
        raise ReadError(why or f"{directory}: {mount.source} is not a known block device")
    leaves = topology.stack.drives_of(mount)
    disk = topology.stack.parents.get(devices[0], devices[0])
    return Location(
        device=leaves[0] if len(leaves) == 1 else disk,
        leaves=leaves,
        fstype=mount.fstype,
        mountpoint=mount.mountpoint,
        readonly=mount.filesystem_readonly or mount.mount_readonly,
    )


def free_space(directory: Path) -> FreeSpace:
    """Returns the free space of a directory's filesystem, by statvfs(3).

    Raises:
        ReadError: it cannot be read.
    """
    try:
        status = os.statvfs(directory if directory.exists() else directory.parent)
    except OSError as e:
        raise ReadError(f"{directory}: {e.strerror or e}") from e
    return FreeSpace(
        size_bytes=status.f_blocks * status.f_frsize,
        avail_bytes=status.f_bavail * status.f_frsize,
        avail_inodes=status.f_favail if status.f_files else None,
    )


def is_rebuilding(location: Location, topology: Topology) -> bool:
    """Returns True if an md array on the same drives is being rebuilt or checked."""
    for name, device in topology.devices.items():
        if device.block.kind == "md" and set(topology.leaves_of(name)) & set(location.leaves):
            action = files.read_attribute(device.block.directory / "md" / "sync_action")
            if action in _REBUILDING:
                return True
    return False
