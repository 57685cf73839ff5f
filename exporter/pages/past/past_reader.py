"""Reads the past of a drive and the events of the host from the files of the history.

The files are on a disk that may hang, so a request waits for a limited time. One request reads at a
time, and each reads a limited number of files.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.history.history_events import HistoryEvent
from exporter.history.io_history import IoHistory
from exporter.history.io_summary import IoSummary, Period, combined
from exporter.pages.past.time_range import TimeRange
from exporter.runtime.threads import TimeLimitedCall

#: The time in seconds for which a request waits for a disk. The server ends a request after five.
_TIMEOUT_SECONDS = 2.0

#: The largest number of events on a page.
MAX_SHOWN = 200

_HANGS = "The disk with the history does not answer."


@dataclass(frozen=True, slots=True)
class PastPoint:
    """The I/O of a drive in a part of a time. seconds: the number of seconds with a sample."""

    seconds: float
    io: IoSummary


@dataclass(frozen=True, slots=True)
class Past:
    """The past of a drive.

    points: in the order of time; None where nothing was recorded.
    events: those of the drive, the newest first.
    problem: why something is missing, as a sentence; empty if nothing is.
    """

    shown: TimeRange
    points: Sequence[PastPoint | None] = ()
    events: Sequence[HistoryEvent] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PastEvents:
    """Events of the host, the newest first.

    before: the Unix time before which they happened. has_older: True if there are older ones.
    problem: as for `Past`.
    """

    before: float
    events: Sequence[HistoryEvent] = ()
    has_older: bool = False
    problem: str = ""


class PastReader:
    """Reads the history. Several threads may call the methods.

    history (argument): None if no history is kept.
    wall (argument): returns the Unix time.
    """

    def __init__(self, history: IoHistory | None, wall: Callable[[], float]) -> None:
        self._history = history
        self._wall = wall
        self._lock = threading.Lock()
        self._work: Callable[[IoHistory], Any] = lambda _history: None
        self._call: TimeLimitedCall[Any] = TimeLimitedCall(self._do, _TIMEOUT_SECONDS)

    def past(self, shown: TimeRange, identity: str) -> Past:
        """Returns the past of a drive. identity: with which its I/O is recorded."""
        if self._history is None:
            return Past(shown, problem=_not_kept())

        def work(history: IoHistory) -> Past:
            points = _points(shown, identity, history)
            events = [
                each
                for each in history.events(shown.end)
                if each.identity in (identity, "") and _overlaps(each, shown, history)
            ]
            return Past(shown, points, events[: -MAX_SHOWN - 1 : -1], history.problem)

        found = self._within_limit(work)
        return Past(shown, problem=_HANGS) if found is None else found

    def events(self, before: float) -> PastEvents:
        """Returns the newest events of the host. before: the Unix time that they precede."""
        if self._history is None:
            return PastEvents(before, problem=_not_kept())

        def work(history: IoHistory) -> PastEvents:
            found = [each for each in history.events(before) if each.at <= before]
            newest = found[: -MAX_SHOWN - 1 : -1]
            return PastEvents(before, newest, len(found) > len(newest), history.problem)

        found = self._within_limit(work)
        return PastEvents(before, problem=_HANGS) if found is None else found

    def is_open(self, event: HistoryEvent) -> bool:
        """Returns True if a bottleneck lasts until now."""
        return self._history is not None and self._history.is_open(event)

    def _within_limit(self, work: Callable[[IoHistory], Any]) -> Any:
        """Returns the result; None if the disk does not answer in time."""
        with self._lock:
            self._work = work
            try:
                return self._call()
            except TimeoutError:
                return None

    def _do(self) -> Any:
        return None if self._history is None else self._work(self._history)


def _points(shown: TimeRange, identity: str, history: IoHistory) -> list[PastPoint | None]:
    kind = shown.kind
    unit = 3600 if kind.has_hours else 60
    first, last = shown.begin // unit, (shown.end - 1) // unit
    read = history.hours if kind.has_hours else history.minutes
    return collected(read(first, last, identity), identity, shown, unit)


def collected(
    periods: Iterable[Period], identity: str, shown: TimeRange, unit_seconds: int
) -> list[PastPoint | None]:
    """Returns the points of a time, made of minutes or hours. Pure.

    periods: in any order. unit_seconds: the length of each.
    """
    kind = shown.kind
    parts: list[list[tuple[float, IoSummary]]] = [[] for _ in range(kind.points)]
    for period in periods:
        place = (period.ordinal * unit_seconds - shown.begin) // kind.step_seconds
        each = period.drives.get(identity)
        if each is not None and 0 <= place < kind.points:
            parts[place].append((period.seconds, each))
    return [PastPoint(*combined(part)) if part else None for part in parts]


def _overlaps(event: HistoryEvent, shown: TimeRange, history: IoHistory) -> bool:
    end = event.end
    if end is None:
        end = float("inf") if event.is_bottleneck and history.is_open(event) else event.at
    return event.at < shown.end and end >= shown.begin


def _not_kept() -> str:
    return (
        "No history is kept: it is disabled (history.enabled), or the exporter found no state"
        " directory that it can write (--state.directory). Its log says which."
    )
