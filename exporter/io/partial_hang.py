"""Detects that some requests of a device do not complete while others do.

The kernel counts the time of a request when it completes. So the times of the completed requests
show a queue depth without the requests that hang, and the number of requests in flight includes
them. In normal operation the two agree on average (Little's law). If some requests hang, more are
in flight in every second than the completed ones explain.

This module uses no files, no clock and no logs.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartialHangRules:
    """The thresholds of a partial hang.

    intervals: the number of successive intervals that are compared. Requests must be in flight at
        the ends of all of them.
    first_intervals: the smallest number of intervals for a decision.
    excess_requests: at least this many more requests must be in flight, on average, than the
        completed requests explain, and at least half of it in every interval. With 1, a hang of a
        single request would be missed because of rounding.
    standard_errors: the mean excess must also be this many times its own standard error. The
        number of requests in flight varies within a second, and is read once per second. The
        variance is that of these intervals or of the time before, whichever is larger. That of
        these intervals comes from the differences of successive ones, because the number of
        requests that hang grows.
    noise_intervals: the variance of the time before is a moving average over this many intervals
        in which no request hung.
    first_noise: the variance before the first interval.
    least_variance, most_least_variance: lower limit of the variance of the excess, as a share of
        the queue depth, and the largest such limit. The variance of a few intervals may be small by
        chance.
    least_deviation: the square of this share of the queue depth is added to the limit. The queue
        depth of a busy device is never more constant.
    """

    intervals: int = 10
    first_intervals: int = 6
    excess_requests: float = 0.8
    standard_errors: float = 6.5
    noise_intervals: float = 50.0
    first_noise: float = 0.1
    least_variance: float = 0.25
    most_least_variance: float = 1.0
    least_deviation: float = 0.01


class PartialHangDetector:
    """Compares the requests in flight of one device with the completed ones.

    hung_seconds: the duration of the present hang in seconds; 0 if there is none.
    has_ended: True if a hang ended with the last recorded interval.
    """

    __slots__ = (
        "_depths",
        "_end_excess",
        "_excesses",
        "_noise",
        "_noise_depth",
        "_rules",
        "has_ended",
        "hung_seconds",
    )

    def __init__(self, rules: PartialHangRules) -> None:
        self._rules = rules
        #: The excess and the queue depth of each interval since the first with an excess.
        self._excesses: list[float] = []
        self._depths: list[float] = []
        self.hung_seconds = self._end_excess = 0.0
        self.has_ended = False
        #: The mean square of the excess in normal operation, and the mean queue depth at the time.
        self._noise = rules.first_noise
        self._noise_depth = 1.0

    @property
    def is_open(self) -> bool:
        """False if `observe` needs no intervals that have no excess."""
        return bool(self._excesses)

    def observe(self, excess: float, queue_depth: float, seconds: float) -> bool:
        """Records an interval; returns True if requests hang.

        excess: the mean number of requests in flight at the ends of the interval, minus the queue
            depth of the requests that completed in it.
        queue_depth: the mean number of requests in flight.
        seconds: the length of the interval.
        """
        if self.hung_seconds:
            if excess < self._end_excess:
                self._end(excess, queue_depth)
                return False
            self.hung_seconds += seconds
            return True
        rules, excesses = self._rules, self._excesses
        if excess < rules.excess_requests / 2:
            self._end(excess, queue_depth)
            return False
        excesses.append(excess)
        self._depths.append(queue_depth)
        count = len(excesses)
        if count < rules.first_intervals:
            return False
        if count > rules.intervals:
            del excesses[0], self._depths[0]
        self._decide(seconds)
        return self.hung_seconds > 0

    def _end(self, excess: float, queue_depth: float) -> None:
        """Forgets all intervals: the device was idle, or no more requests hang."""
        self.has_ended = self.hung_seconds > 0
        if not self.has_ended:
            # An excess that ended before it was significant is a part of the normal operation. The
            # end of a hang is not.
            for past_excess, past_depth in zip(self._excesses, self._depths, strict=True):
                self._add_noise(past_excess, past_depth)
            self._add_noise(excess, queue_depth)
        self._excesses.clear()
        self._depths.clear()
        self.hung_seconds = 0.0

    def _add_noise(self, excess: float, queue_depth: float) -> None:
        noise, intervals = self._noise, self._rules.noise_intervals
        # A short hang has a large excess when it begins and ends, so that a large one counts in
        # part, unless the queue is deeper than before.
        growth = max(1.0, (queue_depth / self._noise_depth) ** 2)
        self._noise += (min(excess * excess, 4 * noise * growth + 1) - noise) / intervals
        self._noise_depth += (max(queue_depth, 1.0) - self._noise_depth) / intervals

    def _decide(self, seconds: float) -> None:
        rules, excesses = self._rules, self._excesses
        count = len(excesses)
        mean = sum(excesses) / count
        if mean < rules.excess_requests:
            return
        queue_depth = sum(self._depths) / count
        least = min(rules.least_variance * queue_depth, rules.most_least_variance)
        least += (rules.least_deviation * queue_depth) ** 2
        # The noise of independent requests is proportional to the square root of the queue depth,
        # that of a load that changes to the queue depth.
        growth = max(queue_depth, 1.0) / self._noise_depth
        least = max(least, self._noise * max(growth, growth * growth))
        significance, errors = mean * mean * count, rules.standard_errors**2
        # The variance is computed last, because the least one usually decides.
        if significance < errors * least or significance < errors * _variance(excesses):
            return
        self._end_excess = max(mean / 4, rules.excess_requests / 2)
        self.hung_seconds = seconds * sum(one >= mean / 2 for one in excesses)


def _variance(excesses: Sequence[float]) -> float:
    """Returns the variance of the excess, from the differences of successive intervals.

    Successive values share the requests in flight at one end, so that they differ by half.
    """
    steps = [excesses[n] - excesses[n - 1] for n in range(1, len(excesses))]
    return sum(step * step for step in steps) / len(steps)
