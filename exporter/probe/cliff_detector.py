"""When may a write that looks for the end of a write cache stop, to wear the drive no further?"""

import math
import statistics
from dataclasses import dataclass

from exporter.probe.cache_cliff import GIB, CacheCliff, CliffRules, TraceSample, cache_cliff


@dataclass(frozen=True, slots=True)
class CliffDetectorRules:
    """A cumulative sum of how much slower than at first the write has become, in log speed.

    baseline_seconds: what is normal is learned from the first seconds,
    baseline_pieces: and from at least so many pieces.
    drift: what each piece may be slower without adding to the sum: half of the least fall that
        counts. The spread of the first pieces, where that is more.
    alarm: the sum at which the write counts as slower; `alarm_spreads` of the first pieces' spread,
        where that is more. It is over when the sum is back at 0.
    most_slower: no piece adds more: one that hung is one piece.
    confirm_bytes: the alarm must last for so many, which is also what the judgement of the whole
        needs to see after the cliff; or `confirm_share` of a small budget.
    pieces: so many pieces are in those bytes.
    sure_ratio: a fall to more than this is left to the judgement of the whole: among many looks at
        a write that falls by a little less than counts, one would find that it counts.
    """

    baseline_seconds: float = 2.0
    baseline_pieces: int = 5
    drift: float = 0.2
    alarm: float = 0.5
    alarm_spreads: float = 3.3
    most_slower: float = 1.0
    confirm_bytes: int = GIB
    confirm_share: float = 1 / 8
    pieces: int = 16
    sure_ratio: float = 0.6


class CliffDetector:
    """Samples go in as they come, and at the end of the cache a cliff comes out.

    The sum says only when to look: whether there is a cliff, and where, `cache_cliff` says of
    `trace`, all that went in. Where it sees none yet, the write goes on and it is asked again.
    """

    __slots__ = (
        "_alarm",
        "_alarmed_bytes",
        "_cliff_rules",
        "_confirm_bytes",
        "_drift",
        "_first",
        "_first_seconds",
        "_normal",
        "_piece_seconds",
        "_piece_written",
        "_rules",
        "_slower",
        "trace",
    )

    def __init__(
        self, rules: CliffDetectorRules, cliff_rules: CliffRules, budget_bytes: int
    ) -> None:
        self._rules = rules
        self._cliff_rules = cliff_rules
        self._confirm_bytes = min(rules.confirm_bytes, rules.confirm_share * budget_bytes)
        self._piece_seconds = self._piece_written = 0.0
        self._first: list[float] = []
        self._first_seconds = 0.0
        self._normal: float | None = None
        self._drift = self._alarm = self._slower = self._alarmed_bytes = 0.0
        self.trace: list[TraceSample] = []

    @property
    def is_alarmed(self) -> bool:
        """The write is slower than at first, or was a moment ago."""
        return self._slower >= self._alarm > 0 or self._alarmed_bytes > 0

    def observe(self, sample: TraceSample) -> CacheCliff | None:
        """Take in a sample; the cliff, once there is one and enough was written beyond it.

        A sample with times or bytes that cannot be counts for nothing.
        """
        self.trace.append(sample)
        seconds, written_bytes = sample
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
        elif self._lasts(self._normal - log_speed, piece_bytes):
            return self._look()
        return None

    def _learn(self, log_speed: float, seconds: float) -> None:
        rules = self._rules
        self._first.append(log_speed)
        self._first_seconds += seconds
        if self._first_seconds < rules.baseline_seconds or len(self._first) < rules.baseline_pieces:
            return
        self._normal = normal = statistics.median(self._first)
        # The median deviation of a normal distribution is 0.6745 of its standard deviation.
        spread = statistics.median(abs(value - normal) for value in self._first) / 0.6745
        self._drift = max(rules.drift, spread)
        self._alarm = max(rules.alarm, rules.alarm_spreads * spread)

    def _lasts(self, slower: float, piece_bytes: float) -> bool:
        """The alarm has lasted for long enough, with this piece so much slower than normal."""
        added = min(slower, self._rules.most_slower) - self._drift
        # Bounded above too, so that an alarm after a hang is over soon.
        self._slower = min(max(self._slower + added, 0.0), 2 * self._alarm)
        if not self._slower:
            self._alarmed_bytes = 0.0
        elif self._alarmed_bytes or self._slower >= self._alarm:
            self._alarmed_bytes += piece_bytes
        return self._alarmed_bytes >= self._confirm_bytes

    def _look(self) -> CacheCliff | None:
        found = cache_cliff(self.trace, self._cliff_rules)
        if found.cache_bytes is not None and found.falloff_ratio is not None:
            is_sure = found.falloff_ratio <= self._rules.sure_ratio
            if is_sure and found.written_bytes - found.cache_bytes >= self._confirm_bytes:
                return found
        # Not at every piece: what is missing is more of what came after.
        self._alarmed_bytes -= self._confirm_bytes / 4
        return None
