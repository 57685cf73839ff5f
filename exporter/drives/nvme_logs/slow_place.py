"""Finds where slow requests spent their time: inside the drive or outside of it. Pure.

A drive with the latency monitor of OCP counts the requests that were slow inside it, and its
counters are read every 15 minutes. The kernel tells the mean await of each second, which includes
the queues of the host. So this can be known about the time between two readings:

- The drive counted slow requests, and the host saw a second whose mean await reached the lowest
  limit of the drive: requests were slow inside.
- The drive counted none, and the host saw a second whose mean await was twice this limit. Each
  request of that second took less than the limit inside, so most of its time passed outside.

Else nothing is known. The await of a write includes the flush that belongs to it, which the drive
does not count. So writes are not judged as slow outside if the device received flushes.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from exporter.drives.nvme_logs.latency_growth import LatencyGrowth
from exporter.drives.watched_drive import WatchedDrive

#: With this multiple of the limit of the drive, at least half of the time passed outside of it.
_OUTSIDE_FACTOR = 2.0
#: The time stamp of a reading is that of the end of the program that reads the pages of all drives.
#: The program takes at most 30 s, and a few more until it is ended.
_READING_SECONDS = 40.0
#: The number of slow minutes that are kept: an hour and a half, longer than the longest time
#: between two readings, with an observation every 30 s.
_MOST_MINUTES = 180
#: A step of the clock of more than this many seconds makes the recorded times useless.
_CLOCK_STEP_SECONDS = 1.0


class SlowPlace(str, Enum):
    """Where slow requests spent most of their time."""

    INSIDE = "inside"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class SlowRequests:
    """The slow reads or writes of a drive.

    op: read or write.
    count: the number that the drive counted as slow.
    await_seconds: the largest mean await of a second that the host saw.
    """

    op: str
    place: SlowPlace
    count: int
    await_seconds: float


@dataclass(frozen=True, slots=True)
class SlowPlaces:
    """Where the slow requests of a drive spent their time between two readings.

    from_at, until_at: when the drive was read, as Unix time in seconds.
    least_seconds: the drive counts requests that take at least this time.
    requests: the operations about which something is known, at least one.
    """

    from_at: float
    until_at: float
    least_seconds: float
    requests: tuple[SlowRequests, ...]


@dataclass(frozen=True, slots=True)
class HostLatency:
    """What the host saw of a drive until a time.

    at, monotonic: Unix time and monotonic time, in seconds.
    window_seconds: the largest age of a second that `read_await` and `write_await` contain.
    read_await, write_await: the largest mean await of a second, in seconds; None without requests.
    flushes: the flush requests since boot; None if the kernel does not count them.
    """

    at: float
    monotonic: float
    window_seconds: float
    read_await: float | None
    write_await: float | None
    flushes: int | None


class LatencyComparison:
    """Compares all drives of a host. One thread calls `observe`; others read `places`.

    places: where slow requests spent their time, keyed by device name. Only drives of which it is
        known.
    """

    def __init__(self) -> None:
        self._trackers: dict[tuple[str, str], SlowPlaceTracker] = {}
        self.places: Mapping[str, SlowPlaces] = {}

    def observe(
        self, drives: Iterable[WatchedDrive], host_latency: Callable[[str], HostLatency | None]
    ) -> None:
        """Compares the drives that report their own latency. Call it about every 30 seconds.

        host_latency: returns what the host has seen of a device; None if it has no samples.
        """
        trackers: dict[tuple[str, str], SlowPlaceTracker] = {}
        for drive in drives:
            logs = drive.health.logs if drive.up and drive.health is not None else None
            if logs is None or logs.latency is None or not logs.latency.active:
                continue
            if (host := host_latency(drive.label)) is not None:
                key = drive.label, drive.serial
                trackers[key] = self._trackers.get(key) or SlowPlaceTracker()
                trackers[key].observe(host, logs.latency.active[0].min_seconds, logs.growth)
        self._trackers = trackers
        self.places = {
            label: tracker.places
            for (label, _), tracker in trackers.items()
            if tracker.places is not None
        }


class SlowPlaceTracker:
    """Compares what the host and one drive saw.

    places: the result for the last two readings; None if nothing is known.
    """

    __slots__ = ("_clock_offset", "_compared", "_flushed_at", "_flushes", "_minutes", "places")

    def __init__(self) -> None:
        self.places: SlowPlaces | None = None
        self._compared: LatencyGrowth | None = None
        self._minutes: deque[HostLatency] = deque(maxlen=_MOST_MINUTES)
        self._clock_offset = 0.0
        self._flushes: int | None = None
        self._flushed_at = 0.0

    def observe(
        self, host: HostLatency, least_seconds: float, growth: LatencyGrowth | None
    ) -> None:
        """Records what the host saw, and compares it with the drive if that was read again.

        least_seconds: the drive counts requests that take at least this time.
        growth: what the drive counted between its last two readings; None if that is not known.
        """
        offset = host.at - host.monotonic
        if abs(offset - self._clock_offset) > _CLOCK_STEP_SECONDS:
            self._minutes.clear()
        self._clock_offset = offset
        if host.flushes is None or host.flushes != self._flushes:
            self._flushes, self._flushed_at = host.flushes, host.at
        if max(host.read_await or 0.0, host.write_await or 0.0) >= least_seconds:
            self._minutes.append(host)
        if growth is None or _is_old(growth, host.at):
            self.places = None
        elif growth != self._compared:
            self.places = self._compare(growth)
            while self._minutes and self._minutes[0].at <= growth.until_at:
                self._minutes.popleft()
        self._compared = growth

    def _compare(self, growth: LatencyGrowth) -> SlowPlaces | None:
        between = [
            minute
            for minute in self._minutes
            if minute.at - minute.window_seconds >= growth.from_at
            and minute.at <= growth.until_at - _READING_SECONDS
        ]
        reads = max((minute.read_await or 0.0 for minute in between), default=0.0)
        writes = max((minute.write_await or 0.0 for minute in between), default=0.0)
        least = growth.least_seconds
        found = (
            _judged("read", growth.reads, reads, least, may_be_outside=True),
            _judged(
                *("write", growth.writes, writes, least),
                may_be_outside=self._flushed_at < growth.from_at,
            ),
        )
        requests = tuple(each for each in found if each is not None)
        return SlowPlaces(growth.from_at, growth.until_at, least, requests) if requests else None


def _judged(
    op: str, count: int, await_seconds: float, least_seconds: float, *, may_be_outside: bool
) -> SlowRequests | None:
    if count and await_seconds >= least_seconds:
        return SlowRequests(op, SlowPlace.INSIDE, count, await_seconds)
    if not count and may_be_outside and await_seconds >= _OUTSIDE_FACTOR * least_seconds:
        return SlowRequests(op, SlowPlace.OUTSIDE, 0, await_seconds)
    return None


def _is_old(growth: LatencyGrowth, at: float) -> bool:
    """Returns True if the drive should have been read again since then."""
    period = growth.until_at - growth.from_at
    return not 0 <= at - growth.until_at <= 2 * (period + _READING_SECONDS)
