"""Tests the saved results of write-cache probes and their files."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe import slc_results, slc_watch
from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.probe.slc_results import (
    SlcResult,
    SlcResultStore,
    by_device,
    parse,
    read_all,
    read_result,
    save,
    serialize,
    supersedes,
)
from exporter.runtime.errors import ParseError, ReadError
from tests.duration import wait_until

CLIFF = CacheCliff(
    CliffResult.CLIFF,
    9_000_000_000,
    (WritePhase(0, 540e6), WritePhase(8_500_000_000, 112.5e6)),
    cache_bytes=8_500_000_000,
    burst_bytes_per_second=540e6,
    sustained_bytes_per_second=112.5e6,
)
RESULT = SlcResult(("a  disk 1",), "nvme0n1", 1_700_000_000.5, CLIFF, {30: 0, 3600: 8_500_000_000})
ABORTED = CacheCliff(CliffResult.ABORTED, 1000)

SIZES = st.none() | st.integers(0, 1 << 60)
SPEEDS = st.none() | st.floats(1.0, 1e12)
CLIFFS = st.builds(
    CacheCliff,
    st.sampled_from(CliffResult),
    st.integers(0, 1 << 60),
    st.lists(st.builds(WritePhase, st.integers(0, 1 << 60), st.floats(1.0, 1e12)), max_size=3).map(
        tuple
    ),
    SIZES,
    SIZES,
    SPEEDS,
    SPEEDS,
)
RESULTS = st.builds(
    SlcResult,
    st.lists(st.text(min_size=1, max_size=100), min_size=1, max_size=5).map(tuple),
    st.just("sda"),
    st.floats(0, 1e11),
    CLIFFS,
    st.dictionaries(st.integers(0, 86_400), st.integers(0, 1 << 60), max_size=8),
)


def changed(**changes: Any) -> str:
    return json.dumps({**json.loads(serialize(RESULT)), **changes})


def test_a_saved_result_is_read_back() -> None:
    parsed = parse(serialize(RESULT))
    assert RESULT == parsed.value
    assert () == parsed.faults


@given(RESULTS)
def test_any_result_is_read_back(result: SlcResult) -> None:
    parsed = parse(serialize(result))
    assert result == parsed.value
    assert () == parsed.faults


@given(st.text())
def test_any_text_is_a_result_or_a_parse_error(text: str) -> None:
    with contextlib.suppress(ParseError):
        parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@given(st.sampled_from(["drives", "device", "at", "cliff", "recovered_bytes", "version"]), JSON)
def test_any_value_of_a_field_is_a_fault_or_a_parse_error(name: str, value: Any) -> None:
    try:
        found = parse(changed(**{name: value})).value
    except ParseError:
        return
    assert found.drives
    assert found.cliff.falloff_ratio is None or found.cliff.falloff_ratio >= 0


@pytest.mark.parametrize("text", ["", "{", serialize(RESULT)[:200], "[]", "null", "1e999", "{}"])
def test_a_broken_file_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_file_of_a_later_version_is_a_parse_error() -> None:
    with pytest.raises(ParseError, match="version 2 instead of 1"):
        parse(changed(version=2))


@pytest.mark.parametrize("drives", [[], [""], ["a", 1], "a", None, ["x"] * 100])
def test_a_file_without_valid_drives_is_a_parse_error(drives: object) -> None:
    with pytest.raises(ParseError, match="is missing"):
        parse(changed(drives=drives))


def test_a_speed_of_0_is_a_fault() -> None:
    cliff = json.loads(serialize(RESULT))["cliff"]
    parsed = parse(changed(cliff={**cliff, "burst_bytes_per_second": 0}))
    assert parsed.value.cliff.burst_bytes_per_second is None
    assert parsed.value.cliff.falloff_ratio is None
    assert 8_500_000_000 == parsed.value.cliff.cache_bytes
    assert 1 == len(parsed.faults)


def test_the_idle_times_are_bounded() -> None:
    many = {str(n): 1 for n in range(100)}
    assert 8 == len(parse(changed(recovered_bytes=many)).value.recovered_bytes)
    parsed = parse(changed(recovered_bytes={"30": 1, "-1": 2, "99999999": 3, "x": 4}))
    assert {30: 1} == parsed.value.recovered_bytes
    assert 3 == len(parsed.faults)


def test_only_a_complete_result_supersedes_a_complete_one() -> None:
    aborted = replace(RESULT, cliff=ABORTED)
    disturbed = replace(RESULT, cliff=CacheCliff(CliffResult.DISTURBED, 1000))
    for incomplete in (aborted, disturbed):
        assert not supersedes(incomplete, RESULT)
        assert supersedes(incomplete, None)
        assert supersedes(incomplete, aborted)
        assert supersedes(incomplete, disturbed)
        assert supersedes(RESULT, incomplete)
    assert supersedes(RESULT, RESULT)


def test_the_result_of_a_renamed_drive_has_its_new_name() -> None:
    assert {"nvme3n1": RESULT} == by_device([RESULT], {"nvme3n1": "a  disk 1", "sda": "other"})


def test_the_result_of_an_absent_drive_is_left_out() -> None:
    assert {} == by_device([RESULT], {"nvme0n1": "another in its place"})


def test_the_result_of_several_drives_keeps_its_label() -> None:
    array = replace(RESULT, drives=("a", "b"), device="md0")
    there = {"sda": "a", "sdb": "b", "md0": "md0"}
    assert {"md0": array} == by_device([array], there)
    assert {} == by_device([array], {"sda": "a", "md0": "md0"})
    assert {} == by_device([array], {"sda": "a", "sdb": "b"})


def test_the_later_of_two_results_with_one_label_is_returned() -> None:
    later = replace(RESULT, drives=("b",), at=RESULT.at + 1)
    both = {"sda": "a  disk 1", "sdb": "b"}
    assert {"sda": RESULT, "sdb": later} == by_device([later, RESULT], both)
    array = replace(RESULT, drives=("b", "a  disk 1"), device="sda", at=RESULT.at + 2)
    assert array == by_device([array, RESULT], both)["sda"]


OTHER = replace(RESULT, drives=("another",), device="sdb")


def test_each_drive_has_its_own_file(tmp_path: Path) -> None:
    save(tmp_path, RESULT)
    save(tmp_path, OTHER)
    found = read_all(tmp_path)
    assert {RESULT.drives: RESULT, OTHER.drives: OTHER} == {e.drives: e for e in found.value}
    assert () == found.faults
    assert RESULT == read_result(tmp_path, RESULT.drives)
    assert read_result(tmp_path, ("a third",)) is None


def test_a_later_result_replaces_an_earlier_one(tmp_path: Path) -> None:
    save(tmp_path, RESULT)
    later = replace(RESULT, at=RESULT.at + 1)
    save(tmp_path, later)
    assert [later] == read_all(tmp_path).value
    assert 1 == len(os.listdir(tmp_path))


def test_all_users_may_read_the_file(tmp_path: Path) -> None:
    assert 0o644 == save(tmp_path, RESULT).stat().st_mode & 0o777


def test_a_broken_file_affects_only_its_drive_and_is_a_fault(tmp_path: Path) -> None:
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


def test_other_files_in_the_directory_are_ignored(tmp_path: Path) -> None:
    for name in ("state.json", ".slc-x.json.new", "slc-x", "probe-budget.json"):
        (tmp_path / name).write_text("x")
    assert ([], ()) == (read_all(tmp_path).value, read_all(tmp_path).faults)


def test_a_link_is_replaced_and_not_followed_for_writing(
    tmp_path: Path,
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = save(tmp_path, RESULT)
    path.unlink()
    path.symlink_to(victim)
    (tmp_path / f".{path.name}.new").symlink_to(victim)
    assert [] == read_all(tmp_path).value
    save(tmp_path, RESULT)
    assert "precious" == victim.read_text()
    assert [RESULT] == read_all(tmp_path).value


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError):
        read_all(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "none", RESULT)


def test_saving_an_aborted_result_keeps_the_earlier_one(tmp_path: Path) -> None:
    assert slc_watch.save_result(tmp_path, RESULT) is None
    assert RESULT == slc_watch.save_result(tmp_path, replace(RESULT, cliff=ABORTED))
    assert [RESULT] == read_all(tmp_path).value


def test_a_new_result_is_returned_after_the_next_refresh(tmp_path: Path) -> None:
    probes = SlcResultStore(tmp_path)
    there = {"nvme0n1": RESULT.drives[0]}
    assert {} == probes.results(lambda: there)
    probes.refresh()
    assert {} == probes.results(lambda: there)
    save(tmp_path, RESULT)
    assert () == probes.refresh().faults
    assert {"nvme0n1": RESULT} == probes.results(lambda: there)


SAVING = """
import sys
from dataclasses import replace
from pathlib import Path
from exporter.probe.slc_results import save
from tests.probe.test_slc_results import RESULT
n = 0
save(Path(sys.argv[1]), RESULT)
print(flush=True)
while True:
    n += 1
    save(Path(sys.argv[1]), replace(RESULT, at=float(n)))
"""


def test_kill_9_leaves_a_complete_file(tmp_path: Path) -> None:
    for number in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", SAVING, tmp_path], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            wait_until(lambda: list(tmp_path.glob("slc-*.json")), "the first result")
            time.sleep(0.02 + number * 0.013)
            child.send_signal(signal.SIGKILL)
        found = read_all(tmp_path)
        assert () == found.faults
        assert [RESULT] == [replace(each, at=RESULT.at) for each in found.value]
    assert len(slc_results.read_all(tmp_path).value) == 1
