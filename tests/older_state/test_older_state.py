"""Today's version reads the state files that an older commit wrote: nothing is lost or renamed."""

import json
import logging
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from exporter.probe import slc_results
from exporter.probe.budget import ProbeBudget
from exporter.probe.host_lock import ProbePidFile
from exporter.runtime.state import StateFile
from exporter.wear.wear_database import HISTORY_FILE, WearDatabase
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.waiting import await_page
from tests.fakes import FakeClock
from tests.test_saved_state import Started

_DAY = 86_400
_BOOT_ID = "2f5c1d0e-0000-4000-8000-000000000001"
_FOLDERS = [path for path in Path(__file__).parent.iterdir() if (path / "drives").is_dir()]


@pytest.fixture(params=sorted(_FOLDERS), ids=lambda path: path.name)
def files(request: pytest.FixtureRequest) -> Path:
    """The files that a commit wrote."""
    return Path(request.param)


@pytest.fixture
def drives(files: Path, tmp_path: Path) -> Path:
    """A state directory with the files of drives."""
    state = Path(shutil.copytree(files / "drives", tmp_path / "daemon" / "state"))
    # The daemon deletes rows of more than 400 days: they are moved to the last hour.
    with closing(sqlite3.connect(state / HISTORY_FILE)) as history, history:
        ((last,),) = history.execute("SELECT max(at) FROM observation")
        history.execute("UPDATE observation SET at = at + ?", (time.time() - 3600 - last,))
    return state


@pytest.fixture
def probes(files: Path, tmp_path: Path) -> Path:
    """A state directory with the files of probes."""
    return Path(shutil.copytree(files / "probes", tmp_path / "state"))


@pytest.mark.real
def test_a_daemon_continues_with_drives_baseline_and_wear(drives: Path, tmp_path: Path) -> None:
    before = json.loads((drives / "state.json").read_text())
    rows = {key: WearDatabase(drives / HISTORY_FILE).rows(key) for key in _keys(drives)}
    host = MadeUpDrives(tmp_path / "drives", 2)
    host.host.write("sys/kernel/random/boot_id", f"{_BOOT_ID}\n")
    with Daemon(tmp_path / "daemon", *host.flags, config=host.config()) as daemon:
        page = await_page(
            daemon, lambda page: {0, 1} == {value for _, value in page.find("ssd_device_up")}
        )
        assert 0 == daemon.stop()
        assert [] == daemon.complaints
    gone = {labels["device"] for labels, value in page.find("ssd_device_up") if value == 0}
    assert {"rig2"} == gone, "a drive that was missing before the upgrade is still missing"
    # The bin 72 of the old file is the await of 1 ms.
    assert pytest.approx(0.001, rel=0.1) == page.value(
        "ssd_disk_await_baseline_seconds", device="vda", op="read"
    )
    after = json.loads((drives / "state.json").read_text())
    assert set(before) <= set(after)
    for old, new in zip(before["inventory"], after["inventory"], strict=True):
        for name in ("path", "serial", "wwn", "first_seen_unix_time", "missing"):
            assert old[name] == new[name]
    database = WearDatabase(drives / HISTORY_FILE)
    for key, old_rows in rows.items():
        new_rows = database.rows(key)
        assert old_rows
        assert new_rows is not None
        assert old_rows == new_rows[: len(old_rows)]
    assert [] == list(drives.glob("*.kept-*"))


def _keys(state: Path) -> tuple[str, ...]:
    found = WearDatabase(state / HISTORY_FILE).keys()
    assert found is not None
    assert len(found) == 3
    return found


def test_the_rounds_of_probes_are_kept(probes: Path, tmp_path: Path) -> None:
    state = StateFile(probes).load()
    started = Started(state, tmp_path)
    saved = started.monitor.to_state()["probe"]
    assert 2 == len(state["probe"]["rounds"])
    for series, old in state["probe"]["rounds"].items():
        assert old["rounds"] == [list(row) for row in saved["rounds"][series]["rounds"]]


def test_the_bytes_of_a_probe_that_was_killed_are_charged(
    probes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = json.loads((probes / "probe-budget.json").read_text())
    spent, reserved = ledger["spent"]["loop1"]["day_bytes"], ledger["reservation"]["bytes"]
    clock = FakeClock(wall=ledger["day"] * _DAY + 3600.0)
    budget = ProbeBudget(probes, clock, _BOOT_ID, day_bytes=1 << 30)
    budget.recover()
    assert (1 << 30) - spent - reserved == budget.remaining("loop1").day_bytes
    (warning,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert "all of its reserved bytes are charged" in warning.getMessage()


def test_the_process_of_a_killed_probe_is_known(probes: Path, tmp_path: Path) -> None:
    """It has ended: this /proc has no processes."""
    assert ProbePidFile(probes, tmp_path).kill_leftover()
    assert not (probes / "probe-process.json").exists()


def test_the_result_of_a_write_cache_probe_is_shown(probes: Path) -> None:
    parsed = slc_results.read_all(probes)
    assert () == tuple(parsed.faults)
    (result,) = parsed.value
    (old,) = (json.loads(path.read_text()) for path in probes.glob("slc-*.json"))
    assert (old["device"], old["at"]) == (result.device, result.at)
    assert old["cliff"]["cache_bytes"] == result.cliff.cache_bytes
    assert result == slc_results.read_result(probes, ["loop1"])
