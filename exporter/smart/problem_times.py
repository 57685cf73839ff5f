"""Remembers when each problem of a drive was found first.

The module uses no files, no clock and no locks. One thread calls `observe`; any thread may call
`of`, because each change replaces the mapping of a drive.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from exporter.drives.watched_drive import WatchedDrive
from exporter.runtime import untrusted_file
from exporter.smart.drive_problems import CheckThresholds, problems

#: The most drives and problems of a drive that are kept, and the most characters of a key.
_MAX_DRIVES, _MAX_PROBLEMS, _MAX_CHARACTERS = 256, 32, 256


class ProblemTimes:
    """When the problems of all drives were found first.

    A problem that disappears and comes back is a new one.

    kept: the result of `to_state` from the state file. It may be damaged; invalid values are
        dropped.
    """

    def __init__(self, kept: Any = None) -> None:
        self._found: dict[str, dict[str, float]] = {}
        for key, times in kept.items() if isinstance(kept, Mapping) else ():
            found = _usable(times)
            if len(key) <= _MAX_CHARACTERS and found and len(self._found) < _MAX_DRIVES:
                self._found[key] = found

    def observe(self, at: float, drives: Sequence[WatchedDrive]) -> None:
        """Records which problems are new, and which are over.

        at: the Unix time.
        drives: all drives of the host. If there are too many problems to keep, those of other
            drives are dropped: they were replaced.
        """
        present = {_key(drive) for drive in drives}
        for drive in drives:
            key, topics = _key(drive), _topics(drive)
            before = self._found.get(key, {})
            # Without values, nothing is known about problems that concern them.
            still = before if drive.health is None else {}
            after = still | {topic: before.get(topic, at) for topic in topics}
            if not after:
                self._found.pop(key, None)
            elif after != before and (key in self._found or self._has_space(present)):
                self._found[key] = after

    def of(self, drive: WatchedDrive) -> Mapping[str, float]:
        """Returns the Unix time of each problem of a drive, keyed by the topic of the problem."""
        return self._found.get(_key(drive), {})

    def _has_space(self, present: Container[str]) -> bool:
        if len(self._found) >= _MAX_DRIVES:
            self._found = {key: found for key, found in self._found.items() if key in present}
        return len(self._found) < _MAX_DRIVES

    def to_state(self) -> dict[str, Any]:
        """Returns JSON values for the state file."""
        return {key: dict(found) for key, found in dict(self._found).items()}


def _key(drive: WatchedDrive) -> str:
    return drive.key or drive.label


def _topics(drive: WatchedDrive) -> list[str]:
    found = (each.topic for each in problems(drive, CheckThresholds()))
    return [topic for topic in found if topic][:_MAX_PROBLEMS]


def _usable(times: Any) -> dict[str, float]:
    found = {}
    for topic, value in list(times.items())[:_MAX_PROBLEMS] if isinstance(times, Mapping) else ():
        at = untrusted_file.number(value, 0, untrusted_file.MAX_UNIX_TIME)
        if at is not None and len(topic) <= _MAX_CHARACTERS:
            found[topic] = at
    return found
