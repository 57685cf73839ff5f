"""A counter that the kernel lets step back, made to grow only."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporter.io.accumulators import MonotonicCounter, counter_state, restored_counter


def advanced(counted: list[float], at_least: float = 0.0) -> list[float]:
    counter = MonotonicCounter(at_least)
    return [counter.advance(value) for value in counted]


def test_a_counter_that_only_grows_is_said_as_it_is() -> None:
    assert [1.0, 2.0, 2.0, 7.5] == advanced([1.0, 2.0, 2.0, 7.5])


def test_a_small_step_back_is_waited_out_and_not_counted_twice() -> None:
    assert [100, 100, 100, 101] == advanced([100, 98, 99.5, 101])


def test_after_a_large_step_back_it_goes_on_from_where_it_stood() -> None:
    """A CPU went off line, and came back with a new count."""
    assert [100, 100, 103, 110] == advanced([100, 0, 3, 10])


def test_several_large_steps_add_up() -> None:
    assert [100, 100, 150, 150, 151] == advanced([100, 0, 50, 0, 1])


def test_it_begins_at_what_was_said_before_a_restart() -> None:
    assert [200, 200, 201] == advanced([198, 199, 201], at_least=200)


@given(st.lists(st.floats(0, 1e9)), st.floats(0, 1e9))
def test_it_never_goes_back(counted: list[float], at_least: float) -> None:
    values = [at_least, *advanced(counted, at_least)]
    assert all(before <= after for before, after in pairwise(values))


@given(st.lists(st.integers(-20, 20), min_size=1))
def test_it_counts_at_least_what_the_source_counted_forward_of_its_peak(steps: list[int]) -> None:
    """And at most the sum of all steps forward."""
    counted, value = [], 1000
    for step in steps:
        value += step
        counted.append(float(value))
    last = advanced([1000.0, *counted])[-1]
    assert max(1000.0, *counted) <= last <= 1000 + sum(step for step in steps if step > 0)


def kept(seconds: float, boot_id: str = "boot-1", *, at_end: bool = True) -> dict[str, Any]:
    return counter_state(MonotonicCounter(seconds), boot_id, at_end=at_end)


def test_after_an_orderly_end_it_goes_on_from_what_was_said() -> None:
    counter = restored_counter(json.loads(json.dumps(kept(200.5))), "boot-1")
    assert 200.5 == counter.advance(200.0)


def test_after_a_kill_it_begins_at_0_for_more_may_have_been_said() -> None:
    counter = restored_counter(kept(200.0, at_end=False), "boot-1")
    assert [0, 3] == [counter.advance(210.0), counter.advance(213.0)]


def test_another_boot_counts_for_itself() -> None:
    assert 7.0 == restored_counter(kept(200.0), "boot-2").advance(7.0)
    assert 7.0 == restored_counter(kept(200.0, ""), "").advance(7.0)


_JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(
    _JSON
    | st.lists(_JSON)
    | st.fixed_dictionaries({"boot_id": st.just("b"), "seconds": _JSON, "at_end": _JSON}),
    st.floats(0, 1e9),
)
def test_whatever_was_kept_the_counter_is_a_counter(garbage: Any, counted: float) -> None:
    counter = restored_counter(garbage, "b")
    first, second = counter.advance(counted), counter.advance(counted + 1)
    assert 0 <= first <= second < 4e12
