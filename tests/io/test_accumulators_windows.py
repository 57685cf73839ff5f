"""The worst value and the prevailing verdict of the last while, against models that keep all."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from exporter.io.accumulators import RollingMax, RollingMode

#: Seconds since the last observation, and what was observed. Quarters add up exactly.
_STEPS = st.lists(
    st.tuples(st.integers(0, 40).map(lambda quarters: quarters / 4), st.integers(0, 6)),
    max_size=60,
)


@given(_STEPS, st.integers(0, 100))
def test_the_maximum_is_that_of_all_values_in_the_window_and_a_sixth_more_at_most(
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


def test_a_maximum_holds_few_of_the_values_it_has_seen() -> None:
    rising = RollingMax(60)
    for second in range(10_000):
        rising.observe(second, second)
    assert 6 == len(rising._older)


def test_a_value_leaves_the_window_a_sixth_late_at_most() -> None:
    window = RollingMax(60)
    window.observe(100, 5)
    window.observe(130, 3)
    assert (5, 5, 3) == (window.value(160), window.value(169), window.value(170))
    assert (3, None) == (window.value(199), window.value(200))


def test_without_a_word_the_default_prevails() -> None:
    assert "none" == RollingMode[str](10, "none", 0).value(100)


def test_a_tie_goes_to_what_was_said_last() -> None:
    said: RollingMode[str] = RollingMode(10, "none", 0)
    for now, value in ((96, "device"), (97, "device"), (98, "cpu"), (99, "cpu")):
        said.observe(now, 1, value)
    assert "none" == said.value(100)
    said.observe(100, 1, "device")
    said.observe(101, 1, "device")
    said.observe(102, 1, "cpu")
    said.observe(103, 1, "cpu")
    assert "cpu" == said.value(103)


def test_a_young_device_is_judged_by_its_life() -> None:
    said: RollingMode[str] = RollingMode(10, "none", 100)
    said.observe(101, 1, "device")
    assert "device" == said.value(101)
    assert "device" == said.value(102)
    assert "none" == said.value(103)


@given(st.lists(st.sampled_from(["", "", "", "cpu", "device", "unknown"]), max_size=40))
def test_what_held_for_most_of_the_window_prevails(seconds: list[str]) -> None:
    """Second by second, where an empty word is a second in which nothing was said."""
    said: RollingMode[str] = RollingMode(10, "", 0)
    for now, value in enumerate(seconds, start=1):
        if value:
            said.observe(now, 1, value)
        recent = seconds[max(0, now - 10) : now]
        most = max(recent.count(each) for each in recent)
        assert most == recent.count(said.value(now))
