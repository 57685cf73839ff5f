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


def observed(
    at: float, used_ratio: float | None = 0.1, step_ratio: float = 0.01
) -> WearObservation:
    return WearObservation(MORNING + at, 1e6 + at, used_ratio, step_ratio, 10**12, 2 * 10**12)


@pytest.fixture
def history(tmp_path: Path) -> WearHistory:
    return WearHistory.open(tmp_path / "history.sqlite")


def kept(history: WearHistory, tmp_path: Path, key: str = KEY) -> tuple[WearObservation, ...]:
    """Returns the observations that a later process reads."""
    history.close()
    return WearHistory.open(tmp_path / "history.sqlite").observations(key)


def test_the_first_observation_of_a_drive_adds_a_row(history: WearHistory, tmp_path: Path) -> None:
    assert history.record(KEY, observed(0))
    assert (observed(0),) == kept(history, tmp_path)


def test_a_drive_at_one_wear_level_adds_one_row_a_day(history: WearHistory, tmp_path: Path) -> None:
    """The day is that of UTC, so all drives add their row in the same round."""
    added = [history.record(KEY, observed(hour * 3600)) for hour in range(3 * 24)]
    assert [0, 18, 42, 66] == [hour for hour, row in enumerate(added) if row]
    assert [observed(hour * 3600) for hour in (0, 18, 42, 66)] == list(kept(history, tmp_path))


def test_a_step_keeps_the_observations_before_and_after_it(
    history: WearHistory, tmp_path: Path
) -> None:
    for minutes in range(0, 120, 15):
        history.record(KEY, observed(minutes * 60, 0.1 if minutes < 60 else 0.11))
    expected = (observed(0), observed(45 * 60, 0.1), observed(60 * 60, 0.11))
    assert expected == kept(history, tmp_path)


def test_a_level_that_is_missing_once_is_not_a_step(history: WearHistory, tmp_path: Path) -> None:
    for minutes, used in ((0, 0.1), (15, None), (30, 0.1), (45, None), (60, 0.1)):
        history.record(KEY, observed(minutes * 60, used))
    assert (observed(0),) == kept(history, tmp_path)


def test_a_fine_counter_that_always_changes_adds_one_row_a_day(
    history: WearHistory, tmp_path: Path
) -> None:
    for quarter in range(4 * 24):
        history.record(KEY, observed(quarter * 900, 0.1 + quarter * 0.001, 0.001))
    assert 2 == len(kept(history, tmp_path))


def test_a_level_that_flaps_does_not_fill_the_file(history: WearHistory, tmp_path: Path) -> None:
    for minute in range(12 * 60):
        history.record(KEY, observed(minute * 60, 0.1 + 0.01 * (minute % 2)))
    assert len(kept(history, tmp_path)) <= ROWS_PER_DAY


def test_the_last_observation_follows_the_rows(history: WearHistory) -> None:
    history.record(KEY, observed(0))
    history.record(KEY, observed(900))
    history.flush()
    assert (observed(0), observed(900)) == history.observations(KEY)


def test_another_drive_has_another_history(history: WearHistory, tmp_path: Path) -> None:
    """A replaced drive has another WWN, so it has its own history."""
    history.record(KEY, observed(0, 0.9))
    history.record("naa.5002538e40ffffff", observed(900, 0.0))
    assert (observed(900, 0.0),) == history.observations("naa.5002538e40ffffff")
    assert (observed(0, 0.9),) == kept(history, tmp_path)


def test_a_restart_continues_the_history(tmp_path: Path) -> None:
    for minutes, used in ((0, 0.1), (15, 0.1), (30, 0.11), (45, 0.11)):
        history = WearHistory.open(tmp_path / "history.sqlite")
        history.record(KEY, observed(minutes * 60, used))
        history.close()
    expected = (observed(0), observed(30 * 60, 0.11))
    assert expected == WearHistory.open(tmp_path / "history.sqlite").observations(KEY)


def test_400_days_are_kept(history: WearHistory, tmp_path: Path) -> None:
    for day in range(450):
        history.record(KEY, observed(day * DAY))
        if day % 10 == 0:
            history.flush()
    rows = kept(history, tmp_path)
    assert rows[-1].at == observed(449 * DAY).at
    assert KEPT_SECONDS <= rows[-1].at - rows[0].at <= KEPT_SECONDS + DAY


def test_a_drive_keeps_a_bounded_number_of_rows(history: WearHistory, tmp_path: Path) -> None:
    for step in range(3 * ROWS_PER_DRIVE):
        history.record(KEY, observed(step * DAY / 4, 0.01 * (step % 3)))
        if step % 100 == 0:
            history.flush()
    rows = kept(history, tmp_path)
    assert ROWS_PER_DRIVE == len(rows)
    assert observed((3 * ROWS_PER_DRIVE - 1) * DAY / 4).at == rows[-1].at


def test_a_bounded_number_of_drives_is_kept(history: WearHistory, tmp_path: Path) -> None:
    """A forged document may name another drive every time."""
    history.record("seen again", observed(-3 * DAY))
    history.record("seen again", observed(-2 * DAY))
    for number in range(DRIVES + 100):
        history.record(f"forged {number}", observed(number))
    history.record("seen again", observed(DAY))
    history.flush()
    assert () != history.observations("seen again")
    assert () == kept(history, tmp_path, "forged 0")


def test_a_drive_without_observations_for_400_days_is_deleted(
    history: WearHistory, tmp_path: Path
) -> None:
    history.record("gone", observed(0))
    history.close()
    history = WearHistory.open(tmp_path / "history.sqlite")
    for day in range(405):
        history.record(KEY, observed(day * DAY))
        history.flush()
    assert () == kept(history, tmp_path, "gone")


def test_observations_with_a_clock_that_is_behind_are_omitted(
    history: WearHistory, tmp_path: Path
) -> None:
    """A machine can start with a wrong clock, which NTP corrects later."""
    history.record(KEY, observed(0))
    assert not history.record(KEY, observed(-30 * DAY))
    assert not history.record(KEY, observed(-30 * DAY + 900, 0.5))
    history.record(KEY, observed(DAY))
    assert (observed(0), observed(DAY)) == kept(history, tmp_path)


@pytest.mark.parametrize("flushed", [True, False])
def test_after_a_clock_that_was_ahead_one_day_is_lost(
    history: WearHistory, tmp_path: Path, flushed: bool
) -> None:
    for at in (0.0, DAY, 20_000 * DAY, 2 * DAY, 2.5 * DAY, 3 * DAY, 4 * DAY):
        history.record(KEY, observed(at))
        if flushed:
            history.flush()
    assert (
        observed(0),
        observed(DAY),
        observed(3 * DAY),
        observed(4 * DAY),
    ) == history.observations(KEY)
    assert (observed(0), observed(DAY), observed(3 * DAY), observed(4 * DAY)) == kept(
        history, tmp_path
    )


def test_one_observation_with_a_clock_that_is_ahead_deletes_no_rows(
    history: WearHistory, tmp_path: Path
) -> None:
    for day in range(300):
        history.record(KEY, observed(day * DAY))
    history.flush()
    history.record(KEY, observed(20_000 * DAY))
    history.record("another", observed(20_000 * DAY))
    history.flush()
    assert 301 == len(kept(history, tmp_path))


def test_implausible_values_are_not_stored(history: WearHistory, tmp_path: Path) -> None:
    """NVMe counters have 128 bits, and a damaged report can contain any value."""
    history.record(
        KEY, WearObservation(MORNING, float("nan"), float("inf"), -1.0, 1 << 127, -(1 << 70))
    )
    assert (WearObservation(MORNING),) == kept(history, tmp_path)


def test_an_observation_with_an_invalid_time_is_refused(history: WearHistory) -> None:
    for at in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ValueError, match="is not a valid instant"):
            history.record(KEY, replace(observed(0), at=at))


@pytest.mark.parametrize("key", ["", "\ud800", "\0", "x" * 100_000, "'; DROP TABLE drive; --"])
def test_a_key_may_be_any_text(history: WearHistory, tmp_path: Path, key: str) -> None:
    history.record(key, observed(0))
    assert (observed(0),) == kept(history, tmp_path, key)


_OBSERVATIONS = st.builds(
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
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), _OBSERVATIONS, st.booleans()), max_size=12))
def test_a_later_process_reads_the_same_observations(
    tmp_path: Path, observations: list[tuple[str, WearObservation, bool]]
) -> None:
    """Except a last observation without a row. The times are in any order, flushed or not."""
    path = tmp_path / "history.sqlite"
    path.unlink(missing_ok=True)
    history = WearHistory.open(path)
    for key, seen, flush in observations:
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
