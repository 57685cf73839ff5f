"""The line through a counter, and the error of its slope."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.drives.trend import Point, Trend, fit_trend


def points(*pairs: tuple[float, float]) -> list[Point]:
    return [Point(seconds, value) for seconds, value in pairs]


def test_a_straight_line_has_its_slope_and_no_error() -> None:
    assert Trend(2.0, 0.0) == fit_trend(points((0, 1), (1, 3), (2, 5), (3, 7)))


def test_a_vector_by_hand() -> None:
    """About the middle (1, 4/3): slope = (1 * 4/3 + 1 * 5/3) / 2 = 3/2.

    Residuals 1/6, -1/3, 1/6: their squares sum to 1/6, so the slope is off by
    sqrt(1/6 / 1 / 2) = 0.2887, or 0.1925 of it. The increments 1 and 2 scatter about 1.5 by
    0.5**2 * 2 / 1 = 0.5, so their mean is off by sqrt(0.5 / 2) / 1.5 = 0.3333, and the line by
    sqrt(6/5) of that: 0.3651. That is the larger; t is 6.314 for one degree of freedom.
    """
    line = fit_trend(points((0, 0), (1, 1), (2, 3)))
    assert line is not None
    assert pytest.approx(1.5) == line.rate
    assert pytest.approx(6.314 * 0.36515, rel=1e-4) == line.spread


def test_times_have_the_scatter_if_values_are_fixed() -> None:
    """The points (0, 0), (1, 1), (2, 3) with the axes exchanged."""
    line = fit_trend(points((0, 0), (1, 1), (3, 2)), by_value=True)
    assert line is not None
    assert pytest.approx(6.314 * 0.36515, rel=1e-4) == line.spread


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [(0, 0), (1, 1)],
        [(0, 1), (1, 1), (2, 1)],
        [(0, 2), (1, 1), (2, 0)],
        [(5, 0), (5, 1), (5, 2)],
    ],
    ids=["none", "two", "flat", "falling", "one instant"],
)
def test_points_without_a_rise_have_no_trend(pairs: list[tuple[float, float]]) -> None:
    assert fit_trend(points(*pairs)) is None


@pytest.mark.parametrize("by_value", [False, True])
def test_more_data_reduce_the_spread(by_value: bool) -> None:
    chance = random.Random(4)
    instants = [0.0]
    for _ in range(100):
        instants.append(instants[-1] + chance.lognormvariate(0, 0.5))
    walk = [Point(seconds, float(index)) for index, seconds in enumerate(instants)]
    few, many = fit_trend(walk[:10], by_value=by_value), fit_trend(walk, by_value=by_value)
    assert few is not None
    assert many is not None
    assert 0 < many.spread < few.spread


def test_the_spread_covers_a_random_walk() -> None:
    """The true rate is within the spread in nine of ten runs, for both kinds of error."""
    chance = random.Random(5)
    for wanders in (True, False):
        held = 0
        for _ in range(300):
            value, walk = 0.0, []
            for second in range(30):
                value = value + chance.gauss(1, 0.5) if wanders else second + chance.gauss(0, 0.5)
                walk.append(Point(second, value))
            line = fit_trend(walk)
            assert line is not None
            held += line.rate / (1 + line.spread) <= 1 <= line.rate * (1 + line.spread)
        assert held >= 0.85 * 300


@example([(0.0, 0.0), (1.2e-308, 1.0), (2.3e-308, 2.0), (1.0, 2.0)], False)
@given(st.lists(st.tuples(st.floats(0, 1e11), st.floats(0, 1e18))), st.booleans())
def test_any_points_yield_a_trend_or_none(pairs: list[tuple[float, float]], by_value: bool) -> None:
    line = fit_trend(points(*sorted(pairs)), by_value=by_value)
    assert line is None or (line.rate > 0 and line.spread >= 0)
