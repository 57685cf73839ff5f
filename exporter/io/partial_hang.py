"""Detects that some requests of a device do not complete while others do.

The kernel counts the time of a request when it completes. So the times of the completed requests
show a queue depth without the requests that hang, and the number of requests in flight includes
them. In normal operation the two agree on average (Little's law). If some requests hang, more are
in flight in every second than the completed ones explain.

This module uses no files, no clock and no logs.
"""

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
        variance is that of these intervals or of the time before, whichever is larger.
    noise_intervals: the variance of the time before is a moving average over this many intervals
        without an excess.
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
    least_variance: float = 0.25
    most_least_variance: float = 1.0
    least_deviation: float = 0.01


class PartialHangDetector:
    """Compares the requests in flight of one device with the completed ones.

    hung_seconds: the duration of the present hang in seconds; 0 if there is none.
    has_ended: True if a hang ended with the last recorded interval.
    """

    __slots__ = (
        "_end_excess",
        "_excesses",
        "_noise",
        "_rules",
        "has_ended",
        "hung_seconds",
    )

    def __init__(self, rules: PartialHangRules) -> None:
        self._rules = rules
        self._excesses: list[float] = []
        self.hung_seconds = self._end_excess = 0.0
        self.has_ended = False
        self._noise = 0.2

    @property
    def is_open(self) -> bool:
        """False if `observe` needs no intervals that have no excess."""
        return bool(self._excesses)

    def reset(self) -> None:
        """Forgets all intervals: the device was idle, or no more requests hang."""
        self.has_ended = self.hung_seconds > 0
        self._excesses.clear()
        self.hung_seconds = 0.0

    def observe(self, excess: float, queue_depth: float, seconds: float) -> bool:
        """Records an interval; returns True if requests hang.

        excess: the mean number of requests in flight at the ends of the interval, minus the queue
            depth of the requests that completed in it.
        queue_depth: the mean number of requests in flight.
        seconds: the length of the interval.
        """
        rules, excesses = self._rules, self._excesses
        is_more = excess >= (self._end_excess if self.hung_seconds else rules.excess_requests / 2)
        if not is_more:
            if excesses:
                self.reset()
            # The end of a hang must not count as noise, so that a large value counts in part.
            noise = self._noise
            self._noise += (min(excess * excess, 4 * noise + 1) - noise) / rules.noise_intervals
        elif self.hung_seconds:
            self.hung_seconds += seconds
        else:
            excesses.append(excess)
            if len(excesses) > rules.intervals:
                del excesses[0]
            if len(excesses) >= rules.first_intervals:
                self._decide(queue_depth, seconds)
        return self.hung_seconds > 0

    def _decide(self, queue_depth: float, seconds: float) -> None:
        rules, excesses, count = self._rules, self._excesses, len(self._excesses)
        mean = sum(excesses) / count
        variance = sum((one - mean) ** 2 for one in excesses) / (count - 1)
        least = min(rules.least_variance * queue_depth, rules.most_least_variance)
        least += (rules.least_deviation * queue_depth) ** 2
        variance = max(variance, least, self._noise)
        if (
            mean < rules.excess_requests
            or mean * mean * count < rules.standard_errors**2 * variance
        ):
            return
        self._end_excess = max(mean / 4, rules.excess_requests / 2)
        self.hung_seconds = seconds * sum(one >= mean / 2 for one in excesses)
