"""Builds the report of `ssd-exporter steady-state`. It does no I/O.

A round is one run of a profile (the parameters of fio). A series is the list of all rounds of one
profile on one drive. The window is the last rounds. In steady state the results in the window are
nearly equal: SNIA's rule limits their range and the slope of a line through them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from exporter.commands import probe_report
from exporter.commands.probe_report import QUANTITY_WORDS
from exporter.config.profiles import Profile
from exporter.measurement import figures
from exporter.measurement.figures import blocks
from exporter.probe.results import Quantity, quantity
from exporter.probe.steady_state import SteadyPhase, SteadyState, SteadyStateRules, SteadyWindow
from exporter.report.content import Band, Chart, ChartLine, Report, Table

#: The unit of the chart's y axis; empty for IOPS.
_UNITS = {Quantity.LATENCY: "s", Quantity.THROUGHPUT: "B/s", Quantity.RATE: ""}


@dataclass(frozen=True, slots=True)
class CompletedRound:
    """The result of one round.

    value: mean latency in seconds, IOPS, or bytes per second; see `results.round_value`.
    is_host_limited: True if the host, and not the drive, caused most of the latency. The round is
        then not used for the steady state.
    when: the time of the round, for people; empty for rounds that this command has just run.
    """

    value: float
    is_host_limited: bool = False
    when: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """The rounds of one profile on one drive.

    profile: the parameters of each round.
    engine: the name of fio's I/O engine.
    rounds: the rounds, oldest first.
    judgement: whether the drive is in steady state after the last round.
    """

    profile: Profile
    engine: str
    rounds: Sequence[CompletedRound]
    judgement: SteadyState


@dataclass(frozen=True, slots=True)
class SteadyStateResult:
    """The content of the report.

    title: the title of the report.
    series: one series for a run of the command; with --kept, all requested saved series.
    facts: names and values that describe the run, for people.
    problem: why the rounds stopped early; empty if all rounds ran.
    data: JSON values about the location.
    """

    title: str
    series: Sequence[Series]
    facts: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def report(judged: SteadyStateResult, rules: SteadyStateRules) -> Report:
    """Returns the report, with the result in words, a chart and a table for each series."""
    parts: list[Table | Chart] = []
    for series in judged.series:
        if chart := _chart(series, rules):
            parts.append(chart)
        parts.append(_table(series))
    verdicts = [verdict(series, rules) for series in judged.series]
    if judged.problem:
        verdicts.append(f"Not all rounds were run: {judged.problem}.")
    return Report(
        judged.title,
        " ".join(verdicts),
        judged.facts,
        tuple(parts),
        tuple(_notes(judged)),
        {
            **judged.data,
            "problem": judged.problem or None,
            "series": [_data(series) for series in judged.series],
        },
        is_good=is_good(judged.series),
    )


def is_good(all_series: Sequence[Series]) -> bool | None:
    """Returns False if a series is not steady.

    Otherwise returns None if a series has too few rounds, and True if all series are steady.
    """
    phases = {series.judgement.phase for series in all_series}
    if phases & {SteadyPhase.UNSTEADY, SteadyPhase.TRANSITION}:
        return False
    return True if phases == {SteadyPhase.STEADY} else None


def verdict(series: Series, rules: SteadyStateRules) -> str:
    """Returns whether a series is in steady state, as text of one to three sentences."""
    name, state = series.profile.name, series.judgement
    window = state.window
    if window is None:
        measured = sum(not done.is_host_limited for done in series.rounds)
        rounds = "1 round is" if measured == 1 else f"{measured} rounds are"
        return f"{name}: {rounds} too few; {rules.rounds} are required."
    deviations = (
        f"over the last {rules.rounds} rounds, {_quantity(series.profile)} ranges over"
        f" {100 * window.range_ratio:.1f} % of its mean (limit {100 * rules.range_ratio:.0f} %),"
        f" and its linear fit over {100 * window.slope_ratio:.1f} %"
        f" (limit {100 * rules.slope_ratio:.0f} %)."
    )
    if state.phase is SteadyPhase.STEADY:
        return f"{name} is steady at {shown(series.profile, window.mean)}: {deviations}"
    if state.phase is SteadyPhase.TRANSITION:
        return f"{name} is not steady yet: {deviations}"
    worse = ""
    if state.deviation is not None and state.baseline is not None:
        worse = (
            f" The last round deviates by {100 * state.deviation.ratio:+.0f} % from the first"
            f" steady state, {shown(series.profile, state.baseline.mean)}."
        )
    deviations = f"{deviations[:1].upper()}{deviations[1:]}{worse}"
    return f"{name} is no longer steady. {deviations}"


def shown(profile: Profile, value: float) -> str:
    """Returns the value of a round as text with its unit."""
    is_rate = quantity(profile) is Quantity.RATE
    return probe_report.shown_quantity(profile, value) + (" IOPS" if is_rate else "")


def _quantity(profile: Profile) -> str:
    kind = quantity(profile)
    return "the rate" if kind is Quantity.RATE else f"the {QUANTITY_WORDS[kind]}"


def described(profile: Profile, engine: str) -> str:
    """Returns the parameters of a round as text."""
    cached = "direct" if profile.direct else "cached"
    capped = f", at most {profile.rate_iops} IOPS" if profile.rate_iops else ""
    return (
        f"{profile.rw.value} of {blocks(profile.block_bytes)} in {blocks(profile.size_bytes)},"
        f" {engine}, queue depth {profile.depth}, jobs {profile.jobs}, {cached}{capped}"
    )


def _chart(series: Series, rules: SteadyStateRules) -> Chart | None:
    """Returns a chart of the values over the round number; None if no round can be judged.

    Rounds that the host limited are shown as a second line.
    """
    numbered = list(enumerate(series.rounds, 1))
    counted = [(float(n), done.value) for n, done in numbered if not done.is_host_limited]
    limited = [(float(n), done.value) for n, done in numbered if done.is_host_limited]
    if not counted:
        return None
    lines = [ChartLine("rounds", tuple(counted), dots=True)]
    if limited:
        lines.append(ChartLine("limited by the host", tuple(limited), dots=True))
    bands: tuple[Band, ...] = ()
    window = series.judgement.window
    if window is not None:
        first, last = counted[-rules.rounds][0], counted[-1][0]
        begin, end = window.fit
        lines.append(ChartLine("linear fit of the last rounds", ((first, begin), (last, end))))
        bands = _bands(window, rules)
    judged = quantity(series.profile)
    return Chart(
        f"{series.profile.name}: rounds and the limits of SNIA's rule",
        "round",
        QUANTITY_WORDS[judged],
        tuple(lines),
        bands=bands,
        y_unit=_UNITS[judged],
    )


def _bands(window: SteadyWindow, rules: SteadyStateRules) -> tuple[Band, Band]:
    """Returns the limits of SNIA's rule as two areas of the chart.

    The area for the range is centred between the smallest and the largest value. The area for the
    slope is centred on the mean.
    """
    middle, half = (window.least + window.most) / 2, rules.range_ratio * window.mean / 2
    reach = rules.slope_ratio * window.mean / 2
    return (
        Band(middle - half, middle + half, f"{100 * rules.range_ratio:.0f} % limit of the range"),
        Band(
            window.mean - reach,
            window.mean + reach,
            f"{100 * rules.slope_ratio:.0f} % limit of the slope",
        ),
    )


def _table(series: Series) -> Table:
    rows = [
        (
            str(number),
            done.when,
            shown(series.profile, done.value),
            "limited by the host, not judged" if done.is_host_limited else "",
        )
        for number, done in enumerate(series.rounds, 1)
    ]
    columns = ("round", "when", _quantity(series.profile).removeprefix("the "), "")
    # Columns without any text are left out, except the number and the value of the round.
    kept = [n for n, _ in enumerate(columns) if n in (0, 2) or any(row[n] for row in rows)]
    return Table(
        f"{series.profile.name}: {described(series.profile, series.engine)}",
        tuple(columns[n] for n in kept),
        tuple(tuple(row[n] for n in kept) for row in rows),
        frozenset({0, kept.index(2)}),
    )


def _notes(judged: SteadyStateResult) -> Iterator[str]:
    if any(series.profile.is_rate_capped for series in judged.series):
        yield (
            "A profile with a rate cap is judged by its mean latency, because the cap keeps its"
            " IOPS constant."
        )
    yield (
        "SNIA's rule applies to a drive that was purged and then written twice. Here it is applied"
        " to a file on a drive in use, whose cache may absorb a whole round."
    )


def _data(series: Series) -> dict[str, Any]:
    profile, state = series.profile, series.judgement
    window = state.window
    return {
        "profile": profile.name,
        **figures.parameters(profile, series.engine),
        "unit": quantity(profile).value,
        "rounds": [
            {"value": done.value, "is_host_limited": done.is_host_limited} for done in series.rounds
        ],
        "phase": state.phase.value,
        "window": None if window is None else asdict(window),
        "range_ratio": None if window is None else window.range_ratio,
        "slope_ratio": None if window is None else window.slope_ratio,
        "baseline": None if state.baseline is None else asdict(state.baseline),
        "deviation": None if state.deviation is None else asdict(state.deviation),
    }
