"""Tests of `metrics.cgroup_collector`."""

from pathlib import Path

import pytest

from exporter.linux.cgroup import CgroupIo
from exporter.linux.pressure import Pressure
from exporter.metrics.cgroup_collector import CgroupUsage, read_cgroups, samples
from tests.metrics.page import page

SOME = "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n"
FULL = "full avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
IO = "8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n"

MYSQL = "/system.slice/mysql.service"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "fs" / "cgroup"


def group(root: Path, name: str = MYSQL, **files: str) -> None:
    place = root / name.strip("/")
    place.mkdir(parents=True)
    for file, text in files.items():
        (place / file.replace("_", ".")).write_text(text)


def test_pressure_and_bytes_of_a_group(root: Path, tmp_path: Path) -> None:
    group(root, io_pressure=SOME + FULL, io_stat=IO)
    found = read_cgroups(tmp_path, [MYSQL])
    expected = [CgroupUsage(MYSQL, Pressure(3, 2), {"8:0": CgroupIo(10, 20, 1, 1)})]
    assert (expected, ()) == (found.value, found.faults)


@pytest.mark.parametrize("name", ["system.slice/mysql.service", f"{MYSQL}/", MYSQL])
def test_a_group_may_be_spelt_with_and_without_slashes(
    root: Path, tmp_path: Path, name: str
) -> None:
    group(root, io_stat=IO)
    assert [MYSQL] == [found.name for found in read_cgroups(tmp_path, [name]).value]


def test_a_duplicate_group_is_read_once(root: Path, tmp_path: Path) -> None:
    """The server and the settings name the same group."""
    group(root, io_stat=IO)
    assert 1 == len(read_cgroups(tmp_path, [MYSQL, MYSQL.strip("/")]).value)


@pytest.mark.parametrize("name", ["/", "", "/../../..", "/a/../b", "/gone.service", "/file"])
def test_invalid_groups_are_omitted(root: Path, tmp_path: Path, name: str) -> None:
    """The root is the whole host; a cgroup namespace shows names that lead out of the tree."""
    root.mkdir(parents=True)
    (root / "file").write_text("")
    found = read_cgroups(tmp_path, [name])
    assert ([], ()) == (found.value, found.faults)


def test_missing_group_files_are_none(root: Path, tmp_path: Path) -> None:
    group(root)
    assert [CgroupUsage(MYSQL, None, None)] == read_cgroups(tmp_path, [MYSQL]).value


def test_a_broken_file_affects_only_itself_and_names_its_group(root: Path, tmp_path: Path) -> None:
    group(root, io_pressure="garbage\n", io_stat=IO + "x\n")
    found = read_cgroups(tmp_path, [MYSQL])
    assert [CgroupUsage(MYSQL, None, {"8:0": CgroupIo(10, 20, 1, 1)})] == found.value
    assert [f"{MYSQL}: pressure:1", f"{MYSQL}: io.stat:2"] == [
        ":".join(str(fault).split(":")[:3]) for fault in found.faults
    ]


def test_samples_contain_only_wanted_devices() -> None:
    groups = [
        CgroupUsage("/a", Pressure(3.0, None), {"8:0": CgroupIo(1, 2), "7:0": CgroupIo(3, 4)}),
        CgroupUsage("/b", None, None),
    ]
    expected = {
        "ssd_cgroup_pressure_io_waiting_seconds_total": {("/a",): 3.0},
        "ssd_cgroup_io_read_bytes_total": {("/a", "sda"): 1},
        "ssd_cgroup_io_written_bytes_total": {("/a", "sda"): 2},
    }
    assert expected == page(samples(groups, {"8:0": "sda"}))


def test_a_group_name_that_is_too_long_is_omitted(tmp_path: Path) -> None:
    (tmp_path / "fs" / "cgroup").mkdir(parents=True)
    assert [] == read_cgroups(tmp_path, ["a" * 300]).value
