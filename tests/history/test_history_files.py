"""The files of the I/O history: restarts, kill -9, full disks, traps, clocks, limits."""

import logging
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.config.history_settings import HistorySettings
from exporter.history.history_files import MAX_FILE_BYTES, HistoryFiles
from exporter.history.minute_recorder import MinuteRecorder
from exporter.io.verdict import Verdict
from exporter.pages.past.past_reader import collected
from exporter.pages.past.time_range import KINDS, TimeRange
from tests.history.simulated_host import MIDNIGHT, SimulatedHost, identity, io
from tests.runtime.test_untrusted_file import TRAPS

MINUTE = int(MIDNIGHT // 60)
BUSY = {"sda": io(read=1e6)}
DAY_FILE, MONTH_FILE = "minutes-2026-11-22.io", "hours-2026-11.io"


def minutes(its: SimulatedHost, name: str = "sda") -> list[int]:
    """Returns the minutes of a drive, counted from midnight."""
    found = its.history.minutes(MINUTE - 3000, MINUTE + 3000, identity(name))
    known = [each.ordinal for each in found if identity(name) in each.drives]
    return sorted(number - MINUTE for number in known)


def hours(its: SimulatedHost) -> list[int]:
    last = int(its.clock.wall() // 3600) + 2
    found = its.history.hours(last - 100, last, identity("sda"))
    return sorted(each.ordinal - MINUTE // 60 for each in found if each.drives)


@contextmanager
def files_up_to(size_bytes: int) -> Iterator[None]:
    """Context manager in which a write(2) beyond this size of a file fails, after a part of it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_orderly_restart_loses_only_the_minute_that_has_not_ended(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(5 * 60 + 30, BUSY)
    its.restart(orderly=True)
    assert [0, 1, 2, 3, 4] == minutes(its)
    its.seconds(5 * 60, BUSY)
    assert list(range(10)) == minutes(its)


def test_a_kill_loses_at_most_twenty_minutes_and_ten_after_a_bottleneck(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(59 * 60, BUSY)
    its.restart(orderly=False)
    assert len(minutes(its)) >= 38
    its.seconds(59 * 60, BUSY, {"sda": Verdict.DEVICE})
    its.restart(orderly=False)
    assert minutes(its)[-1] >= 59 + 59 - 12


def test_a_kill_between_any_two_writes_leaves_whole_minutes(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    for _ in range(4):
        its.seconds(35 * 60, BUSY)
        before = minutes(its)
        its.restart(orderly=False)
        after = minutes(its)
        assert after == before[: len(after)]
        assert len(after) == len(set(after))


def test_a_write_that_was_cut_at_any_byte_costs_only_itself(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    path = tmp_path / "history" / DAY_FILE
    its.seconds(20 * 60, BUSY)
    first = path.stat().st_size
    its.seconds(20 * 60, BUSY)
    whole = path.read_bytes()
    for length in range(first, len(whole), 7):
        path.write_bytes(whole[:length])
        its.start()
        assert list(range(19)) == minutes(its)
        with path.open("ab") as file:
            file.write(whole[:first])
        assert sorted([*range(19), *range(19)]) == minutes(its), length


def test_hours_are_written_when_they_have_ended_also_over_restarts(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(90 * 60, BUSY)
    its.restart(orderly=True)
    its.seconds(100 * 60, BUSY)
    assert [0, 1, 2, 3] == hours(its)
    files = HistoryFiles(tmp_path, MinuteRecorder(its.sampler), days=7, months=2)
    written = files.hours(MINUTE // 60, MINUTE // 60 + 9)
    whole = {each.ordinal - MINUTE // 60: each for each in written.values()}
    assert [0, 1, 2] == sorted(whole)
    assert whole[1].seconds == pytest.approx(3600, abs=70)
    assert whole[1].drives[identity("sda")].read_bytes == pytest.approx(1e6, rel=0.01)


def test_days_have_files_of_their_own_and_old_ones_are_deleted(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"], settings=HistorySettings(days=2, months=1))
    for _ in range(75):
        its.seconds(20 * 60, BUSY)
        its.clock.advance(86400 - 20 * 60)
        its.sampler.recent.begin((None, None), None, missed=300)
    names = sorted(its.files())
    assert 2 == sum(name.startswith("hours") for name in names)
    assert 3 == sum(name.startswith("minutes") for name in names)
    assert "hours-2027-02.io" in names


def test_a_clock_that_was_years_ahead_costs_one_day(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    for _ in range(9):
        its.seconds(20 * 60, BUSY)
        its.clock.advance(86400 - 20 * 60)
        its.sampler.recent.begin((None, None), None, missed=300)
    before = {name for name in its.files() if name.startswith("minutes")}
    its.clock.step_wall(1e9)
    its.seconds(30 * 60, BUSY)
    its.clock.step_wall(-1e9)
    its.seconds(30 * 60, BUSY)
    after = set(its.files())
    assert 8 == len(before)
    assert len(before - after) <= 2


def test_a_clock_that_was_set_back_shows_each_minute_once(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(60 * 60, BUSY)
    its.clock.step_wall(-1800)
    its.seconds(90 * 60, {"sda": io(read=3e6)})
    shown = TimeRange(KINDS["hour"], int(MIDNIGHT) + 3600, is_latest=False)
    periods = its.history.minutes(MINUTE, MINUTE + 59, identity("sda"))
    points = collected(periods, identity("sda"), shown, 60)
    rates = [None if each is None else round(each.io.read_bytes / 1e6) for each in points]
    assert [1] * 29 == rates[:29]
    assert [2] * 28 == rates[31:59]
    assert [0, 1] == hours(its)[:2]


def test_a_full_disk_is_reported_once_and_writing_resumes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(40 * 60, BUSY)
    size = its.files()[DAY_FILE]
    with files_up_to(size + 20):
        its.seconds(60 * 60, BUSY)
        assert size == its.files()[DAY_FILE]
        assert "cannot be written: File too large. The last minutes" in its.history.problem
    its.seconds(20 * 60, BUSY)
    assert "" == its.history.problem
    assert list(range(119)) == minutes(its)[:119]
    messages = [record.getMessage() for record in caplog.records]
    assert 1 == sum("cannot be written: File too large" in text for text in messages)
    assert 1 == sum("can be written again" in text for text in messages)


@pytest.mark.parametrize(
    ("trap", "place"),
    [
        (trap, place)
        for trap in TRAPS
        for place in ("folder", DAY_FILE, MONTH_FILE)
        if (trap, place) != ("directory", "folder")
    ],
)
def test_what_is_no_file_is_neither_read_nor_written(
    tmp_path: Path, trap: str, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    prepare, word = TRAPS[trap]
    if place == "folder":
        prepare(folder / "history")
    else:
        (folder / "history").mkdir()
        prepare(folder / "history" / place)
    its = SimulatedHost(folder, ["sda"])
    its.seconds(70 * 60, BUSY)
    assert len(minutes(its)) >= 60
    assert isinstance(its.history.events(its.clock.wall()), list)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert 1 == len(warnings)
    expected = "not a directory" if place == "folder" else word
    assert expected in warnings[0].getMessage().lower()


def test_the_files_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(130 * 60, BUSY)
    folder = tmp_path / "history"
    assert {DAY_FILE, MONTH_FILE} == set(os.listdir(folder))
    for path in folder.iterdir():
        assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)


def test_a_file_has_a_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    its = SimulatedHost(tmp_path, ["sda"])
    its.seconds(30 * 60, BUSY)
    os.truncate(tmp_path / "history" / DAY_FILE, MAX_FILE_BYTES - 10)
    its.seconds(60 * 60, BUSY)
    assert MAX_FILE_BYTES - 10 == its.files()[DAY_FILE]
    assert "would be larger than" in caplog.text
    assert len(minutes(its)) >= 60
