"""Keeps the last roles of MySQL servers that have ended, for days and across restarts.

A role is what a server uses a directory for. `exporter.linux.topology` finds the drives of a kept
role again at each survey.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from exporter.linux.mysql.mysqld import MysqlServer
from exporter.linux.topology import RememberedRole, StorageRole
from exporter.runtime import untrusted_file

#: The maximum number of remembered roles. A server has at most six.
_MAX_REMEMBERED = 64

#: The maximum length of a remembered path, in characters (PATH_MAX of Linux).
_MAX_PATH = 4096

_DAY_SECONDS = 86400.0


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
    that server has its own roles, or if the server was last seen too long ago. A time in the future
    comes from a clock that was wrong, and counts like one in the past.

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
    places = {role.place for role in running}
    current = set(groups.values()) - {None}
    ended = [
        role
        for role in before
        if role.cgroup not in current
        and role.place not in places
        and abs(now - role.seen_at_unix_time) <= keep_days * _DAY_SECONDS
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
    cgroup = saved.get("cgroup")
    if not all(isinstance(text, str) and 0 < len(text) <= _MAX_PATH for text in texts):
        return None
    seen_at = untrusted_file.number(saved.get("seen_at"), 0, untrusted_file.MAX_UNIX_TIME)
    if seen_at is None:
        return None
    name, directory, mountpoint = map(str, texts)
    group = cgroup if isinstance(cgroup, str) and len(cgroup) <= _MAX_PATH else None
    return RememberedRole(name, directory, mountpoint, (), group, seen_at)
