"""The worst value and the prevailing verdict of the last while, against models that keep all."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from exporter.background.windows import Prevailing, RollingMax

#: Seconds since the last observation, and what was observed. Quarters add up exactly.
_STEPS = st.lists(
    st.tuples(st.integers(0, 40).map(lambda quarters: quarters / 4), st.integers(-3, 3)),
    max_size=60,
)


@given(_STEPS, st.integers(0, 100))
def test_the_maximum_is_that_of_all_values_in_the_window(
    steps: list[tuple[float, int]], later: int
) -> None:
    window = RollingMax(10)
    times = list(accumulate(step for step, _ in steps))
    for index, now in enumerate(times):
        window.observe(now, steps[index][1])
        recent = [steps[i][1] for i in range(index + 1) if times[i] > now - 10]
        assert max(recent) == window.value(now)
    end = (times[-1] if times else 0) + later
    left = [value for time, (_, value) in zip(times, steps, strict=True) if time > end - 10]
    assert max(left, default=None) == window.value(end)


@given(st.integers(0, 5))
def test_reading_the_maximum_does_not_reset_it(times: int) -> None:
    window = RollingMax(60)
    window.observe(0, 7)
    assert [7] * times == [window.value(1) for _ in range(times)]


def test_a_maximum_holds_few_of_the_values_it_has_seen() -> None:
    rising, constant = RollingMax(1e9), RollingMax(1e9)
    for second in range(10_000):
        rising.observe(second, second)
        constant.observe(second, 0.0)
    assert 1 == len(rising._falling) == len(constant._falling)


def test_a_value_leaves_the_window_to_the_second() -> None:
    window = RollingMax(60)
    window.observe(100, 5)
    window.observe(130, 3)
    assert (5, 3, None) == (window.value(159), window.value(160), window.value(190))


def test_without_a_word_the_default_prevails() -> None:
    assert "none" == Prevailing[str](10, "none", 0).value(100)


def test_a_tie_goes_to_what_was_said_last() -> None:
    said: Prevailing[str] = Prevailing(10, "none", 0)
    for now, value in ((96, "device"), (97, "device"), (98, "cpu"), (99, "cpu")):
        said.observe(now, 1, value)
    assert "none" == said.value(100)
    said.observe(100, 1, "device")
    said.observe(101, 1, "device")
    said.observe(102, 1, "cpu")
    said.observe(103, 1, "cpu")
    assert "cpu" == said.value(103)


def test_a_young_device_is_judged_by_its_life() -> None:
    said: Prevailing[str] = Prevailing(10, "none", 100)
    said.observe(101, 1, "device")
    assert "device" == said.value(101)
    assert "device" == said.value(102)
    assert "none" == said.value(103)


@given(st.lists(st.sampled_from(["", "", "", "cpu", "device", "unknown"]), max_size=40))
def test_what_held_for_most_of_the_window_prevails(seconds: list[str]) -> None:
    """Second by second, where an empty word is a second in which nothing was said."""
    said: Prevailing[str] = Prevailing(10, "", 0)
    for now, value in enumerate(seconds, start=1):
        if value:
            said.observe(now, 1, value)
        recent = seconds[max(0, now - 10) : now]
        most = max(recent.count(each) for each in recent)
        assert most == recent.count(said.value(now))
