"""What a probe of a write cache says to people. Pure."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from exporter.measurement import figures
from exporter.probe.cache_cliff import (
    CacheCliff,
    CliffResult,
    CliffRules,
    TraceSample,
    WritePhase,
    binned,
)
from exporter.probe.slc_results import SlcResult
from exporter.report.content import Chart, ChartLine, Mark, Report, Table

#: More points than these are no plainer.
_MOST_POINTS = 400


@dataclass(frozen=True, slots=True)
class RecoveryStep:
    """A later write, after so many seconds without one.

    recovered_bytes: how much of the cache was back; None where it cannot be told. is_whole: all of
    the write was fast, so at least so much was. others_bytes: what others wrote meanwhile, where
    that is so much that the drive did not rest.
    """

    idle_seconds: int
    written_bytes: int
    recovered_bytes: int | None
    is_whole: bool = False
    others_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CacheMeasurement:
    """All that one call of the command found.

    facts: of the drive and the run, as `Report.facts`. trace: the write as it went. earlier: a
    result that stands, since this one says less.
    """

    device: str
    facts: tuple[tuple[str, str], ...]
    result: SlcResult
    trace: Sequence[TraceSample]
    rungs: Sequence[RecoveryStep] = ()
    notes: Sequence[str] = ()
    earlier: SlcResult | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


def report(found: CacheMeasurement, rules: CliffRules) -> Report:
    """The whole of it; `data` has base units."""
    cliff = found.result.cliff
    parts: list[Table | Chart] = []
    if chart := _chart(found.trace, cliff, rules):
        parts.append(chart)
    if cliff.phases:
        parts.append(_phases(cliff))
    if found.rungs:
        parts.append(_rungs(found.rungs))
    return Report(
        f"Write cache of {found.device}",
        verdict(cliff),
        found.facts,
        tuple(parts),
        (*found.notes, *_notes(found)),
        {
            "device": found.device,
            "drives": list(found.result.drives),
            "timestamp_seconds": found.result.at,
            **_plain(cliff),
            "recovery": [asdict(rung) for rung in found.rungs],
            **found.data,
        },
        is_good={CliffResult.CLIFF: False, CliffResult.FLAT: True}.get(cliff.result),
    )


def verdict(cliff: CacheCliff) -> str:
    """In one sentence."""
    written = figures.size(cliff.written_bytes)
    burst, sustained = cliff.burst_bytes_per_second, cliff.sustained_bytes_per_second
    if cliff.result is CliffResult.CLIFF and burst and sustained and cliff.cache_bytes is not None:
        return (
            f"The write cache ends after {figures.size(cliff.cache_bytes)}: the drive falls from"
            f" {figures.speed(burst)} to {figures.speed(sustained)} MB/s,"
            f" {100 * sustained / burst:.0f} % of its first speed."
        )
    if cliff.result is CliffResult.FLAT:
        return (
            f"No write cache ends within {written}, more than any cache of this drive could take:"
            f" it writes at {figures.speed(burst)} MB/s throughout."
        )
    if cliff.result is CliffResult.RAMP:
        return (
            "The speed declines slowly over the write, as of a drive that grows hot; the end of a"
            " cache is a step."
        )
    if burst is None:
        return f"Too little was written to tell anything: {written}."
    ended = "it was ended early" if cliff.result is CliffResult.ABORTED else "all it may write"
    return (
        f"No end of a write cache within {written} ({ended}), at {figures.speed(burst)} MB/s: a"
        " cache, if there is one, is larger."
    )


def _notes(found: CacheMeasurement) -> Iterator[str]:
    result = found.result.cliff.result
    if found.earlier is not None:
        yield (
            "The result of an earlier probe stands, since this one says less: "
            + verdict(found.earlier.cliff)
        )
    if result is CliffResult.BUDGET:
        yield (
            "A drive that had not recovered from earlier writes looks the same: it runs at the"
            " speed beyond its cache from the first byte. Let it rest, or write more with --bytes."
        )
    if result is CliffResult.RAMP:
        yield "Look at its temperature, and probe once more when it is cool."
    if result is CliffResult.CLIFF and len(found.result.cliff.phases) > 2:
        yield "It falls more than once: first the cache ends, then what is written is moved too."
    if found.rungs:
        yield (
            "A write after a rest is no longer than the cache was: where all of it was fast, at"
            " least so much was back."
        )
    yield (
        "Sequential writes of 1 MiB, past the page cache, of data that does not compress. The file"
        " is gone; its blocks are the drive's again once the filesystem is trimmed (fstrim)."
    )


def _chart(trace: Sequence[TraceSample], cliff: CacheCliff, rules: CliffRules) -> Chart | None:
    sizes = [sample.written_bytes for sample in trace]
    if not sizes:
        return None
    # Finer than the samples are, nothing is known.
    usual = statistics.median(sizes)
    coarse = max(rules.bins.least_bin_bytes, usual, sum(sizes) / _MOST_POINTS)
    every = replace(rules.bins, bin_bytes=int(coarse), short_bytes=0)
    bins = binned(trace, every)
    if len(bins.speeds) < 2:
        return None
    points = tuple(((n + 0.5) * bins.bin_bytes, speed) for n, speed in enumerate(bins.speeds))
    lines = [ChartLine(f"each {figures.size(bins.bin_bytes)}", points)]
    if steps := tuple(_steps(cliff.phases, bins.written_bytes)):
        lines.append(ChartLine("median of each phase", steps))
    return Chart(
        "Throughput over what was written",
        "written since the drive rested",
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
    names: tuple[str, ...] = ("in the cache", "beyond it", "after a second step")
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
    """A ramp has none."""
    ends = [*(phase.begin_bytes for phase in phases[1:]), end]
    return zip(phases, ends[: len(phases)], strict=True)


def _rungs(rungs: Sequence[RecoveryStep]) -> Table:
    rows = []
    for rung in rungs:
        back = "-" if rung.recovered_bytes is None else figures.size(rung.recovered_bytes)
        if rung.is_whole and rung.recovered_bytes is not None:
            back = f"at least {back}"
        row: tuple[str, ...] = (
            figures.span(rung.idle_seconds),
            back,
            figures.size(rung.written_bytes),
        )
        if any(each.others_bytes is not None for each in rungs):
            others = "" if rung.others_bytes is None else figures.size(rung.others_bytes)
            row = (*row, others and f"did not rest: others wrote {others}")
        rows.append(row)
    columns = ("after", "cache back", "written", "")[: len(rows[0])]
    return Table("Recovery", columns, tuple(rows), frozenset({0, 1, 2}))


def _plain(cliff: CacheCliff) -> dict[str, Any]:
    return {
        **asdict(cliff),
        "result": cliff.result.value,
        "falloff_ratio": cliff.falloff_ratio,
    }
