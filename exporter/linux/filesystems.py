"""Reads the filesystems on a host's drives: usage, errors, and whether an error has stopped writes.

How a filesystem shows that it has stopped writing, as observed on Linux 6.18:

- ext4 up to Linux 6.11, and btrfs: the filesystem gets the option ``ro``. The options of the mount
  keep ``rw``. An administrator who remounts the filesystem sets both to ``ro``.
- ext4 since Linux 6.12: the filesystem gets the option ``emergency_ro`` after an error, or
  ``shutdown`` after a forced shutdown, and keeps ``rw``.
- XFS: no option changes. stat(2) of the mountpoint fails with EIO.

Kernel documents: errors_count in https://docs.kernel.org/admin-guide/abi-testing.html
(sysfs-fs-ext4); error_stats in
https://github.com/kdave/btrfs-progs/blob/devel/Documentation/ch-sysfs.rst. The state of a ZFS pool
is in /proc/spl/kstat/zfs/<pool>/state (module/zfs/spa_stats.c of OpenZFS).
"""

import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from exporter.linux import files
from exporter.linux.mountinfo import Mount, Mounts
from exporter.linux.stack import Stack

#: The maximum number of filesystems in a topology. This also limits the number of time series. A
#: host with containers may have thousands of mounts, but has few filesystems.
_MAX_FILESYSTEMS = 256

#: The maximum number of ZFS pools. A host has few.
_MAX_POOLS = 64

#: The options that a filesystem gets when an error has stopped its writes.
_STOPPED_OPTIONS = frozenset({"emergency_ro", "shutdown"})

#: The types that are never written.
_READONLY_TYPES = frozenset({"cramfs", "erofs", "iso9660", "squashfs", "udf"})

#: The directories below which container runtimes and snapd mount filesystems. These mounts come and
#: go with containers, and have no state of their own unless a role refers to them.
_CONTAINER_MOUNT = re.compile(
    r"^/(var/lib/(docker|containers|containerd|kubelet|rancher|lxc|lxd|incus|machines)"
    r"|run/(containerd|docker|k3s)|snap|var/snap)/"
)

#: The state of a ZFS pool: one word, such as ONLINE.
_POOL_STATE = re.compile(r"[A-Z]{1,20}", re.ASCII)


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
    readonly: true if nothing can be written: the filesystem or this mount is read-only, or an error
        has stopped its writes.
    failed: true if an error has stopped its writes, or if its drive has disappeared. None means
        unknown, in two cases:
        - `is_watched` is false.
        - It is read-only, and the host's mounts cannot be read. Systemd makes mounts in the
          exporter's own mount namespace read-only, so an error need not be the cause.
    is_watched: true if the state is exported. It is always exported if the mount has a
        `StorageRole`. Otherwise it is not exported for mounts of containers and snaps, and for
        types that are never written, such as squashfs.
    usage: the size and the free space. It is read only if the mount has a `StorageRole`. None means
        not read, or unknown.
    errors: the number of errors that ext4 or btrfs has recorded. None means not read, or unknown.
    """

    mountpoint: str
    fstype: str
    number: str
    devices: tuple[str, ...]
    readonly: bool
    failed: bool | None = False
    is_watched: bool = True
    usage: FilesystemUsage | None = None
    errors: int | None = None


def read(
    sys: Path,
    root: Path,
    mounts: Mounts,
    storage: Stack,
    *,
    role_mountpoints: Collection[str],
    known: Iterable[Filesystem] = (),
) -> Iterator[Filesystem]:
    """Yields the filesystems on block devices, each once, and each further mount that has a role.

    When 256 filesystems are found, further ones are returned only if they have a role
    (`StorageRole`).

    root: the directory at which the host's root filesystem is mounted for this process.
    role_mountpoints: the mountpoints that have a `StorageRole`.
    known: the filesystems of the previous reading. If the drive of one of them has disappeared
        since, the filesystem is returned as failed while it is mounted.
    """
    before = {(each.mountpoint, each.number): each for each in known}
    reported: set[tuple[str, str]] = set()
    error_files = _btrfs_error_files(sys)
    for mount in visible_mounts(mounts):
        has_role = mount.mountpoint in role_mountpoints
        is_repeated = mount.is_bind or (mount.number, mount.root) in reported
        if not has_role and (is_repeated or len(reported) >= _MAX_FILESYSTEMS):
            continue
        names = storage.devices_of(mount)
        last = before.get((mount.mountpoint, mount.number))
        if not names:
            if last is not None and not mount.number.startswith("0:"):
                yield replace(last, readonly=True, failed=True, usage=None, errors=None)
            continue
        reported.add((mount.number, mount.root))
        is_watched = has_role or _has_state(mount)
        failed = _has_failed(root, mount, of_host=mounts.of_host) if is_watched else None
        yield Filesystem(
            mountpoint=mount.mountpoint,
            fstype=mount.fstype,
            number=mount.number,
            # A dm or md device remains in /sys after its last drive has disappeared.
            devices=storage.drives_of(mount) or (() if last is None else last.devices),
            # A mount of the exporter's own mount namespace may be read-only although the host can
            # write to it, because of ProtectSystem= of systemd.
            readonly=bool(failed)
            or mount.filesystem_readonly
            or (mounts.of_host and mount.mount_readonly),
            failed=failed,
            is_watched=is_watched,
            usage=read_usage(root, mount.mountpoint) if has_role else None,
            errors=_read_errors(sys, mount, names, error_files) if is_watched else None,
        )


def visible_mounts(mounts: Mounts) -> tuple[Mount, ...]:
    """Returns the mounts, without those that are hidden by a later mount at the same mountpoint."""
    return tuple({mount.mountpoint: mount for mount in mounts.mounts}.values())


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


def parse_error_stats(text: str) -> int | None:
    """Returns the sum of the error counters of one btrfs device; None if there are none.

    None also if a counter is not a number, because the sum would be too low.

    A line of the text is a name and a number: ``write_errs 0``.
    """
    counts = re.findall(r"^\w+_errs\b[ \t]*(.*?)[ \t]*$", text, re.MULTILINE | re.ASCII)
    are_numbers = all(re.fullmatch(r"\d{1,20}", count, re.ASCII) for count in counts)
    return sum(map(int, counts)) if counts and are_numbers else None


def read_pool_states(proc: Path) -> dict[str, str]:
    """Returns the state of each imported ZFS pool, keyed by its name: ``{"tank": "ONLINE"}``.

    The result is empty without ZFS. At most 64 pools are returned.
    """
    directory = proc / "spl" / "kstat" / "zfs"
    states = ((name, files.read_attribute(directory / name / "state")) for name in _pools(proc))
    return {name: state for name, state in states if state and _POOL_STATE.fullmatch(state)}


def _pools(proc: Path) -> Iterator[str]:
    directory = proc / "spl" / "kstat" / "zfs"
    names = files.list_names(directory)
    yield from islice((name for name in names if (directory / name).is_dir()), _MAX_POOLS)


def _has_state(mount: Mount) -> bool:
    return mount.fstype not in _READONLY_TYPES and not _CONTAINER_MOUNT.match(mount.mountpoint)


def _has_failed(root: Path, mount: Mount, *, of_host: bool) -> bool | None:
    if not _STOPPED_OPTIONS.isdisjoint(mount.super_options):
        return True
    if mount.fstype == "xfs" and _returns_io_error(root, mount.mountpoint):
        return True
    if not mount.filesystem_readonly:
        return False
    if not mount.mount_readonly:
        return True
    return False if of_host else None


def _returns_io_error(root: Path, mountpoint: str) -> bool:
    """True if stat(2) of the mountpoint fails with EIO. The inode is in memory: no disk is read."""
    try:
        os.stat(root / mountpoint.lstrip("/"))
    except OSError as e:
        return e.errno == errno.EIO
    except ValueError:  # the name has a null byte
        return False
    return False


def _btrfs_error_files(sys: Path) -> Mapping[str, tuple[Path, ...]]:
    """Returns the error_stats files of btrfs filesystems, keyed by device name ("sda1").

    The value is the files of the device's whole filesystem: one file for each of its devices.
    """
    found: dict[str, tuple[Path, ...]] = {}
    btrfs = sys / "fs" / "btrfs"
    for uuid in files.list_names(btrfs):
        info = btrfs / uuid / "devinfo"
        stats = tuple(info / number / "error_stats" for number in files.list_names(info))
        for name in files.list_names(btrfs / uuid / "devices"):
            found[name.replace("!", "/")] = stats
    return found


def _read_errors(
    sys: Path, mount: Mount, names: tuple[str, ...], error_files: Mapping[str, tuple[Path, ...]]
) -> int | None:
    if mount.fstype != "btrfs":
        return read_error_count(sys, names[0])
    texts = (files.read_attribute(file) for file in error_files.get(names[0], ()))
    counts = [parse_error_stats(text) for text in texts if text is not None]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
