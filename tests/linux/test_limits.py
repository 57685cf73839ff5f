"""Limits: a source beyond its limit is used up to the limit, and the limit is reported."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from exporter.linux import cgroup, diskstats, files, mountinfo, proc_stat, softirqs, topology
from exporter.metrics.cgroup_collector import read_cgroups
from exporter.runtime.errors import LimitReached, SourceError
from tests.linux import trees
from tests.linux.trees import mount_line


def limit_of(faults: Iterable[SourceError]) -> str:
    (fault,) = faults
    assert isinstance(fault, LimitReached)
    assert fault.reason == "limit"
    return str(fault)


def test_disks() -> None:
    text = "".join(f"8 {n} sd{n} 1 0 8 1 1 0 8 1 0 1 1\n" for n in range(20_000))
    parsed = diskstats.parse(text, {})
    assert len(parsed.value) == 16_384
    assert "diskstats: only the first 16384 lines are used" == limit_of(parsed.faults)


def test_cpus() -> None:
    text = "".join(f"cpu{n} 1 2 3 4 5 6 7 8 0 0\n" for n in range(10_000))
    parsed = proc_stat.parse(text)
    assert len(parsed.value.cpus) == 8192 + 64
    assert "stat: only the first 8256 lines are used" == limit_of(parsed.faults)


def test_cpus_of_softirqs() -> None:
    """A header with more CPUs than the kernel supports is not one."""
    with pytest.raises(SourceError, match="not the name of a CPU"):
        softirqs.parse(" ".join(f"CPU{n}" for n in range(10_000)) + "\nNET_RX: 1\n")


def test_vectors() -> None:
    parsed = softirqs.parse("CPU0\n" + "".join(f"V{n}: 1\n" for n in range(1000)))
    assert len(parsed.value) == 32
    assert "softirqs: only the first 32 vectors are used" == limit_of(parsed.faults)


def test_devices_of_a_control_group() -> None:
    parsed = cgroup.parse_io_stat("".join(f"8:{n} rbytes=1 wbytes=1\n" for n in range(9000)))
    assert len(parsed.value) == 4096
    assert "io.stat: only the first 4096 lines are used" == limit_of(parsed.faults)


def test_devices_of_the_control_groups_of_servers(tmp_path: Path) -> None:
    text = "".join(f"8:{n} rbytes=1 wbytes=1\n" for n in range(4000))
    names = [f"{number}.service" for number in range(20)]
    for name in names:
        (tmp_path / "fs/cgroup" / name).mkdir(parents=True)
        (tmp_path / "fs/cgroup" / name / "io.stat").write_text(text)
    parsed = read_cgroups(tmp_path, names)
    read = [len(usage.io) for usage in parsed.value if usage.io is not None]
    assert (8, 20) == (len(read), len(parsed.value))
    assert {"limit"} == {fault.reason for fault in parsed.faults}


def test_mounts() -> None:
    parsed = mountinfo.parse("".join(mount_line("8:1", f"/m/{n}") for n in range(20_000)))
    assert len(parsed.value) == 16_384
    assert "mountinfo: only the first 16384 mounts are used" == limit_of(parsed.faults)


def test_equal_options_share_memory() -> None:
    one, other = mountinfo.parse(mount_line("8:1", "/a") + mount_line("8:2", "/b")).value
    assert one.options is other.options


@pytest.mark.slow
def test_disks_of_sys(tmp_path: Path) -> None:
    sys = trees.Sys(tmp_path)
    for number in range(4200):
        place = f"devices/virtual/block/sd{number}"
        sys.write(place, {"dev": f"259:{number}", "size": "2048"})
        sys.link(f"block/sd{number}", place)
    parsed = topology.read(tmp_path, tmp_path / "proc", tmp_path)
    assert len(parsed.value.devices) == 4096
    assert "only the first 4096 are used" in limit_of(parsed.faults)


@pytest.mark.slow
def test_names_of_a_directory(tmp_path: Path) -> None:
    for number in range(files.MAX_NAMES + 5):
        (tmp_path / str(number)).touch()
    assert len(files.list_names(tmp_path)) == files.MAX_NAMES


@pytest.mark.parametrize("text", ["a\nb\n", "a\nb", "", "\n\n", "a\r\x0bb\n", "\n"])
def test_lines(text: str) -> None:
    """They are those of split(), without the empty text after the last line break."""
    expected = text.split("\n")
    assert (expected[:-1] if not expected[-1] else expected) == list(files.lines_of(text))
