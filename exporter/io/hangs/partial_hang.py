"""Detects that some requests of a device do not complete while others do.

The kernel counts the time of a request when it completes. So the times of the completed requests
show a queue depth without the requests that hang, and the number of requests in flight includes
them. In normal operation the two agree on average (Little's law). If some requests hang, more are
in flight in every second than the completed ones explain.

This module uses no files, no clock and no logs.
"""

import itertools
from collections.abc import Sequence

from exporter.config.disk_rules import PartialHangRules


class PartialHangDetector:
    """Compares the requests in flight of one device with the completed ones.

    excesses: the excess of each interval since the first with an excess. If it is empty, `observe`
        needs no intervals that have no excess.
    hung_seconds: the duration of the present hang in seconds; 0 if there is none.
    has_ended: True if a hang ended with the last recorded interval.
    """

    __slots__ = (
        "_depths",
        "_end_excess",
        "_least_excess",
        "_noise",
        "_noise_depth",
        "_rules",
        "excesses",
        "has_ended",
        "hung_seconds",
    )

    def __init__(self, rules: PartialHangRules) -> None:
        self._rules = rules
        self._least_excess = rules.excess_requests / 2
        self.excesses: list[float] = []
        self._depths: list[float] = []
        self.hung_seconds = self._end_excess = 0.0
        self.has_ended = False
        #: The mean square of the excess in normal operation, and the mean queue depth at the time.
        self._noise = rules.first_noise
        self._noise_depth = 1.0

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
        rules, excesses = self._rules, self.excesses
        if excess < self._least_excess:
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
            self.excesses.append(excess)
            self._depths.append(queue_depth)
            self._add_noise()
        self.excesses.clear()
        self._depths.clear()
        self.hung_seconds = 0.0

    def _add_noise(self) -> None:
        noise, usual, intervals = self._noise, self._noise_depth, self._rules.noise_intervals
        for excess, queue_depth in zip(self.excesses, self._depths, strict=True):
            # A short hang has a large excess when it begins and ends, so that a large one counts in
            # part, unless the queue is deeper than before.
            growth = (queue_depth / usual) ** 2 if queue_depth > usual else 1.0
            square, most = excess * excess, 4 * noise * growth + 1
            # The comparisons take a third of the time of min() and max().
            counted = square if square < most else most  # noqa: FURB136
            least = queue_depth if queue_depth > 1.0 else 1.0  # noqa: FURB136
            noise += (counted - noise) / intervals
            usual += (least - usual) / intervals
        self._noise, self._noise_depth = noise, usual

    def _decide(self, seconds: float) -> None:
        rules, excesses = self._rules, self.excesses
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
    steps = [after - before for before, after in itertools.pairwise(excesses)]
    return sum(step * step for step in steps) / len(steps)
