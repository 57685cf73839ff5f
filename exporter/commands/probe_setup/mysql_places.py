"""Chooses directories for probes on the filesystems of MySQL. The module is pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.linux.mountinfo import is_inside
from exporter.linux.topology import StorageRole

#: The roles whose latency MySQL waits for: pages of the data, and commits to the redo log.
_ROLES = ("mysql-data", "mysql-redo")

#: The directory on a filesystem whose layout does not suggest a name.
_NAME = "ssd-exporter-probe"


@dataclass(frozen=True, slots=True)
class Places:
    """The result of `mysql_places`.

    directories: one directory for each filesystem.
    problems: why a place is not used or a filesystem has no directory, as text for people.
    """

    directories: tuple[Path, ...]
    problems: tuple[str, ...] = ()


def mysql_places(
    roles: Sequence[StorageRole],
    is_directory: Callable[[PurePath], bool],
    refusal: Callable[[StorageRole, Path], str] = lambda _role, _place: "",
) -> Places:
    """Returns a directory for probes on each filesystem that MySQL stores data or redo logs on.

    A returned directory is never inside a data directory: MySQL could use it as a database, and the
    user of the exporter may not enter a data directory.

    is_directory: returns True if a directory exists on the host. The paths of a MySQL in a
        container may not exist there.
    refusal: returns why a place for the role of a server is not used; empty if it may be used.
    """
    ordered = sorted(
        (role for role in roles if role.name in _ROLES and role.mountpoint),
        key=lambda role: _ROLES.index(role.name),
    )
    data = [role.directory for role in roles if role.name == "mysql-data" and role.directory]
    chosen: dict[str, Path] = {}
    problems: dict[str, str] = {}
    refused: dict[str, None] = {}
    for role in ordered:
        mountpoint = role.mountpoint or "/"
        if mountpoint in chosen:
            continue
        free = [
            place
            for place in _candidates(role, mountpoint)
            if is_directory(place.parent) and not _is_data(place, data)
        ]
        for place in free:
            if not (reason := refusal(role, place)):
                chosen[mountpoint] = place
                break
            refused[f"{place} is not used: {reason}"] = None
        if not free:
            problems[mountpoint] = (
                f"the filesystem at {mountpoint} contains only MySQL's directory {role.directory}:"
                " a probe directory in it would look like a database"
            )
    kept = [text for mountpoint, text in problems.items() if mountpoint not in chosen]
    return Places(tuple(chosen.values()), (*refused, *kept))


def _candidates(role: StorageRole, mountpoint: str) -> list[Path]:
    directory, mount = Path(role.directory), Path(mountpoint)
    places = []
    if role.directory != mountpoint and is_inside(role.directory, mountpoint):
        places.append(directory.parent / f"{directory.name}-probe")
    above = Path("/var/lib") if mountpoint == "/" else mount
    return [*places, above / _NAME]


def _is_data(place: PurePath, data: Sequence[str]) -> bool:
    return any(is_inside(str(place), directory) for directory in data)
