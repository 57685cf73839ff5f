"""Tests of `runtime.sample_times`: the samples move through the interval and back."""

from itertools import pairwise

import pytest

from exporter.runtime.sample_times import CYCLE, SampleTimes, sample_time


def test_the_samples_do_not_drift() -> None:
    assert all(0 <= sample_time(number, 2.0) - 2 * number <= 2 for number in range(10_000))


def test_the_times_between_samples_lead_to_the_sample_times() -> None:
    times = SampleTimes(lambda: 0.5)
    at = 0.0
    for number in range(3 * CYCLE):
        assert pytest.approx(sample_time(number, 0.5)) == at
        at += times.time_to_next()


def test_an_interval_differs_from_the_configured_one_by_a_sixth_at_most() -> None:
    lengths = [after - before for before, after in pairwise(sample_time(n, 1.0) for n in range(99))]
    assert 0.83 < min(lengths) < 0.85
    assert 1.15 < max(lengths) < 1.17


@pytest.mark.parametrize("period", [0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0, 2.0, 5.0])
def test_all_moments_of_a_periodic_load_are_shown_equally_often(period: float) -> None:
    """A sample stands for half of the intervals before and after it."""
    tenths = [0.0] * 10
    for number in range(1, 1001):
        before, at, after = (sample_time(number + shift, 1.0) for shift in (-1, 0, 1))
        tenths[int(at % period / period * 10) % 10] += (after - before) / 2
    assert [pytest.approx(100, abs=7)] * 10 == tenths


def test_a_changed_interval_applies_to_the_next_sample() -> None:
    interval = [1.0]
    times = SampleTimes(lambda: interval[0])
    first = times.time_to_next()
    interval[0] = 5.0
    assert pytest.approx(5 * first) == times.time_to_next()
