"""On which filesystems a probe measures the drive, and does no harm."""

from enum import Enum

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


class Kind(str, Enum):
    """How a filesystem writes, as far as it matters to a probe."""

    IN_PLACE = "in_place"
    COPY_ON_WRITE = "copy_on_write"
    MEMORY = "memory"
    STACKED = "stacked"
    NETWORK = "network"
    FUSE = "fuse"
    UNKNOWN = "unknown"


_KINDS = {
    Kind.IN_PLACE: _IN_PLACE,
    Kind.COPY_ON_WRITE: _COPY_ON_WRITE,
    Kind.MEMORY: _MEMORY,
    Kind.STACKED: _STACKED,
    Kind.NETWORK: _NETWORK,
}

_WHY = {
    Kind.MEMORY: "is in memory: there is no drive to probe",
    Kind.STACKED: "lies on others, and which drive is written is not told: name one below it",
    Kind.NETWORK: "is on the network or shared: there is no drive of this host to probe",
    Kind.FUSE: "is served by a program, whose speed would be measured",
    Kind.UNKNOWN: "is not known to write through to a drive",
}


def kind(fstype: str) -> Kind:
    """What a filesystem is, by its type in mountinfo."""
    if fstype == "fuse" or fstype.startswith(("fuse.", "fuseblk")):
        return Kind.FUSE
    return next((each for each, types in _KINDS.items() if fstype in types), Kind.UNKNOWN)


def unfit(fstype: str, *, copy_on_write: bool) -> str:
    """Why no probe may run on such a filesystem, for people; empty where it may.

    Copy-on-write needs consent: there each write goes to a new place, so that a rate-capped probe
    fragments the file and, with snapshots, keeps every block that it ever wrote.
    """
    found = kind(fstype)
    if found is Kind.IN_PLACE or (found is Kind.COPY_ON_WRITE and copy_on_write):
        return ""
    if found is Kind.COPY_ON_WRITE:
        return f"{fstype} writes each block to a new place: it takes consent to probe it"
    return f"{fstype or 'the filesystem'} {_WHY[found]}"
