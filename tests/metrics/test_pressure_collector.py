"""Control groups to samples."""

from pathlib import Path

import pytest

from exporter.linux.cgroup import CgroupIo
from exporter.linux.pressure import Pressure
from exporter.metrics import cpu_collector
from exporter.metrics.cpu_collector import CgroupUsage
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


def test_a_groups_pressure_and_bytes(root: Path, tmp_path: Path) -> None:
    group(root, io_pressure=SOME + FULL, io_stat=IO)
    found = cpu_collector.read_cgroups(tmp_path, [MYSQL])
    expected = [CgroupUsage(MYSQL, Pressure(3, 2), {"8:0": CgroupIo(10, 20)})]
    assert (expected, ()) == (found.value, found.faults)


@pytest.mark.parametrize("name", ["system.slice/mysql.service", f"{MYSQL}/", MYSQL])
def test_a_group_may_be_spelt_with_and_without_slashes(
    root: Path, tmp_path: Path, name: str
) -> None:
    group(root, io_stat=IO)
    assert [MYSQL] == [found.name for found in cpu_collector.read_cgroups(tmp_path, [name]).value]


def test_a_group_asked_for_twice_is_read_once(root: Path, tmp_path: Path) -> None:
    """By the server found, and by the settings."""
    group(root, io_stat=IO)
    assert 1 == len(cpu_collector.read_cgroups(tmp_path, [MYSQL, MYSQL.strip("/")]).value)


@pytest.mark.parametrize("name", ["/", "", "/../../..", "/a/../b", "/gone.service", "/file"])
def test_groups_that_are_none_are_left_out(root: Path, tmp_path: Path, name: str) -> None:
    """The root is the whole host, and a cgroup namespace shows names that lead out of the tree."""
    root.mkdir(parents=True)
    (root / "file").write_text("")
    found = cpu_collector.read_cgroups(tmp_path, [name])
    assert ([], ()) == (found.value, found.faults)


def test_what_the_kernel_does_not_keep_for_a_group_is_not_known(root: Path, tmp_path: Path) -> None:
    group(root)
    assert [CgroupUsage(MYSQL, None, None)] == cpu_collector.read_cgroups(tmp_path, [MYSQL]).value


def test_a_broken_file_costs_itself_and_names_its_group(root: Path, tmp_path: Path) -> None:
    group(root, io_pressure="garbage\n", io_stat=IO + "x\n")
    found = cpu_collector.read_cgroups(tmp_path, [MYSQL])
    assert [CgroupUsage(MYSQL, None, {"8:0": CgroupIo(10, 20)})] == found.value
    assert [f"{MYSQL}: pressure:1", f"{MYSQL}: io.stat:2"] == [
        ":".join(str(fault).split(":")[:3]) for fault in found.faults
    ]


def test_samples_name_the_devices_that_are_wanted() -> None:
    groups = [
        CgroupUsage("/a", Pressure(3.0, None), {"8:0": CgroupIo(1, 2), "7:0": CgroupIo(3, 4)}),
        CgroupUsage("/b", None, None),
    ]
    expected = {
        "ssd_cgroup_pressure_io_waiting_seconds_total": {("/a",): 3.0},
        "ssd_cgroup_io_read_bytes_total": {("/a", "sda"): 1},
        "ssd_cgroup_io_written_bytes_total": {("/a", "sda"): 2},
    }
    assert expected == page(cpu_collector.cgroup_samples(groups, {"8:0": "sda"}))


def test_a_name_longer_than_a_file_name_is_no_group(tmp_path: Path) -> None:
    (tmp_path / "fs" / "cgroup").mkdir(parents=True)
    assert [] == cpu_collector.read_cgroups(tmp_path, ["a" * 300]).value
