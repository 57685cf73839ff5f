"""Finds the purpose of directories and devices: what MySQL servers store there, and settings.

A role of a MySQL server is kept after the server has ended. InnoDB aborts when it cannot write, so
the role would otherwise disappear when the filesystem of the database fails. `remembered_roles`
keeps the last roles, and `find` finds their drives again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.linux import files, filesystems, mountinfo
from exporter.linux.mountinfo import Mount, Mounts
from exporter.linux.mysqld import MysqlServer
from exporter.linux.stack import Stack

#: Identifies a filesystem: its device number and type. An autofs and the filesystem that it mounts
#: may have the same number.
_FilesystemKey = tuple[str, str]

#: The maximum number of remembered roles. A server has at most six.
_MAX_REMEMBERED = 64

#: The maximum length of a remembered path, in characters (PATH_MAX of Linux).
_MAX_PATH = 4096


@dataclass(frozen=True, slots=True)
class StorageRole:
    """The purpose of a directory, and the drives below it.

    name: the purpose, such as ``mysql-data``.
    pid: the process ID of the MySQL server that uses the directory; None for a role from the
        settings, and for the last role of a server that has ended.
    directory: the path in the server's view, or as in the settings. Empty if the settings name a
        device.
    mountpoint: the mountpoint of the filesystem in the host's view. None if the host does not mount
        it, if the settings name a device, or if a server's directory is not on block devices.
    devices: the names of the drives below the directory.
    has_ended: true if this is the last role of a server that has ended.
    """

    name: str
    pid: int | None
    directory: str
    mountpoint: str | None
    devices: tuple[str, ...]
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class RememberedRole:
    """The last role of a MySQL server that runs or has ended.

    name, directory, mountpoint, devices: as in `StorageRole`.
    cgroup: the control group of the server; None if it is unknown.
    seen_at_unix_time: when the server was last seen, in seconds of Unix time.
    """

    name: str
    directory: str
    mountpoint: str | None
    devices: tuple[str, ...]
    cgroup: str | None
    seen_at_unix_time: float


def find(
    servers: Collection[MysqlServer],
    remembered: Sequence[RememberedRole],
    configured: Mapping[str, Sequence[str]],
    *,
    root: Path,
    mounts: Mounts,
    storage: Stack,
) -> tuple[StorageRole, ...]:
    """Returns the roles of running servers, the last roles of other servers, and those of settings.

    configured: lists of directories of the host and names of devices, keyed by the role.
    root: the directory at which the host's root filesystem is mounted for this process.
    """
    by_filesystem = _mounts_by_filesystem(mounts)
    running = tuple(_server_roles(servers, by_filesystem, storage))
    return (
        *running,
        *_last_roles(remembered, running, mounts, storage),
        *_configured_roles(configured, root, mounts, by_filesystem, storage),
    )


def remembered_roles(
    before: Sequence[RememberedRole],
    roles: Iterable[StorageRole],
    servers: Collection[MysqlServer],
    *,
    now: float,
    keep_days: float,
) -> tuple[RememberedRole, ...]:
    """Returns the roles of the running servers, and the last roles of servers that have ended.

    A role of a server that has ended is dropped if a server runs in the same control group, because
    that server has its own roles, or if the server was last seen too long ago.

    now: the current time in seconds of Unix time.
    keep_days: the time after which the role of a server that has ended is dropped, in days.
    """
    groups = {server.pid: server.cgroup for server in servers}
    running = [
        RememberedRole(
            role.name, role.directory, role.mountpoint, role.devices, groups[role.pid], now
        )
        for role in roles
        if role.pid in groups and role.devices
    ]
    places = {_place(role) for role in running}
    current = set(groups.values()) - {None}
    ended = [
        role
        for role in before
        if role.cgroup not in current
        and _place(role) not in places
        and now - role.seen_at_unix_time <= keep_days * 86400.0
    ]
    return tuple([*running, *ended][:_MAX_REMEMBERED])


def to_state(remembered: Iterable[RememberedRole]) -> list[dict[str, object]]:
    """Returns the roles on mountpoints of the host as plain values for the state file.

    Roles on other mounts are left out, because device names may change at a restart.
    """
    return [
        {
            "name": role.name,
            "directory": role.directory,
            "mountpoint": role.mountpoint,
            "cgroup": role.cgroup,
            "seen_at": role.seen_at_unix_time,
        }
        for role in remembered
        if role.mountpoint is not None
    ]


def from_state(saved: Any) -> tuple[RememberedRole, ...]:
    """Returns the roles that `to_state` returned in an earlier run; invalid values are left out."""
    roles = (_saved_role(each) for each in (saved if isinstance(saved, list) else ()))
    return tuple(role for role in roles if role is not None)[:_MAX_REMEMBERED]


def _saved_role(saved: Any) -> RememberedRole | None:
    if not isinstance(saved, dict):
        return None
    texts = [saved.get(key) for key in ("name", "directory", "mountpoint")]
    cgroup, seen_at = saved.get("cgroup"), saved.get("seen_at")
    if not all(isinstance(text, str) and 0 < len(text) <= _MAX_PATH for text in texts):
        return None
    if not isinstance(seen_at, int | float) or isinstance(seen_at, bool):
        return None
    name, directory, mountpoint = map(str, texts)
    group = cgroup if isinstance(cgroup, str) and len(cgroup) <= _MAX_PATH else None
    return RememberedRole(name, directory, mountpoint, (), group, float(seen_at))


def _place(role: RememberedRole) -> tuple[str, str | tuple[str, ...]]:
    return role.name, role.mountpoint or role.devices


def _last_roles(
    remembered: Sequence[RememberedRole],
    running: Collection[StorageRole],
    mounts: Mounts,
    storage: Stack,
) -> Iterator[StorageRole]:
    """Yields the roles without a running server whose filesystem is still mounted.

    The filesystem must be mounted at the same place. A directory whose filesystem was unmounted
    belongs to the filesystem above it, which does not have the role.
    """
    known = {(role.name, role.mountpoint or role.devices) for role in running}
    by_mountpoint = {mount.mountpoint: mount for mount in filesystems.visible_mounts(mounts)}
    for role in remembered:
        if _place(role) in known:
            continue
        if role.mountpoint is None:
            devices = tuple(name for name in role.devices if name in storage.disks)
        else:
            mount = by_mountpoint.get(role.mountpoint)
            devices = () if mount is None else storage.drives_of(mount)
        if devices:
            yield StorageRole(
                role.name, None, role.directory, role.mountpoint, devices, has_ended=True
            )


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
    for mount in filesystems.visible_mounts(mounts):
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
