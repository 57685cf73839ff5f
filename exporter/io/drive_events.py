"""What happened to each drive in the last 400 days, for the lanes of its page.

`DriveEvents` compares each observation of the host with the one before, and counts the events of a
day. The first observation after a start only sets what later ones are compared with. The module
uses no files, no clock and no locks. One thread calls `observe`; any thread may call the other
methods, because each change replaces the mapping of a drive.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from exporter.drives.assessment.failure_cause import predicts_failure
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.verdict import Verdict
from exporter.runtime import untrusted_file

_DAY = 86400.0

#: How long events are kept, in days. It is the time for which wear is kept.
KEPT_DAYS = 400

#: The most days with an event that are kept of a drive, counted for each kind, and the most drives.
#: The state file then has 100,000 values of events, a seventh of its limit.
_MAX_ENTRIES, _MAX_DRIVES = 100, 256

#: Limits of the numbers and texts in the state file: the year 5138, a count, characters of a key.
_MAX_DAYS, _MAX_COUNT, _MAX_KEY_CHARACTERS = 1.2e6, 1e9, 256

#: A bottleneck that lasts for less than this time is no event, in seconds.
_BOTTLENECK_SECONDS = 300.0


class EventKind(str, Enum):
    """What happened to a drive. The values are in the state file."""

    MISSING = "missing"
    RETURNED = "returned"
    NEW = "new"
    FAILING = "failing"
    SELF_TEST = "self_test"
    MEDIA_ERRORS = "media_errors"
    LINK_ERRORS = "link_errors"
    RESET = "reset"
    POWER_LOSS = "power_loss"
    DEVICE = "device"
    WRITE_CACHE = "write_cache"
    THERMAL = "thermal"
    THROTTLED = "throttled"
    LINK = "link"


#: The bottlenecks that are events. The others say nothing about the drive.
BOTTLENECKS = {
    Verdict.DEVICE: EventKind.DEVICE,
    Verdict.WRITE_CACHE: EventKind.WRITE_CACHE,
    Verdict.THERMAL: EventKind.THERMAL,
    Verdict.THROTTLED: EventKind.THROTTLED,
    Verdict.LINK: EventKind.LINK,
}

#: The counters of a drive whose growth is an event: the attribute of `DriveHealth`.
_COUNTERS = {
    "media_errors": EventKind.MEDIA_ERRORS,
    "interface_errors": EventKind.LINK_ERRORS,
    "unsafe_shutdowns": EventKind.POWER_LOSS,
}


@dataclass(frozen=True, slots=True)
class DriveEvent:
    """How often something happened to a drive on a day. day: days since 1970 (UTC)."""

    day: int
    kind: EventKind
    count: int


@dataclass(slots=True)
class _Seen:
    """The values of a drive in the last observation. None means unknown."""

    counts: dict[str, int | None] = field(default_factory=dict)
    is_failing: bool | None = None
    failed_test_at: float | None = None
    power_on_seconds: float | None = None


class DriveEvents:
    """The events of all drives, keyed by the identity of the drive.

    kept: the result of `to_state` from the state file. It may be damaged; invalid events are
        dropped.
    """

    def __init__(self, kept: Any = None) -> None:
        self._events: dict[str, dict[tuple[int, EventKind], int]] = {}
        self._disks: Mapping[str, str] | None = None
        self._identities: dict[str, str] = {}
        self._seen: dict[str, _Seen] = {}
        self._since: dict[str, tuple[Verdict, float]] = {}
        self._on_event: Callable[[float, str, str, EventKind, int], None] = lambda *_: None
        for key, rows in kept.items() if isinstance(kept, Mapping) else ():
            events = dict(_usable(rows))
            if isinstance(key, str) and len(key) <= _MAX_KEY_CHARACTERS and events:
                self._events[key] = events
        self._drop_oldest()

    def on_event(self, callback: Callable[[float, str, str, EventKind, int], None]) -> None:
        """Sets the function that is called with each event, on the thread of `observe`.

        Its arguments are the Unix time, the name and the identity of the drive, the kind, and how
        often it happened. It must not block.
        """
        self._on_event = callback

    def observe(
        self,
        at: float,
        disks: Mapping[str, str],
        drives: Sequence[WatchedDrive],
        verdicts: Mapping[str, Verdict],
        now: float | None = None,
    ) -> None:
        """Records what has changed since the last call.

        at: the Unix time. It gives the day of an event, and may step.
        now: the monotonic time, for the duration of bottlenecks; None means that `at` never steps.
        disks: the identity of each drive that the kernel lists, keyed by device name.
        drives: the monitored drives with their health.
        verdicts: the current verdict of each device.
        """
        self._observe_disks(at, disks)
        for drive in drives:
            if identity := disks.get(drive.label, ""):
                self._observe_health(at, identity, drive)
        for name, verdict in verdicts.items():
            if identity := disks.get(name, ""):
                self._observe_verdict(at, at if now is None else now, identity, verdict)
        present = set(disks.values())
        self._seen = {key: seen for key, seen in self._seen.items() if key in present}
        self._since = {key: since for key, since in self._since.items() if key in present}

    def of(self, identity: str, name: str) -> tuple[DriveEvent, ...]:
        """Returns the events of a drive in the order of time.

        identity: the identity of the drive; empty for a drive that is missing.
        name: the name of its device, with which a missing drive is found.
        """
        events = self._events.get(self.identity(identity, name), {})
        return tuple(
            DriveEvent(day, kind, count)
            for (day, kind), count in sorted(events.items(), key=lambda item: item[0][0])
        )

    def identity(self, identity: str, name: str) -> str:
        """Returns the identity of a drive; empty if unknown. The arguments are those of `of`."""
        return identity or self._identities.get(name, "")

    def to_state(self) -> dict[str, Any]:
        """Returns JSON values for the state file."""
        return {
            identity: [[day, kind.value, count] for (day, kind), count in events.items()]
            for identity, events in dict(self._events).items()
        }

    def _observe_disks(self, at: float, disks: Mapping[str, str]) -> None:
        before, self._disks = self._disks, dict(disks)
        self._identities |= disks
        while len(self._identities) > _MAX_DRIVES:
            del self._identities[next(iter(self._identities))]
        if before is None:
            return
        for identity in set(before.values()) - set(disks.values()):
            self._add(at, identity, EventKind.MISSING)
        for identity in set(disks.values()) - set(before.values()):
            events = self._events.get(identity, {})
            is_known = any(kind is EventKind.MISSING for _, kind in events)
            self._add(at, identity, EventKind.RETURNED if is_known else EventKind.NEW)

    def _observe_health(self, at: float, identity: str, drive: WatchedDrive) -> None:
        health = drive.health
        if health is None:
            return
        test = health.self_test
        now = _Seen(
            {name: getattr(health, name) for name in _COUNTERS},
            predicts_failure(health),
            test.completed_power_on_seconds if test is not None and not test.passed else None,
            health.power_on_seconds,
        )
        before = self._seen.get(identity)
        self._seen[identity] = now
        if before is None:
            return
        for name, kind in _COUNTERS.items():
            old, new = before.counts.get(name), now.counts[name]
            if old is not None and new is not None and new > old:
                self._add(at, identity, kind, new - old)
        if now.is_failing and before.is_failing is False:
            self._add(at, identity, EventKind.FAILING)
        if now.failed_test_at is not None and now.failed_test_at != before.failed_test_at:
            self._add(at, identity, EventKind.SELF_TEST)
        old_hours, new_hours = before.power_on_seconds, now.power_on_seconds
        if old_hours is not None and new_hours is not None and new_hours < old_hours:
            self._add(at, identity, EventKind.RESET)

    def _observe_verdict(self, at: float, now: float, identity: str, verdict: Verdict) -> None:
        known = self._since.get(identity)
        if known is None or known[0] is not verdict:
            self._since[identity] = (verdict, now)
            return
        kind, since = BOTTLENECKS.get(verdict), known[1]
        if kind is not None and now - since >= _BOTTLENECK_SECONDS:
            self._add(at, identity, kind)
            # It counts once, until another verdict follows.
            self._since[identity] = (verdict, float("inf"))

    def _add(self, at: float, identity: str, kind: EventKind, count: int = 1) -> None:
        """Adds events to the current day, and drops those that are too old.

        Events of later days are kept: the clock was ahead, or has been set back.
        """
        names = (name for name, each in self._identities.items() if each == identity)
        self._on_event(at, next(names, ""), identity, kind, count)
        day = int(at // _DAY)
        events = self._events.get(identity, {})
        total = min(events.get((day, kind), 0) + count, int(_MAX_COUNT))
        kept = sorted(
            (key, number)
            for key, number in (events | {(day, kind): total}).items()
            if abs(day - key[0]) <= KEPT_DAYS
        )
        self._events[identity] = dict(kept[-_MAX_ENTRIES:])
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        excess = len(self._events) - _MAX_DRIVES
        if excess > 0:
            for key in sorted(self._events, key=lambda key: max(self._events[key])[0])[:excess]:
                del self._events[key]


def _usable(rows: Any) -> Iterator[tuple[tuple[int, EventKind], int]]:
    """Yields the valid events of a drive from the state file."""
    kinds = {kind.value: kind for kind in EventKind}
    for row in rows[-_MAX_ENTRIES:] if isinstance(rows, list) else ():
        if not (isinstance(row, list) and len(row) == 3 and isinstance(row[1], str)):
            continue
        day = untrusted_file.number(row[0], 0, _MAX_DAYS)
        count = untrusted_file.number(row[2], 1, _MAX_COUNT)
        if day is not None and count is not None and row[1] in kinds:
            yield (int(day), kinds[row[1]]), int(count)
