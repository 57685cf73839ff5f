"""A series as a step and as a line, against the same worked out the long way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.cache_cliff import best_split, fit_line, squared_deviations

SERIES = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=30)


def test_a_step_is_split_where_it_is() -> None:
    assert 3 == best_split([5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 1.0], 2)
    assert 2 == best_split([5.0, 1.0, 1.0, 1.0], 2), "no segment is shorter than asked for"


def test_there_must_be_room_for_two() -> None:
    assert best_split([1.0, 2.0, 3.0], 2) is None
    assert best_split([], 1) is None


def test_a_line_leaves_nothing_of_a_ramp() -> None:
    ramp = fit_line([1, 3, 5, 7])
    assert pytest.approx(6.0) == ramp.gain
    assert pytest.approx(0.0) == ramp.left
    assert 0.0 == fit_line([2, 2, 2]).gain


@given(SERIES, st.integers(1, 5))
def test_no_other_split_leaves_less(values: list[float], least: int) -> None:
    split = best_split(values, least)
    places = range(least, len(values) - least + 1)
    left = [
        squared_deviations(values[:place]) + squared_deviations(values[place:]) for place in places
    ]
    assert (split is None) == (not left)
    if split is not None:
        assert least <= split <= len(values) - least
        assert pytest.approx(min(left), abs=1e-6) == squared_deviations(
            values[:split]
        ) + squared_deviations(values[split:])


@given(SERIES)
def test_a_line_leaves_no_more_than_the_mean(values: list[float]) -> None:
    assert -1e-9 <= fit_line(values).left <= squared_deviations(values) + 1e-9
