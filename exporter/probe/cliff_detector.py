"""Detects the end of a drive's write cache while a probe writes, so that the probe can stop there.

The end of the cache is a sudden and lasting fall of the speed, called a cliff; see `cache_cliff`.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.probe.cache_cliff import GIB, CliffRules, TraceSample, cache_cliff
from exporter.probe.cliff_result import CacheCliff, CliffResult


@dataclass(frozen=True, slots=True)
class CliffDetectorRules:
    """The parameters of a cumulative sum (CUSUM) that shows when a write becomes slower.

    The write is divided into pieces of nearly equal bytes. The loss of a piece is the natural
    logarithm of the normal speed minus that of the piece's speed. For each piece, the loss minus
    `drift` is added to the sum, which never falls below 0.

    baseline_seconds, baseline_pieces: the normal speed is computed from the first pieces, which
        cover at least this time and this number of pieces.
    drift: the loss per piece that does not count: half of the smallest fall to detect. The spread
        of the first pieces is used instead if it is greater.
    alarm: the sum at which the write counts as slower and the alarm begins. The spread of the first
        pieces times `alarm_spreads` is used instead if it is greater. The alarm ends when the sum
        is 0 again.
    alarm_spreads: see `alarm`.
    most_slower: upper limit of the loss of one piece. A long hang then counts as one slow piece.
    confirm_bytes: the alarm must last for this number of bytes, and the same number must be written
        after the cliff. For a small write, `confirm_share` of its maximum bytes is used instead.
    confirm_share: see `confirm_bytes`.
    confirm_seconds: the alarm must also last for this time, and the write must continue for this
        time after the cliff, because production and heat often slow a drive for some seconds. For a
        small write the time is reduced by the same factor as `confirm_bytes`.
    others_ratio: upper limit of the rise, at the cliff, of the bytes per second that other
        processes read and write on the device, divided by the speed before the cliff. Above it,
        production may be the cause.
    pieces: the number of pieces in the bytes of `confirm_bytes`.
    sure_ratio: upper limit of the speed after the cliff, divided by the speed before it. A smaller
        decrease is not reported while the write runs. It would be checked many times, and one of
        the checks could find a cliff by chance.
    """

    baseline_seconds: float = 2.0
    baseline_pieces: int = 5
    drift: float = 0.2
    alarm: float = 0.5
    alarm_spreads: float = 3.3
    most_slower: float = 1.0
    confirm_bytes: int = GIB
    confirm_share: float = 1 / 8
    confirm_seconds: float = 15.0
    others_ratio: float = 0.05
    pieces: int = 16
    sure_ratio: float = 0.6


class CliffDetector:
    """Detects during a write that the speed has fallen at the end of the write cache: a cliff.

    A cumulative sum shows when the write becomes slower. It only decides when to run `cache_cliff`
    on all samples. If `cache_cliff` finds no cliff, the write continues, and is checked again after
    more bytes.

    rules: the parameters of the cumulative sum.
    cliff_rules: the parameters of `cache_cliff`.
    budget_bytes: the bytes that the write may write.
    trace (attribute): all samples so far.
    """

    def __init__(
        self, rules: CliffDetectorRules, cliff_rules: CliffRules, budget_bytes: int
    ) -> None:
        self._rules = rules
        self._cliff_rules = cliff_rules
        self._confirm_bytes = min(rules.confirm_bytes, rules.confirm_share * budget_bytes)
        self._confirm_seconds = rules.confirm_seconds * self._confirm_bytes / rules.confirm_bytes
        self._alarmed_seconds = 0.0
        self._piece_seconds = self._piece_written = 0.0
        self._first: list[float] = []
        self._first_seconds = 0.0
        self._normal: float | None = None
        self._drift = self._alarm = self._slower = self._alarmed_bytes = 0.0
        self.trace: list[TraceSample] = []

    @property
    def is_alarmed(self) -> bool:
        """True if the write is slower than at its start, or was slower shortly before."""
        return self._slower >= self._alarm > 0 or self._alarmed_bytes > 0

    def observe(self, sample: TraceSample) -> CacheCliff | None:
        """Adds a sample. Returns the result if a cliff is certain; None otherwise.

        A cliff is certain only after enough bytes were written at the lower speed. Samples with
        impossible times or bytes are ignored.
        """
        self.trace.append(sample)
        seconds, written_bytes, _ = sample
        if not (0 < seconds < math.inf and 0 <= written_bytes < math.inf):
            return None
        self._piece_seconds += seconds
        self._piece_written += written_bytes
        if not 0 < self._piece_written >= self._confirm_bytes / self._rules.pieces:
            return None
        log_speed = math.log(self._piece_written) - math.log(self._piece_seconds)
        piece_seconds, self._piece_seconds = self._piece_seconds, 0.0
        piece_bytes, self._piece_written = self._piece_written, 0.0
        if self._normal is None:
            self._learn(log_speed, piece_seconds)
        elif self._lasts(self._normal - log_speed, piece_bytes, piece_seconds):
            return self._check()
        return None

    def _learn(self, log_speed: float, seconds: float) -> None:
        rules = self._rules
        self._first.append(log_speed)
        self._first_seconds += seconds
        if self._first_seconds < rules.baseline_seconds or len(self._first) < rules.baseline_pieces:
            return
        self._normal = normal = statistics.median(self._first)
        # The median absolute deviation of a normal distribution is 0.6745 times its standard
        # deviation.
        spread = statistics.median(abs(value - normal) for value in self._first) / 0.6745
        self._drift = max(rules.drift, spread)
        self._alarm = max(rules.alarm, rules.alarm_spreads * spread)

    def _lasts(self, slower: float, piece_bytes: float, piece_seconds: float) -> bool:
        """Adds a piece to the cumulative sum; returns True if the alarm lasts long enough.

        slower: the logarithm of the normal speed minus that of the piece's speed.
        piece_bytes, piece_seconds: the bytes and the duration of the piece.
        """
        added = min(slower, self._rules.most_slower) - self._drift
        # The sum also has an upper bound, so that an alarm after a hang ends soon.
        self._slower = min(max(self._slower + added, 0.0), 2 * self._alarm)
        if not self._slower:
            self._alarmed_bytes = self._alarmed_seconds = 0.0
        elif self._alarmed_bytes or self._slower >= self._alarm:
            self._alarmed_bytes += piece_bytes
            self._alarmed_seconds += piece_seconds
        return (
            self._alarmed_bytes >= self._confirm_bytes
            and self._alarmed_seconds >= self._confirm_seconds
        )

    def _check(self) -> CacheCliff | None:
        cliff = cache_cliff(self.trace, self._cliff_rules)
        if cliff.cache_bytes is not None and cliff.falloff_ratio is not None:
            after = _seconds_after(self.trace, cliff.cache_bytes)
            if (
                cliff.falloff_ratio <= self._rules.sure_ratio
                and cliff.written_bytes - cliff.cache_bytes >= self._confirm_bytes
                and after >= self._confirm_seconds
                and not is_disturbed(self.trace, cliff, self._rules)
            ):
                return cliff
        # Check again only after several pieces, because more must be written after the cliff.
        self._alarmed_bytes -= self._confirm_bytes / 4
        return None


def is_disturbed(
    trace: Sequence[TraceSample], cliff: CacheCliff, rules: CliffDetectorRules
) -> bool:
    """Returns True if other processes used the device clearly more after the cliff than before it.

    The cliff is the fall of the speed that `cliff` contains. Production may then be its cause.
    False if the speed did not fall.
    """
    burst = cliff.burst_bytes_per_second
    if cliff.cache_bytes is None or burst is None:
        return False
    written = total = highest = in_flight = 0.0
    seconds, others = [0.0, 0.0], [0.0, 0.0]
    for sample in trace:
        side = int(written >= cliff.cache_bytes)
        seconds[side] += sample.seconds
        others[side] += sample.others_bytes
        written += sample.written_bytes
        total += sample.others_bytes
        highest = max(highest, total)
        in_flight = max(in_flight, highest - total)
    if not all(seconds):
        return False
    # The bytes of fio are counted when they are submitted, and those of the device when they are
    # complete. So the total falls by the bytes in flight at most, and rises by as much when they
    # complete after the cliff.
    before, after = others[0] / seconds[0], (others[1] - in_flight) / seconds[1]
    return after - max(0.0, before) > rules.others_ratio * burst


def without_cliff(cliff: CacheCliff) -> CacheCliff:
    """Returns the result without its cliff, of which other processes may be the cause.

    The result is `disturbed`. The bytes before the cliff are a lower bound of the cache.
    """
    return CacheCliff(
        CliffResult.DISTURBED,
        cliff.written_bytes,
        cliff.phases[:1],
        cache_min_bytes=cliff.cache_bytes,
        burst_bytes_per_second=cliff.burst_bytes_per_second,
    )


def _seconds_after(trace: Sequence[TraceSample], cache_bytes: int) -> float:
    """Returns the duration of the part of the write after this many bytes, in seconds."""
    written = seconds = 0.0
    for sample in trace:
        written += sample.written_bytes
        seconds += sample.seconds if written > cache_bytes else 0.0
    return seconds
