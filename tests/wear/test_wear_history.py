"""Tests of the wear history: which observations add rows, and when rows are deleted."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.wear.wear_database import DRIVES
from exporter.wear.wear_history import KEPT_SECONDS, ROWS_PER_DAY, WearHistory
from exporter.wear.wear_tables import ROWS_PER_DRIVE
from tests.fuzz import examples

#: 2026-01-05, 06:00 UTC.
MORNING = 1_767_592_800.0

KEY = "naa.5002538e40a1b2c3"


def look(at: float, used_ratio: float | None = 0.1, step_ratio: float = 0.01) -> WearObservation:
    return WearObservation(MORNING + at, 1e6 + at, used_ratio, step_ratio, 10**12, 2 * 10**12)


@pytest.fixture
def history(tmp_path: Path) -> WearHistory:
    return WearHistory.open(tmp_path / "history.sqlite")


def kept(history: WearHistory, tmp_path: Path, key: str = KEY) -> tuple[WearObservation, ...]:
    """What a later process finds."""
    history.close()
    return WearHistory.open(tmp_path / "history.sqlite").observations(key)


def test_the_first_look_at_a_drive_makes_a_row(history: WearHistory, tmp_path: Path) -> None:
    assert history.record(KEY, look(0))
    assert (look(0),) == kept(history, tmp_path)


def test_a_drive_at_one_level_makes_one_row_a_day(history: WearHistory, tmp_path: Path) -> None:
    """The day is UTC's, so that all drives write their row in one round."""
    made = [history.record(KEY, look(hour * 3600)) for hour in range(3 * 24)]
    assert [0, 18, 42, 66] == [hour for hour, row in enumerate(made) if row]
    assert [look(hour * 3600) for hour in (0, 18, 42, 66)] == list(kept(history, tmp_path))


def test_a_step_leaves_the_look_before_and_the_look_after(
    history: WearHistory, tmp_path: Path
) -> None:
    for minutes in range(0, 120, 15):
        history.record(KEY, look(minutes * 60, 0.1 if minutes < 60 else 0.11))
    expected = (look(0), look(45 * 60, 0.1), look(60 * 60, 0.11))
    assert expected == kept(history, tmp_path)


def test_a_level_that_is_missing_once_is_not_a_step(history: WearHistory, tmp_path: Path) -> None:
    for minutes, used in ((0, 0.1), (15, None), (30, 0.1), (45, None), (60, 0.1)):
        history.record(KEY, look(minutes * 60, used))
    assert (look(0),) == kept(history, tmp_path)


def test_a_fine_counter_makes_one_row_a_day_though_it_always_changes(
    history: WearHistory, tmp_path: Path
) -> None:
    for quarter in range(4 * 24):
        history.record(KEY, look(quarter * 900, 0.1 + quarter * 0.001, 0.001))
    assert 2 == len(kept(history, tmp_path))


def test_a_level_that_flaps_does_not_fill_the_file(history: WearHistory, tmp_path: Path) -> None:
    for minute in range(12 * 60):
        history.record(KEY, look(minute * 60, 0.1 + 0.01 * (minute % 2)))
    assert len(kept(history, tmp_path)) <= ROWS_PER_DAY


def test_the_last_look_follows_the_rows(history: WearHistory) -> None:
    history.record(KEY, look(0))
    history.record(KEY, look(900))
    history.flush()
    assert (look(0), look(900)) == history.observations(KEY)


def test_another_drive_is_another_history(history: WearHistory, tmp_path: Path) -> None:
    """A replaced drive has another WWN, so it has its own history."""
    history.record(KEY, look(0, 0.9))
    history.record("naa.5002538e40ffffff", look(900, 0.0))
    assert (look(900, 0.0),) == history.observations("naa.5002538e40ffffff")
    assert (look(0, 0.9),) == kept(history, tmp_path)


def test_a_restart_goes_on_where_the_last_process_stopped(tmp_path: Path) -> None:
    for minutes, used in ((0, 0.1), (15, 0.1), (30, 0.11), (45, 0.11)):
        history = WearHistory.open(tmp_path / "history.sqlite")
        history.record(KEY, look(minutes * 60, used))
        history.close()
    expected = (look(0), look(30 * 60, 0.11))
    assert expected == WearHistory.open(tmp_path / "history.sqlite").observations(KEY)


def test_400_days_are_kept(history: WearHistory, tmp_path: Path) -> None:
    for day in range(450):
        history.record(KEY, look(day * DAY))
        if day % 10 == 0:
            history.flush()
    rows = kept(history, tmp_path)
    assert rows[-1].at == look(449 * DAY).at
    assert KEPT_SECONDS <= rows[-1].at - rows[0].at <= KEPT_SECONDS + DAY


def test_a_drive_keeps_a_bounded_number_of_rows(history: WearHistory, tmp_path: Path) -> None:
    for step in range(3 * ROWS_PER_DRIVE):
        history.record(KEY, look(step * DAY / 4, 0.01 * (step % 3)))
        if step % 100 == 0:
            history.flush()
    rows = kept(history, tmp_path)
    assert ROWS_PER_DRIVE == len(rows)
    assert look((3 * ROWS_PER_DRIVE - 1) * DAY / 4).at == rows[-1].at


def test_a_bounded_number_of_drives_is_kept(history: WearHistory, tmp_path: Path) -> None:
    """A forged document may name another drive every time."""
    history.record("seen again", look(-3 * DAY))
    history.record("seen again", look(-2 * DAY))
    for number in range(DRIVES + 100):
        history.record(f"forged {number}", look(number))
    history.record("seen again", look(DAY))
    history.flush()
    assert () != history.observations("seen again")
    assert () == kept(history, tmp_path, "forged 0")


def test_a_drive_that_has_been_gone_for_400_days_is_forgotten(
    history: WearHistory, tmp_path: Path
) -> None:
    history.record("gone", look(0))
    history.close()
    history = WearHistory.open(tmp_path / "history.sqlite")
    for day in range(405):
        history.record(KEY, look(day * DAY))
        history.flush()
    assert () == kept(history, tmp_path, "gone")


def test_looks_while_the_clock_stands_back_are_left_out(
    history: WearHistory, tmp_path: Path
) -> None:
    """A machine that starts with a wrong clock, until NTP has set it."""
    history.record(KEY, look(0))
    assert not history.record(KEY, look(-30 * DAY))
    assert not history.record(KEY, look(-30 * DAY + 900, 0.5))
    history.record(KEY, look(DAY))
    assert (look(0), look(DAY)) == kept(history, tmp_path)


@pytest.mark.parametrize("flushed", [True, False])
def test_a_clock_that_ran_ahead_and_was_set_right_costs_a_day(
    history: WearHistory, tmp_path: Path, flushed: bool
) -> None:
    for at in (0.0, DAY, 20_000 * DAY, 2 * DAY, 2.5 * DAY, 3 * DAY, 4 * DAY):
        history.record(KEY, look(at))
        if flushed:
            history.flush()
    assert (look(0), look(DAY), look(3 * DAY), look(4 * DAY)) == history.observations(KEY)
    assert (look(0), look(DAY), look(3 * DAY), look(4 * DAY)) == kept(history, tmp_path)


def test_a_clock_that_is_ahead_for_a_round_drops_no_year(
    history: WearHistory, tmp_path: Path
) -> None:
    for day in range(300):
        history.record(KEY, look(day * DAY))
    history.flush()
    history.record(KEY, look(20_000 * DAY))
    history.record("another", look(20_000 * DAY))
    history.flush()
    assert 301 == len(kept(history, tmp_path))


def test_implausible_values_are_not_stored(history: WearHistory, tmp_path: Path) -> None:
    """NVMe counts in 128 bits; a garbled report says anything."""
    history.record(
        KEY, WearObservation(MORNING, float("nan"), float("inf"), -1.0, 1 << 127, -(1 << 70))
    )
    assert (WearObservation(MORNING),) == kept(history, tmp_path)


def test_an_observation_with_an_invalid_time_is_refused(history: WearHistory) -> None:
    for at in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ValueError, match="is not a valid instant"):
            history.record(KEY, replace(look(0), at=at))


@pytest.mark.parametrize("key", ["", "\ud800", "\0", "x" * 100_000, "'; DROP TABLE drive; --"])
def test_a_key_may_be_any_text(history: WearHistory, tmp_path: Path, key: str) -> None:
    history.record(key, look(0))
    assert (look(0),) == kept(history, tmp_path, key)


_LOOKS = st.builds(
    WearObservation,
    at=st.floats(0, 300 * DAY),
    power_on_seconds=st.none() | st.floats(),
    used_ratio=st.none() | st.floats(),
    step_ratio=st.none() | st.sampled_from([0.01, 0.001, 0.05]) | st.floats(),
    host_written_bytes=st.none() | st.integers(),
    nand_written_bytes=st.none() | st.integers(),
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(50),
)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), _LOOKS, st.booleans()), max_size=12))
def test_a_later_process_finds_what_this_one_knew(
    tmp_path: Path, looks: list[tuple[str, WearObservation, bool]]
) -> None:
    """Everything except a last look without a row; in any order of time, flushed or not."""
    path = tmp_path / "history.sqlite"
    path.unlink(missing_ok=True)
    history = WearHistory.open(path)
    for key, seen, flush in looks:
        history.record(key, seen)
        if flush:
            history.flush()
    known = {key: history.observations(key) for key in ("a", "b")}
    history.close()
    later = WearHistory.open(path)
    for key, expected in known.items():
        found = [seen.at for seen in later.observations(key)]
        expected_at = [seen.at for seen in expected]
        assert found in (expected_at, expected_at[:-1])
    later.close()
