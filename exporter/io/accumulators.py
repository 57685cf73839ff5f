"""A histogram that takes weights: seconds, or operations.

The worst value and the prevailing verdict of the last while.

A counter that the kernel lets step back, made to grow only.
"""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from exporter.metrics.desc import Buckets, MetricDesc

# Past the class's own constructor: a page asks five times a device.
_new = tuple.__new__


class WeightedHistogram:
    """Cumulative over the daemon's life, so that it survives any scrape interval.

    prometheus_client's Histogram counts single observations; seconds and operations weigh.
    """

    __slots__ = ("_edges", "_sum", "_weights")

    def __init__(self, desc: MetricDesc) -> None:
        self._edges: Sequence[float] = desc.edges
        self._weights = [0.0] * (len(desc.edges) + 1)
        self._sum = 0.0

    def observe(self, value: float, weight: float) -> None:
        """An upper bound belongs to its own bucket, as Prometheus has it."""
        self._weights[bisect_left(self._edges, value)] += weight
        self._sum += value * weight

    def observe_zero(self, weight: float) -> None:
        """What `observe(0.0, weight)` does, for the many devices that do nothing."""
        self._weights[0] += weight

    def buckets(self) -> Buckets:
        return _new(Buckets, (tuple(self._weights), self._sum))


V = TypeVar("V", bound=Hashable)


#: A window slides in so many steps. Every device is asked four times a second, so what an
#: observation touches counts: here it is one number.
_STEPS = 6


class RollingMax:
    """The largest value of the last `seconds`, or of up to a sixth more; no scrape resets it."""

    __slots__ = ("_largest", "_older", "_step", "_step_ends", "_step_seconds")

    def __init__(self, seconds: float) -> None:
        self._step_seconds = seconds / _STEPS
        self._step = -1
        self._step_ends = -math.inf
        self._largest = 0.0
        self._older: tuple[tuple[int, float], ...] = ()

    def observe(self, now: float, value: float) -> None:
        """Values are not negative, and times do not go back."""
        if now < self._step_ends:
            if value > self._largest:  # noqa: PLR1730  four a device and second: half of max()
                self._largest = value
            return
        step = int(now / self._step_seconds)
        first = max(0, step - _STEPS)
        seen = (*self._older, (self._step, self._largest))
        self._older = tuple(each for each in seen if each[0] >= first)
        self._step, self._largest = step, value
        self._step_ends = (step + 1) * self._step_seconds

    def value(self, now: float) -> float | None:
        """None where nothing was observed in the window."""
        first = max(0, int(now / self._step_seconds) - _STEPS)
        if self._step < first:
            return None
        largest = self._largest
        for step, value in self._older:
            if step >= first and value > largest:
                largest = value
        return largest


class RollingMode(Generic[V]):
    """The value that held for most of the last `seconds`, or since `born` if that is shorter.

    Time that nothing was said of is the `default`'s. A tie goes to what was said, and said last.
    """

    __slots__ = ("_born", "_default", "_recent", "_seconds")

    def __init__(self, seconds: float, default: V, born: float) -> None:
        self._seconds = seconds
        self._default = default
        self._born = born
        self._recent: deque[tuple[float, float, V]] = deque()

    def observe(self, now: float, lasted: float, value: V) -> None:
        self._recent.append((now, lasted, value))
        self._forget(now)

    def value(self, now: float) -> V:
        self._forget(now)
        held: dict[V, float] = {}
        for _, lasted, value in reversed(self._recent):
            held[value] = held.get(value, 0.0) + lasted
        silent = min(self._seconds, now - self._born) - sum(held.values())
        held[self._default] = held.get(self._default, 0.0) + silent
        return max(held, key=lambda value: held[value])

    def _forget(self, now: float) -> None:
        while self._recent and self._recent[0][0] <= now - self._seconds:
            self._recent.popleft()


#: Beyond this a step back is no jitter: the kernel began to count anew, and waiting until it has
#: caught up would hide all that it counts meanwhile (CPU hotplug, node_exporter's cpu collector).
_JITTER_SECONDS = 5.0


#: 4,096 CPUs for 23 years: a damaged number would stay until the next boot.
_MOST_SECONDS = 3e12


class MonotonicCounter:
    """Continues a time counter over the steps back of its source.

    A small step is waited out, for the source makes it good soon; adding up the steps forward
    instead would count them twice. After a large one the counter goes on from where it stood.
    `from_zero` begins at 0 whatever the source has counted already.
    """

    __slots__ = ("_from_zero", "_offset", "_value")

    def __init__(
        self, at_least: float = 0.0, ahead: float = 0.0, *, from_zero: bool = False
    ) -> None:
        self._value = at_least
        self._offset = ahead
        self._from_zero = from_zero

    def advance(self, counted: float) -> float:
        """What to say for what the source has counted."""
        if self._from_zero:
            self._offset, self._from_zero = -counted, False
        value = counted + self._offset
        if value < self._value - _JITTER_SECONDS:
            self._offset = self._value - counted
        self._value = max(self._value, value)
        return self._value

    @property
    def value(self) -> float:
        return self._value

    @property
    def offset(self) -> float:
        """By how much it is ahead of its source; negative where it began at 0."""
        return self._offset


def counter_state(counter: MonotonicCounter, boot_id: str, *, at_end: bool) -> dict[str, Any]:
    """Plain values for the state file; `at_end` nothing more is said after them."""
    return {
        "boot_id": boot_id,
        "seconds": counter.value,
        "ahead_seconds": counter.offset,
        "at_end": at_end,
    }


def restored_counter(kept: Any, boot_id: str) -> MonotonicCounter:
    """The counter that goes on from what an earlier run kept, out of a file that may hold anything.

    An earlier run of this boot that was killed may have said more than it kept. A counter that
    stepped back by a second would read as a reset to Prometheus, and all that it counts since boot
    as having come in a moment; one that begins at 0 does no harm.
    """
    if not isinstance(kept, dict) or not boot_id or kept.get("boot_id") != boot_id:
        return MonotonicCounter()
    seconds, ahead = kept.get("seconds"), kept.get("ahead_seconds")
    if (
        kept.get("at_end") is True
        and isinstance(seconds, int | float)
        and isinstance(ahead, int | float)
        and 0 <= seconds < _MOST_SECONDS
        and abs(ahead) < _MOST_SECONDS
    ):
        return MonotonicCounter(float(seconds), float(ahead))
    return MonotonicCounter(from_zero=True)
