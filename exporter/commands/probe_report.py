"""Builds the report of `ssd-exporter probe`, which compares the results with the daemon's runs.

Each profile has one quantity that is compared (see `results.Quantity`). This module does no I/O.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from exporter.config.profiles import Profile, Sync
from exporter.measurement import figures
from exporter.measurement.figures import blocks, latencies, latency, speed
from exporter.probe import results
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import (
    HostShareRules,
    ProfileResult,
    RunOutcome,
    host_share_of_run,
    is_host_limited,
)
from exporter.probe.results import Quantity, quantity
from exporter.probe.steady_state import SteadyState, SteadyStateRules, deviation
from exporter.report.content import Chart, ChartLine, Report, Table
from exporter.report.formatting import number

_SHARE = HostShareRules()
_STEADY = SteadyStateRules()


#: The names of the quantities for people.
QUANTITY_WORDS = {
    Quantity.LATENCY: "mean latency",
    Quantity.THROUGHPUT: "throughput",
    Quantity.RATE: "IOPS",
}


def shown_quantity(profile: Profile, value: float) -> str:
    """Returns a value of the profile's quantity as text, with its unit. IOPS have no unit."""
    kind = quantity(profile)
    if kind is Quantity.LATENCY:
        return latency(value)
    return f"{speed(value)} MB/s" if kind is Quantity.THROUGHPUT else number(value)


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """The result of one profile, compared with the daemon's saved runs.

    profile: the parameters of the run.
    result: whether the run succeeded.
    job: fio's result; None if there is none.
    host_share: the share, 0 to 1, of the latency that the host caused; None means unknown.
    value: mean latency in seconds, IOPS, or bytes per second; None if it was not measured.
    kept: the mean of the daemon's saved values, in the unit of `value`. These are the values of the
        first steady state. Without a steady state, they are the last values. None if there is no
        comparison.
    is_kept_steady: True if `kept` is from a steady state.
    change: (`value` - `kept`) / `kept`; None if there is no comparison.
    is_worse: True if `value` is worse than `kept` by more than the daemon's values normally vary.
    """

    profile: Profile
    result: ProfileResult
    job: JobResult | None
    host_share: float | None = None
    value: float | None = None
    kept: float | None = None
    is_kept_steady: bool = False
    change: float | None = None
    is_worse: bool = False

    @property
    def is_host_limited(self) -> bool:
        """True if the host, and not the drive, caused most of the latency."""
        return is_host_limited(self.host_share, _SHARE)


def compare_profile(
    profile: Profile, ended: RunOutcome, profiles: Sequence[Profile], steady: SteadyState | None
) -> ProfileComparison:
    """Returns the result of one profile, compared with the daemon's saved runs.

    profile: one of `profiles`.
    ended: the run of fio.
    profiles: all profiles of this run, in the order in which they ran.
    steady: the state of the daemon's saved runs of the profile; None if there are none.
    """
    job, result = ended.job(profile.name), ended.result_of(profile.name)
    if job is None and result is ProfileResult.SUCCESS:
        result = ProfileResult.FAILED
    if job is None or result is not ProfileResult.SUCCESS:
        return ProfileComparison(profile, result, job)
    share = host_share_of_run(ended, profiles, profile.name, _SHARE)
    value = results.round_value(profile, job)
    window = (steady.baseline or steady.window) if steady is not None else None
    # A run that the host limited is not compared, because it does not measure the drive.
    if value is None or window is None or is_host_limited(share, _SHARE):
        return ProfileComparison(profile, result, job, share, value)
    lower = results.is_latency_judged(profile)
    off = deviation([value], window, lower_is_better=lower, rules=_STEADY)
    return ProfileComparison(
        profile,
        result,
        job,
        share,
        value,
        kept=window.mean,
        is_kept_steady=steady is not None and steady.baseline is not None,
        change=None if off is None else off.ratio,
        is_worse=off is not None and off.rounds_worse > 0,
    )


_COLUMNS = ("profile", "what", "p50", "p99", "p99.9", "max", "IOPS", "MB/s", "host share")


def report(
    comparisons: Sequence[ProfileComparison],
    device: str,
    facts: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
    problem: str,
) -> Report:
    """Returns the report of a probe.

    comparisons: one for each profile.
    device: the name of the measured device.
    facts: names and values that describe the run, for people.
    data: JSON values about the location.
    problem: why the run did not finish; empty if it did.
    """
    judged = [c for c in comparisons if c.change is not None]
    worse = [c for c in judged if c.is_worse]
    is_good = None if problem or not judged else not worse
    return Report(
        title=f"Probe of {device}",
        verdict=_verdict(comparisons, judged, worse, problem),
        facts=tuple(facts),
        parts=tuple(_parts(comparisons)),
        notes=tuple(_notes(comparisons, judged)),
        data={
            **data,
            "problem": problem or None,
            "profiles": {c.profile.name: _data(c) for c in comparisons},
        },
        is_good=is_good,
    )


def _verdict(
    comparisons: Sequence[ProfileComparison],
    judged: Sequence[ProfileComparison],
    worse: Sequence[ProfileComparison],
    problem: str,
) -> str:
    if problem:
        return f"Not measured completely: {problem}."
    if worse:
        listed = ", ".join(f"{c.profile.name} {_change(c)}" for c in worse)
        return f"Slower than before: {listed}. Run it again to confirm: one run may be an outlier."
    if judged:
        listed = ", ".join(f"{c.profile.name} {_change(c)}" for c in judged)
        return f"As fast as before: {listed}."
    return f"{'; '.join(filter(None, map(_summary, comparisons)))}."


def _summary(comparison: ProfileComparison) -> str:
    """Returns the throughput or the latencies of a profile as text; empty without a result."""
    op = results.main_op(comparison.profile)
    result = comparison.job.ops.get(op) if comparison.job else None
    if result is None:
        return ""
    if not results.is_latency_judged(comparison.profile) and result.bytes_per_second is not None:
        return f"{comparison.profile.name}: {speed(result.bytes_per_second)} MB/s"
    latencies = f"{latency(result.p50_seconds)} (median), {latency(result.p99_seconds)} at p99"
    return f"{comparison.profile.name}: {latencies}"


#: The ticks of the axis of percentiles: the position is -log10 of the share of slower operations.
_PERCENTILE_TICKS = tuple(
    (-math.log10(1 - percent / 100), f"{percent:g} %") for percent in (0, 50, 90, 99, 99.9)
)


def _parts(comparisons: Sequence[ProfileComparison]) -> Iterator[Table | Chart]:
    rows = [row for c in comparisons for row in _rows(c)]
    yield Table("Results", _COLUMNS, tuple(rows), frozenset(range(2, len(_COLUMNS))))
    compared = tuple(_comparison_row(c) for c in comparisons if c.kept is not None)
    if compared:
        title = "Comparison with the daemon's saved runs"
        columns = ("profile", "judged by", "now", "before", "change", "state before")
        yield Table(title, columns, compared, frozenset({2, 3, 4}))
    lines = tuple(
        ChartLine(c.profile.name, _by_percentile(result))
        for c in comparisons
        if c.job is not None
        and (result := c.job.ops.get(results.main_op(c.profile))) is not None
        and len(result.bins) > 1
    )
    if lines:
        yield Chart(
            "Latency by percentile",
            "percentile of the operations",
            "latency",
            lines,
            y_unit="s",
            x_ticks=_PERCENTILE_TICKS,
        )


def _rows(comparison: ProfileComparison) -> Iterator[tuple[str, ...]]:
    if comparison.job is None or not comparison.job.ops:
        yield comparison.profile.name, f"not measured: {comparison.result.value}", *("-",) * 7
        return
    share = "-" if comparison.host_share is None else f"{comparison.host_share:.0%}"
    note = "" if comparison.result is ProfileResult.SUCCESS else f" ({comparison.result.value})"
    for op, result in comparison.job.ops.items():
        yield (
            comparison.profile.name,
            f"{_what(comparison.profile, op)}{note}",
            *latencies(result),
            *_rates(comparison.profile, result),
            share if op is results.main_op(comparison.profile) else "-",
        )


def _rates(profile: Profile, result: OpResult) -> tuple[str, str]:
    if profile.is_rate_capped:
        return "capped", "capped"
    iops = "-" if result.iops is None else number(result.iops)
    return iops, speed(result.bytes_per_second)


def _what(profile: Profile, op: Op) -> str:
    if op is Op.SYNC:
        return profile.sync.value
    place = "random " if profile.rw.value.startswith("rand") else ""
    cached = "" if profile.direct else ", cached"
    return f"{place}{op.value} of {blocks(profile.block_bytes)}{cached}"


def _comparison_row(comparison: ProfileComparison) -> tuple[str, ...]:
    profile = comparison.profile

    def shown(value: float | None) -> str:
        return "-" if value is None else shown_quantity(profile, value)

    return (
        profile.name,
        QUANTITY_WORDS[quantity(profile)],
        shown(comparison.value),
        shown(comparison.kept),
        _change(comparison),
        "steady" if comparison.is_kept_steady else "not steady",
    )


def _change(comparison: ProfileComparison) -> str:
    return "-" if comparison.change is None else f"{100 * comparison.change:+.0f} %"


def _by_percentile(result: OpResult) -> tuple[tuple[float, float], ...]:
    """Returns points of the share of slower operations, as its order of magnitude, and latency.

    On this axis 90 %, 99 % and 99.9 % have equal distances. The slowest operation has no share of
    slower operations, so half an operation is assumed.
    """
    ordered = sorted(result.bins.items())
    total = sum(result.bins.values())
    most = result.max_seconds
    points = []
    for so_far, (at, _) in zip(accumulate(n for _, n in ordered), ordered, strict=True):
        slower = max(total - so_far, 0.5) / total
        points.append((-math.log10(slower), at if most is None else min(at, most)))
    return tuple(points)


def _notes(
    comparisons: Sequence[ProfileComparison], judged: Sequence[ProfileComparison]
) -> Iterator[str]:
    if any(c.profile.is_rate_capped for c in comparisons):
        yield (
            "Profiles with a rate cap do few operations per second, in order not to disturb"
            " production. They are judged by latency."
        )
    if any(c.profile.sync in (Sync.FSYNC, Sync.FDATASYNC) for c in comparisons):
        yield (
            "A commit of InnoDB waits for fsync. Writes before the fsync only reach the page cache."
        )
    if any(c.host_share is not None for c in comparisons):
        yield "Host share: the part of the latency that the host caused, not the device."
    for c in comparisons:
        if c.is_host_limited:
            yield (
                f"{c.profile.name}: the host caused {c.host_share:.0%} of the latency, so the"
                " result does not describe the drive."
            )
    if not judged:
        yield (
            "No comparison: it needs five saved runs of the daemon with the same drive, firmware"
            " and profile."
        )


def _data(comparison: ProfileComparison) -> dict[str, Any]:
    profile, ops = comparison.profile, comparison.job.ops if comparison.job else {}
    return {
        "result": comparison.result.value,
        **figures.parameters(profile, profile.engine.value),
        "host_share_ratio": comparison.host_share,
        "value": comparison.value,
        "kept_value": comparison.kept,
        "is_kept_steady": comparison.is_kept_steady,
        "change_ratio": comparison.change,
        "is_worse": comparison.is_worse,
        "ops": {op.value: figures.operation(result) for op, result in ops.items()},
    }
