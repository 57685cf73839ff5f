"""Builds the report of `ssd-exporter slc`. It does no I/O.

The cliff is the drop in speed when the write cache is full. A phase is a part of the write at
constant speed. The trace is the list of samples (bytes and seconds) of a write.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from exporter.measurement import figures
from exporter.probe.cache_cliff import CliffRules, TraceSample, binned
from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.probe.slc_results import SlcResult
from exporter.report.content import Chart, ChartLine, Mark, Report, Table

#: Maximum number of points of the chart. More points do not make the line clearer.
_MAX_POINTS = 400

#: A cache that ends within this share of the write was probably nearly full at the start.
_SMALL_RATIO = 0.1


@dataclass(frozen=True, slots=True)
class RecoveryStep:
    """The result of a further write after an idle time.

    idle_seconds: the idle time before the write, in seconds.
    written_bytes: the bytes of the further write.
    recovered_bytes: the recovered part of the cache in bytes; None means unknown.
    is_whole: True if the whole write was fast, so that `recovered_bytes` is a lower bound.
    others_bytes: the bytes that other processes wrote during the idle time; None if the drive was
        idle or the bytes are unknown.
    """

    idle_seconds: int
    written_bytes: int
    recovered_bytes: int | None
    is_whole: bool = False
    others_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CacheMeasurement:
    """The results of one run of the command.

    device: the name of the measured device.
    facts: names and values that describe the run, for people.
    result: the result that the daemon exports.
    trace: the samples of the first write.
    recovery: the further writes after idle times.
    notes: sentences for the report.
    earlier: the saved result, if it was not replaced because this result is less informative. None
        if this result replaced it or could not be saved.
    data: JSON values about the location.
    """

    device: str
    facts: tuple[tuple[str, str], ...]
    result: SlcResult
    trace: Sequence[TraceSample]
    recovery: Sequence[RecoveryStep] = ()
    notes: Sequence[str] = ()
    earlier: SlcResult | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


def report(measured: CacheMeasurement, rules: CliffRules) -> Report:
    """Returns the report; its `data` has values in base units (bytes, seconds).

    rules: the rules with which the end of the cache was searched. They limit the resolution of the
        chart.
    """
    cliff = measured.result.cliff
    parts: list[Table | Chart] = []
    if chart := _chart(measured.trace, cliff, rules):
        parts.append(chart)
    if cliff.phases:
        parts.append(_phases(cliff))
    if measured.recovery:
        parts.append(_recovery_table(measured.recovery))
    return Report(
        f"Write cache of {measured.device}",
        verdict(cliff),
        measured.facts,
        tuple(parts),
        (*measured.notes, *_notes(measured)),
        {
            "device": measured.device,
            "drives": list(measured.result.drives),
            "timestamp_seconds": measured.result.at,
            **_plain(cliff),
            "recovery": [asdict(step) for step in measured.recovery],
            **measured.data,
        },
        is_good={CliffResult.CLIFF: False, CliffResult.FLAT: True}.get(cliff.result),
    )


def verdict(cliff: CacheCliff) -> str:
    """Returns what the write showed about the cache, in one or two sentences."""
    written = figures.size(cliff.written_bytes)
    burst, sustained = cliff.burst_bytes_per_second, cliff.sustained_bytes_per_second
    if cliff.result is CliffResult.CLIFF and burst and sustained and cliff.cache_bytes is not None:
        return (
            f"The write cache ends after {figures.size(cliff.cache_bytes)}: the speed drops from"
            f" {figures.speed(burst)} to {figures.speed(sustained)} MB/s,"
            f" {100 * sustained / burst:.0f} % of the initial speed."
        )
    if cliff.result is CliffResult.FLAT:
        return (
            f"No cliff within {written}, which is more than a write cache of this drive can hold:"
            f" it writes at {figures.speed(burst)} MB/s throughout."
        )
    if cliff.result is CliffResult.RAMP:
        return (
            "The speed declines slowly during the write, as on a drive that gets hot. At the end of"
            " a write cache it drops in one step."
        )
    if cliff.result is CliffResult.DISTURBED:
        fast = figures.size(cliff.cache_min_bytes or 0)
        return (
            f"Not measured: after {fast}, the speed fell when other programs began to use the drive"
            " more. Repeat the measurement while the drive is idle."
        )
    if burst is None:
        return f"Too little was written for a result: {written}."
    ended = "stopped early" if cliff.result is CliffResult.ABORTED else "the limit"
    return (
        f"No cliff within {written} ({ended}), at {figures.speed(burst)} MB/s. If the drive has a"
        " write cache, it is larger."
    )


def _notes(measured: CacheMeasurement) -> Iterator[str]:
    result = measured.result.cliff.result
    if measured.earlier is not None:
        yield (
            "The result of an earlier probe remains valid, because this one is less informative: "
            + verdict(measured.earlier.cliff)
        )
    if result is CliffResult.BUDGET:
        yield (
            "A drive that has not recovered from earlier writes shows the same result: it writes at"
            " the speed without cache from the first byte. Leave it idle for some time and repeat"
            " the measurement, or write more with --bytes."
        )
    if result is CliffResult.RAMP:
        yield "Check its temperature, and repeat the measurement when it is cool."
    cliff = measured.result.cliff
    if cliff.cache_bytes is not None and cliff.cache_bytes < _SMALL_RATIO * cliff.written_bytes:
        yield (
            "The cache ended near the start of the write. It was probably nearly full. Leave the"
            " drive idle for some time and repeat the measurement."
        )
    if result is CliffResult.CLIFF and len(measured.result.cliff.phases) > 2:
        yield (
            "The speed drops more than once: first when the cache is full, then when the drive also"
            " has to move the cached data."
        )
    if measured.recovery:
        yield (
            "The write after an idle time is as long as the cache was large. If all of it was fast,"
            " the recovered size is a lower bound."
        )
    yield (
        "Sequential direct writes of 1 MiB with data that does not compress. The file was removed;"
        " run fstrim to return its blocks to the drive."
    )


def _chart(trace: Sequence[TraceSample], cliff: CacheCliff, rules: CliffRules) -> Chart | None:
    sizes = [sample.written_bytes for sample in trace]
    if not sizes:
        return None
    # The chart shows the mean speed of bins: parts of equal size in bytes. A bin is not smaller
    # than a sample, because the speed within a sample is unknown.
    sample_bytes = statistics.median(sizes)
    bin_bytes = max(rules.bins.least_bin_bytes, sample_bytes, sum(sizes) / _MAX_POINTS)
    chart_rules = replace(rules.bins, bin_bytes=int(bin_bytes), short_bytes=0)
    bins = binned(trace, chart_rules)
    if len(bins.speeds) < 2:
        return None
    points = tuple(((n + 0.5) * bins.bin_bytes, speed) for n, speed in enumerate(bins.speeds))
    lines = [ChartLine(f"mean of {figures.size(bins.bin_bytes)}", points)]
    if steps := tuple(_steps(cliff.phases, bins.written_bytes)):
        lines.append(ChartLine("median of each phase", steps))
    return Chart(
        "Throughput over bytes written",
        "bytes written",
        "throughput",
        tuple(lines),
        tuple(_marks(cliff)),
        x_unit="B",
        y_unit="B/s",
    )


def _marks(cliff: CacheCliff) -> Iterator[Mark]:
    for number, phase in enumerate(cliff.phases[1:]):
        what = "second step" if number else "end of the write cache"
        yield Mark(float(phase.begin_bytes), f"{what}, {figures.size(phase.begin_bytes)}")


def _steps(phases: Sequence[WritePhase], end: int) -> Iterator[tuple[float, float]]:
    for phase, until in _with_ends(phases, end):
        yield float(phase.begin_bytes), phase.bytes_per_second
        yield float(until), phase.bytes_per_second


def _phases(cliff: CacheCliff) -> Table:
    names: tuple[str, ...] = ("in the cache", "after the cache", "after a second step")
    if len(cliff.phases) == 1:
        names = ("throughout",)
    rows = (
        (
            names[min(number, len(names) - 1)],
            figures.size(phase.begin_bytes) if phase.begin_bytes else "0",
            figures.size(until),
            f"{figures.speed(phase.bytes_per_second)} MB/s",
        )
        for number, (phase, until) in enumerate(_with_ends(cliff.phases, cliff.written_bytes))
    )
    return Table("Phases", ("phase", "from", "to", "median"), tuple(rows), frozenset({1, 2, 3}))


def _with_ends(phases: Sequence[WritePhase], end: int) -> Iterator[tuple[WritePhase, int]]:
    """Yields each phase and the byte at which it ends. end: the end of the last phase."""
    ends = [*(phase.begin_bytes for phase in phases[1:]), end]
    return zip(phases, ends[: len(phases)], strict=True)


def _recovery_table(steps: Sequence[RecoveryStep]) -> Table:
    rows = []
    for step in steps:
        recovered = "-" if step.recovered_bytes is None else figures.size(step.recovered_bytes)
        if step.is_whole and step.recovered_bytes is not None:
            recovered = f"at least {recovered}"
        row: tuple[str, ...] = (
            figures.span(step.idle_seconds),
            recovered,
            figures.size(step.written_bytes),
        )
        if any(other.others_bytes is not None for other in steps):
            others = "" if step.others_bytes is None else figures.size(step.others_bytes)
            row = (*row, others and f"not idle: other processes wrote {others}")
        rows.append(row)
    columns = ("idle time", "recovered", "written", "")[: len(rows[0])]
    return Table("Recovery", columns, tuple(rows), frozenset({0, 1, 2}))


def _plain(cliff: CacheCliff) -> dict[str, Any]:
    return {
        **asdict(cliff),
        "result": cliff.result.value,
        "falloff_ratio": cliff.falloff_ratio,
    }
