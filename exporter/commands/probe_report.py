"""What a person's probe has found, against what the daemon has kept. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from exporter.background import probe_rounds
from exporter.background.probe_run import Result
from exporter.commands import judged_by, measured_data
from exporter.commands.probe_outcome import Outcome
from exporter.commands.words import blocks, latency, speed
from exporter.report.content import Chart, Line, Report, Table
from exporter.report.words import number
from exporter.tools.fio_profiles import Profile, Sync
from exporter.tools.fio_report import Op, OpResult

_COLUMNS = ("profile", "what", "p50", "p99", "p99.9", "max", "IOPS", "MB/s", "in the host")


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

    def shown(value: float | None) -> str:
        return "-" if value is None else judged_by.shown(profile, value)

    by = judged_by.quantity(profile).words
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


def _data(found: Outcome) -> dict[str, Any]:
    profile, ops = found.profile, found.job.ops if found.job else {}
    return {
        "result": found.result.value,
        **measured_data.parameters(profile, profile.engine.value),
        "host_share_ratio": found.host_share,
        "value": found.value,
        "kept_value": found.kept,
        "is_kept_steady": found.is_kept_steady,
        "change_ratio": found.change,
        "is_worse": found.is_worse,
        "ops": {op.value: measured_data.operation(its) for op, its in ops.items()},
    }
