"""Finds the end of a drive's write cache in a long write, and the speed before and after. Pure.

A drive writes fast to cells with one bit each, but has few of them (the SLC cache). When they are
full, it writes at its own speed, or slower while it moves the cached data into cells with three or
four bits. Plotted over the bytes written, the speed is a step. The step is fitted by least squares,
as two segments of constant log speed. It must explain enough of the variance to differ from noise,
and fit better than a straight line, which is the slow decline of a drive that becomes hot.

The cache ends after an amount of bytes and not after a time, so speeds are taken over equal
amounts of bytes.
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

#: Samples above these limits are impossible. Sums of samples within them stay finite.
_MAX_SECONDS, _MAX_BYTES = 1e9, 1e18

#: Lower bound of a bin's time: shorter times are noise of the clock, and 0 has no speed.
_MIN_BIN_SECONDS = 1e-9


class TraceSample(NamedTuple):
    """The bytes written in the seconds since the previous sample."""

    seconds: float
    written_bytes: float


@dataclass(frozen=True, slots=True)
class BinRules:
    """The sizes of the bins into which a trace is divided.

    bin_bytes: bin size for a trace of `short_bytes` and more. short_bin_bytes: for a shorter one.
    least_bins: minimum number of bins; a short trace gets smaller bins, down to `least_bin_bytes`.
    most_bins: maximum number of bins; a long trace gets larger bins.
    """

    bin_bytes: int = 128 * MIB
    short_bin_bytes: int = 64 * MIB
    short_bytes: int = 4 * GIB
    least_bins: int = 32
    least_bin_bytes: int = MIB
    most_bins: int = 4096

    def bin_bytes_for(self, written_bytes: float) -> float:
        """Returns the bin size in bytes for a trace of this many bytes."""
        if written_bytes >= self.short_bytes:
            return max(self.bin_bytes, written_bytes / self.most_bins)
        return max(min(self.short_bin_bytes, written_bytes / self.least_bins), self.least_bin_bytes)


@dataclass(frozen=True, slots=True)
class BinnedTrace:
    """The speed of each bin in bytes per second.

    written_bytes: the bytes of the trace, including a last partial bin, which has no speed.
    """

    written_bytes: int
    bin_bytes: float
    speeds: tuple[float, ...]


def binned(trace: Iterable[TraceSample], rules: BinRules) -> BinnedTrace:
    """Returns the trace as speeds over equal amounts of bytes.

    The speed within a sample is assumed constant. Samples with impossible times or bytes are left
    out. A sample without bytes is time in which the write made no progress.
    """
    samples = [
        (seconds, written if written >= 1 else 0)
        for seconds, written in trace
        if 0 < seconds <= _MAX_SECONDS and 0 <= written <= _MAX_BYTES
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
            speeds.append(size / max(spent, _MIN_BIN_SECONDS))
            written -= missing
            missing, spent = size, 0.0
        missing -= written
        spent += written * pace if sample_bytes else seconds
    return BinnedTrace(int(total), size, tuple(speeds))


#: Default idle times in seconds, after which the recovery of the cache is measured. Some drives
#: recover within seconds and some within an hour. Others keep data in the cache until they need
#: the space.
RECOVERY_IDLE_SECONDS = (30, 120, 600, 3600)


class CliffResult(str, Enum):
    """The result of a long write.

    cliff: a lasting step down.
    ramp: a slow decline, caused by heat and not by the end of a cache.
    flat: neither, although more was written than any cache of this drive can hold.
    budget: neither, after all the bytes that may be written. The cache may be larger, or it may not
        have been empty at the start.
    aborted: the write ended before a cliff.
    """

    CLIFF = "cliff"
    FLAT = "flat"
    RAMP = "ramp"
    ABORTED = "aborted"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class CliffRules:
    """When a step in speed is a cliff: each of the first four conditions must hold.

    falloff_ratio: upper limit of the median speed after the step, divided by the median speed
        before it. At two thirds, a measured fall from 410 to 260 MB/s is a cliff, and one from 480
        to 400 MB/s is not.
    step_gain_ratio: the step explains at least this share of the variance of log speed.
    line_ratio: the residual squares of the step are at most this share of those of a straight line.
        For cliffs the share is up to a quarter, for thermal ramps more than two.
    least_bins: minimum number of bins before and after the step.
    median_bins: the speed of a bin is the median of this many bins around it.
    cache_share: the largest possible cache, as a share of the capacity: all cells of a drive with
        three bits per cell, with one bit each.
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
    """A part of a write at constant speed.

    begin_bytes: bytes written before it. bytes_per_second: its median speed.
    """

    begin_bytes: int
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class CacheCliff:
    """The result for a write cache; None is unknown.

    phases: the parts of constant speed: two or three with a cliff, none for a ramp, else one.
    cache_bytes: bytes written before the first cliff.
    cache_min_bytes: bytes written without a cliff; the cache is at least this large if it was empty
        at the start.
    burst_bytes_per_second, sustained_bytes_per_second: median speed of the first and last phase.
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
        """The sustained speed divided by the burst speed; None if either is unknown."""
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
    """Returns the judgement of one long write to a drive that was idle before.

    capacity_bytes: the drive's capacity, which decides between `flat` and `budget`; None if
        unknown.
    was_aborted: the write ended for another reason than a detected cliff.
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
    """Returns how many bytes of the cache had recovered before a later write.

    These are the bytes that the later write wrote at burst speed. If it was fast throughout, the
    recovered part is at least the returned value. None if `cliff` contains no cliff, or the later
    write is too short. A few bins are enough because the two speeds are known.
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
    """Returns the first bins of the second and later phases, and whether the trace is a ramp.

    logs: smoothed log speeds. Both sides of the best split are split once more before the
    comparison with a line: on a drive with three phases one step fits no better than a line, but
    two steps do.
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
    is_line = straight.residual_squares <= min(
        (1 - rules.step_gain_ratio) * squared_deviations(logs), _residual_squares(logs, cuts)
    )
    return [], is_line and math.exp(min(straight.gain, 0.0)) <= rules.falloff_ratio


def _is_cliff(
    logs: Sequence[float],
    speeds: Sequence[float],
    cuts: Sequence[int],
    split: int,
    rules: CliffRules,
) -> bool:
    """Returns True if the speed falls enough at `split`, and the steps at `cuts` fit well."""
    before, after = statistics.median(speeds[:split]), statistics.median(speeds[split:])
    if after > rules.falloff_ratio * before:
        return False
    most = min(
        (1 - rules.step_gain_ratio) * squared_deviations(logs),
        rules.line_ratio * fit_line(logs).residual_squares,
    )
    return _residual_squares(logs, cuts) <= most


def _residual_squares(logs: Sequence[float], cuts: Sequence[int]) -> float:
    """Returns the residual squares of segments of constant value between the cuts."""
    return sum(squared_deviations(logs[a:b]) for a, b in itertools.pairwise([0, *cuts, len(logs)]))


def _smoothed(speeds: Sequence[float], width: int) -> list[float]:
    """Returns log speeds, each the median of its neighbours: removes stalls of a bin or two."""
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


@dataclass(frozen=True, slots=True)
class FittedLine:
    """The least-squares line through a series.

    gain: its rise from the first to the last value. residual_squares: the sum of the squared
    distances of the values from it.
    """

    gain: float
    residual_squares: float


def best_split(values: Sequence[float], least: int) -> int | None:
    """Returns the index at which to divide a series into two segments of constant value.

    The index is the first of the second segment; the residual squares are the smallest. None if the
    series is shorter than two segments. least: the minimum length of a segment. A split at k
    reduces the squares by A**2 n / (k (n - k)), where A is the sum of the first k deviations from
    the mean of all n values, so one pass is enough.
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
    """Returns the best line through at least two values."""
    count = len(values)
    mean, middle = math.fsum(values) / count, (count - 1) / 2
    product = math.fsum((number - middle) * (value - mean) for number, value in enumerate(values))
    slope = product / (count * (count * count - 1) / 12)
    return FittedLine(slope * (count - 1), max(squared_deviations(values) - slope * product, 0.0))


def squared_deviations(values: Sequence[float]) -> float:
    """Returns the sum of squared differences from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)
