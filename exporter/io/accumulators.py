"""Accumulates per-second values: weighted histograms, rolling windows and monotonic counters."""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from exporter.families.desc import Buckets, MetricDesc
from exporter.runtime import untrusted_file

#: The window of all rolling maxima in seconds, and the same window as the value of the label
#: `window`.
MAX_WINDOW_SECONDS = 60.0
MAX_WINDOW = "1m"

#: Number of steps into which a rolling window is divided. Only the maximum of each step is stored,
#: so most observations change a single number. They must be cheap: each device makes four per
#: second.
_WINDOW_STEPS = 6

#: The largest age of a value in a rolling maximum, in seconds; see `RollingMax`.
PEAK_SECONDS = MAX_WINDOW_SECONDS * (1 + 1 / _WINDOW_STEPS)

#: Largest decrease of a time counter, in seconds, that counts as jitter. A larger decrease means
#: that the kernel restarted its count, for example after CPU hotplug. The exported counter then
#: continues at once. If it waited until the new count had caught up, the time until then would not
#: be counted. node_exporter's cpu collector uses a similar limit.
_MAX_JITTER_SECONDS = 5.0

#: Upper limit, in seconds, for values from the state file: 4,096 CPUs for 23 years. A larger value
#: comes from a damaged file, and the counter would stay at that value until the next boot.
_MAX_STORED_SECONDS = 3e12

# Creates a named tuple without calling the class's own constructor, which is slower. A page needs
# five tuples per device.
_new = tuple.__new__

V = TypeVar("V", bound=Hashable)


class WeightedHistogram:
    """A histogram in which each observation has a weight: a number of seconds or of operations.

    The weights never decrease while the daemon runs, so rates are correct at every scrape interval.
    This class exists because the Histogram of prometheus_client has no weights.

    desc: the metric; it defines the upper bounds of the buckets.
    """

    __slots__ = ("_edges", "_sum", "_weights")

    def __init__(self, desc: MetricDesc) -> None:
        self._edges: Sequence[float] = desc.edges
        self._weights = [0.0] * (len(desc.edges) + 1)
        self._sum = 0.0

    def observe(self, value: float, weight: float) -> None:
        """Adds an observation. A value that equals a bucket's upper bound belongs to that bucket.

        weight: the seconds that the value lasted, or the number of operations that had it.
        """
        self._weights[bisect_left(self._edges, value)] += weight
        self._sum += value * weight

    def observe_zero(self, weight: float) -> None:
        """Does the same as `observe(0.0, weight)`, but faster, because most devices are idle."""
        self._weights[0] += weight

    def buckets(self) -> Buckets:
        """Returns the weight of each bucket, and the sum of value times weight.

        The bucket weights are not cumulative. The last one is for values above all bounds.
        """
        return _new(Buckets, (tuple(self._weights), self._sum))


class RollingMax:
    """The largest value of the last `seconds`. A scrape does not reset it.

    The window moves in steps, so it may also contain values that are up to one sixth older.

    largest, step_ends: the largest value of the current step, and its end. Until then, the caller
        may omit `observe` for a value that is not larger.
    """

    __slots__ = ("_older", "_step", "_step_seconds", "largest", "step_ends")

    def __init__(self, seconds: float) -> None:
        self._step_seconds = seconds / _WINDOW_STEPS
        self._step = -1
        self.step_ends = -math.inf
        self.largest = 0.0
        self._older: tuple[tuple[int, float], ...] = ()

    def observe(self, now: float, value: float) -> None:
        """Adds a value that was observed at the time `now`.

        now: monotonic time in seconds; not smaller than in the previous call.
        value: 0 or more.
        """
        if now < self.step_ends:
            if value > self.largest:  # noqa: PLR1730  takes half the time of max()
                self.largest = value
            return
        step = int(now / self._step_seconds)
        first = max(0, step - _WINDOW_STEPS)
        maxima = (*self._older, (self._step, self.largest))
        self._older = tuple(maximum for maximum in maxima if maximum[0] >= first)
        self._step, self.largest = step, value
        self.step_ends = (step + 1) * self._step_seconds

    def value(self, now: float) -> float | None:
        """Returns the largest value in the window that ends at `now`; None if it contains none."""
        first = max(0, int(now / self._step_seconds) - _WINDOW_STEPS)
        if self._step < first:
            return None
        largest = self.largest
        for step, value in self._older:
            if step >= first and value > largest:
                largest = value
        return largest


class PeakHistogram(WeightedHistogram):
    """A weighted histogram of the values of each second, with the largest one of the last minute.

    peak: the largest value.
    """

    __slots__ = ("peak",)

    def __init__(self, desc: MetricDesc) -> None:
        super().__init__(desc)
        self.peak = RollingMax(MAX_WINDOW_SECONDS)

    def record(self, now: float, value: float, weight: float) -> None:
        """Adds an observation at the time `now`: monotonic seconds, as in `RollingMax.observe`."""
        # The statements of `observe` are repeated, because each device makes four calls per second.
        self._weights[bisect_left(self._edges, value)] += weight
        self._sum += value * weight
        peak = self.peak
        if value > peak.largest or now >= peak.step_ends:
            peak.observe(now, value)


class RollingMode(Generic[V]):
    """The value that lasted longest within a time window.

    If two values lasted equally long, the later one is used. An observed value has priority over
    the default.

    seconds: the length of the window.
    default: the value for the time without an observation.
    created_at: monotonic time in seconds. The window does not start earlier.
    """

    __slots__ = ("_created_at", "_default", "_recent", "_seconds")

    def __init__(self, seconds: float, default: V, created_at: float) -> None:
        self._seconds = seconds
        self._default = default
        self._created_at = created_at
        self._recent: deque[tuple[float, float, V]] = deque()

    def observe(self, now: float, seconds: float, value: V) -> None:
        """Adds a value that lasted from `seconds` before `now` until `now`."""
        self._recent.append((now, seconds, value))
        self._drop_expired(now)

    def value(self, now: float) -> V:
        """Returns the value that lasted longest in the window that ends at `now`."""
        self._drop_expired(now)
        if not self._recent:
            return self._default
        total_by_value: dict[V, float] = {}
        for _, seconds, value in reversed(self._recent):
            total_by_value[value] = total_by_value.get(value, 0.0) + seconds
        unobserved = min(self._seconds, now - self._created_at) - sum(total_by_value.values())
        total_by_value[self._default] = total_by_value.get(self._default, 0.0) + unobserved
        return max(total_by_value, key=lambda value: total_by_value[value])

    def _drop_expired(self, now: float) -> None:
        while self._recent and self._recent[0][0] <= now - self._seconds:
            self._recent.popleft()


class MonotonicCounter:
    """A counter of seconds that never decreases, although its source sometimes does.

    The source is a counter of the kernel, such as the idle time of a CPU. After a small decrease of
    the source, this counter does not change until the source has reached its earlier value again.
    If it added every increase of the source instead, it would count that time twice. After a large
    decrease it continues from its last value.

    value: the first value of the counter, in seconds.
    offset: the counter's value minus the source's, in seconds.
    from_zero: the counter starts at 0 at the first reading, instead of at the source's value.
    """

    __slots__ = ("_from_zero", "_offset", "_value")

    def __init__(self, value: float = 0.0, offset: float = 0.0, *, from_zero: bool = False) -> None:
        self._value = value
        self._offset = offset
        self._from_zero = from_zero

    def advance(self, reading: float) -> float:
        """Records a reading of the source, in seconds, and returns the counter's value."""
        if self._from_zero:
            self._offset, self._from_zero = -reading, False
        value = reading + self._offset
        if value < self._value - _MAX_JITTER_SECONDS:
            self._offset = self._value - reading
        self._value = max(self._value, value)
        return self._value

    @property
    def value(self) -> float:
        """The counter's value in seconds, without a new reading."""
        return self._value

    @property
    def offset(self) -> float:
        """The counter's value minus the source's in seconds; negative if it started at 0."""
        return self._offset


def counter_state(counter: MonotonicCounter, boot_id: str, *, at_end: bool) -> dict[str, Any]:
    """Returns the counter as a mapping of JSON values for the state file.

    boot_id: the kernel's ID of this boot.
    at_end: True if the exporter is stopping, so that it exports no later value.
    """
    return {
        "boot_id": boot_id,
        "seconds": counter.value,
        "ahead_seconds": counter.offset,
        "at_end": at_end,
    }


def restored_counter(stored: Any, boot_id: str) -> MonotonicCounter:
    """Returns a counter that continues from the value of an earlier run of the exporter.

    Without a stored value of this boot, the counter starts at the first reading of its source.

    If the earlier run was killed, it may have exported a larger value than it stored. The counter
    then starts at 0. If it continued from the smaller stored value, Prometheus would treat the
    decrease as a counter reset and add the whole value, all seconds since boot, to the increase.

    stored: the result of `counter_state`, or None. The file may be damaged, so any value is
        accepted.
    boot_id: the kernel's ID of this boot; empty if unknown.
    """
    if not isinstance(stored, dict) or not boot_id or stored.get("boot_id") != boot_id:
        return MonotonicCounter()
    end = _MAX_STORED_SECONDS
    seconds = untrusted_file.number(stored.get("seconds"), 0, end)
    offset = untrusted_file.number(stored.get("ahead_seconds"), -end, end)
    if stored.get("at_end") is True and seconds is not None and offset is not None:
        return MonotonicCounter(seconds, offset)
    return MonotonicCounter(from_zero=True)
