"""The report of steady-state rounds."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.commands.steady_state_report import CompletedRound, Series, SteadyStateResult, report
from exporter.config.profiles import PROFILES, Profile
from exporter.probe.results import is_latency_judged
from exporter.probe.steady_state import SteadyStateRules, SteadyWindow, steady_state
from exporter.report import content, html_page
from exporter.report.content import Chart, Report, Table

RULES = SteadyStateRules()
PAGES = PROFILES["page_write"]
UNCAPPED = replace(PAGES, rate_iops=None, number_ios=None)
#: Of S3: steady, with a mean of 106,036.5 IOPS.
WORKED = (106168.3, 106777.6, 105344.0, 105381.2, 106511.4)


def series(
    profile: Profile,
    values: Sequence[float],
    baseline: SteadyWindow | None = None,
    limited: Sequence[int] = (),
) -> Series:
    rounds = [CompletedRound(value, n in limited) for n, value in enumerate(values)]
    judgement = steady_state(
        [each.value for each in rounds if not each.is_host_limited],
        lower_is_better=is_latency_judged(profile),
        rules=RULES,
        baseline=baseline,
    )
    return Series(profile, "psync", rounds, judgement)


def said(*found: Series, problem: str = "") -> Report:
    return report(SteadyStateResult("Steady state", found, problem=problem), RULES)


def chart(found: Report) -> Chart:
    return next(part for part in found.parts if isinstance(part, Chart))


def table(found: Report) -> Table:
    return next(part for part in found.parts if isinstance(part, Table))


def test_the_worked_example_is_steady_to_the_digit() -> None:
    found = said(series(UNCAPPED, WORKED))
    assert found.is_good is True
    assert "is steady at 106,036 IOPS: over the last 5 rounds, the rate ranges" in found.verdict
    data = json.loads(content.json_text(found))["data"]["series"][0]
    assert ("steady", "iops") == (data["phase"], data["unit"])
    assert pytest.approx(1433.6 / 106036.5) == data["range_ratio"]
    assert pytest.approx(284.08 / 106036.5, abs=1e-6) == data["slope_ratio"]


def test_the_limits_and_the_linear_fit_are_drawn() -> None:
    found = chart(said(series(UNCAPPED, (200_000.0, *WORKED))))
    assert [(6, 5)] == [(len(found.lines[0].points), len(WORKED))]
    best = found.lines[-1]
    assert [2.0, 6.0] == [x for x, _ in best.points]
    assert [106178.5, 105894.5] == pytest.approx([y for _, y in best.points], abs=0.1)
    twenty, ten = found.bands
    assert pytest.approx(0.2 * 106036.5) == twenty.high - twenty.low
    assert pytest.approx(0.1 * 106036.5) == ten.high - ten.low
    assert twenty.low <= min(WORKED) <= max(WORKED) <= twenty.high
    assert ten.low <= best.points[1][1] <= best.points[0][1] <= ten.high


def test_a_slope_alone_is_not_steady() -> None:
    found = said(series(UNCAPPED, (96e3, 98e3, 100e3, 102e3, 107e3)))
    assert found.is_good is False
    assert "is not steady yet" in found.verdict
    assert "its linear fit over 10.3 % (limit 10 %)" in found.verdict


def test_a_capped_profile_is_judged_by_latency_and_says_so() -> None:
    """A drive twice as slow has the same IOPS under a cap, and is no longer steady."""
    before = series(PAGES, [1e-4] * 5).judgement.window
    found = said(series(PAGES, [1e-4] * 2 + [2e-4] * 5, before))
    assert found.is_good is False
    assert "is no longer steady" in found.verdict
    assert "by +100 % from the first steady state, 100 µs" in found.verdict
    assert ("mean latency", "s") == (chart(found).y_label, chart(found).y_unit)
    assert any("judged by its mean latency" in note for note in found.notes)


def test_too_few_rounds_are_not_judged() -> None:
    found = said(series(PAGES, [1e-4] * 4), problem="ended by Ctrl-C")
    assert found.is_good is None
    assert "4 rounds are too few; 5 are required." in found.verdict
    assert "Not all rounds were run: ended by Ctrl-C." in found.verdict
    assert () == chart(found).bands


def test_rounds_limited_by_the_host_are_shown_and_not_judged() -> None:
    found = said(series(PAGES, [1e-4, 9.0, 1e-4, 1e-4, 1e-4, 1e-4], limited=[1]))
    assert found.is_good is True
    assert "limited by the host, not judged" == table(found).rows[1][-1]
    (_, hosts, best) = chart(found).lines
    assert ((2.0, 9.0),) == hosts.points
    assert [1.0, 6.0] == [x for x, _ in best.points]


def test_empty_columns_are_omitted() -> None:
    assert ("round", "mean latency") == table(said(series(PAGES, [1e-4] * 5))).columns


def test_throughput_has_its_unit() -> None:
    found = said(series(PROFILES["burst"], [5e8] * 5))
    assert "is steady at 500 MB/s" in found.verdict
    assert "B/s" == chart(found).y_unit


def test_one_unsteady_series_makes_the_report_bad() -> None:
    good, few = series(PAGES, [1e-4] * 5), series(PAGES, [1e-4])
    assert said(good, few).is_good is None
    assert said(good, few, series(PAGES, [1e-4, 2e-4] * 3)).is_good is False


@given(
    st.sampled_from([*PROFILES.values(), UNCAPPED]),
    st.lists(st.tuples(st.floats(1e-9, 1e15), st.booleans()), min_size=1, max_size=12),
)
# A page is much to make, and the machine may be at something else.
@settings(deadline=None)
def test_any_rounds_make_a_page(profile: Profile, rounds: list[tuple[float, bool]]) -> None:
    limited = [n for n, (_, is_limited) in enumerate(rounds) if is_limited]
    found = said(series(profile, [value for value, _ in rounds], limited=limited))
    assert html_page.html(found)
    assert content.json_text(found)
