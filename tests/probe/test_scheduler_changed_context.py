"""Tests probes whose file, directory, disk, clock or budget changed since the last run."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.config.profiles import MIB
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.steady_state import SteadyPhase
from tests import mounts
from tests.probe.probing import Rig
from tests.required import lacking

SLOT = 300.0
DAY = 86_400.0
FILE = "ssd-exporter-probe-nvme0n1"

#: Of the slots without page_write, in bytes charged.
SLOT_BYTES = 2 * 200 * 4096


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def _as_root(do: Callable[[], object]) -> None:
    try:
        do()
    except PermissionError:
        lacking("makes device nodes and files of someone else")


def _of_someone_else(path: Path) -> None:
    path.write_bytes(b"1")
    os.chown(path, 12345, 12345)


REPLACED: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda path, other: path.symlink_to(other),
    "a link to nothing": lambda path, other: path.symlink_to(other / "nothing"),
    "a disk": lambda path, _: os.mknod(path, 0o060600, os.makedev(240, 250)),
    "a terminal": lambda path, _: os.mknod(path, 0o020600, os.makedev(240, 250)),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a directory": lambda path, _: path.mkdir(),
    "a second name": lambda path, other: path.hardlink_to(other),
    "someone else's": lambda path, _: _of_someone_else(path),
}


@pytest.mark.parametrize("what", REPLACED)
def test_a_file_that_was_replaced_between_two_runs_is_not_used(
    rig: Rig, tmp_path: Path, what: str
) -> None:
    rig.run()
    precious, file = tmp_path / "precious", rig.path / FILE
    precious.write_bytes(b"data")
    file.unlink()
    _as_root(lambda: REPLACED[what](file, precious))
    before = rig.spent()
    found = os.lstat(file)
    rig.run(SLOT)
    assert {Reason.FILESYSTEM: 1} == rig.skipped() == rig.skipped("page_read")
    assert 1 == len(rig.fio.ran)
    assert before == rig.spent()
    assert (found.st_mode, found.st_ino) == (os.lstat(file).st_mode, os.lstat(file).st_ino)
    assert b"data" == precious.read_bytes()
    shutil.rmtree(file) if what == "a directory" else file.unlink()
    rig.run(SLOT)
    assert 2 == len(rig.fio.ran), "and probed again when it has gone"


@pytest.mark.parametrize("what", ["a link", "open to others", "someone else's", "a file"])
def test_a_directory_that_was_replaced_is_not_used(rig: Rig, tmp_path: Path, what: str) -> None:
    rig.run()
    moved = tmp_path / "moved"
    if what == "open to others":
        rig.path.chmod(0o777)
    elif what == "someone else's":
        _as_root(lambda: os.chown(rig.path, 12345, 12345))
    else:
        rig.path.rename(moved)
        rig.path.symlink_to(moved) if what == "a link" else rig.path.write_bytes(b"data")
    rig.run(SLOT)
    assert {Reason.FILESYSTEM: 1} == rig.skipped()
    assert 1 == len(rig.fio.ran)


def test_a_directory_without_a_parent_is_skipped_and_not_created(rig: Rig, tmp_path: Path) -> None:
    rig.begin(tmp_path / "data" / "probe")
    rig.run_unfit()
    assert {Reason.FILESYSTEM: 1} == rig.skipped()
    assert not (tmp_path / "data").exists()
    (tmp_path / "data").mkdir()
    rig.run(SLOT)
    assert {ProfileResult.SUCCESS: 1} == rig.runs()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 8 MiB."""
    with ExitStack() as mounted:
        try:
            mountpoint = mounted.enter_context(mounts.small_disk(tmp_path, 8 * MIB))
        except (OSError, subprocess.CalledProcessError) as e:
            lacking(f"no filesystem of a file: {e}")
        yield mountpoint


@pytest.mark.real
def test_a_disk_that_became_read_only_is_not_probed(rig: Rig, small_disk: Path) -> None:
    rig.begin(small_disk / "probe").run()
    (small_disk / "probe" / FILE).unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    before = rig.spent()
    rig.run(SLOT)
    assert {Reason.FILESYSTEM: 1} == rig.skipped()
    assert 1 == len(rig.fio.ran)
    # Nothing could be written, but the first chunk is charged in any case.
    assert rig.spent()["serial of nvme0n1"] - before["serial of nvme0n1"] <= 2 * MIB
    rig.mount(options="ro")
    rig.run(SLOT)
    assert {Reason.FILESYSTEM: 2} == rig.skipped()


@pytest.mark.real
def test_a_disk_without_space_for_the_file_is_not_left_full(rig: Rig, small_disk: Path) -> None:
    rig.begin(small_disk / "probe")
    (small_disk / "others").write_bytes(bytes(5 * MIB))
    free = os.statvfs(small_disk).f_bfree
    rig.run()
    assert {Reason.NO_SPACE: 1} == rig.skipped()
    assert free - os.statvfs(small_disk).f_bfree <= 2
    assert [] == rig.fio.ran


@pytest.mark.parametrize("seconds", [-10 * DAY, -3600.0, 3600.0, 10 * DAY, 100 * 365 * DAY])
def test_a_clock_step_during_a_probe_loses_no_byte_and_no_run(rig: Rig, seconds: float) -> None:
    rig.run()
    before = rig.spent()["serial of nvme0n1"]
    rig.fio.meanwhile = lambda: rig.clock.step_wall(seconds)
    rig.run(SLOT)
    rig.fio.meanwhile = lambda: None
    after = rig.spent()["serial of nvme0n1"]
    assert after in (before + SLOT_BYTES, SLOT_BYTES), "of the same day, or of another one"
    assert 0 < rig.of("page_read").last_run_at == rig.clock.wall()  # type: ignore[operator]
    rig.run(SLOT)
    assert {ProfileResult.SUCCESS: 3} == rig.runs("page_read")


def test_a_temporarily_wrong_clock_loses_only_the_rounds_of_that_time(rig: Rig) -> None:
    for _ in range(5):
        rig.run()
    rig.clock.step_wall(365 * DAY)
    rig.run()
    rig.clock.step_wall(-365 * DAY)
    for _ in range(5):
        rig.run(DAY)
    steady = rig.of("page_read").steady_state
    assert steady is not None
    assert SteadyPhase.STEADY is steady.phase


@pytest.mark.parametrize("text", ['{"version":2,"day":1}', '{"version":1', ""])
def test_with_an_invalid_budget_only_reads_run_today(
    rig: Rig, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig.run()
    (rig.state / "probe-budget.json").write_text(text)
    rig.begin().run()
    assert {Reason.BUDGET: 1} == rig.skipped("fsync") == rig.skipped("page_write")
    assert [("page_read",)] == rig.fio.ran[1:]
    (aside,) = rig.state.glob("probe-budget.json.kept-*")
    assert text == aside.read_text()
    assert aside.name in caplog.text
    rig.run(DAY)
    assert ("fsync", "page_read", "page_write") == rig.fio.ran[-1]


def test_a_budget_dated_in_the_future_counts_as_spent(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.run()
    path = rig.state / "probe-budget.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "day": kept["day"] + 365}))
    rig.begin().run()
    assert {Reason.BUDGET: 1} == rig.skipped()
    assert "dated in the future" in caplog.text
    rig.run(DAY)
    assert ("fsync", "page_read", "page_write") == rig.fio.ran[-1]
