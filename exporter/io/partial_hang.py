"""Detects that some requests of a device do not complete while others do.

The kernel counts the time of a request when it completes. So the times of the completed requests
show a queue depth without the requests that hang, and the number of requests in flight includes
them. In normal operation the two agree on average (Little's law). If some requests hang, more are
in flight in every second than the completed ones explain.

This module uses no files, no clock and no logs.
"""

from exporter.config.disk_rules import PartialHangRules


class PartialHangDetector:
    """Compares the requests in flight of one device with the completed ones.

    hung_seconds: the duration of the present hang in seconds; 0 if there is none.
    has_ended: True if a hang ended with the last recorded interval.
    """

    __slots__ = (
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
        self._excesses: list[tuple[float, float]] = []
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
        rules, excesses = self._rules, self._excesses
        is_more = excess >= (self._end_excess if self.hung_seconds else rules.excess_requests / 2)
        if not is_more:
            self._end(excess, queue_depth)
        elif self.hung_seconds:
            self.hung_seconds += seconds
        else:
            excesses.append((excess, queue_depth))
            if len(excesses) > rules.intervals:
                del excesses[0]
            if len(excesses) >= rules.first_intervals:
                self._decide(seconds)
        return self.hung_seconds > 0

    def _end(self, excess: float, queue_depth: float) -> None:
        """Forgets all intervals: the device was idle, or no more requests hang."""
        excesses = self._excesses
        self.has_ended = self.hung_seconds > 0
        if not self.has_ended:
            # An excess that ended before it was significant is a part of the normal operation. The
            # end of a hang is not.
            for past_excess, past_depth in excesses:
                self._add_noise(past_excess, past_depth)
            self._add_noise(excess, queue_depth)
        excesses.clear()
        self.hung_seconds = 0.0

    def _add_noise(self, excess: float, queue_depth: float) -> None:
        noise, intervals = self._noise, self._rules.noise_intervals
        # A short hang has a large excess when it begins and ends, so that a large one counts in
        # part, unless the queue is deeper than before.
        growth = max(1.0, (queue_depth / self._noise_depth) ** 2)
        self._noise += (min(excess * excess, 4 * noise * growth + 1) - noise) / intervals
        self._noise_depth += (max(queue_depth, 1.0) - self._noise_depth) / intervals

    def _decide(self, seconds: float) -> None:
        rules, count = self._rules, len(self._excesses)
        excesses = [excess for excess, _ in self._excesses]
        queue_depth = sum(depth for _, depth in self._excesses) / count
        mean = sum(excesses) / count
        # Successive values share the requests in flight at one end, so that they differ by half.
        steps = (excesses[n] - excesses[n - 1] for n in range(1, count))
        variance = sum(step * step for step in steps) / (count - 1)
        least = min(rules.least_variance * queue_depth, rules.most_least_variance)
        least += (rules.least_deviation * queue_depth) ** 2
        # The noise of independent requests is proportional to the square root of the queue depth,
        # that of a load that changes to the queue depth.
        growth = max(queue_depth, 1.0) / self._noise_depth
        variance = max(variance, least, self._noise * max(growth, growth * growth))
        if (
            mean < rules.excess_requests
            or mean * mean * count < rules.standard_errors**2 * variance
        ):
            return
        self._end_excess = max(mean / 4, rules.excess_requests / 2)
        self.hung_seconds = seconds * sum(one >= mean / 2 for one in excesses)
