"""Tests of `io.accumulators`: histograms, rolling windows and monotonic counters."""

import json
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.families import disk_families as metrics
from exporter.families.desc import MetricDesc
from exporter.io.accumulators import (
    MonotonicCounter,
    RollingMax,
    RollingMode,
    WeightedHistogram,
    counter_state,
    restored_counter,
)


def advanced(counted: list[float], at_least: float = 0.0) -> list[float]:
    counter = MonotonicCounter(at_least)
    return [counter.advance(value) for value in counted]


def test_a_growing_source_is_returned_unchanged() -> None:
    assert [1.0, 2.0, 2.0, 7.5] == advanced([1.0, 2.0, 2.0, 7.5])


def test_a_small_step_back_is_not_counted_twice() -> None:
    assert [100, 100, 100, 101] == advanced([100, 98, 99.5, 101])


def test_after_a_large_step_back_it_continues_from_its_value() -> None:
    """A CPU was offline and came back with a new count."""
    assert [100, 100, 103, 110] == advanced([100, 0, 3, 10])


def test_several_large_steps_add_up() -> None:
    assert [100, 100, 150, 150, 151] == advanced([100, 0, 50, 0, 1])


def test_it_starts_at_the_value_before_a_restart() -> None:
    assert [200, 200, 201] == advanced([198, 199, 201], at_least=200)


@given(st.lists(st.floats(0, 1e9)), st.floats(0, 1e9))
def test_it_never_decreases(counted: list[float], at_least: float) -> None:
    values = [at_least, *advanced(counted, at_least)]
    assert all(before <= after for before, after in pairwise(values))


@given(st.lists(st.integers(-20, 20), min_size=1))
def test_it_counts_at_least_the_growth_of_the_source(steps: list[int]) -> None:
    """It counts at most the sum of all increases."""
    counted, value = [], 1000
    for step in steps:
        value += step
        counted.append(float(value))
    last = advanced([1000.0, *counted])[-1]
    assert max(1000.0, *counted) <= last <= 1000 + sum(step for step in steps if step > 0)


def kept(seconds: float, boot_id: str = "boot-1", *, at_end: bool = True) -> dict[str, Any]:
    return counter_state(MonotonicCounter(seconds), boot_id, at_end=at_end)


def test_after_an_orderly_end_it_continues() -> None:
    counter = restored_counter(json.loads(json.dumps(kept(200.5))), "boot-1")
    assert 200.5 == counter.advance(200.0)


def test_after_a_kill_it_starts_at_0() -> None:
    counter = restored_counter(kept(200.0, at_end=False), "boot-1")
    assert [0, 3] == [counter.advance(210.0), counter.advance(213.0)]


def test_after_a_reboot_it_starts_from_the_kernels_value() -> None:
    assert 7.0 == restored_counter(kept(200.0), "boot-2").advance(7.0)
    assert 7.0 == restored_counter(kept(200.0, ""), "").advance(7.0)


_JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(
    _JSON
    | st.lists(_JSON)
    | st.fixed_dictionaries({"boot_id": st.just("b"), "seconds": _JSON, "at_end": _JSON}),
    st.floats(0, 1e9),
)
def test_any_stored_value_gives_a_valid_counter(garbage: Any, counted: float) -> None:
    counter = restored_counter(garbage, "b")
    first, second = counter.advance(counted), counter.advance(counted + 1)
    assert 0 <= first <= second < 4e12


DESC = MetricDesc("ssd_test", "For tests.", (), "histogram", (0.5, 1.0, 2.0))

_OBSERVATIONS = st.lists(
    st.tuples(st.floats(0, 1e6), st.integers(0, 1000).map(lambda ms: ms / 1000))
)


def test_an_upper_bound_belongs_to_its_own_bucket() -> None:
    seen = WeightedHistogram(DESC)
    for value in (0.0, 0.5, 0.500_001, 1.0, 2.0, 2.1):
        seen.observe(value, 1)
    assert (2, 2, 1, 1) == seen.buckets().weights


def test_weights_and_their_products_add_up() -> None:
    seen = WeightedHistogram(DESC)
    seen.observe(0.7, 400)
    seen.observe(3.0, 2)
    assert (0, 400, 0, 2) == seen.buckets().weights
    assert pytest.approx(286) == seen.buckets().sum


def test_observe_zero_equals_observing_zero() -> None:
    quick, slow = WeightedHistogram(DESC), WeightedHistogram(DESC)
    quick.observe_zero(1.5)
    slow.observe(0.0, 1.5)
    assert slow.buckets() == quick.buckets()


@given(_OBSERVATIONS, st.sampled_from([metrics.BUSY_RATIO, metrics.QUEUE_DEPTH, metrics.READ_SIZE]))
def test_weights_add_up_to_the_elapsed_time(
    observations: list[tuple[float, float]], desc: MetricDesc
) -> None:
    """Each cumulative bucket holds the weight of all values up to its bound."""
    seen = WeightedHistogram(desc)
    for value, weight in observations:
        seen.observe(value, weight)
    weights, total = seen.buckets()
    assert min(weights) >= 0
    cumulated = list(accumulate(weights))
    assert cumulated[-1] == pytest.approx(sum(weight for _, weight in observations))
    assert total == pytest.approx(sum(value * weight for value, weight in observations))
    for edge, below in zip(desc.edges, cumulated, strict=False):
        expected = sum(weight for value, weight in observations if value <= edge)
        assert expected == pytest.approx(below)


@given(_OBSERVATIONS, _OBSERVATIONS)
def test_no_bucket_decreases(
    first: list[tuple[float, float]], then: list[tuple[float, float]]
) -> None:
    seen = WeightedHistogram(DESC)
    for value, weight in first:
        seen.observe(value, weight)
    before = seen.buckets()
    for value, weight in then:
        seen.observe(value, weight)
    after = seen.buckets()
    assert all(a <= b for a, b in zip(before.weights, after.weights, strict=True))
    assert before.sum <= after.sum


#: Seconds since the last observation, and the observed value. Quarters add up exactly.
_STEPS = st.lists(
    st.tuples(st.integers(0, 40).map(lambda quarters: quarters / 4), st.integers(0, 6)),
    max_size=60,
)


@given(_STEPS, st.integers(0, 100))
def test_the_maximum_covers_the_window_and_at_most_a_sixth_more(
    steps: list[tuple[float, int]], later: int
) -> None:
    window = RollingMax(12)
    times = list(accumulate(step for step, _ in steps))
    values = [value for _, value in steps]
    for now, value in zip(times, values, strict=True):
        window.observe(now, value)
    end = (times[-1] if times else 0) + later
    shown = window.value(end)
    within = [value for time, value in zip(times, values, strict=True) if time > end - 12]
    around = [value for time, value in zip(times, values, strict=True) if time > end - 14]
    assert shown in [None, *around] if not within else shown in around
    assert max(within, default=0) <= (shown or 0) <= max(around, default=0)


@given(st.integers(0, 5))
def test_reading_the_maximum_does_not_reset_it(times: int) -> None:
    window = RollingMax(60)
    window.observe(0, 7)
    assert [7] * times == [window.value(1) for _ in range(times)]


def test_a_maximum_stores_few_values() -> None:
    rising = RollingMax(60)
    for second in range(10_000):
        rising.observe(second, second)
    assert 6 == len(rising._older)


def test_a_value_leaves_the_window_at_most_a_sixth_late() -> None:
    window = RollingMax(60)
    window.observe(100, 5)
    window.observe(130, 3)
    assert (5, 5, 3) == (window.value(160), window.value(169), window.value(170))
    assert (3, None) == (window.value(199), window.value(200))


def test_without_observations_the_mode_is_the_default() -> None:
    assert "none" == RollingMode[str](10, "none", 0).value(100)


def test_the_latest_value_wins_a_tie() -> None:
    said: RollingMode[str] = RollingMode(10, "none", 0)
    for now, value in ((96, "device"), (97, "device"), (98, "cpu"), (99, "cpu")):
        said.observe(now, 1, value)
    assert "none" == said.value(100)
    said.observe(100, 1, "device")
    said.observe(101, 1, "device")
    said.observe(102, 1, "cpu")
    said.observe(103, 1, "cpu")
    assert "cpu" == said.value(103)


def test_the_window_of_a_new_device_starts_at_its_creation() -> None:
    said: RollingMode[str] = RollingMode(10, "none", 100)
    said.observe(101, 1, "device")
    assert "device" == said.value(101)
    assert "device" == said.value(102)
    assert "none" == said.value(103)


@given(st.lists(st.sampled_from(["", "", "", "cpu", "device", "unknown"]), max_size=40))
def test_the_mode_is_the_value_that_lasted_longest(seconds: list[str]) -> None:
    """One value per second; an empty string stands for a second without observation."""
    said: RollingMode[str] = RollingMode(10, "", 0)
    for now, value in enumerate(seconds, start=1):
        if value:
            said.observe(now, 1, value)
        recent = seconds[max(0, now - 10) : now]
        most = max(recent.count(each) for each in recent)
        assert most == recent.count(said.value(now))
