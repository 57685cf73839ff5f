"""What is due when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.smart.poll_timing import DueQueue

MOMENTS = st.integers(0, 9).map(float)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), MOMENTS),
        st.tuples(st.just("drop"), st.sampled_from("abc"), MOMENTS),
        st.tuples(st.just("take"), st.just(""), MOMENTS),
    )
)


@given(STEPS)
def test_it_is_a_list_sorted_by_moment_of_which_each_item_has_one(
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
def test_where_nothing_is_due_nothing_is_taken(now: float) -> None:
    queue: DueQueue[str] = DueQueue()
    assert queue.take(now) is None
    assert queue.soonest() is None
