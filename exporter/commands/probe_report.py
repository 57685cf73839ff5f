"""What a profile is judged by, and how such a figure is said.

What came of a profile that a person ran, against what the daemon has kept of it. Pure.

What a person's probe has found, against what the daemon has kept. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Any

from exporter.measurement import figures
from exporter.measurement.figures import blocks, latency, speed
from exporter.probe import results
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import (
    HostShareRules,
    ProfileResult,
    RunOutcome,
    host_share_of_run,
    is_host_limited,
)
from exporter.probe.profiles import KIB, Profile, Sync
from exporter.probe.steady_state import SteadyState, SteadyStateRules, deviation
from exporter.report.content import Chart, ChartLine, Report, Table
from exporter.report.formatting import number

#: As in `probe_rounds`: from this block size on bytes per second are what counts.
_THROUGHPUT_BLOCK_BYTES = 128 * KIB


class Quantity(str, Enum):
    """Of what `probe_rounds.measured` is; the values are its unit, for programs."""

    LATENCY = "seconds"
    THROUGHPUT = "bytes_per_second"
    RATE = "iops"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Quantity.LATENCY: "mean latency",
    Quantity.THROUGHPUT: "throughput",
    Quantity.RATE: "IOPS",
}


def quantity(profile: Profile) -> Quantity:
    if results.is_latency_judged(profile):
        return Quantity.LATENCY
    is_large = profile.block_bytes >= _THROUGHPUT_BLOCK_BYTES
    return Quantity.THROUGHPUT if is_large else Quantity.RATE


def shown_quantity(profile: Profile, value: float) -> str:
    """A round's value, with its unit but for IOPS."""
    its = quantity(profile)
    if its is Quantity.LATENCY:
        return latency(value)
    return f"{speed(value)} MB/s" if its is Quantity.THROUGHPUT else number(value)


_SHARE = HostShareRules()
_STEADY = SteadyStateRules()


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """What came of one profile.

    value: what its history is made of: mean latency, IOPS or bytes per second; None where it was
        not measured. kept: the mean of those that the daemon has kept; of `steady` ones where there
        are. change: of `value` against that. is_worse: by more than the kept ones vary.
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
        """It says nothing of the drive."""
        return is_host_limited(self.host_share, _SHARE)


def compare_profile(
    profile: Profile, ended: RunOutcome, profiles: Sequence[Profile], steady: SteadyState | None
) -> ProfileComparison:
    """profiles: all of the run. steady: of what the daemon has kept; None where it keeps none."""
    job, result = ended.job(profile.name), ended.result_of(profile.name)
    if job is None and result is ProfileResult.SUCCESS:
        result = ProfileResult.FAILED
    if job is None or result is not ProfileResult.SUCCESS:
        return ProfileComparison(profile, result, job)
    share = host_share_of_run(ended, profiles, profile.name, _SHARE)
    value = results.round_value(profile, job)
    window = (steady.baseline or steady.window) if steady is not None else None
    # A run that the host held up says nothing of the drive.
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


_COLUMNS = ("profile", "what", "p50", "p99", "p99.9", "max", "IOPS", "MB/s", "in the host")


def report(
    found: Sequence[ProfileComparison],
    device: str,
    facts: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
    problem: str,
) -> Report:
    """data: of the place, for programs. problem: why the run did not come to its end, or empty."""
    judged = [each for each in found if each.change is not None]
    worse = [each for each in judged if each.is_worse]
    is_good = None if problem or not judged else not worse
    return Report(
        title=f"Probe of {device}",
        verdict=_verdict(found, judged, worse, problem),
        facts=tuple(facts),
        parts=tuple(_parts(found)),
        notes=tuple(_notes(found, judged)),
        data={
            **data,
            "problem": problem or None,
            "profiles": {each.profile.name: _data(each) for each in found},
        },
        is_good=is_good,
    )


def _verdict(
    found: Sequence[ProfileComparison],
    judged: Sequence[ProfileComparison],
    worse: Sequence[ProfileComparison],
    problem: str,
) -> str:
    if problem:
        return f"Not measured to the end: {problem}."
    if worse:
        listed = ", ".join(f"{each.profile.name} {_change(each)}" for each in worse)
        return f"Slower than it was: {listed}. One run may be chance: run it again."
    if judged:
        listed = ", ".join(f"{each.profile.name} {_change(each)}" for each in judged)
        return f"As fast as it was: {listed}."
    return f"{'; '.join(filter(None, map(_in_words, found)))}."


def _in_words(found: ProfileComparison) -> str:
    """What a profile is about, for who knows MySQL and not fio."""
    op = results.main_op(found.profile)
    its = found.job.ops.get(op) if found.job else None
    if its is None:
        return ""
    if not results.is_latency_judged(found.profile) and its.bytes_per_second is not None:
        return f"{found.profile.name}: {speed(its.bytes_per_second)} MB/s"
    took = f"{latency(its.p50_seconds)} (median), {latency(its.p99_seconds)} at p99"
    return f"{found.profile.name}: {took}"


def _parts(found: Sequence[ProfileComparison]) -> Iterator[Table | Chart]:
    rows = [row for each in found for row in _rows(each)]
    yield Table("Results", _COLUMNS, tuple(rows), frozenset(range(2, len(_COLUMNS))))
    compared = tuple(_comparison(each) for each in found if each.kept is not None)
    if compared:
        columns = ("profile", "judged by", "now", "kept", "change", "kept is")
        yield Table("Against what the daemon has kept", columns, compared, frozenset({2, 3, 4}))
    lines = tuple(
        ChartLine(each.profile.name, _by_percentile(result))
        for each in found
        if each.job is not None
        and (result := each.job.ops.get(results.main_op(each.profile))) is not None
        and len(result.bins) > 1
    )
    if lines:
        yield Chart(
            "Latency by percentile",
            "share of the operations that took no longer, %",
            "latency",
            lines,
            y_unit="s",
        )


def _rows(found: ProfileComparison) -> Iterator[tuple[str, ...]]:
    if found.job is None or not found.job.ops:
        yield found.profile.name, f"not measured: {found.result.value}", *("-",) * 7
        return
    share = "-" if found.host_share is None else f"{found.host_share:.0%}"
    note = "" if found.result is ProfileResult.SUCCESS else f" ({found.result.value})"
    for op, its in found.job.ops.items():
        yield (
            found.profile.name,
            f"{_what(found.profile, op)}{note}",
            latency(its.p50_seconds),
            latency(its.p99_seconds),
            latency(its.p999_seconds),
            latency(its.max_seconds),
            *_rates(found.profile, its),
            share if op is results.main_op(found.profile) else "-",
        )


def _rates(profile: Profile, its: OpResult) -> tuple[str, str]:
    if profile.is_rate_capped:
        return "capped", "capped"
    iops = "-" if its.iops is None else number(its.iops)
    return iops, speed(its.bytes_per_second)


def _what(profile: Profile, op: Op) -> str:
    if op is Op.SYNC:
        return profile.sync.value
    place = "random " if profile.rw.value.startswith("rand") else ""
    cached = "" if profile.direct else ", cached"
    return f"{place}{op.value} of {blocks(profile.block_bytes)}{cached}"


def _comparison(found: ProfileComparison) -> tuple[str, ...]:
    profile = found.profile

    def shown(value: float | None) -> str:
        return "-" if value is None else shown_quantity(profile, value)

    by = quantity(profile).words
    state = "steady" if found.is_kept_steady else "not steady"
    return profile.name, by, shown(found.value), shown(found.kept), _change(found), state


def _change(found: ProfileComparison) -> str:
    return "-" if found.change is None else f"{100 * found.change:+.0f} %"


def _by_percentile(result: OpResult) -> tuple[tuple[float, float], ...]:
    ordered = sorted(result.bins.items())
    total = sum(result.bins.values())
    sums = accumulate(count for _, count in ordered)
    return tuple((100 * s / total, at) for s, (at, _) in zip(sums, ordered, strict=True))


def _notes(
    found: Sequence[ProfileComparison], judged: Sequence[ProfileComparison]
) -> Iterator[str]:
    if any(each.profile.is_rate_capped for each in found):
        yield (
            "These profiles are capped at few operations a second, so as not to disturb: their"
            " latency is what counts."
        )
    if any(each.profile.sync in (Sync.FSYNC, Sync.FDATASYNC) for each in found):
        yield "fsync: what a commit of InnoDB waits for; its writes alone go to the page cache."
    if any(each.host_share is not None for each in found):
        yield "In the host: the share of the latency that did not arise in the device."
    for each in found:
        if each.is_host_limited:
            yield (
                f"{each.profile.name}: {each.host_share:.0%} of the latency arose outside the"
                " device, in the host: it says nothing of the drive."
            )
    if not judged:
        yield (
            "Nothing to compare with: the daemon keeps runs of the same drive, firmware and"
            " profile, and judges from the fifth on."
        )


def _data(found: ProfileComparison) -> dict[str, Any]:
    profile, ops = found.profile, found.job.ops if found.job else {}
    return {
        "result": found.result.value,
        **figures.parameters(profile, profile.engine.value),
        "host_share_ratio": found.host_share,
        "value": found.value,
        "kept_value": found.kept,
        "is_kept_steady": found.is_kept_steady,
        "change_ratio": found.change,
        "is_worse": found.is_worse,
        "ops": {op.value: figures.operation(its) for op, its in ops.items()},
    }
