"""Tests of the queues of the poll scheduler: by due time, and by adapter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.smart.polling.poll_timing import AdapterQueue, DueQueue

MOMENTS = st.integers(0, 9).map(float)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), MOMENTS),
        st.tuples(st.just("drop"), st.sampled_from("abc"), MOMENTS),
        st.tuples(st.just("take"), st.just(""), MOMENTS),
    )
)


@given(STEPS)
def test_the_queue_is_sorted_by_time_with_one_time_per_item(
    steps: list[tuple[str, str, float]],
) -> None:
    queue: DueQueue[str] = DueQueue()
    model: list[tuple[float, int, str]] = []
    for number, (step, item, moment) in enumerate(steps):
        if step == "take":
            due = sorted(each for each in model if each[0] <= moment)
            expected = due[0][2] if due else None
            assert expected == queue.take(moment)
            model = [each for each in model if each[2] != expected]
        else:
            model = [each for each in model if each[2] != item]
            if step == "put":
                model.append((moment, number, item))
                queue.put(item, moment)
            else:
                queue.drop(item)
        assert min(model, default=(None,))[0] == queue.soonest()


@pytest.mark.parametrize("now", [0.0, 1e9])
def test_take_returns_none_if_nothing_is_due(now: float) -> None:
    queue: DueQueue[str] = DueQueue()
    assert queue.take(now) is None
    assert queue.soonest() is None


def taken(queue: AdapterQueue[str]) -> list[str]:
    items = []
    while (item := queue.take()) is not None:
        items.append(item)
    return items


def test_items_leave_in_the_order_of_arrival() -> None:
    queue = AdapterQueue[str](10, 10)
    for adapter, item in (("x", "1"), ("y", "2"), ("x", "3"), ("z", "4")):
        queue.put(adapter, item)
    assert ["1", "2", "3", "4"] == taken(queue)


def test_a_busy_adapter_delays_only_its_own_items() -> None:
    queue = AdapterQueue[str](10, 2)
    for item in ("a1", "a2", "a3", "a4", "b1"):
        queue.put(item[0], item)
    assert ["a1", "a2", "b1"] == taken(queue)
    queue.give_back("b")
    assert [] == taken(queue)
    queue.give_back("a")
    assert ["a3"] == taken(queue)
    assert (1, 3 - 1) == (queue.waiting, queue.running)


def test_the_number_of_running_items_is_limited() -> None:
    queue = AdapterQueue[str](3, 2)
    for item in ("a1", "a2", "a3", "b1", "c1"):
        queue.put(item[0], item)
    assert ["a1", "a2", "b1"] == taken(queue)
    queue.give_back("b")
    assert ["c1"] == taken(queue)


@given(
    st.integers(1, 5),
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=60),
)
def test_bounds_hold_and_nothing_is_lost(
    most: int, most_each: int, steps: list[tuple[str, bool]]
) -> None:
    queue = AdapterQueue[tuple[str, int]](most, most_each)
    running: list[tuple[str, int]] = []
    came: list[tuple[str, int]] = []
    started: list[tuple[str, int]] = []

    def start() -> None:
        while (item := queue.take()) is not None:
            running.append(item)
            started.append(item)
        each = [adapter for adapter, _ in running]
        assert len(running) <= most
        assert all(each.count(adapter) <= most_each for adapter in each)

    for number, (adapter, ends) in enumerate(steps):
        queue.put(adapter, (adapter, number))
        came.append((adapter, number))
        start()
        if ends:
            queue.give_back(running.pop(0)[0])
            start()
    while running:
        queue.give_back(running.pop(0)[0])
        start()
    assert (0, 0) == (queue.waiting, queue.running)
    assert sorted(came) == sorted(started)
    for adapter in "abcd":
        assert [i for i in came if i[0] == adapter] == [i for i in started if i[0] == adapter]
