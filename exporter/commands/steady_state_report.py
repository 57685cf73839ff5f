"""What is said of rounds and of SNIA's rule. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from exporter.commands import probe_report
from exporter.commands.probe_report import Quantity
from exporter.measurement import figures
from exporter.measurement.figures import blocks
from exporter.probe.profiles import Profile
from exporter.probe.steady_state import SteadyPhase, SteadyState, SteadyStateRules, SteadyWindow
from exporter.report.content import Band, Chart, ChartLine, Report, Table

#: The axis of a chart.
_UNITS = {Quantity.LATENCY: "s", Quantity.THROUGHPUT: "B/s", Quantity.RATE: ""}


@dataclass(frozen=True, slots=True)
class CompletedRound:
    """One round. value: see `probe_rounds.measured`. is_host_limited: it is left out, for it says
    nothing of the drive. when: for people, empty where they came one after the other.
    """

    value: float
    is_host_limited: bool = False
    when: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """The rounds of one profile on one drive, and the judgement after the last of them."""

    profile: Profile
    engine: str
    rounds: Sequence[CompletedRound]
    judgement: SteadyState


@dataclass(frozen=True, slots=True)
class JudgedSeries:
    """All that a report is made of. problem: why there are no more rounds, else empty."""

    title: str
    series: Sequence[Series]
    facts: tuple[tuple[str, str], ...] = ()
    notes: Sequence[str] = ()
    problem: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def report(found: JudgedSeries, rules: SteadyStateRules) -> Report:
    parts: list[Table | Chart] = []
    for each in found.series:
        if chart := _chart(each, rules):
            parts.append(chart)
        parts.append(_table(each))
    verdicts = [verdict(each, rules) for each in found.series]
    return Report(
        found.title,
        " ".join(
            [*verdicts, *([f"Not run to the end: {found.problem}."] if found.problem else [])]
        ),
        found.facts,
        tuple(parts),
        (*found.notes, *_notes(found)),
        {
            **found.data,
            "problem": found.problem or None,
            "series": [_data(each) for each in found.series],
        },
        is_good=is_good(found.series),
    )


def is_good(found: Sequence[Series]) -> bool | None:
    """True where all are steady, None where one cannot be judged and none is unsteady."""
    phases = {each.judgement.phase for each in found}
    if phases & {SteadyPhase.UNSTEADY, SteadyPhase.TRANSITION}:
        return False
    return True if phases == {SteadyPhase.STEADY} else None


def verdict(found: Series, rules: SteadyStateRules) -> str:
    """In a sentence or two."""
    name, its = found.profile.name, found.judgement
    window = its.window
    if window is None:
        measured = sum(not each.is_host_limited for each in found.rounds)
        return f"{name}: {measured} rounds are too few to judge; it takes {rules.rounds}."
    what = f"over the last {rules.rounds} rounds {_quantity(found.profile)}"
    said = (
        f"{what} ranges over {100 * window.range_ratio:.1f} % of its mean (at most"
        f" {100 * rules.range_ratio:.0f} %) and its line over {100 * window.slope_ratio:.1f} % (at"
        f" most {100 * rules.slope_ratio:.0f} %)."
    )
    if its.phase is SteadyPhase.STEADY:
        return f"{name} is steady at {shown(found.profile, window.mean)}: {said}"
    if its.phase is SteadyPhase.TRANSITION:
        return f"{name} is not steady yet: {said}"
    worse = ""
    if its.deviation is not None and its.baseline is not None:
        worse = (
            f" The last round is {100 * its.deviation.ratio:+.0f} % off the"
            f" {shown(found.profile, its.baseline.mean)} at which it was steady first."
        )
    said = f"{said[:1].upper()}{said[1:]}{worse}"
    return f"{name} is unsteady: it has been steady, and is no more. {said}"


def shown(profile: Profile, value: float) -> str:
    """A round's value with its unit."""
    is_rate = probe_report.quantity(profile) is Quantity.RATE
    return probe_report.shown_quantity(profile, value) + (" IOPS" if is_rate else "")


def _quantity(profile: Profile) -> str:
    its = probe_report.quantity(profile)
    return "the rate" if its is Quantity.RATE else f"the {its.words}"


def described(profile: Profile, engine: str) -> str:
    """What a round does, for who knows fio."""
    cached = "direct" if profile.direct else "cached"
    capped = f", at most {profile.rate_iops} a second" if profile.rate_iops else ""
    return (
        f"{profile.rw.value} of {blocks(profile.block_bytes)} in {blocks(profile.size_bytes)},"
        f" {engine}, depth {profile.depth}, jobs {profile.jobs}, {cached}{capped}"
    )


def _chart(found: Series, rules: SteadyStateRules) -> Chart | None:
    """Numbers of rounds are those of the table; the host's own rounds are dots apart."""
    numbered = list(enumerate(found.rounds, 1))
    counted = [(float(n), each.value) for n, each in numbered if not each.is_host_limited]
    hosts = [(float(n), each.value) for n, each in numbered if each.is_host_limited]
    if not counted:
        return None
    lines = [ChartLine("rounds", tuple(counted), dots=True)]
    if hosts:
        lines.append(ChartLine("bound by the host", tuple(hosts), dots=True))
    bands: tuple[Band, ...] = ()
    window = found.judgement.window
    if window is not None:
        first, last = counted[-rules.rounds][0], counted[-1][0]
        begin, end = window.fit
        lines.append(ChartLine("best line through the last rounds", ((first, begin), (last, end))))
        bands = _bands(window, rules)
    its = probe_report.quantity(found.profile)
    return Chart(
        f"{found.profile.name}: rounds, and the windows of SNIA's rule",
        "round",
        its.words,
        tuple(lines),
        bands=bands,
        y_unit=_UNITS[its],
    )


def _bands(window: SteadyWindow, rules: SteadyStateRules) -> tuple[Band, Band]:
    """The range may lie anywhere, so it is drawn around the rounds; the line about their mean."""
    middle, half = (window.least + window.most) / 2, rules.range_ratio * window.mean / 2
    reach = rules.slope_ratio * window.mean / 2
    return (
        Band(middle - half, middle + half, f"{100 * rules.range_ratio:.0f} % window: the rounds"),
        Band(
            window.mean - reach,
            window.mean + reach,
            f"{100 * rules.slope_ratio:.0f} % window: the line",
        ),
    )


def _table(found: Series) -> Table:
    rows = [
        (
            str(place),
            each.when,
            shown(found.profile, each.value),
            "bound by the host, left out" if each.is_host_limited else "",
        )
        for place, each in enumerate(found.rounds, 1)
    ]
    columns = ("round", "when", _quantity(found.profile).removeprefix("the "), "")
    # Columns of nothing are left out.
    kept = [n for n, _ in enumerate(columns) if n in (0, 2) or any(row[n] for row in rows)]
    return Table(
        f"{found.profile.name}: {described(found.profile, found.engine)}",
        tuple(columns[n] for n in kept),
        tuple(tuple(row[n] for n in kept) for row in rows),
        frozenset({0, kept.index(2)}),
    )


def _notes(found: JudgedSeries) -> Iterator[str]:
    if any(each.profile.is_rate_capped for each in found.series):
        yield (
            "A profile with a rate cap is judged by its mean latency: its IOPS are the cap's, and"
            " always steady."
        )
    yield (
        "SNIA's rule is for a drive that was purged and written twice over. Here it is asked of a"
        " file on a drive in use, whose cache may take all of a round."
    )


def _data(found: Series) -> dict[str, Any]:
    profile, its = found.profile, found.judgement
    window = its.window
    return {
        "profile": profile.name,
        **figures.parameters(profile, found.engine),
        "unit": probe_report.quantity(profile).value,
        "rounds": [{"value": e.value, "is_host_limited": e.is_host_limited} for e in found.rounds],
        "phase": its.phase.value,
        "window": None if window is None else asdict(window),
        "range_ratio": None if window is None else window.range_ratio,
        "slope_ratio": None if window is None else window.slope_ratio,
        "baseline": None if its.baseline is None else asdict(its.baseline),
        "deviation": None if its.deviation is None else asdict(its.deviation),
    }
