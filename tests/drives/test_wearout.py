"""The wear-out estimate: each method calculated by hand, and all methods on simulated drives."""

import itertools
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.drives.wearout import (
    WearoutEstimate,
    WearoutMethod,
    WearoutRules,
    estimate_wearout,
    missing_reason,
)
from tests.drives.simulated_wear import EPOCH, Load, SimulatedDrive
from tests.fuzz import examples

RULES = WearoutRules()
#: The bounds of a line alone, without the limits on how close they may be.
UNCLAMPED = replace(
    RULES, max_seconds=1e15, least_factor=1.0, short_line_factor=0.0, recent_rises=1_000_000
)

#: Bytes written per day, by default.
DAILY = 10**11


def look(
    day: float,
    used_ratio: float | None = 0.1,
    step: float | None = 0.01,
    written: int | None = None,
) -> WearObservation:
    return WearObservation(EPOCH + day * DAY, None, used_ratio, step, written)


def stepped(*days: float, first: float = 0.10) -> list[WearObservation]:
    """Observations at the start, and before and after each step, a quarter of an hour apart."""
    looks = [look(days[0] - 5, first)]
    for index, day in enumerate(days):
        used = round(first + index / 100, 4)
        looks += [look(day - 450 / DAY, used), look(day + 450 / DAY, round(used + 0.01, 4))]
    return looks


def at(
    looks: Sequence[WearObservation], day: float, rules: WearoutRules = UNCLAMPED
) -> WearoutEstimate:
    found = estimate_wearout(looks, EPOCH + day * DAY, rules)
    assert found is not None
    assert 0 <= found.low_seconds <= found.mid_seconds <= found.high_seconds
    return found


def days(found: WearoutEstimate) -> list[float]:
    return [found.low_seconds / DAY, found.mid_seconds / DAY, found.high_seconds / DAY]


def test_steps_by_hand() -> None:
    """A step every 10 days. The third one, to 13 %, was 5 days ago: 87 steps of 10 days are left.

    Each instant is known to a quarter of an hour in 20 days, so the rate to 900 s / 20 d; the last
    step to half of that, and a counter that rounds up has one step more to go.
    """
    found = at(stepped(10, 20, 30), 35)
    unsure, half = 1 + 900 / (20 * DAY), 450 / DAY
    expected = [870 / unsure - 5 - half, 870 - 5, 880 * unsure - 5 + half]
    assert WearoutMethod.STEPS == found.method
    assert pytest.approx(expected) == days(found)
    assert not found.suspect


def test_an_overdue_step_by_hand() -> None:
    """The next one, to 14 %, comes at day 60 at the earliest.

    A line through (10, 11) (20, 12) (30, 13) (60, 14): 80 / 1400 = 0.05714 points a day, and 86
    to go. Since day 30 the drive wore at most a point in 30 days: 87 * 30 at that pace.
    """
    low, mid, high = days(at(stepped(10, 20, 30), 60))
    assert pytest.approx(86 * 1400 / 80) == mid
    assert low < 86 * 1400 / 80
    assert high >= 87 * 30


def test_fraction_by_hand() -> None:
    """0.05 points per day with a resolution of 0.01: 88.5 points are left."""
    looks = [look(day, 0.1 + 0.0005 * day, 0.0001) for day in range(31)]
    found = at(looks, 30)
    unsure = 1 + 0.0001 / 0.015
    expected = [0.8849 / 0.0005 / unsure, 1770, 0.8851 / 0.0005 * unsure]
    assert WearoutMethod.FRACTION == found.method
    assert pytest.approx(expected) == days(found)


def test_lifetime_ratio_by_hand() -> None:
    """10 TB used 10 %, so 90 TB are left, at 0.1 TB per day. 10 % means 9 to 11 %."""
    looks = [look(day, 0.1, written=10**13 + (day - 14) * DAILY) for day in range(15)]
    found = at(looks, 14)
    assert WearoutMethod.LIFETIME_RATIO == found.method
    assert pytest.approx([100 / 0.11 - 100, 900, 100 / 0.09 - 100]) == days(found)


def test_rated_tbw_by_hand() -> None:
    """100 TB are warranted, 10 TB are written, at 0.1 TB per day."""
    looks = [look(day, None, None, 10**13 + (day - 14) * DAILY) for day in range(15)]
    assert estimate_wearout(looks, EPOCH + 14 * DAY, RULES) is None
    found = estimate_wearout(looks, EPOCH + 14 * DAY, RULES, rated_bytes=10**14)
    assert found is not None
    assert WearoutMethod.RATED_TBW == found.method
    assert pytest.approx([900, 900, 900]) == days(found)


def test_the_best_method_with_enough_data_is_used() -> None:
    looks = stepped(10, 20, 30)
    assert WearoutMethod.STEPS == at(looks, 30.1).method
    assert estimate_wearout(looks[:-1], EPOCH + 30 * DAY, RULES) is None, "two steps"
    written = [replace(seen, host_written_bytes=int(seen.at)) for seen in looks]
    assert WearoutMethod.STEPS == at(written, 31).method
    assert WearoutMethod.LIFETIME_RATIO == at(written[:-1], 30).method
    new = [replace(seen, used_ratio=0.0) for seen in written]
    assert estimate_wearout(new, EPOCH + 31 * DAY, RULES) is None, "less than 3 % used"
    found = estimate_wearout(new, EPOCH + 31 * DAY, RULES, rated_bytes=10**12)
    assert found is not None
    assert WearoutMethod.RATED_TBW == found.method


@pytest.mark.parametrize(
    "looks",
    [
        [],
        [look(0)],
        [look(0, None, None)],
        [look(0, written=10**13)],
        [look(0, written=10**13), look(0.9, written=10**13 + DAILY)],
        [look(0, written=10**13), look(30, written=10**13)],
        [look(0, 0.02, written=10**13), look(30, 0.02, written=2 * 10**13)],
        [look(day, 0.1 + 0.001 * day, 0.001) for day in range(14)],
        [look(day, 0.1 + 0.001 * (day // 15), 0.001) for day in range(31)],
        stepped(10, 20),
    ],
    ids=[
        *("nothing", "one look", "no wear", "no rate", "less than a day", "nothing written"),
        *("too new", "fraction too short", "fraction too coarse", "two steps"),
    ],
)
def test_too_little_data_yields_no_estimate(looks: list[WearObservation]) -> None:
    last = looks[-1].at if looks else EPOCH
    assert estimate_wearout(looks, last, RULES) is None


@pytest.mark.parametrize("used", [1.0, 1.3, 2.55])
def test_used_up_endurance_yields_no_estimate(used: float) -> None:
    looks = [*stepped(10, 20, 30), look(31, used, written=10**13), look(33, used, written=10**14)]
    assert estimate_wearout(looks, EPOCH + 33 * DAY, RULES, rated_bytes=10**16) is None
    rated = [look(day, None, None, 10**13 + day) for day in range(3)]
    assert estimate_wearout(rated, EPOCH + 3 * DAY, RULES, rated_bytes=10**13) is None


def test_an_estimate_is_at_most_ten_years() -> None:
    found = at(stepped(100, 200, 300), 301, RULES)
    assert [3650.0] * 3 == days(found)


def test_a_reset_restarts_the_estimate() -> None:
    """The two earlier steps do not describe the present drive."""
    looks = [*stepped(10, 20, first=0.5), *stepped(40, 50)]
    assert estimate_wearout(looks, EPOCH + 51 * DAY, RULES) is None
    assert at(stepped(40, 50, 60), 61) == at([*looks, *stepped(40, 50, 60)[5:]], 61)


def test_a_suspect_rise_reduces_the_remaining_endurance_but_not_the_rate() -> None:
    looks = stepped(10, 20, 30)
    jumped = [*looks, look(31, 0.13), look(31.2, 0.23)]
    found = at(jumped, 35)
    assert found.suspect
    assert pytest.approx(0.77 / 0.001) == found.mid_seconds / DAY
    later = [*jumped, look(40, 0.23), look(40.01, 0.24)]
    assert pytest.approx(0.76 / 0.001 - 5, rel=0.001) == at(later, 45).mid_seconds / DAY


def test_a_host_that_is_off_at_night_wears_by_power_on_time() -> None:
    """The host is on half of the time, except for two weeks off after the second step."""
    calendar = {5: 5.0, 15: 10.0, 25: 15.0, 49: 20.0}
    looks = [
        WearObservation(EPOCH + day * DAY, powered * DAY, 0.1 + index / 100, 0.01)
        for index, (day, powered) in enumerate(calendar.items())
    ]
    wall = at([replace(seen, power_on_seconds=None) for seen in looks], 49)
    own = at(looks, 49)
    share = 15 / 44
    # There is no observation between the steps, so each lies half a step before one.
    assert pytest.approx((0.87 / 0.01 * 5 - 2.5) / share) == own.mid_seconds / DAY
    assert own.high_seconds - own.low_seconds < wall.high_seconds - wall.low_seconds


def test_gaps_between_observations_widen_the_estimate() -> None:
    """The same steps, observed every quarter of an hour or once in five days."""
    fine, coarse = (
        at(stepped(10, 20, 30), 35),
        at([look(d, 0.1 + d // 10 / 100) for d in range(0, 36, 5)], 35),
    )
    assert coarse.low_seconds < fine.low_seconds
    assert coarse.high_seconds > fine.high_seconds


@pytest.mark.parametrize("seen", [2, 13])
def test_a_rate_over_less_than_two_weeks_has_a_factor_of_two(seen: int) -> None:
    looks = [look(day, 0.5, written=10**13 + day * DAILY) for day in range(seen + 1)]
    low, mid, high = days(at(looks, seen))
    assert low <= mid / 2
    assert high >= mid * 2


@given(st.floats(0, 5), st.floats(0.01, 200))
def test_an_overdue_step_increases_the_estimate(more: float, later: float) -> None:
    """Before it is due, the remaining time decreases with the time that passes."""
    looks = stepped(10, 20, 30)
    before, after = at(looks, 30.1 + more), at(looks, 30.1 + more + later)
    gone = min(later, 9.9 - more) * DAY
    assert after.mid_seconds >= before.mid_seconds - gone - 1
    if more + later <= 9.8:
        assert pytest.approx(before.mid_seconds - later * DAY) == after.mid_seconds


@given(st.floats(5, 60), st.floats(1.05, 5))
def test_a_faster_drive_is_worn_out_earlier(every: float, faster: float) -> None:
    slow = at(stepped(*(10 + every * step for step in range(4))), 10 + every * 3.1)
    every /= faster
    fast = at(stepped(*(10 + every * step for step in range(4))), 10 + every * 3.1)
    assert fast.low_seconds < slow.low_seconds
    assert fast.mid_seconds < slow.mid_seconds
    assert fast.high_seconds < slow.high_seconds


@given(st.integers(0, 50), st.integers(1, 40))
def test_a_more_worn_drive_is_worn_out_earlier(used: int, more: int) -> None:
    young = at(stepped(10, 20, 31, first=used / 100), 33)
    old = at(stepped(10, 20, 31, first=(used + more) / 100), 33)
    assert old.low_seconds < young.low_seconds
    assert old.mid_seconds < young.mid_seconds
    assert old.high_seconds < young.high_seconds


_LOOKS = st.builds(
    WearObservation,
    at=st.floats(EPOCH - 500 * DAY, EPOCH + DAY),
    power_on_seconds=st.none() | st.floats(0, 1e11),
    used_ratio=st.none() | st.floats(0, 10) | st.sampled_from([0.1, 0.11, 0.12, 0.13, 0.14]),
    step_ratio=st.none() | st.sampled_from([0.01, 0.001]) | st.floats(0, 1),
    host_written_bytes=st.none() | st.integers(0, (1 << 63) - 1),
)


@settings(max_examples=examples(300))
@given(st.lists(_LOOKS, max_size=20), st.none() | st.integers(0, 1 << 70))
def test_any_observations_yield_a_valid_estimate_or_none(
    looks: list[WearObservation], rated: int | None
) -> None:
    """low <= mid <= high, within ten years, for any observations."""
    looks.sort(key=lambda seen: seen.at)
    found = estimate_wearout(looks, EPOCH, RULES, rated)
    if found is not None:
        assert 0 <= found.low_seconds <= found.mid_seconds <= found.high_seconds
        assert found.high_seconds <= RULES.max_seconds


#: A simulation: the load, the observed days, the resolution of the counter, and the method.
_RUNS = [
    (Load(0.001), 30, 0.01, WearoutMethod.STEPS),
    (Load(0.0003), 90, 0.01, WearoutMethod.STEPS),
    (Load(0.003), 30, 0.01, WearoutMethod.STEPS),
    (Load(0.001), 180, 0.01, WearoutMethod.STEPS),
    (Load(0.001, noise=1.0), 60, 0.01, WearoutMethod.STEPS),
    (Load(0.001, weekly=0.0, noise=0.0), 60, 0.01, WearoutMethod.STEPS),
    (Load(0.001), 20, 0.001, WearoutMethod.FRACTION),
    (Load(0.0003), 90, 0.001, WearoutMethod.FRACTION),
    (Load(0.001), 90, 0.0001, WearoutMethod.FRACTION),
    (Load(0.0003, begin=0.05), 2, 0.01, WearoutMethod.LIFETIME_RATIO),
    (Load(0.0003, begin=0.05), 5, 0.01, WearoutMethod.LIFETIME_RATIO),
    (Load(0.0005, begin=0.3, noise=1.0), 7, 0.01, WearoutMethod.LIFETIME_RATIO),
    (Load(0.0003, begin=0.3, noise=1.0), 40, 0.01, WearoutMethod.LIFETIME_RATIO),
]


@pytest.mark.parametrize(
    ("load", "seen_days", "step", "method"),
    _RUNS,
    ids=[f"{m.value} {load.rate:%} {d} d noise {load.noise}" for load, d, _, m in _RUNS],
)
def test_the_true_time_is_between_low_and_high(
    load: Load, seen_days: int, step: float, method: WearoutMethod
) -> None:
    """For at least four of five drives. The interval is designed for nine of ten."""
    chance, held, all_of_them = random.Random(7), 0, 0
    for _ in range(150):
        drive = SimulatedDrive(load, seen_days, chance)
        found = estimate_wearout(drive.looked_at(step), drive.now, UNCLAMPED)
        if found is not None and found.method is method:
            all_of_them += 1
            held += found.low_seconds <= drive.left_seconds <= found.high_seconds
    assert all_of_them >= 75
    assert held >= 0.8 * all_of_them


def naive_seconds(drive: SimulatedDrive) -> float:
    """The method of PromQL's deriv(): a line through every reading, four per day."""
    readings = [drive.reading(quarter / 4, 0.01) for quarter in range(drive.days * 4)]
    used = [seen.used_ratio or 0.0 for seen in readings]
    line = statistics.linear_regression([seen.at for seen in readings], used)
    return (1 - used[-1]) / line.slope


@pytest.mark.parametrize(("rate", "seen_days"), [(0.0003, 90), (0.0001, 390), (0.001, 30)])
def test_steps_are_more_precise_than_all_readings(rate: float, seen_days: int) -> None:
    """The median error is half as large, compared with the writes in the observed days."""
    chance = random.Random(3)
    ours, naive = [], []
    for _ in range(100):
        drive = SimulatedDrive(Load(rate, noise=0.2), seen_days, chance)
        real_rate = (drive.wear[-1] - drive.wear[0]) / seen_days
        truth = (1 - drive.wear[-1]) / real_rate * DAY
        found = estimate_wearout(drive.looked_at(), drive.now, UNCLAMPED)
        if found is not None and found.method is WearoutMethod.STEPS:
            ours.append(abs(found.mid_seconds / truth - 1))
            naive.append(abs(naive_seconds(drive) / truth - 1))
    assert len(ours) >= 50
    assert statistics.median(ours) < 0.75 * statistics.median(naive)


def test_a_load_that_has_changed_is_in_the_bounds_within_days() -> None:
    """0.1 % a day for 300 days, and then 0.4 % a day for 8 days: about 57 % are left."""
    looks = []
    used, written = 0.1, 10**14
    for day in range(308):
        looks.append(look(day, int(used * 100 + 1e-9) / 100, written=written))
        load = 4 if day >= 300 else 1
        used, written = used + 0.001 * load, written + DAILY * load
    found = estimate_wearout(looks, looks[-1].at, RULES)
    assert found is not None
    left_days = (1 - used) / 0.004
    assert found.low_seconds / DAY <= left_days <= found.high_seconds / DAY
    assert found.mid_seconds / DAY == pytest.approx(left_days, rel=0.3)


def test_a_fast_increase_that_goes_on_for_days_is_wear() -> None:
    """10 % a day for three days: about six days are left."""
    looks = [look(part / 8, round(0.1 + int(part * 1.25) / 100, 4)) for part in range(24)]
    found = estimate_wearout(looks, looks[-1].at, RULES)
    assert found is not None
    assert not found.suspect
    assert 2 <= found.low_seconds / DAY <= 7 <= found.high_seconds / DAY + 1


def test_the_interval_narrows_with_time() -> None:
    """The interval of the line after one month is wider than after one year.

    The scatter of the recent write rate does not depend on the length of the history.
    """
    drive = SimulatedDrive(Load(0.001), 360, random.Random(1))
    looks = [replace(seen, host_written_bytes=None) for seen in drive.looked_at()]
    widths = []
    for day in (45, 120, 360):
        now = EPOCH + day * DAY
        found = estimate_wearout([seen for seen in looks if seen.at <= now], now, UNCLAMPED)
        assert found is not None
        widths.append((found.high_seconds - found.low_seconds) / found.mid_seconds)
    assert all(later < before for before, later in itertools.pairwise(widths))


@pytest.mark.parametrize(
    ("looks", "reason"),
    [
        ([], "no wear history yet"),
        ([look(0, None, None)], "no wear history yet"),
        (
            [look(0, 0.01), look(0.5, 0.01)],
            "the wear history covers 12 hours; at least 24 hours are needed",
        ),
        (
            [look(0, 0.01), look(9, 0.01)],
            "the wear history covers 9 days; 3 % wear, or 3 increases of it, are needed",
        ),
        (
            [look(0, 0.1), look(9, 0.1)],
            "the wear history covers 9 days; writes of the host are needed",
        ),
        (
            [look(0, 0.1, 0.001), look(9, 0.1, 0.001)],
            "the wear history covers 9 days; at least 14 days with measurable wear are needed",
        ),
    ],
)
def test_a_missing_estimate_has_a_reason(looks: list[WearObservation], reason: str) -> None:
    now = EPOCH + 9 * DAY
    assert estimate_wearout(looks, now, RULES) is None
    assert reason == missing_reason(looks, now, RULES)


def test_the_last_increases_widen_the_range_if_they_show_another_rate() -> None:
    """The write amplification doubled or halved; the bytes of the host do not show it."""
    before = [10.0 * n for n in range(20)]
    faster = [*before, *(190 + 5.0 * n for n in range(1, 7))]
    slower = [*before, *(190 + 20.0 * n for n in range(1, 4))]
    left = 100 - 10 - 26
    assert days(at(stepped(*faster), 221, RULES))[0] < 5 * left
    left = 100 - 10 - 23
    assert days(at(stepped(*slower), 251, RULES))[2] > 20 * left


def test_a_history_of_few_days_gives_wider_bounds_than_one_of_weeks() -> None:
    few = days(at(stepped(*(0.1 * n for n in range(40))), 4, RULES))
    many = days(at(stepped(*(1.0 * n for n in range(40))), 40, RULES))
    assert few[2] / few[1] > 1.4
    assert many[2] / many[1] < 1.3
