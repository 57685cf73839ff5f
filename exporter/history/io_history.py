"""The I/O history of a host: records it, writes it, and reads it for the pages for people."""

import threading
from collections.abc import Iterator
from pathlib import Path

from exporter.config.history_settings import HistorySettings
from exporter.history import minute_recorder
from exporter.history.history_block import EVENTS
from exporter.history.history_events import (
    MAX_WAITING,
    STARTED,
    Bottlenecks,
    HistoryEvent,
    decoded_events,
    encoded_events,
)
from exporter.history.history_files import HistoryFiles
from exporter.history.io_summary import IoSummary, Period, combined_period
from exporter.history.minute_recorder import MinuteRecorder
from exporter.io.drive_events import BOTTLENECKS, DriveEvents, EventKind
from exporter.io.recent_activity import verdicts
from exporter.io.sampler import Sampler
from exporter.io.verdict import Verdict

#: The number of events that stay in memory for the first page, so that it reads no disk.
_NEWEST = 5

#: A drive has a bottleneck now if one of this many last samples has one.
_NOW_SAMPLES = 10

_MINUTES_PER_HOUR = 60

#: The hours that are computed from minutes: the current one, the one before, whose file is written
#: within minutes, and three for a time that ends in the future.
_RECENT_HOURS = 5


class IoHistory:
    """The I/O and the events of all drives.

    Any thread may call `record` and the methods that read. One thread calls `save`.

    directory (argument): the state directory.
    events (argument): what happens to the drives is also in this list.
    """

    def __init__(
        self, directory: Path, settings: HistorySettings, sampler: Sampler, events: DriveEvents
    ) -> None:
        self.settings = settings
        self._bottlenecks = Bottlenecks()
        self._events: list[HistoryEvent] = []
        self._newest: list[HistoryEvent] = []
        self._lock = threading.Lock()
        self._sampler = sampler
        self._recorder = MinuteRecorder(sampler, self._observe)
        self._files = HistoryFiles(
            directory, self._recorder, days=settings.days, months=settings.months
        )
        self._is_started = False
        events.on_event(self._add_event)

    @property
    def problem(self) -> str:
        """Why the files cannot be written and what is missing, as text; empty if they can."""
        if not self._files.problem:
            return ""
        return (
            f"The history cannot be written: {self._files.problem}. The last minutes wait in"
            " memory, at most three hours; earlier ones are missing."
        )

    def record(self) -> None:
        """Records the minutes that have ended. It does not block."""
        self._recorder.take()

    def save(self, now: float, *, at_end: bool = False) -> None:
        """Writes what is due. This may block on a disk. now: the Unix time."""
        if not self._is_started:
            self._is_started = True
            self._remember(decoded_events(self._files.bodies(EVENTS, now), _NEWEST))
            self._add([HistoryEvent(now, None, "", "", STARTED)])
        self._files.save(now, at_end=at_end)
        with self._lock:
            events, self._events = self._events, []
        if at_end:
            events += self._bottlenecks.end()
        if events and not self._files.append_events(now, encoded_events(events)):
            self._add(events)

    def minutes(self, first: int, last: int, identity: str) -> Iterator[Period]:
        """Yields the minutes of a drive, in no order. This may block on a disk.

        first, last: minutes since 1970.
        """
        self._recorder.take()
        # First those in memory: otherwise the ones that are written meanwhile would be missing.
        waiting = minute_recorder.periods(self._recorder.waiting(), identity)
        seen = {each.ordinal for each in waiting}
        yield from (each for each in waiting if first <= each.ordinal <= last)
        for each in self._files.minutes(first, last, identity):
            if each.ordinal not in seen:
                yield each

    def hours(self, first: int, last: int, identity: str) -> Iterator[Period]:
        """Yields the hours of a drive. This may block on a disk.

        The last hours are computed from the minutes if they are not in the files yet.

        first, last: hours since 1970.
        """
        found = self._files.hours(first, last, identity)
        yield from found.values()
        for hour in range(max(first, last - _RECENT_HOURS), last + 1):
            if hour not in found:
                begin = hour * _MINUTES_PER_HOUR
                yield combined_period(
                    hour, self.minutes(begin, begin + _MINUTES_PER_HOUR - 1, identity)
                )

    def events(self, now: float) -> list[HistoryEvent]:
        """Returns the events of this month and the last one, in the order of time.

        This may block on a disk. now: the Unix time.
        """
        with self._lock:
            waiting = [*self._events, *self._lasting()]
        written = self._files.bodies(EVENTS, now)
        return decoded_events([*written, encoded_events(waiting)])

    def newest(self, now: float) -> list[HistoryEvent]:
        """Returns the last five events, the newest first. It reads no disk. now: the Unix time."""
        with self._lock:
            found = {each.key: each for each in (*self._newest, *self._lasting())}
        past = (each for each in found.values() if each.at <= now)
        return sorted(past, key=lambda each: each.at)[: -_NEWEST - 1 : -1]

    def is_open(self, event: HistoryEvent) -> bool:
        """Returns True if a bottleneck lasts until now."""
        return any(each.key == event.key and each.end is None for each in self._lasting())

    def _lasting(self) -> list[HistoryEvent]:
        with self._sampler.flushed():
            limited = {
                each.drive.identity
                for name, each in self._sampler.activities.items()
                if self._is_limited(name)
            }
        return self._bottlenecks.lasting(limited)

    def _is_limited(self, name: str) -> bool:
        samples = self._sampler.recent.drive(name)
        return samples is not None and any(
            each is not Verdict.NONE for each in verdicts(samples.statuses(_NOW_SAMPLES))
        )

    def _observe(self, minute: int, drives: dict[str, IoSummary]) -> None:
        names = {each.drive.identity: name for name, each in self._sampler.activities.items()}
        self._add(list(self._bottlenecks.observe(minute, drives, names)))

    def _add_event(self, at: float, name: str, identity: str, kind: EventKind, count: int) -> None:
        # A bottleneck is recorded with its begin and end.
        if kind not in BOTTLENECKS.values():
            self._add([HistoryEvent(at, None, name, identity, kind.value, float(count))])

    def _remember(self, events: list[HistoryEvent]) -> None:
        with self._lock:
            found = {each.key: each for each in (*self._newest, *events)}
            self._newest = sorted(found.values(), key=lambda each: each.at)[-_NEWEST:]

    def _add(self, events: list[HistoryEvent]) -> None:
        self._remember(events)
        with self._lock:
            self._events = (self._events + events)[-MAX_WAITING:]
