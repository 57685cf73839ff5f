"""Tests when profiles are due."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.profiles import PROFILES
from exporter.probe.schedule import (
    ProbeSchedule,
    counted_from,
    splayed_delay,
    spread_over_life,
)

READ, WRITE, BURST, SLC = (PROFILES[n] for n in ("page_read", "page_write", "burst", "slc"))


def names(schedule: ProbeSchedule, now: float) -> list[str]:
    return [profile.name for profile in schedule.due(now)]


def test_all_profiles_are_due_first_and_then_on_a_common_grid() -> None:
    schedule = ProbeSchedule([READ, WRITE], 100.0)
    assert ([], ["page_read", "page_write"]) == (names(schedule, 99.0), names(schedule, 100.0))
    schedule.done("page_read", 107.0)
    schedule.done("page_write", 107.0)
    assert 400.0 == schedule.next
    schedule.done("page_read", 703.0)
    assert ["page_read", "page_write"] == names(schedule, 1000.0)


def test_a_skipped_rare_profile_is_retried_soon() -> None:
    schedule = ProbeSchedule([BURST], 100.0)
    schedule.skipped("burst", 100.0)
    assert 400.0 == schedule.next
    schedule.done("burst", 401.0)
    assert 100.0 + 7 * 86_400 == schedule.next


def test_only_rare_profiles_keep_their_due_time_over_a_restart() -> None:
    schedule = ProbeSchedule([BURST, READ], 100.0, {"burst": 86_400.0, "page_read": 10.0})
    assert ["page_read"] == names(schedule, 100.0)
    assert ["page_read", "burst"][::-1] == names(schedule, 100.0 + 6 * 86_400)


def test_a_last_run_in_the_future_is_ignored() -> None:
    assert ["burst"] == names(ProbeSchedule([BURST], 100.0, {"burst": -5.0}), 100.0)


def test_a_profile_without_an_interval_is_never_due() -> None:
    schedule = ProbeSchedule([SLC], 0.0)
    assert (float("inf"), []) == (schedule.next, names(schedule, 1e9))


@given(
    st.floats(0, 1e6),
    st.floats(60, 1e6),
    st.lists(st.floats(0, 1e5), min_size=1, max_size=20),
)
def test_a_profile_is_due_again_within_an_interval(
    first: float, interval: float, waits: list[float]
) -> None:
    schedule = ProbeSchedule([replace(READ, interval_seconds=interval)], first)
    now = first
    for wait in waits:
        now += wait
        schedule.done("page_read", now)
        assert now < schedule.next <= now + interval * 1.001


@given(st.text(), st.floats(0, 86_400))
def test_the_delay_of_a_host_is_constant_and_within_20_percent(host: str, delay: float) -> None:
    assert splayed_delay(delay, host) == splayed_delay(delay, host)
    assert delay * 0.799 <= splayed_delay(delay, host) <= delay * 1.201


def test_hosts_have_different_delays() -> None:
    assert 100 == len({splayed_delay(600.0, f"db{number}") for number in range(100)})


def test_a_run_that_the_guard_ended_is_due_again_within_a_day() -> None:
    week, minutes = 7 * 86_400.0, 300.0
    rare = replace(PROFILES["burst"], interval_seconds=week)
    often = replace(PROFILES["page_read"], interval_seconds=minutes)
    schedule = ProbeSchedule([rare, often], 0.0)
    for profile in (rare, often):
        schedule.aborted(profile.name, 10.0)
    assert (often,) == schedule.due(minutes)
    assert {rare, often} == set(schedule.due(86_400.0))


def test_an_aborted_run_is_due_within_a_day_also_after_a_restart() -> None:
    day = 86_400.0
    for aborted, expected in ((True, day - 100.0), (False, 7 * day - 100.0)):
        ran_at = counted_from(BURST, 1e9, was_aborted=aborted)
        restarted = ProbeSchedule([BURST], 50.0, {"burst": 1e9 + 100.0 - ran_at})
        assert pytest.approx(50.0 + expected) == restarted.next
    assert 1e9 == counted_from(READ, 1e9, was_aborted=True), "its interval is less than a day"


def test_a_weekly_slc_is_slowed_down_so_that_the_budget_for_life_lasts_ten_years() -> None:
    year = 365 * 86_400.0
    weekly = replace(SLC, interval_seconds=7 * 86_400.0)
    run_bytes = 2 * SLC.written_bytes_at_most
    life_bytes = 3650 << 30
    spread = spread_over_life(weekly, run_bytes, life_bytes)
    assert spread.interval_seconds is not None
    runs = 10 * year / spread.interval_seconds
    assert pytest.approx(life_bytes) == runs * run_bytes
    assert weekly == spread_over_life(weekly, run_bytes, 100 * life_bytes)
    assert SLC == spread_over_life(SLC, run_bytes, life_bytes), "it is not scheduled"
