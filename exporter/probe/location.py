"""Determines the filesystem and the drives of a directory, and whether probes may run in it.

Probes may run in a directory if they measure a local drive there and cause no damage.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files, mountinfo
from exporter.linux.topology import Topology
from exporter.runtime.errors import ReadError, SourceError

#: The types of filesystems that overwrite blocks in place, on a local block device.
_IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "jfs", "reiserfs"})
#: The types of filesystems that write each block to a new place.
_COPY_ON_WRITE = frozenset({"btrfs", "zfs", "bcachefs", "nilfs2"})
#: The types of other filesystems, and why no probe may run on them.
_UNSUITABLE = (
    (("tmpfs", "ramfs", "devtmpfs", "hugetlbfs"), "is in memory and not on a drive"),
    (
        ("overlay", "aufs", "unionfs", "ecryptfs"),
        "is stacked on other filesystems: name a directory on one of those",
    ),
    (
        (
            *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "beegfs"),
            *("9p", "virtiofs", "afs", "gfs2", "ocfs2", "gpfs", "pvfs2"),
        ),
        "is on the network or shared: there is no local drive to probe",
    ),
)
_FUSE = "is served by a program (FUSE): the probe would measure that program"
_UNKNOWN = "is of an unknown type, which may not write to a drive"


def unsuitable_reason(fstype: str, *, copy_on_write: bool) -> str:
    """Returns a message that says why no probe may run on this filesystem type; empty if it may.

    fstype: the filesystem type in mountinfo, such as "ext4".
    copy_on_write: the operator allows filesystems that write each block to a new place. On these, a
        probe fragments its file, and snapshots keep all blocks that the probe wrote.
    """
    if fstype in _IN_PLACE or (fstype in _COPY_ON_WRITE and copy_on_write):
        return ""
    if fstype in _COPY_ON_WRITE:
        return f"{fstype} is copy-on-write: set probe.copy_on_write to probe it"
    if fstype == "fuse" or fstype.startswith(("fuse.", "fuseblk")):
        reason = _FUSE
    else:
        reason = next((why for types, why in _UNSUITABLE if fstype in types), _UNKNOWN)
    return f"{fstype or 'the filesystem'} {reason}"


#: Values of md/sync_action at which the array reads or writes all its drives
#: (Documentation/admin-guide/md.rst).
_REBUILDING = frozenset({"resync", "recover", "check", "repair", "reshape"})


@dataclass(frozen=True, slots=True)
class Location:
    """The filesystem of a directory, and the drives that contain it.

    device: the device label of the metrics: the name of the drive if there is exactly one.
        Otherwise the name of the mounted disk, such as an array.
    leaves: the device names of the drives.
    fstype: the filesystem type in mountinfo, such as "ext4".
    mountpoint: the mount point of the filesystem.
    readonly: True if the filesystem or the mount is read-only.
    """

    device: str
    leaves: tuple[str, ...]
    fstype: str
    mountpoint: str
    readonly: bool

    def unsuitable(self, *, copy_on_write: bool) -> str:
        """Returns a message that says why no probe may run in the directory; empty if it may.

        copy_on_write: the operator allows probes on copy-on-write filesystems.
        """
        if why := unsuitable_reason(self.fstype, copy_on_write=copy_on_write):
            return why
        return f"{self.mountpoint} is mounted read-only" if self.readonly else ""


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """The size and the free space of a filesystem.

    avail_bytes: the bytes that unprivileged users can still use.
    avail_inodes: the free inodes; None means that their number is not limited.
    """

    size_bytes: int
    avail_bytes: int
    avail_inodes: int | None


def locate(directory: Path, topology: Topology, proc: Path) -> Location:
    """Returns the filesystem and the drives of a directory.

    If the directory does not exist yet, those of its parent are returned.

    topology: the host's devices. proc: the mount point of procfs.

    Raises:
        ReadError: the filesystem is not on a known block device, or the mounts cannot be read.
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
    """Returns the size and the free space of a directory's filesystem, read with statvfs(3).

    Raises:
        ReadError: statvfs fails.
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
