"""The files of the results: whole, one for each drive, each on its own."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.errors import ReadError
from exporter.probe import slc_results, slc_watch
from exporter.probe.slc_results import SlcResultStore, read_all, read_result, save
from tests.probe.test_slc_results import ABORTED, RESULT

OTHER = replace(RESULT, drives=("another",), device="sdb")


def test_each_drive_has_a_file_and_is_read_back(tmp_path: Path) -> None:
    save(tmp_path, RESULT)
    save(tmp_path, OTHER)
    found = read_all(tmp_path)
    assert {RESULT.drives: RESULT, OTHER.drives: OTHER} == {e.drives: e for e in found.value}
    assert () == found.faults
    assert RESULT == read_result(tmp_path, RESULT.drives)
    assert read_result(tmp_path, ("a third",)) is None


def test_a_later_result_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    save(tmp_path, RESULT)
    later = replace(RESULT, at=RESULT.at + 1)
    save(tmp_path, later)
    assert [later] == read_all(tmp_path).value
    assert 1 == len(os.listdir(tmp_path))


def test_whoever_runs_the_daemon_may_read_it(tmp_path: Path) -> None:
    assert 0o644 == save(tmp_path, RESULT).stat().st_mode & 0o777


def test_a_broken_file_costs_its_own_drive_and_is_said(tmp_path: Path) -> None:
    save(tmp_path, RESULT)
    path = save(tmp_path, OTHER)
    path.write_text(path.read_text()[:50])
    found = read_all(tmp_path)
    assert [RESULT] == found.value
    (fault,) = found.faults
    assert str(path) in str(fault)
    assert "the next ssd-exporter slc replaces it" in str(fault)
    assert read_result(tmp_path, OTHER.drives) is None
    save(tmp_path, OTHER)
    assert () == read_all(tmp_path).faults


def test_links_pipes_and_directories_are_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    (tmp_path / "slc-link.json").symlink_to(save(real, RESULT))
    os.mkfifo(tmp_path / "slc-pipe.json")
    (tmp_path / "slc-directory.json").mkdir()
    (tmp_path / "slc-large.json").write_bytes(bytes(1 << 20))
    found = read_all(tmp_path)
    assert [] == found.value
    assert 4 == len(found.faults)


def test_other_files_of_the_directory_are_none_of_its_business(tmp_path: Path) -> None:
    for name in ("state.json", ".slc-x.json.new", "slc-x", "probe-budget.json"):
        (tmp_path / name).write_text("x")
    assert ([], ()) == (read_all(tmp_path).value, read_all(tmp_path).faults)


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_written_through(
    tmp_path: Path,
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = save(tmp_path, RESULT)
    path.unlink()
    path.symlink_to(victim)
    (tmp_path / f".{path.name}.new").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        save(tmp_path, RESULT)
    (tmp_path / f".{path.name}.new").unlink()
    save(tmp_path, RESULT)
    assert "precious" == victim.read_text()
    assert [RESULT] == read_all(tmp_path).value


def test_a_directory_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError):
        read_all(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "none", RESULT)


def test_a_probe_that_was_ended_leaves_the_earlier_result(tmp_path: Path) -> None:
    assert slc_watch.save_result(tmp_path, RESULT) is None
    assert RESULT == slc_watch.save_result(tmp_path, replace(RESULT, cliff=ABORTED))
    assert [RESULT] == read_all(tmp_path).value


def test_a_result_that_is_left_is_shown_at_the_next_look(tmp_path: Path) -> None:
    probes = SlcResultStore(tmp_path)
    there = {"nvme0n1": RESULT.drives[0]}
    assert {} == probes.results(lambda: there)
    probes.look()
    assert {} == probes.results(lambda: there)
    save(tmp_path, RESULT)
    assert () == probes.look().faults
    assert {"nvme0n1": RESULT} == probes.results(lambda: there)


SAVING = """
import sys
from dataclasses import replace
from pathlib import Path
from exporter.probe.slc_results import save
from tests.probe.test_slc_results import RESULT
print(flush=True)
n = 0
while True:
    n += 1
    save(Path(sys.argv[1]), replace(RESULT, at=float(n)))
"""


def test_kill_9_leaves_a_whole_file(tmp_path: Path) -> None:
    for number in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", SAVING, tmp_path], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.02 + number * 0.013)
            child.send_signal(signal.SIGKILL)
        found = read_all(tmp_path)
        assert () == found.faults
        assert [RESULT] == [replace(each, at=RESULT.at) for each in found.value]
    assert len(slc_results.read_all(tmp_path).value) == 1
