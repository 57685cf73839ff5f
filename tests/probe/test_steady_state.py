"""Tests steady state by SNIA's example and its limits, and the deviation from it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.steady_state import (
    Deviation,
    SteadyPhase,
    SteadyState,
    SteadyStateRules,
    SteadyWindow,
    deviation,
    steady_state,
    window,
)

RULES = SteadyStateRules()

#: Five rounds of 4 KiB random writes, in IOPS, that have every figure of the published example.
EXAMPLE = [106168.3, 106777.6, 105344.0, 105381.2, 106511.4]

#: Mean latencies in seconds of a drive at its ease.
CALM = [0.000_100, 0.000_102, 0.000_099, 0.000_101, 0.000_100]


def judged(
    values: list[float], baseline: SteadyWindow | None = None, *, lower_is_better: bool = False
) -> SteadyState:
    return steady_state(values, lower_is_better=lower_is_better, rules=RULES, baseline=baseline)


def window_of(values: list[float]) -> SteadyWindow:
    found = window(values, RULES)
    assert found is not None
    return found


def test_the_worked_example_to_the_digit() -> None:
    found = window_of(EXAMPLE)
    assert 106036.5 == round(found.mean, 1)
    assert (106777.6, 105344.0) == (found.most, found.least)
    assert 1433.6 == round(found.most - found.least, 1)
    assert 21207.3 == round(RULES.range_ratio * found.mean, 1)
    assert 284.1 == round(abs(found.excursion), 1)
    assert -71.02 == round(found.excursion / 4, 2)
    assert (106178.54, 105894.46) == tuple(round(end, 2) for end in found.fit)
    assert 10603.65 == round(RULES.slope_ratio * found.mean, 2)
    assert SteadyPhase.STEADY is judged(EXAMPLE).phase


def test_a_first_value_40_percent_higher_exceeds_the_range() -> None:
    """The first round is fast on a drive that was not full before."""
    first, *others = EXAMPLE
    found = window_of([1.4 * first, *others])
    assert found.range_ratio > RULES.range_ratio
    assert SteadyPhase.TRANSITION is judged([1.4 * first, *others]).phase
    assert SteadyPhase.STEADY is judged([1.4 * first, *others, first]).phase


def test_a_slope_alone_is_not_steady() -> None:
    values = [96e3, 98e3, 100e3, 102e3, 107e3]
    found = window_of(values)
    assert pytest.approx(11 / 100.6) == found.range_ratio
    assert pytest.approx(10.4 / 100.6) == found.slope_ratio
    assert found.range_ratio <= RULES.range_ratio < 2 * found.slope_ratio
    assert not found.is_steady(RULES)


def test_both_limits_are_inclusive() -> None:
    """With a mean of 100, the range is 20 and the line rises by 10."""
    assert window_of([100.0, 90.0, 110.0, 100.0, 100.0]).is_steady(RULES)
    assert window_of([95.0, 97.5, 100.0, 102.5, 105.0]).is_steady(RULES)
    assert not window_of([100.0, 89.9, 110.0, 100.0, 100.0]).is_steady(RULES)
    assert not window_of([94.9, 97.5, 100.0, 102.5, 105.1]).is_steady(RULES)


def test_four_rounds_are_too_few() -> None:
    assert SteadyState(SteadyPhase.TOO_FEW, None, None, None) == judged(EXAMPLE[:4])
    assert SteadyState(SteadyPhase.TOO_FEW, None, None, None) == judged([])


def test_the_baseline_is_kept_without_a_history() -> None:
    baseline = window_of(EXAMPLE)
    assert SteadyState(SteadyPhase.TOO_FEW, None, baseline, None) == judged(EXAMPLE[:4], baseline)


def test_only_the_last_five_rounds_count() -> None:
    assert window_of(EXAMPLE) == window_of([1.0, 5e6, *EXAMPLE])


def test_a_new_drive_is_in_transition_until_it_is_steady_once() -> None:
    """The drive slows down to its steady speed, and never returns to transition."""
    values = [300e3, 220e3, 160e3, 130e3, 112e3]
    baseline = None
    phases = []
    for value in [*EXAMPLE, 60e3]:
        values.append(value)
        found = judged(values, baseline)
        baseline = found.baseline
        phases.append(found.phase)
    transition, steady = SteadyPhase.TRANSITION, SteadyPhase.STEADY
    assert [transition] * 3 + [steady] * 2 + [SteadyPhase.UNSTEADY] == phases


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 6, 50])
def test_a_drive_that_is_lastingly_twice_as_slow_is_unsteady(rounds: int) -> None:
    """Five slow rounds are as even as five fast ones, so the level decides."""
    baseline = judged(CALM, lower_is_better=True).baseline
    slow = [2 * value for value in (CALM * 10)[:rounds]]
    found = judged([*CALM, *slow], baseline, lower_is_better=True)
    assert SteadyPhase.UNSTEADY is found.phase
    assert baseline == found.baseline
    assert found.deviation is not None
    assert rounds == found.deviation.rounds_worse
    assert (rounds >= 3) == found.deviation.is_lasting


def test_a_capped_rate_is_steady_even_on_a_slow_drive() -> None:
    """Therefore the latency is judged if the profile caps its rate."""
    assert SteadyPhase.STEADY is judged([100.0] * 10).phase


def test_a_faster_drive_is_steady_at_its_new_level() -> None:
    baseline = judged(CALM, lower_is_better=True).baseline
    found = judged([value / 2 for value in CALM], baseline, lower_is_better=True)
    assert SteadyPhase.STEADY is found.phase
    assert found.deviation is not None
    assert pytest.approx(-0.5, abs=0.01) == found.deviation.ratio
    assert 0 == found.deviation.rounds_worse


def test_a_slow_decay_is_detected() -> None:
    """Each window is steady, but the level falls by 1 % per round."""
    values, baseline = list(EXAMPLE), judged(EXAMPLE).baseline
    for _ in range(60):
        values.append(values[-1] * 0.99)
        found = judged(values, baseline)
        baseline = found.baseline
    assert window_of(values).is_steady(RULES)
    assert SteadyPhase.UNSTEADY is found.phase
    assert SteadyPhase.STEADY is judged(values, window_of(values)).phase, "accepted by the operator"


def test_one_outlier_is_noise() -> None:
    """In one published table, equal machines read at 710 MB/s with one job and 300 with four."""
    baseline = window_of([700.0, 710.0, 705.0, 695.0, 710.0])
    once = deviation([705.0, 300.0], baseline, lower_is_better=False, rules=RULES)
    assert once is not None
    assert (1, False) == (once.rounds_worse, once.is_lasting)
    again = deviation([300.0, 300.0, 710.0], baseline, lower_is_better=False, rules=RULES)
    assert again is not None
    assert 0 == again.rounds_worse


def test_a_scattered_baseline_allows_three_standard_deviations() -> None:
    baseline = SteadyWindow(mean=100.0, least=85.0, most=115.0, deviation=10.0, excursion=0.0)
    at = [deviation([v], baseline, lower_is_better=False, rules=RULES) for v in (75.0, 62.5)]
    assert [Deviation(-0.25, 0, False), Deviation(-0.375, 1, False)] == at


def test_runs_with_different_block_sizes_are_not_steady() -> None:
    """Synchronous writes of 1 to 128 KiB, in ms: even while the latency dominates."""
    assert not window_of([0.79, 0.79, 0.82, 0.86, 1.09]).is_steady(RULES)
    assert window_of([0.79, 0.79, 0.79, 0.82, 0.86]).is_steady(RULES)


def test_values_that_are_not_measurements_are_ignored() -> None:
    odd = [float("nan"), float("inf"), -1.0, 0.0, 1e300]
    assert judged(EXAMPLE) == judged([*odd, *EXAMPLE, *odd])
    assert deviation(odd, window_of(EXAMPLE), lower_is_better=True, rules=RULES) is None


VALUES = st.lists(st.floats(), max_size=12)
LIKELY = st.lists(st.floats(1e-6, 1e12), min_size=5, max_size=12)


@given(VALUES | LIKELY, VALUES | LIKELY, st.booleans())
def test_any_values_have_a_phase(values: list[float], before: list[float], lower: bool) -> None:
    baseline = judged(before, lower_is_better=lower).baseline
    found = judged(values, baseline, lower_is_better=lower)
    assert (found.window is None) == (found.phase is SteadyPhase.TOO_FEW)
    assert found.phase is not SteadyPhase.TRANSITION or found.baseline is None
    assert found.baseline == (baseline or found.baseline)
    if found.phase is SteadyPhase.STEADY:
        assert found.window is not None
        assert found.window.is_steady(RULES)
        assert found.deviation is not None
    if found.deviation is not None:
        assert found.deviation.ratio >= -1
        assert 0 <= found.deviation.rounds_worse <= len(values)


@given(LIKELY)
def test_the_mean_is_within_the_range_and_the_line_near_it(
    values: list[float],
) -> None:
    found = window_of(values)
    slack = 1e-9 * found.most
    assert found.least - slack <= found.mean <= found.most + slack
    assert 0 <= found.range_ratio <= RULES.rounds
    # The line's gain is 4 times a slope that is at most 3/10 of the range.
    assert abs(found.excursion) <= 1.2 * (found.most - found.least) + slack
    assert found.deviation <= found.most - found.least + slack


@given(LIKELY, st.floats(1e-3, 1e3))
def test_the_unit_of_the_values_does_not_matter(values: list[float], factor: float) -> None:
    one, other = window_of(values), window_of([factor * value for value in values])
    assert pytest.approx(one.range_ratio, abs=1e-9) == other.range_ratio
    assert pytest.approx(one.slope_ratio, abs=1e-9) == other.slope_ratio


@given(LIKELY)
def test_looser_rules_never_make_a_steady_window_unsteady(values: list[float]) -> None:
    looser = replace(RULES, range_ratio=0.3, slope_ratio=0.2)
    found = window_of(values)
    assert found.is_steady(looser) >= found.is_steady(RULES)
