"""Finds the end of a drive's write cache in a long write, and the speeds before and after it.

A drive first writes to cells with one bit each (the SLC cache). These writes are fast, but the
number of such cells is small. When they are full, the drive writes more slowly to cells with three
or four bits. It is even slower while it also moves the cached data into such cells. As a function
of the written bytes, the speed has a step. This sudden and lasting decrease is called a cliff.

The step is fitted by least squares, as two segments of constant log speed. It must explain enough
of the variance to differ from noise. It must also fit better than a straight line, because the
speed of a drive that becomes hot decreases slowly along a line.

The cache ends after an amount of bytes and not after a time. So the list of samples of the write
(the trace) is divided into parts of equal bytes (bins), and the speed of each bin is computed.
This module does no I/O.
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.probe.step_fit import (
    best_split,
    fit_line,
    residual_squares,
    smoothed_logs,
    squared_deviations,
)

MIB = 1 << 20
GIB = 1 << 30

#: Upper bounds of a sample. Samples above them are impossible; sums of other samples stay finite.
_MAX_SECONDS, _MAX_BYTES = 1e9, 1e18

#: Lower bound of a bin's time, in seconds. Shorter times are noise of the clock, and a time of 0
#: would give no finite speed.
_MIN_BIN_SECONDS = 1e-9


class TraceSample(NamedTuple):
    """The bytes that were written since the previous sample, and the seconds that this took.

    others_bytes: the bytes that other processes read and wrote on the device in this time; 0 if
        unknown. The value of a single sample is imprecise and may be negative. Sums are precise.
    """

    seconds: float
    written_bytes: float
    others_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class BinRules:
    """The sizes of the bins, the parts of equal bytes into which a trace is divided.

    bin_bytes: the bin size for a trace of `short_bytes` or more.
    short_bin_bytes: the bin size for a shorter trace.
    short_bytes: a trace with fewer bytes than this is short.
    least_bins: minimum number of bins of a short trace; if necessary, its bins are smaller.
    least_bin_bytes: minimum bin size of a short trace; it has priority over `least_bins`.
    most_bins: maximum number of bins; if necessary, the bins of a long trace are larger.
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
    """A trace that is divided into bins of equal bytes.

    written_bytes: the bytes of the whole trace, including those after the last complete bin.
    bin_bytes: the size of each bin.
    speeds: the speed of each complete bin, in bytes per second, in the order of the write.
    """

    written_bytes: int
    bin_bytes: float
    speeds: tuple[float, ...]


def binned(trace: Iterable[TraceSample], rules: BinRules) -> BinnedTrace:
    """Returns the trace divided into bins of equal bytes, with the speed of each bin.

    The speed within a sample is assumed to be constant. Samples with impossible times or bytes are
    left out. The time of a sample without bytes belongs to the current bin, because the write made
    no progress in that time.
    """
    samples = [
        (seconds, written if written >= 1 else 0)
        for seconds, written, _ in trace
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


#: Default idle times in seconds after which it is measured how much of the cache is free again.
#: Some drives free it within seconds and some within an hour. Others keep data in the cache until
#: they need the space.
RECOVERY_IDLE_SECONDS = (30, 120, 600, 3600)


@dataclass(frozen=True, slots=True)
class CliffRules:
    """The conditions for a cliff: the fall of the write speed at the end of a drive's write cache.

    A step in speed must meet the first four of them.

    falloff_ratio: upper limit of the median speed after the step, divided by the median speed
        before it. With a limit of two thirds, a measured fall from 410 to 260 MB/s is a cliff, and
        one from 480 to 400 MB/s is not.
    step_gain_ratio: minimum share of the variance of log speed that the step must explain, 0 to 1.
    line_ratio: upper limit of the sum of squared residuals of the step, divided by that of a
        straight line. The quotient was up to 0.25 for cliffs, and more than 2 for declines by heat.
    least_bins: minimum number of bins before the step, and after it.
    median_bins: number of bins of the moving median that smooths the speeds.
    early_bytes: a cache that was nearly full at the start ends within this many bytes, which are
        too few for the bins of a long write. These bytes are therefore also divided into smaller
        bins.
    return_ratio: a bin after the step is fast if its speed is at least the speed before the step,
        times this ratio. A bin before the step is slow if its speed is at most the speed after the
        step, divided by this ratio.
    return_share: upper limit of the share of fast bins after the step, and of slow bins before it.
        A drive that slows down from heat returns to its speed and slows down again.
    cache_share: the largest possible cache, as a share of the capacity. It is a third for a drive
        with three bits per cell that uses all cells as cache, with one bit each.
    bins: how the trace is divided into bins.
    """

    falloff_ratio: float = 0.67
    step_gain_ratio: float = 0.5
    line_ratio: float = 0.5
    least_bins: int = 5
    median_bins: int = 5
    early_bytes: int = GIB
    return_ratio: float = 0.9
    return_share: float = 0.1
    cache_share: float = 1 / 3
    bins: BinRules = field(default_factory=BinRules)


def cache_cliff(
    trace: Iterable[TraceSample],
    rules: CliffRules,
    *,
    capacity_bytes: int | None = None,
    was_aborted: bool = False,
) -> CacheCliff:
    """Returns what one long write shows about the write cache of a drive that was idle before.

    capacity_bytes: the drive's capacity; None means unknown. It decides between the results `flat`
        and `budget`.
    was_aborted: True if the write was interrupted. False if it was complete, or was ended because
        the end of the cache was detected.
    """
    samples = list(trace)
    bins = binned(samples, rules.bins)
    logs = smoothed_logs(bins.speeds, rules.median_bins)
    cuts, is_ramp = _cuts(logs, bins.speeds, rules)
    is_late = bool(cuts) and cuts[0] * bins.bin_bytes > rules.early_bytes
    if not is_late and (early := _early_cliff(samples, bins, rules)) is not None:
        return early
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


def _early_cliff(
    samples: Sequence[TraceSample], bins: BinnedTrace, rules: CliffRules
) -> CacheCliff | None:
    """Returns a cliff within the first `early_bytes` of a longer write; None if there is none.

    The speed of the whole rest must be low, so that a short hang at the start is no cliff.
    """
    if bins.written_bytes < 2 * rules.early_bytes:
        return None
    written = itertools.accumulate(sample.written_bytes for sample in samples)
    end = sum(total < rules.early_bytes for total in written) + 1
    first = binned(samples[:end], rules.bins)
    cuts, _ = _cuts(smoothed_logs(first.speeds, rules.median_bins), first.speeds, rules)
    if len(cuts) != 1:
        return None
    phases = _phases(first, cuts)
    rest = bins.speeds[math.ceil(rules.early_bytes / bins.bin_bytes) :]
    sustained = statistics.median(rest)
    limit = rules.falloff_ratio * phases[0].bytes_per_second
    if sustained > limit or _share_above(limit, rest) > rules.return_share:
        return None
    return CacheCliff(
        CliffResult.CLIFF,
        bins.written_bytes,
        (phases[0], WritePhase(phases[1].begin_bytes, sustained)),
        cache_bytes=phases[1].begin_bytes,
        burst_bytes_per_second=phases[0].bytes_per_second,
        sustained_bytes_per_second=sustained,
    )


def recovered_bytes(
    trace: Iterable[TraceSample], cliff: CacheCliff, rules: CliffRules
) -> int | None:
    """Returns how many bytes of the cache were free again before a later write.

    These are the bytes that the later write wrote at burst speed. If the whole later write was at
    burst speed, the free part may be larger than the returned value. Returns None if the earlier
    write showed no end of the cache, or if the later write is too short.

    trace: the samples of the later write.
    cliff: the result of an earlier write, with its burst speed and its sustained speed.
    """
    burst, sustained = cliff.burst_bytes_per_second, cliff.sustained_bytes_per_second
    bins = binned(trace, rules.bins)
    if cliff.result is not CliffResult.CLIFF or not burst or not sustained or not bins.speeds:
        return None
    high, low = math.log(burst), math.log(sustained)
    cost = least = 0.0
    best = 0
    for number, speed in enumerate(smoothed_logs(bins.speeds, rules.median_bins), 1):
        cost += (speed - high) ** 2 - (speed - low) ** 2
        if cost < least:
            best, least = number, cost
    return bins.written_bytes if best == len(bins.speeds) else int(best * bins.bin_bytes)


def _cuts(
    logs: Sequence[float], speeds: Sequence[float], rules: CliffRules
) -> tuple[list[int], bool]:
    """Returns where the second and later phases begin, and whether the trace is a ramp.

    A phase is a part with nearly constant speed; its begin is the index of its first bin. A ramp is
    a slow decline along a line.

    First, the best split into two segments is searched. Then each segment is split once more if it
    contains a cliff itself. Only then the steps are compared with a straight line, because some
    drives have three phases: for them one step fits no better than a line, but two steps do.

    logs: the smoothed log speeds of the bins. speeds: the speeds of the same bins.
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
    return [], _is_ramp(logs, cuts, rules)


def _is_ramp(logs: Sequence[float], cuts: Sequence[int], rules: CliffRules) -> bool:
    """Returns True if the speed declines enough, along a line that fits better than the steps.

    It must also decline from the first third to the last one, as far as such a line does. A disk of
    constant speed may be faster at the very start, and slower at the very end, of a short write.
    """
    straight, limit = fit_line(logs), math.log(rules.falloff_ratio)
    third = max(1, len(logs) // 3)
    decline = statistics.median(logs[-third:]) - statistics.median(logs[:third])
    most = min((1 - rules.step_gain_ratio) * squared_deviations(logs), residual_squares(logs, cuts))
    return straight.residual_squares <= most and straight.gain <= limit and decline <= limit * 2 / 3


def _is_cliff(
    logs: Sequence[float],
    speeds: Sequence[float],
    cuts: Sequence[int],
    split: int,
    rules: CliffRules,
) -> bool:
    """Returns True if the speed falls enough at `split`, and the steps at `cuts` fit well.

    split, cuts: indexes of the first bins after the steps.
    """
    before, after = statistics.median(speeds[:split]), statistics.median(speeds[split:])
    returned = _share_above(rules.return_ratio * before, speeds[split:])
    fast = _share_above(after / rules.return_ratio, speeds[:split])
    if after > rules.falloff_ratio * before or max(returned, 1 - fast) > rules.return_share:
        return False
    most = min(
        (1 - rules.step_gain_ratio) * squared_deviations(logs),
        rules.line_ratio * fit_line(logs).residual_squares,
    )
    return residual_squares(logs, cuts) <= most


def _share_above(limit: float, speeds: Sequence[float]) -> float:
    return sum(speed > limit for speed in speeds) / len(speeds)


def _phases(bins: BinnedTrace, cuts: Sequence[int]) -> tuple[WritePhase, ...]:
    edges = itertools.pairwise([0, *cuts, len(bins.speeds)])
    return tuple(
        WritePhase(int(begin * bins.bin_bytes), statistics.median(bins.speeds[begin:end]))
        for begin, end in edges
        if end > begin
    )
