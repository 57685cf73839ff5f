"""Tests of `runtime.sample_times`: the samples move through the interval and back."""

import pytest

from exporter.runtime.sample_times import CYCLE, SampleTimes, sample_time, time_to_next


def test_a_cycle_of_samples_takes_as_long_as_without_offsets() -> None:
    assert pytest.approx(2.0 * CYCLE) == sample_time(CYCLE, 2.0) - sample_time(0, 2.0)
    assert pytest.approx(2.0 * CYCLE) == sum(time_to_next(n, 2.0) for n in range(CYCLE))


def test_the_times_between_samples_lead_to_the_sample_times() -> None:
    at = 0.0
    for number in range(3 * CYCLE):
        assert pytest.approx(sample_time(number, 0.5)) == at
        at += time_to_next(number, 0.5)


def test_an_interval_differs_from_the_configured_one_by_a_fifth_at_most() -> None:
    lengths = [time_to_next(number, 1.0) for number in range(2 * CYCLE)]
    assert pytest.approx(0.8) == min(lengths)
    assert pytest.approx(1.2) == max(lengths)


def test_every_time_of_the_second_counts_the_same() -> None:
    """A sample stands for half of the intervals before and after it."""
    shares: dict[int, float] = {}
    for number in range(CYCLE, 2 * CYCLE):
        moment = round(10 * (sample_time(number, 1.0) % 1.0))
        weight = (time_to_next(number - 1, 1.0) + time_to_next(number, 1.0)) / 2
        shares[moment] = shares.get(moment, 0.0) + weight
    assert {0, 2, 4, 6, 8} == set(shares)
    assert [pytest.approx(2.0)] * 5 == list(shares.values())


def test_a_changed_interval_applies_to_the_next_sample() -> None:
    interval = [1.0]
    times = SampleTimes(lambda: interval[0])
    assert pytest.approx(1.2) == times.time_to_next()
    interval[0] = 5.0
    assert pytest.approx(6.0) == times.time_to_next()
