"""Detects that one request of many does not complete for half a minute or longer.

The kernel adds the time of a request to its counters when it completes. Since Linux 5.0 this also
holds for the weighted time of /proc/diskstats (block/blk-core.c, `bdev_end_io_acct`). So two facts
show a request that hangs:

- While it hangs, one request more is in flight than the completed ones explain. The number of
  requests in flight varies and is read once per second, so the mean of half a minute is needed.
- When it completes, its whole time is added in one interval, more than in any other.

The values of twelve intervals are combined to a block, because the offsets of the samples repeat
after about twelve intervals (`runtime.sample_times`). The mean of a block is near zero even if the
load has the same period as the samples.

This module uses no files, no clock and no logs.
"""

import math
from array import array

from exporter.config.disk_rules import SingleHangRules

#: The number of intervals of a block: those after which the offsets of the samples repeat.
_BLOCK = 12

#: The largest number of blocks that are kept: six minutes at the default interval.
_MOST_BLOCKS = 32

#: The largest surplus of the past decreases by this factor per block: to a half in five minutes.
_SURPLUS_DECAY = 0.97

#: A surplus of a second is usual for any load.
_LEAST_SURPLUS = 1.0

#: If more requests hang than one, the mean excess exceeds its limit by more than its error. This is
#: the largest error, in standard errors.
_MOST_ERRORS = 3.0

#: A duration in seconds that counts as more than none.
_MOMENT = 1e-3

#: The numbers of blocks whose mean excess is tested while a request may hang.
_WINDOWS = (3, 4, 6, 9, 13)


class SingleHangDetector:
    """Compares the requests in flight of one device with the completed ones over minutes.

    The excess of an interval is the mean number of requests in flight at its ends, minus the queue
    depth of the requests that completed in it. For each interval with requests in flight at both
    ends, the caller appends the excess, multiplied by the length of the interval, to `excesses`. It
    calls `decide` if that is less than `largest_usual`, or if `block_size` values are there. It
    passes any other interval to `add_other`.

    A hang that is detected because it ended with an interval is present for this interval.

    means: the mean excess of the blocks since the last moment without requests in flight.
    hung_seconds: the duration of the present hang in seconds, without the seconds that counted as
        stalled before it was detected; 0 if no request hangs.
    has_ended: True if a hang ended with the last interval, or before it.
    """

    __slots__ = (
        "_counted",
        "_counted_before",
        "_ended_at",
        "_has_completed",
        "_idle_moments",
        "_interval",
        "_largest_surplus",
        "_least_mean",
        "_normal",
        "_rules",
        "_true_seconds",
        "block_size",
        "excesses",
        "has_ended",
        "hung_seconds",
        "largest_usual",
        "means",
    )

    def __init__(self, rules: SingleHangRules) -> None:
        self._rules = rules
        self.excesses: list[float] = []
        self.block_size = _BLOCK
        self.largest_usual = -rules.least_seconds
        #: In no block of a hang the mean excess is smaller.
        self._least_mean = rules.least_excess * (1 - rules.deviation)
        self.means = array("d")
        #: The stalled seconds that had counted at the end of each block and before the first one.
        self._counted = array("d")
        self._counted_before = 0.0
        #: The mean excess of the blocks before that moment, and the number of such moments.
        self._normal = array("d")
        self._idle_moments = 0
        #: The time when the last block ended, and the mean length of its intervals; 0 if unknown.
        self._ended_at = self._interval = 0.0
        self._largest_surplus = 0.0
        self.hung_seconds = self._true_seconds = 0.0
        #: True if the request of the present hang has completed.
        self._has_completed = self.has_ended = False

    def decide(self, now: float, seconds: float, in_flight: float, counted: float) -> bool:
        """Judges the interval that was added last; returns True if a request hangs.

        now: the monotonic time of its end.
        seconds: its length.
        in_flight: the mean number of requests in flight.
        counted: the seconds that counted as stalled until now.
        """
        surplus = -self.excesses[-1]
        if self._has_completed:
            last = self.excesses.pop()
            self._clear(counted)
            self.excesses.append(last)
        elif self.hung_seconds:
            if surplus > max(self._rules.ended_share * self._true_seconds, _LEAST_SURPLUS):
                self._clear(counted)
                return False
            self.hung_seconds += seconds
            self._true_seconds += seconds
        elif surplus > -self.largest_usual:
            if self._is_end(surplus, seconds, in_flight, counted):
                return True
            self._set_largest_surplus(max(self._largest_surplus, surplus))
        if len(self.excesses) >= _BLOCK:
            self.end_block(now, seconds, in_flight, counted)
        return self.hung_seconds > 0

    def add_other(self, now: float, seconds: float, standing: float, counted: float) -> bool:
        """Adds an interval in which no request completed, or with no request in flight at one end.

        standing: the number of requests in flight, if none completed; 0 if there were none at one
            end. The other arguments and the result are those of `decide`.
        """
        if standing:
            self.excesses.append(standing * seconds)
            if len(self.excesses) >= self.block_size:
                return self.decide(now, seconds, standing, counted)
        elif self.excesses or self.means or self.hung_seconds:
            self._clear(counted)
        return False

    def _clear(self, counted: float) -> None:
        if self.hung_seconds:
            self.has_ended = True
            self._has_completed = False
            self.hung_seconds = 0.0
            self.block_size = _BLOCK
        else:
            self._normal.extend(self.means)
        del self._normal[:-_MOST_BLOCKS]
        self._idle_moments += 1
        self.excesses.clear()
        del self.means[:], self._counted[:]
        self._counted_before = counted
        self._ended_at = 0.0

    def _start(self, hung: float, known: float) -> None:
        """Starts a hang that has lasted for `hung` seconds, of which `known` counted before."""
        self._true_seconds, self.hung_seconds = hung, max(hung - known, _MOMENT)
        self.block_size = 1

    def _set_largest_surplus(self, largest: float) -> None:
        self._largest_surplus = largest
        usual, least = self._rules.surplus_factor * largest, self._rules.least_seconds
        self.largest_usual = -usual if usual > least else -least

    def _is_end(self, surplus: float, seconds: float, in_flight: float, counted: float) -> bool:
        """Returns True if the surplus is the time of a hang that ended, which is now present.

        Two facts are compared with a load without a hang, as logarithms of likelihood ratios. The
        mean excess before the surplus is 1 with a hang, and 0 without. And the probability of a
        surplus decreases with the square of its size, beyond the largest one of the past.
        """
        rules, means, last = self._rules, self.means, len(self.excesses) - 1
        largest = max(self._largest_surplus, -min(self.excesses[:last], default=0.0), 0.0)
        usual = max(rules.surplus_factor * largest, rules.queue_seconds * in_flight, _LEAST_SURPLUS)
        intervals = round(surplus / (self._interval or seconds))
        count = min((intervals - last) // _BLOCK, len(means))
        is_seen = len(means) * _BLOCK + last >= rules.seen_share * intervals
        if surplus < usual or not is_seen or count < 1:
            return False
        mean = sum(means[len(means) - count :]) / count
        noise = self._noise(count, mean, in_flight)
        evidence = count * (mean - 0.5) / noise**2 + 2 * math.log(surplus / usual)
        most = rules.most_excess + _MOST_ERRORS * noise / math.sqrt(count)
        if evidence < rules.ended_evidence or mean > most:
            return False
        # The surplus also contains the noise of one interval.
        hung = surplus - largest
        known = counted - self._counted_at(count)
        del means[-count:]
        self._clear(counted)
        self._has_completed = True
        self._start(hung, known)
        return True

    def _counted_at(self, count: int) -> float:
        """Returns the seconds that had counted at the begin of the last `count` blocks."""
        known = self._counted
        return known[-count - 1] if count < len(known) else self._counted_before

    def end_block(self, now: float, seconds: float, in_flight: float, counted: float) -> bool:
        """Ends the present block; returns True if a request hangs.

        `decide` calls it if needed. The arguments are those of `decide`.
        """
        rules, excesses, means = self._rules, self.excesses, self.means
        # The begin of the first block is not known. Its length differs by 20 % at most.
        length = now - self._ended_at if self._ended_at else seconds * _BLOCK
        self._interval = length / _BLOCK
        mean = sum(excesses) / length
        largest, surplus = self._largest_surplus * _SURPLUS_DECAY, -min(excesses)
        self._set_largest_surplus(surplus if surplus > largest else largest)  # noqa: FURB136
        excesses.clear()
        self._ended_at = now
        means.append(mean)
        self._counted.append(counted)
        if len(means) > _MOST_BLOCKS:
            self._counted_before = self._counted[0]
            del means[0], self._counted[0]
        if self.hung_seconds:
            if mean < rules.least_excess * rules.deviation:
                self._clear(counted)
        elif mean >= self._least_mean and min(means[-_WINDOWS[0] :]) >= self._least_mean:
            self._begin(length, in_flight, counted)
        return self.hung_seconds > 0

    def _begin(self, length: float, in_flight: float, counted: float) -> None:
        rules, means = self._rules, self.means
        for count in _WINDOWS:
            before = len(means) - count
            if before < 0 or before + len(self._normal) + self._idle_moments < rules.normal_blocks:
                return
            some = means[before:]
            mean = sum(some) / count
            # The cheap conditions come first.
            if (
                rules.least_excess <= mean <= rules.most_excess
                and max(some) - mean <= rules.deviation * mean
                and mean - min(some) <= rules.deviation * mean
                and sum(means[:before]) <= rules.deviation * mean * before
                and mean * math.sqrt(count)
                >= rules.standard_errors * self._noise(count, mean, in_flight)
            ):
                self._start(count * length, counted - self._counted_at(count))
                self._normal.extend(means[:before])
                return

    def _noise(self, count: int, mean: float, in_flight: float) -> float:
        """Returns the standard deviation of the excess of a block.

        Without a hang the mean excess is 0, so the blocks before it show the noise.

        count: the number of blocks in which a request may hang. mean: their mean excess.
        """
        begin = len(self.means) - count
        squares = sum((one - mean) ** 2 for one in self.means[begin:])
        squares += sum(one * one for one in self.means[:begin])
        squares += sum(one * one for one in self._normal)
        degrees = max(len(self.means) + len(self._normal) - 1, 1)
        least = self._rules.least_noise + self._rules.noise_per_request * max(in_flight, 1.0)
        return max(math.sqrt(squares / degrees), least)
