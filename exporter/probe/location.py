"""On which filesystems a probe measures the drive, and does no harm.

Where a probe's directory lies: on which filesystem, of which devices, and how full that is.
"""

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from exporter.errors import ReadError, SourceError
from exporter.linux import files, mountinfo
from exporter.linux.topology import Topology

#: Filesystems that write in place, on block devices of this host.
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
    """How a filesystem writes, as far as it matters to a probe."""

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

_WHY = {
    FilesystemKind.MEMORY: "is in memory: there is no drive to probe",
    FilesystemKind.STACKED: "is stacked on other filesystems: name a directory on one of those",
    FilesystemKind.NETWORK: "is on the network or shared: there is no drive of this host to probe",
    FilesystemKind.FUSE: "is served by a program, whose speed would be measured",
    FilesystemKind.UNKNOWN: "is not known to write through to a drive",
}


def filesystem_kind(fstype: str) -> FilesystemKind:
    """What a filesystem is, by its type in mountinfo."""
    if fstype == "fuse" or fstype.startswith(("fuse.", "fuseblk")):
        return FilesystemKind.FUSE
    return next((each for each, types in _KINDS.items() if fstype in types), FilesystemKind.UNKNOWN)


def unsuitable_reason(fstype: str, *, copy_on_write: bool) -> str:
    """Why no probe may run on such a filesystem, for people; empty where it may.

    Copy-on-write needs consent: there each write goes to a new place, so that a rate-capped probe
    fragments the file and, with snapshots, keeps every block that it ever wrote.
    """
    found = filesystem_kind(fstype)
    if found is FilesystemKind.IN_PLACE or (
        found is FilesystemKind.COPY_ON_WRITE and copy_on_write
    ):
        return ""
    if found is FilesystemKind.COPY_ON_WRITE:
        return f"{fstype} writes each block to a new place: it takes consent to probe it"
    return f"{fstype or 'the filesystem'} {_WHY[found]}"


#: What an md array does that reads or writes all of its members.
_REBUILDING = frozenset({"resync", "recover", "check", "repair", "reshape"})


@dataclass(frozen=True, slots=True)
class Location:
    """A directory's filesystem.

    device: the label: the drive below where that is one, else the disk that carries the mount.
    leaves: the drives below.
    """

    device: str
    leaves: tuple[str, ...]
    fstype: str
    mountpoint: str
    readonly: bool

    def unsuitable(self, *, copy_on_write: bool) -> str:
        """Why no probe may run here, for people; empty where one may."""
        if why := unsuitable_reason(self.fstype, copy_on_write=copy_on_write):
            return why
        return f"{self.mountpoint} is mounted read-only" if self.readonly else ""


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """What of a filesystem is free; inodes are None where it has no fixed number of them."""

    size_bytes: int
    avail_bytes: int
    avail_inodes: int | None


def locate(directory: Path, topology: Topology, proc: Path) -> Location:
    """The place of a directory, which need not be there yet; its parent must.

    Raises:
        ReadError: it lies on no block device that is known, or nothing there can be read.
    """
    try:
        there = Path(os.path.realpath(directory if directory.exists() else directory.parent))
        text = files.read(proc / "self" / "mountinfo")
    except (OSError, SourceError) as e:
        raise ReadError(f"where {directory} lies is not known: {e}") from e
    mount = mountinfo.mount_containing(mountinfo.parse(text).value, str(there))
    if mount is None:
        raise ReadError(f"where {directory} lies is not known: no mount is above it")
    above = topology.stack.devices_of(mount)
    if not above:
        why = unsuitable_reason(mount.fstype, copy_on_write=True)
        raise ReadError(why or f"{directory}: {mount.source} is no block device that is known")
    leaves = topology.stack.drives_of(mount)
    disk = topology.stack.parents.get(above[0], above[0])
    return Location(
        device=leaves[0] if len(leaves) == 1 else disk,
        leaves=leaves,
        fstype=mount.fstype,
        mountpoint=mount.mountpoint,
        readonly=mount.filesystem_readonly or mount.mount_readonly,
    )


def free_space(directory: Path) -> FreeSpace:
    """How full the filesystem of a directory, or of its parent, is.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        found = os.statvfs(directory if directory.exists() else directory.parent)
    except OSError as e:
        raise ReadError(f"{directory}: {e.strerror or e}") from e
    return FreeSpace(
        size_bytes=found.f_blocks * found.f_frsize,
        avail_bytes=found.f_bavail * found.f_frsize,
        avail_inodes=found.f_favail if found.f_files else None,
    )


def is_rebuilding(place: Location, topology: Topology) -> bool:
    """An array that shares a drive with the place is rebuilt or checked: md/sync_action."""
    for name, device in topology.devices.items():
        if device.block.kind == "md" and set(topology.leaves_of(name)) & set(place.leaves):
            action = files.read_attribute(device.block.directory / "md" / "sync_action")
            if action in _REBUILDING:
                return True
    return False
