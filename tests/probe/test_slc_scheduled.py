"""The profile `slc` among the daemon's own."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.probe import slc_results
from exporter.probe.cache_cliff import CliffResult, TraceSample
from exporter.probe.profiles import MIB, PROFILES
from exporter.probe.slc_watch import ScheduledSlc, WatchedWrite
from tests.probe.probing import Rig

SCHEDULED_SLC = replace(PROFILES["slc"], size_bytes=512 * MIB)
FALLS = (*([TraceSample(0.1, 50e6)] * 40), *([TraceSample(0.1, 10e6)] * 60))


class Scheduled(Rig):
    """A host's probes, with those of write caches among them."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.directories[0].locate()
        self.slc = ScheduledSlc(
            self.state,
            self.directories,
            clock=self.clock,
            proc=self.host.proc,
            topology=self.topology,
            identity=lambda device: f"serial of {device}",
        )
        self.file = self.path / "file"

    def over(self, written: WatchedWrite) -> None:
        self.slc._keep(written)


def test_a_cliff_is_kept_under_the_drive_s_identity(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    rig.over(WatchedWrite(SCHEDULED_SLC, rig.file, FALLS, was_interrupted=False))
    (kept,) = slc_results.read_all(rig.state).value
    assert (("serial of nvme0n1",), "nvme0n1") == (kept.drives, kept.device)
    assert rig.clock.wall() == kept.at
    assert CliffResult.CLIFF is kept.cliff.result
    assert pytest.approx(2e9, rel=0.05) == kept.cliff.cache_bytes


def test_one_that_was_ended_leaves_what_was_known(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    rig.over(WatchedWrite(SCHEDULED_SLC, rig.file, FALLS, was_interrupted=False))
    rig.over(WatchedWrite(SCHEDULED_SLC, rig.file, FALLS[:20], was_interrupted=True))
    (kept,) = slc_results.read_all(rig.state).value
    assert CliffResult.CLIFF is kept.cliff.result


def test_a_write_of_which_nothing_was_seen_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Scheduled(tmp_path)
    rig.over(WatchedWrite(SCHEDULED_SLC, rig.file, (), was_interrupted=False, problem="it may not be asked"))
    assert [] == slc_results.read_all(rig.state).value
    assert "it may not be asked" in caplog.text


def test_a_state_directory_that_is_gone_costs_the_result_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Scheduled(tmp_path)
    rig.slc._state = tmp_path / "none"
    rig.over(WatchedWrite(SCHEDULED_SLC, rig.file, FALLS, was_interrupted=False))
    assert "cannot be saved" in caplog.text


def test_a_file_of_no_directory_of_ours_is_nobody_s(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    rig.over(WatchedWrite(SCHEDULED_SLC, tmp_path / "elsewhere/file", FALLS, was_interrupted=False))
    assert [] == slc_results.read_all(rig.state).value


def test_the_device_s_own_count_is_there_where_the_process_s_is_not(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    assert rig.slc._device_bytes(rig.file) is not None
    assert rig.slc._device_bytes(tmp_path / "elsewhere/file") is None
    (rig.host.proc / "diskstats").unlink()
    assert rig.slc._device_bytes(rig.file) is None


def test_other_runs_of_the_daemon_go_through_unchanged(tmp_path: Path) -> None:
    rig = Scheduled(tmp_path)
    watched = rig.slc.watched(rig.fio)
    assert rig.fio.engines() == watched.engines()
    assert rig.fio.problem == watched.problem
    assert not watched.is_stuck
    watched.start([PROFILES["fsync"]], rig.file, 10.0)
    assert watched.wait(0.25) is not None
    watched.close()
    assert 1 == rig.fio.ended
