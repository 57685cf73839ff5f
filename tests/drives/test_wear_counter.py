"""Resets, steps and implausible jumps of a wear counter."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.wear_counter import (
    DAY,
    Rise,
    WearCounter,
    WearObservation,
    observations_of_one,
    observations_since_reset,
)

NOW = 1_800_000_000.0
WINDOW = 400 * DAY


def look(
    days: float,
    used_ratio: float | None = 0.1,
    *,
    powered_days: float | None = None,
    written: int | None = None,
    step: float | None = 0.01,
) -> WearObservation:
    powered = None if powered_days is None else powered_days * DAY
    return WearObservation(NOW + days * DAY, powered, used_ratio, step, written)


def run(*looks: WearObservation) -> tuple[WearObservation, ...]:
    return observations_since_reset(looks, NOW, WINDOW)


def over(*looks: WearObservation) -> WearCounter:
    counter = WearCounter.from_observations(looks, NOW, suspect_ratio=0.03, powered_ratio=0.95)
    assert counter is not None
    return counter


def suspects(*looks: WearObservation) -> list[bool]:
    return [rise.suspect for rise in over(*looks).rises]


def test_observations_within_the_window_are_kept() -> None:
    looks = (look(-400), look(-200, 0.2), look(0, 0.2))
    assert looks == run(*looks)


def test_older_and_future_observations_are_dropped() -> None:
    assert (look(-400),) == run(look(-400.1), look(-400), look(0.1))


def test_a_falling_wear_level_is_a_reset() -> None:
    """The cause is a firmware update, or a secure erase."""
    assert (look(-2, 0.1), look(-1, 0.11)) == run(look(-3, 0.5), look(-2, 0.1), look(-1, 0.11))


def test_falling_written_bytes_are_a_reset() -> None:
    looks = (look(-3, written=500), look(-2, written=7), look(-1, written=9))
    assert looks[1:] == run(*looks)


def test_another_resolution_is_a_reset() -> None:
    """The cause is that another log or rule is used."""
    assert (look(-2, 0.112, step=0.001),) == run(look(-3, 0.1), look(-2, 0.112, step=0.001))


def test_an_observation_without_counts_is_not_a_reset() -> None:
    looks = (look(-3, 0.1, written=5), look(-2, None, step=None), look(-1, 0.1, written=5))
    assert looks == run(*looks)


def test_a_drive_without_wear_has_no_counter() -> None:
    assert WearCounter.from_observations((look(-1, None),), NOW, 0.03, 0.95) is None
    assert WearCounter.from_observations((look(-1, 0.1, step=None),), NOW, 0.03, 0.95) is None
    assert WearCounter.from_observations((), NOW, 0.03, 0.95) is None


def test_a_step_is_halfway_between_two_observations() -> None:
    counter = over(look(-3, 0.1), look(-2, 0.1), look(-1, 0.11), look(0, 0.11))
    (rise,) = counter.rises
    expected = Rise(replace(rise.point, seconds=NOW - 1.5 * DAY, value=0.11), DAY, suspect=False)
    assert expected == rise


def test_three_points_in_a_day_are_wear_and_four_are_suspect() -> None:
    assert [False] == suspects(look(-1, 0.04), look(-0.5, 0.07))
    assert [True] == suspects(look(-1, 0.04), look(-0.5, 0.08))
    four = [look(hour / 24, 0.1 + hour / 100) for hour in range(-4, 1)]
    assert [True] * 4 == suspects(*four)
    assert [False] * 3 == suspects(*four[1:])


def test_the_limit_for_a_rise_grows_with_the_days_of_a_gap() -> None:
    assert [False] == suspects(look(-20, 0.1), look(0, 0.5))
    assert [True] == suspects(look(-10, 0.1), look(0, 0.5))


def test_a_suspect_rise_is_subtracted_from_the_points() -> None:
    """A 990 PRO of 2022 fell from 98 to 94 % in one night, and then wore normally."""
    counter = over(look(-40, 0.02), look(-20, 0.03), look(-19, 0.09), look(-1, 0.1))
    assert counter.suspect
    assert [False, True, False] == [rise.suspect for rise in counter.rises]
    assert pytest.approx([0.02, 0.03, 0.03, 0.04]) == [point.value for point in counter.points]
    assert 0.1 == counter.used_ratio


def test_wall_time_is_the_axis_for_a_host_that_is_always_on() -> None:
    counter = over(look(-10, powered_days=90), look(0, powered_days=100))
    assert (NOW, 1.0) == (counter.now, counter.wall_ratio)


def test_power_on_time_is_the_axis_for_a_host_that_is_off_at_night() -> None:
    counter = over(look(-12, powered_days=100), look(-2, powered_days=105), look(0))
    assert (NOW, 1.0) == (counter.now, counter.wall_ratio), "one look without hours"
    counter = over(look(-10, powered_days=100), look(0, powered_days=105))
    assert [100 * DAY, 105 * DAY] == [point.seconds for point in counter.points]
    assert (105 * DAY, 2.0) == (counter.now, counter.wall_ratio)
    assert (2.0, 4.0, 6.0) == counter.wall(1, 2, 3)


@pytest.mark.parametrize("powered", [(0, 0), (5, 4), (0, 9.6), (0, 40)])
def test_implausible_power_on_time_is_not_the_axis(
    powered: tuple[float, float],
) -> None:
    before, after = powered
    counter = over(look(-10, powered_days=before), look(0, powered_days=after))
    assert 1.0 == counter.wall_ratio


def test_the_observations_of_two_drives_are_told_apart_by_their_counters() -> None:
    worn = [look(-day, 0.94, powered_days=900 - day, written=9_000) for day in (3, 2, 1)]
    fresh = [look(-day + 0.01, 0.02, powered_days=90 - day, written=90) for day in (3, 2, 1)]
    mixed = sorted([*worn, *fresh], key=lambda seen: seen.at)
    assert tuple(worn) == observations_of_one(mixed, look(0, 0.95, powered_days=900, written=9_001))
    assert tuple(fresh) == observations_of_one(mixed, look(0, 0.02, powered_days=90, written=91))


def test_the_observations_of_a_new_drive_are_not_those_of_its_worn_mate() -> None:
    worn = [look(-day, 0.94, powered_days=900 - day, written=9_000) for day in (3, 2, 1)]
    assert () == observations_of_one(worn, look(0, 0.0, powered_days=0, written=1))


@given(st.lists(st.tuples(st.integers(1, 400), st.sampled_from([0, 1])), unique=True))
def test_of_two_drives_each_has_all_of_its_own_observations_and_no_other(
    rows: list[tuple[int, int]],
) -> None:
    def drive(number: int, day: int) -> WearObservation:
        used, powered = ((0.5, 2000.0), (0.2, 1000.0))[number]
        return look(-day + number / 2, used - day * 1e-4, powered_days=powered - day + number / 2)

    mixed = sorted((drive(number, day) for day, number in rows), key=lambda seen: seen.at)
    for number in (0, 1):
        own = sorted((drive(number, d) for d, n in rows if n == number), key=lambda seen: seen.at)
        assert tuple(own) == observations_of_one(mixed, drive(number, 0))
