"""What a person's probe has found, against what the daemon has kept. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from exporter.background import probe_rounds
from exporter.background.probe_run import Ended, Result, share_outside
from exporter.commands.words import blocks, latency, speed
from exporter.diagnosis.host_share import HostShareRules, is_host_limited
from exporter.diagnosis.steady_state import SteadyState, SteadyStateRules, deviation
from exporter.report.content import Chart, Line, Report, Table
from exporter.report.words import number
from exporter.tools.fio_profiles import KIB, Profile, Sync
from exporter.tools.fio_report import JobResult, Op, OpResult

_COLUMNS = ("profile", "what", "p50", "p99", "p99.9", "max", "IOPS", "MB/s", "in the host")

#: As in `probe_rounds`: from this block size on bytes per second are what counts.
_THROUGHPUT_BLOCK_BYTES = 128 * KIB

_SHARE = HostShareRules()
_STEADY = SteadyStateRules()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one profile.

    value: what its history is made of: mean latency, IOPS or bytes per second; None where it was
        not measured. kept: the mean of those that the daemon has kept; of `steady` ones where there
        are. change: of `value` against that. is_worse: by more than the kept ones vary.
    """

    profile: Profile
    result: Result
    job: JobResult | None
    host_share: float | None = None
    value: float | None = None
    kept: float | None = None
    is_kept_steady: bool = False
    change: float | None = None
    is_worse: bool = False


def outcome(
    profile: Profile, ended: Ended, profiles: Sequence[Profile], steady: SteadyState | None
) -> Outcome:
    """profiles: all of the run. steady: of what the daemon has kept; None where it keeps none."""
    job, result = ended.job(profile.name), ended.result_of(profile.name)
    if job is None and result is Result.SUCCESS:
        result = Result.FAILED
    if job is None or result is not Result.SUCCESS:
        return Outcome(profile, result, job)
    share = share_outside(ended, profiles, profile.name, _SHARE)
    value = probe_rounds.measured(profile, job)
    window = (steady.baseline or steady.window) if steady is not None else None
    # A run that the host held up says nothing of the drive.
    if value is None or window is None or is_host_limited(share, _SHARE):
        return Outcome(profile, result, job, share, value)
    lower = probe_rounds.is_latency(profile)
    off = deviation([value], window, lower_is_better=lower, rules=_STEADY)
    return Outcome(
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


def report(
    found: Sequence[Outcome],
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
    found: Sequence[Outcome], judged: Sequence[Outcome], worse: Sequence[Outcome], problem: str
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


def _in_words(found: Outcome) -> str:
    """What a profile is about, for who knows MySQL and not fio."""
    op = probe_rounds.main_op(found.profile)
    its = found.job.ops.get(op) if found.job else None
    if its is None:
        return ""
    if not probe_rounds.is_latency(found.profile) and its.bytes_per_second is not None:
        return f"{found.profile.name}: {speed(its.bytes_per_second)} MB/s"
    took = f"{latency(its.p50_seconds)} (median), {latency(its.p99_seconds)} at p99"
    return f"{found.profile.name}: {took}"


def _parts(found: Sequence[Outcome]) -> Iterator[Table | Chart]:
    rows = [row for each in found for row in _rows(each)]
    yield Table("Results", _COLUMNS, tuple(rows), frozenset(range(2, len(_COLUMNS))))
    compared = tuple(_comparison(each) for each in found if each.kept is not None)
    if compared:
        columns = ("profile", "judged by", "now", "kept", "change", "kept is")
        yield Table("Against what the daemon has kept", columns, compared, frozenset({2, 3, 4}))
    lines = tuple(
        Line(each.profile.name, _by_percentile(result))
        for each in found
        if each.job is not None
        and (result := each.job.ops.get(probe_rounds.main_op(each.profile))) is not None
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


def _rows(found: Outcome) -> Iterator[tuple[str, ...]]:
    if found.job is None or not found.job.ops:
        yield found.profile.name, f"not measured: {found.result.value}", *("-",) * 7
        return
    share = "-" if found.host_share is None else f"{found.host_share:.0%}"
    note = "" if found.result is Result.SUCCESS else f" ({found.result.value})"
    for op, its in found.job.ops.items():
        yield (
            found.profile.name,
            f"{_what(found.profile, op)}{note}",
            latency(its.p50_seconds),
            latency(its.p99_seconds),
            latency(its.p999_seconds),
            latency(its.max_seconds),
            *_rates(found.profile, its),
            share if op is probe_rounds.main_op(found.profile) else "-",
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


def _comparison(found: Outcome) -> tuple[str, ...]:
    profile = found.profile
    lower = probe_rounds.is_latency(profile)
    by_size = profile.block_bytes >= _THROUGHPUT_BLOCK_BYTES

    def shown(value: float | None) -> str:
        if value is None:
            return "-"
        if lower:
            return latency(value)
        return f"{speed(value)} MB/s" if by_size else number(value)

    by = "mean latency" if lower else "throughput" if by_size else "IOPS"
    state = "steady" if found.is_kept_steady else "not steady"
    return profile.name, by, shown(found.value), shown(found.kept), _change(found), state


def _change(found: Outcome) -> str:
    return "-" if found.change is None else f"{100 * found.change:+.0f} %"


def _by_percentile(result: OpResult) -> tuple[tuple[float, float], ...]:
    ordered = sorted(result.bins.items())
    total = sum(result.bins.values())
    sums = accumulate(count for _, count in ordered)
    return tuple((100 * s / total, at) for s, (at, _) in zip(sums, ordered, strict=True))


def _notes(found: Sequence[Outcome], judged: Sequence[Outcome]) -> Iterator[str]:
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
        if is_host_limited(each.host_share, _SHARE):
            yield (
                f"{each.profile.name}: {each.host_share:.0%} of the latency arose outside the"
                " device, in the host: it says nothing of the drive."
            )
    if not judged:
        yield (
            "Nothing to compare with: the daemon keeps runs of the same drive, firmware and"
            " profile, and judges from the fifth on."
        )


def _data(found: Outcome) -> dict[str, Any]:
    profile = found.profile
    return {
        "result": found.result.value,
        "engine": profile.engine.value,
        "rw": profile.rw.value,
        "block_bytes": profile.block_bytes,
        "depth": profile.depth,
        "jobs": profile.jobs,
        "direct": profile.direct,
        "sync": profile.sync.value,
        "file_bytes": profile.size_bytes,
        "rate_iops": profile.rate_iops,
        "host_share_ratio": found.host_share,
        "value": found.value,
        "kept_value": found.kept,
        "is_kept_steady": found.is_kept_steady,
        "change_ratio": found.change,
        "is_worse": found.is_worse,
        "ops": {op.value: op_data(its) for op, its in (found.job.ops if found.job else {}).items()},
    }


def op_data(its: OpResult) -> dict[str, Any]:
    """One operation's figures, in base units."""
    return {
        "operations": its.operations,
        "bytes": its.bytes,
        "iops": its.iops,
        "bytes_per_second": its.bytes_per_second,
        "mean_seconds": its.mean_seconds,
        "p50_seconds": its.p50_seconds,
        "p99_seconds": its.p99_seconds,
        "p999_seconds": its.p999_seconds,
        "max_seconds": its.max_seconds,
    }
