"""Runs a measurement: creates the triggers, reads them several times a second, sums the results.

A map of the kernel has a limited number of entries, and entries are never freed. A measurement
therefore consists of rounds: before a map is full, the round ends and a new one begins. Requests
that are issued between two rounds are not measured; `RequestMeasurement.observed_seconds` is the
time without them.

A round stops at the issue: requests that were issued in the round and complete within two seconds
after it are measured. Otherwise slow requests would be missing more often than fast ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from exporter.latency import triggers
from exporter.latency.trace_histogram import TraceCounts, by_operation
from exporter.latency.triggers import Trigger
from exporter.runtime.clock import Clock
from exporter.tails.request_histogram import RequestHistogram, merged

#: Entries of each of the four maps of requests, in the first round and at most. A round that was
#: full is followed by one with four times the entries.
FIRST_ENTRIES, MOST_ENTRIES = 1 << 12, 1 << 15

#: A round ends when it has this many requests per entry: the next reading may be late.
FULL_RATIO = 0.7

#: A measurement ends after this multiple of its duration, also if much of it was spent between
#: rounds.
_LONGEST_RATIO = 2.0

#: Time between two readings in seconds, and the least one with many requests.
TICK_SECONDS = 0.25
_LEAST_TICK_SECONDS = 0.02

#: No further round begins for a shorter time, in seconds.
_LEAST_ROUND_SECONDS = 0.1

#: How long after a round its requests may complete, and the time between two readings then.
DRAIN_SECONDS = 2.0
_DRAIN_TICK_SECONDS = 0.05

#: Device number and operation.
Key = tuple[str, str]


class Tracing(Protocol):
    """What a measurement needs of `TraceFilesystem`."""

    def create(self, commands: Sequence[Trigger]) -> None: ...
    def add(self, commands: Sequence[Trigger]) -> None: ...
    def mark(self, words: str) -> None: ...
    def read(self, event: str) -> TraceCounts: ...
    def remove(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class RequestMeasurement:
    """What was measured. Keys are device number and operation, or the device number.

    in_device: latencies from the issue of a request to the driver until its completion.
    in_queue: latencies from the insertion into the queue until the issue. Requests that are issued
        at once are not inserted.
    requeued: the times from the issue of a request until the driver gave it back.
    intervals: the requests that completed in successive intervals.
    issued: the number of issued requests per device.
    unfinished: the number of requests per device that were still in flight two seconds after their
        round.
    lost: the number of requests per device that were issued and not measured.
    observed_seconds: how long requests were measured. rounds: the number of rounds.
    """

    in_device: Mapping[Key, RequestHistogram] = field(default_factory=dict)
    in_queue: Mapping[Key, RequestHistogram] = field(default_factory=dict)
    requeued: Mapping[Key, RequestHistogram] = field(default_factory=dict)
    intervals: Sequence[Mapping[Key, RequestHistogram]] = ()
    issued: Mapping[str, int] = field(default_factory=dict)
    unfinished: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    observed_seconds: float = 0.0
    rounds: int = 0


def sums(measurements: Sequence[RequestMeasurement]) -> RequestMeasurement:
    """Returns the sum of rounds."""
    return RequestMeasurement(
        _added([each.in_device for each in measurements]),
        _added([each.in_queue for each in measurements]),
        _added([each.requeued for each in measurements]),
        tuple(interval for each in measurements for interval in each.intervals),
        _totals([each.issued for each in measurements]),
        _totals([each.unfinished for each in measurements]),
        _totals([each.lost for each in measurements]),
        sum(each.observed_seconds for each in measurements),
        sum(each.rounds for each in measurements),
    )


def measure(
    tracing: Tracing,
    clock: Clock,
    seconds: float,
    *,
    devices: Sequence[int] = (),
    entries: int = FIRST_ENTRIES,
    in_flight: Callable[[], Mapping[str, int]] = dict,
    on_reading: Callable[[RequestMeasurement, float], bool] = lambda _measured, _share: True,
) -> RequestMeasurement:
    """Measures the requests of some seconds and returns the result.

    devices: the measured devices, as numbers of the kernel's type dev_t; empty for all.
    entries: the number of entries of each map of requests in the first round, a power of two.
    in_flight: returns the number of requests in flight, keyed by device number.
    on_reading: called with what was measured so far and the finished share of the time. It returns
        False to end the measurement.

    Raises:
        ConfigError: the kernel refuses a trigger.
        SourceError: a histogram cannot be read.
    """
    if not seconds > 0:
        raise ValueError(f"a measurement of {seconds} s")
    done: list[RequestMeasurement] = []
    goes_on, ends_at = True, 0.0

    def shown(now: RequestMeasurement) -> bool:
        so_far = sums((*done, now))
        return on_reading(so_far, min(so_far.observed_seconds / seconds, 1.0))

    while goes_on:
        tracing.create(triggers.measuring(entries, devices))
        try:
            ends_at = ends_at or clock.monotonic() + _LONGEST_RATIO * seconds
            left = seconds - sum(each.observed_seconds for each in done)
            readings = _Readings(tracing, entries)
            measured, goes_on = _round(readings, clock, left, in_flight, shown)
        finally:
            tracing.remove()
        done.append(measured)
        entries = min(4 * entries, MOST_ENTRIES) if readings.is_full else entries
        left = seconds - sum(each.observed_seconds for each in done)
        goes_on = goes_on and left > _LEAST_ROUND_SECONDS and clock.monotonic() < ends_at
    return sums(done)


def _round(
    readings: "_Readings",
    clock: Clock,
    seconds: float,
    in_flight: Callable[[], Mapping[str, int]],
    on_reading: Callable[[RequestMeasurement], bool],
) -> tuple[RequestMeasurement, bool]:
    """Returns the result of a round, and False if the measurement shall end."""
    tracing = readings.tracing
    tracing.mark(triggers.START)
    began = clock.monotonic()
    tick, goes_on = _LEAST_TICK_SECONDS, True
    while goes_on and not readings.is_full:
        left = began + seconds - clock.monotonic()
        if left <= 0:
            break
        clock.sleep(min(tick, left))
        readings.read()
        passed = clock.monotonic() - began
        tick = readings.next_tick(passed)
        goes_on = on_reading(readings.measured(passed))
    tracing.add(triggers.stopping())
    tracing.mark(triggers.STOP)
    observed = clock.monotonic() - began
    drained = clock.monotonic() + DRAIN_SECONDS
    issued = _by_device(tracing.read(triggers.ISSUED).counts)
    while missing := readings.missing(issued):
        if clock.monotonic() >= drained:
            break
        clock.sleep(_DRAIN_TICK_SECONDS)
        readings.read(is_interval=False)
    flying = in_flight() if missing else {}
    unfinished = {n: min(count, flying.get(n, 0)) for n, count in missing.items()}
    lost = {n: count - unfinished[n] for n, count in missing.items()}
    return readings.measured(observed, issued, unfinished, lost), goes_on


class _Readings:
    """The readings of a round."""

    def __init__(self, tracing: Tracing, entries: int) -> None:
        self.tracing = tracing
        self._most = int(entries * FULL_RATIO)
        self._requests: dict[Key, RequestHistogram] = {}
        self._queued: dict[Key, RequestHistogram] = {}
        self._requeued: dict[Key, RequestHistogram] = {}
        self._intervals: list[Mapping[Key, RequestHistogram]] = []

    @property
    def count(self) -> int:
        """The number of measured requests."""
        return sum(histogram.count for histogram in self._requests.values())

    @property
    def is_full(self) -> bool:
        return self.count >= self._most

    def next_tick(self, passed_seconds: float) -> float:
        """Returns the time until the next reading: half of that until the map is full."""
        rate = self.count / passed_seconds if passed_seconds > 0 else 0.0
        left = max(self._most - self.count, 0)
        seconds = left / rate / 2 if rate else TICK_SECONDS
        return min(max(seconds, _LEAST_TICK_SECONDS), TICK_SECONDS)

    def read(self, *, is_interval: bool = True) -> None:
        before = self._requests
        self._requests = self._histograms(triggers.REQUEST_EVENT)
        self._queued = self._histograms(triggers.QUEUE_EVENT)
        self._requeued = self._histograms(triggers.REQUEUE_EVENT)
        none = RequestHistogram()
        added = {key: h.since(before.get(key, none)) for key, h in self._requests.items()}
        if is_interval:
            self._intervals.append(added)

    def missing(self, issued: Mapping[str, int]) -> dict[str, int]:
        """Returns the requests per device that were issued, and neither completed nor requeued."""
        found = dict(issued)
        for (number, _), histogram in (*self._requests.items(), *self._requeued.items()):
            found[number] = found.get(number, 0) - histogram.count
        return {number: count for number, count in found.items() if count > 0}

    def measured(
        self,
        seconds: float,
        issued: Mapping[str, int] | None = None,
        unfinished: Mapping[str, int] | None = None,
        lost: Mapping[str, int] | None = None,
    ) -> RequestMeasurement:
        return RequestMeasurement(
            self._requests,
            self._queued,
            self._requeued,
            tuple(self._intervals),
            issued or {},
            unfinished or {},
            lost or {},
            seconds,
            1,
        )

    def _histograms(self, event: str) -> dict[Key, RequestHistogram]:
        counts = self.tracing.read(f"synthetic/{event}")
        return {
            key: merged(histograms)
            for key, histograms in by_operation(counts.histograms.items()).items()
        }


def _by_device(counts: Mapping[Key, int]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for (number, _), count in counts.items():
        totals[number] = totals.get(number, 0) + count
    return totals


def _added(parts: Sequence[Mapping[Key, RequestHistogram]]) -> dict[Key, RequestHistogram]:
    keys = {key for part in parts for key in part}
    return {key: merged(part[key] for part in parts if key in part) for key in sorted(keys)}


def _totals(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for part in parts:
        for number, count in part.items():
            totals[number] = totals.get(number, 0) + count
    return totals
