"""A long write as it went: how much was written in how long, sample by sample.

A write cache ends after so many bytes and not after so many seconds, so what is judged is the
speed over equal amounts of bytes.

A series of values as a step or as a line: which leaves less unexplained?

Where does a drive's write cache end, and how fast is the drive before and after?

Flash written at one bit a cell is quick and soon used up (an SLC cache); what comes after goes at
the drive's own speed, or slower still while the cache is folded into the cells at three or four
bits. Over the bytes written since the drive rested the speed is a step, and the step is found by
two segments of constant log speed, least squares. A step is told from noise by how much it
explains, and from the slow decline of a drive that grows hot by comparison with a straight line.
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

MIB = 1 << 20
GIB = 1 << 30

#: A sample outside is no record of a write; and sums of those within stay finite.
_MOST_SECONDS, _MOST_BYTES = 1e9, 1e18

#: No bin is written in less: what a clock says of shorter times is noise, and 0 has no speed.
_LEAST_SECONDS = 1e-9


class TraceSample(NamedTuple):
    """So many bytes were written within so many seconds since the sample before."""

    seconds: float
    written_bytes: float


@dataclass(frozen=True, slots=True)
class BinRules:
    """Into what amounts of bytes a trace is cut.

    bin_bytes: of a trace of `short_bytes` and more; short_bin_bytes: of a shorter one.
    least_bins: a trace too short for so many is cut finer, down to `least_bin_bytes`.
    most_bins: a trace too long for so many is cut coarser.
    """

    bin_bytes: int = 128 * MIB
    short_bin_bytes: int = 64 * MIB
    short_bytes: int = 4 * GIB
    least_bins: int = 32
    least_bin_bytes: int = MIB
    most_bins: int = 4096

    def bin_bytes_for(self, written_bytes: float) -> float:
        if written_bytes >= self.short_bytes:
            return max(self.bin_bytes, written_bytes / self.most_bins)
        return max(min(self.short_bin_bytes, written_bytes / self.least_bins), self.least_bin_bytes)


@dataclass(frozen=True, slots=True)
class BinnedTrace:
    """The speed over each amount of `bin_bytes`, in bytes per second; a rest that fills none is
    in `written_bytes` only.
    """

    written_bytes: int
    bin_bytes: float
    speeds: tuple[float, ...]


def binned(trace: Iterable[TraceSample], rules: BinRules) -> BinnedTrace:
    """The trace over equal amounts of bytes.

    Within a sample the speed is taken as even. A sample with times or bytes that cannot be is left
    out; one without bytes is time in which the write hung.
    """
    samples = [
        (seconds, written if written >= 1 else 0)
        for seconds, written in trace
        if 0 < seconds <= _MOST_SECONDS and 0 <= written <= _MOST_BYTES
    ]
    total = sum(written for _, written in samples)
    size = rules.bin_bytes_for(total)
    speeds: list[float] = []
    missing, spent = size, 0.0
    for seconds, sample_bytes in samples:
        written = sample_bytes
        pace = seconds / written if written else 0.0
        while written >= missing:
            spent += missing * pace
            speeds.append(size / max(spent, _LEAST_SECONDS))
            written -= missing
            missing, spent = size, 0.0
        missing -= written
        spent += written * pace if sample_bytes else seconds
    return BinnedTrace(int(total), size, tuple(speeds))


@dataclass(frozen=True, slots=True)
class FittedLine:
    """The least-squares line through a series.

    gain: what it rises by from the first value to the last. left: the squares that it leaves.
    """

    gain: float
    left: float


def best_split(values: Sequence[float], least: int) -> int | None:
    """Where two segments of constant value fit best, of at least so many values each.

    The index of the first value of the second one; None where there is no room for two. The squares
    that a split at k saves are A**2 n / (k (n - k)), A the sum of the first k values, all taken
    from their mean, so one pass over the sums does.
    """
    count = len(values)
    if count < 2 * least:
        return None
    mean = math.fsum(values) / count
    best, most, above = None, -1.0, 0.0
    for number, value in enumerate(values, 1):
        above += value - mean
        if least <= number <= count - least:
            saved = above * above / (number * (count - number))
            if saved > most:
                best, most = number, saved
    return best


def fit_line(values: Sequence[float]) -> FittedLine:
    """The best line through at least two values."""
    count = len(values)
    mean, middle = math.fsum(values) / count, (count - 1) / 2
    product = math.fsum((number - middle) * (value - mean) for number, value in enumerate(values))
    slope = product / (count * (count * count - 1) / 12)
    return FittedLine(slope * (count - 1), max(squared_deviations(values) - slope * product, 0.0))


def squared_deviations(values: Sequence[float]) -> float:
    """The squares that the mean leaves."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


#: After the cache's end, how much of it is back after so many seconds without a write? Some drives
#: need seconds, some an hour, and some keep their data in the cache until the room is needed.
RECOVERY_IDLE_SECONDS = (30, 120, 600, 3600)


class CliffResult(str, Enum):
    """What a trace shows.

    cliff: a step down that lasts. ramp: a slow decline, so heat rather than the end of a cache.
    flat: neither, over more bytes than any cache of this drive could take.
    budget: neither, over the bytes that might be written: a cache larger than those would look
        like this, and so would one that had not recovered before.
    aborted: the write was broken off before a cliff was seen.
    """

    CLIFF = "cliff"
    FLAT = "flat"
    RAMP = "ramp"
    ABORTED = "aborted"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class CliffRules:
    """What makes a step in speed a cliff: each of the first four must hold.

    falloff_ratio: the median speed after it, of that before. Two thirds: a drive that was seen to
        go from 410 to 260 MB/s counts, and one from 480 to 400 has lost nothing worth a word.
    step_gain_ratio: so much of the variance of log speed is gone with the step.
    line_ratio: the step leaves at most so much of what a straight line leaves. Cliffs leave up to a
        quarter, thermal ramps more than twice.
    least_bins: there are at least so many bins on either side.
    median_bins: the speed of a bin is the median of so many around it.
    cache_share: no cache is larger than this share of the capacity: that of a drive with three bits
        a cell that has all its cells to give.
    """

    falloff_ratio: float = 0.67
    step_gain_ratio: float = 0.5
    line_ratio: float = 0.5
    least_bins: int = 5
    median_bins: int = 5
    cache_share: float = 1 / 3
    bins: BinRules = field(default_factory=BinRules)


@dataclass(frozen=True, slots=True)
class WritePhase:
    """From so many bytes on the drive wrote at this median speed."""

    begin_bytes: int
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class CacheCliff:
    """What is known of a write cache; None is unknown.

    phases: of constant speed, two or three with a cliff, else one; none for a ramp.
    cache_bytes: what was written before the first cliff.
    cache_min_bytes: no cliff came within so many bytes, of a drive that had rested before.
    burst, sustained: the median speed of the first phase and of the last.
    """

    result: CliffResult
    written_bytes: int
    phases: tuple[WritePhase, ...] = ()
    cache_bytes: int | None = None
    cache_min_bytes: int | None = None
    burst_bytes_per_second: float | None = None
    sustained_bytes_per_second: float | None = None

    @property
    def falloff_ratio(self) -> float | None:
        """The speed at last, of that at first."""
        if self.burst_bytes_per_second is None or self.sustained_bytes_per_second is None:
            return None
        return self.sustained_bytes_per_second / self.burst_bytes_per_second


def cache_cliff(
    trace: Iterable[TraceSample],
    rules: CliffRules,
    *,
    capacity_bytes: int | None = None,
    was_aborted: bool = False,
) -> CacheCliff:
    """The judgement on one long write to a drive that had rested.

    capacity_bytes: the drive's, to tell `flat` from `budget`.
    was_aborted: it was broken off for another reason than that a cliff was seen.
    """
    bins = binned(trace, rules.bins)
    logs = _smoothed(bins.speeds, rules.median_bins)
    cuts, is_ramp = _cuts(logs, bins.speeds, rules)
    if is_ramp:
        return CacheCliff(CliffResult.RAMP, bins.written_bytes)
    phases = _phases(bins, cuts)
    burst = phases[0].bytes_per_second if phases else None
    if cuts:
        return CacheCliff(
            CliffResult.CLIFF,
            bins.written_bytes,
            phases,
            cache_bytes=phases[1].begin_bytes,
            burst_bytes_per_second=burst,
            sustained_bytes_per_second=phases[-1].bytes_per_second,
        )
    largest = math.inf if capacity_bytes is None else rules.cache_share * capacity_bytes
    if not was_aborted and bins.speeds and bins.written_bytes >= largest:
        return CacheCliff(
            CliffResult.FLAT,
            bins.written_bytes,
            phases,
            burst_bytes_per_second=burst,
            sustained_bytes_per_second=burst,
        )
    return CacheCliff(
        CliffResult.ABORTED if was_aborted else CliffResult.BUDGET,
        bins.written_bytes,
        phases,
        cache_min_bytes=bins.written_bytes if phases else None,
        burst_bytes_per_second=burst,
    )


def recovered_bytes(
    trace: Iterable[TraceSample], cliff: CacheCliff, rules: CliffRules
) -> int | None:
    """How much of the cache was back: what a later write made at burst speed, of one drive.

    Everything it wrote, where it was fast throughout: then at least so much. None where no cliff
    was found before, or the later write is too short to tell. The two speeds are known, so a few
    bins do.
    """
    burst, sustained = cliff.burst_bytes_per_second, cliff.sustained_bytes_per_second
    bins = binned(trace, rules.bins)
    if cliff.result is not CliffResult.CLIFF or not burst or not sustained or not bins.speeds:
        return None
    high, low = math.log(burst), math.log(sustained)
    cost = least = 0.0
    best = 0
    for number, speed in enumerate(_smoothed(bins.speeds, rules.median_bins), 1):
        cost += (speed - high) ** 2 - (speed - low) ** 2
        if cost < least:
            best, least = number, cost
    return bins.written_bytes if best == len(bins.speeds) else int(best * bins.bin_bytes)


def _cuts(
    logs: Sequence[float], speeds: Sequence[float], rules: CliffRules
) -> tuple[list[int], bool]:
    """The bins at which the phases after the first begin; and whether it is a ramp instead.

    Both sides of the best split are split once more, before the whole is compared with a line: one
    step of a drive with three phases fits no better than a line does, two steps do.
    """
    split = best_split(logs, rules.least_bins)
    if split is None:
        return [], False
    cuts = [split]
    for begin, end in ((0, split), (split, len(logs))):
        side, side_speeds = logs[begin:end], speeds[begin:end]
        inner = best_split(side, rules.least_bins)
        if inner is not None and _is_cliff(side, side_speeds, [inner], inner, rules):
            cuts.append(begin + inner)
    cuts.sort()
    if _is_cliff(logs, speeds, cuts, split, rules):
        return cuts, False
    straight = fit_line(logs)
    is_line = straight.left <= min(
        (1 - rules.step_gain_ratio) * squared_deviations(logs), _left(logs, cuts)
    )
    return [], is_line and math.exp(min(straight.gain, 0.0)) <= rules.falloff_ratio


def _is_cliff(
    logs: Sequence[float],
    speeds: Sequence[float],
    cuts: Sequence[int],
    split: int,
    rules: CliffRules,
) -> bool:
    before, after = statistics.median(speeds[:split]), statistics.median(speeds[split:])
    if after > rules.falloff_ratio * before:
        return False
    most = min(
        (1 - rules.step_gain_ratio) * squared_deviations(logs),
        rules.line_ratio * fit_line(logs).left,
    )
    return _left(logs, cuts) <= most


def _left(logs: Sequence[float], cuts: Sequence[int]) -> float:
    """The squares that steps at the cuts leave."""
    return sum(squared_deviations(logs[a:b]) for a, b in itertools.pairwise([0, *cuts, len(logs)]))


def _smoothed(speeds: Sequence[float], width: int) -> list[float]:
    """Log speeds, each the median of its neighbourhood: a stall of a bin or two is gone."""
    logs = [math.log(speed) for speed in speeds]
    reach = width // 2
    return [
        statistics.median(logs[max(number - reach, 0) : number + reach + 1])
        for number in range(len(logs))
    ]


def _phases(bins: BinnedTrace, cuts: Sequence[int]) -> tuple[WritePhase, ...]:
    edges = itertools.pairwise([0, *cuts, len(bins.speeds)])
    return tuple(
        WritePhase(int(begin * bins.bin_bytes), statistics.median(bins.speeds[begin:end]))
        for begin, end in edges
        if end > begin
    )
