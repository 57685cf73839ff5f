"""Tests of `metrics.cpu_collector`: CPU time, softirqs, network backlog, PSI and control groups."""

from pathlib import Path

import pytest

from exporter.errors import NotAvailable, ParseError
from exporter.linux.cgroup import CgroupIo
from exporter.linux.pressure import Pressure
from exporter.linux.proc_stat import CpuTimes
from exporter.linux.softnet_stat import SoftnetCounters
from exporter.metrics import cpu_collector
from exporter.metrics.cpu_collector import CgroupUsage
from tests.io.machine import Machine
from tests.metrics.page import Values, page

CPU0 = CpuTimes(10, 1, 3, 100, 5, 0.5, 1.5, 0.25)
CPU1 = CpuTimes(20, 0, 4, 90, 6, 0.25, 0.5, 0)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def shown(machine: Machine, *, per_cpu: bool = False) -> dict[str, Values]:
    return page(cpu_collector.samples(machine.sampler, machine.clock.monotonic(), per_cpu=per_cpu))


def test_time_of_all_cpus_by_mode(machine: Machine) -> None:
    """user includes nice; there are seven modes."""
    machine.cpus(CPU0, CPU1).tick()
    expected = {
        ("user",): 31,
        ("system",): 7,
        ("idle",): 190,
        ("iowait",): 11,
        ("softirq",): 2,
        ("irq",): 0.75,
        ("steal",): 0.25,
    }
    families = shown(machine)
    assert expected == pytest.approx(families["ssd_cpu_seconds_total"])
    assert "ssd_cpu_by_cpu_seconds_total" not in families


def test_there_is_no_maximum_before_the_first_interval(machine: Machine) -> None:
    machine.cpus(CPU0).tick()
    assert {"ssd_cpu_seconds_total", "ssd_cpu_softirq_saturated_seconds_total"} == {*shown(machine)}


def test_the_number_of_the_hottest_cpu_is_exposed(machine: Machine) -> None:
    machine.cpus(CPU0, CPU1).tick()
    machine.cpus(
        CPU0._replace(idle=100.5, iowait=5.5), CPU1._replace(softirq=1.3, idle=90.05, system=4.15)
    )
    machine.tick()
    families = shown(machine)
    assert {(): 1} == families["ssd_cpu_softirq_hottest_cpu"]
    assert {("1m",): pytest.approx(0.8)} == families["ssd_cpu_softirq_max_ratio"]
    assert {("1m",): pytest.approx(0.5)} == families["ssd_cpu_iowait_max_ratio"]
    assert {(): 1.0} == families["ssd_cpu_softirq_saturated_seconds_total"]


def test_iowait_never_decreases_in_total_and_per_cpu(tmp_path: Path) -> None:
    machine = Machine(tmp_path, per_cpu=True)
    machine.cpus(CPU0).tick()
    machine.cpus(CPU0._replace(iowait=4.5)).tick()
    families = shown(machine, per_cpu=True)
    assert families["ssd_cpu_seconds_total"]["iowait",] == 5
    assert families["ssd_cpu_by_cpu_seconds_total"]["0", "iowait"] == 5


def test_each_cpu_is_exposed_if_enabled(tmp_path: Path) -> None:
    machine = Machine(tmp_path, per_cpu=True)
    machine.cpus(CPU0, CPU1).tick()
    by_cpu = shown(machine, per_cpu=True)["ssd_cpu_by_cpu_seconds_total"]
    assert 14 == len(by_cpu)
    assert (11, 20) == (by_cpu["0", "user"], by_cpu["1", "user"])


def test_a_reload_can_enable_the_series_per_cpu(machine: Machine) -> None:
    """The page is complete before the next sample."""
    machine.cpus(CPU0, CPU1).tick()
    sampler = machine.sampler
    sampler.reconfigure(
        sampler._rules, lambda _device: True, 1.0, per_cpu=True, request_sizes=False
    )
    by_cpu = shown(machine, per_cpu=True)["ssd_cpu_by_cpu_seconds_total"]
    assert (5, 6) == (by_cpu["0", "iowait"], by_cpu["1", "iowait"])


def test_without_a_sample_of_the_kernel_there_are_no_samples(machine: Machine) -> None:
    machine.tick()
    assert {} == shown(machine, per_cpu=True)


def test_softirqs_by_vector_and_by_cpu() -> None:
    counts = {"BLOCK": {0: 5, 2: 7}, "NET_RX": {0: 1, 2: 0}}
    assert {"ssd_softirqs_total": {("BLOCK",): 12, ("NET_RX",): 1}} == page(
        cpu_collector.softirq_samples(counts, per_cpu=False)
    )
    by_cpu = page(cpu_collector.softirq_samples(counts, per_cpu=True))["ssd_softirqs_by_cpu_total"]
    expected = {("0", "BLOCK"): 5, ("2", "BLOCK"): 7, ("0", "NET_RX"): 1, ("2", "NET_RX"): 0}
    assert expected == by_cpu


def test_the_network_backlog() -> None:
    expected = {"ssd_softnet_dropped_total": {(): 3}, "ssd_softnet_times_squeezed_total": {(): 9}}
    assert expected == page(
        cpu_collector.softnet_samples(SoftnetCounters(dropped=3, times_squeezed=9))
    )


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
    found = cpu_collector.read_cgroups(tmp_path, [MYSQL])
    expected = [CgroupUsage(MYSQL, Pressure(3, 2), {"8:0": CgroupIo(10, 20, 1, 1)})]
    assert (expected, ()) == (found.value, found.faults)


@pytest.mark.parametrize("name", ["system.slice/mysql.service", f"{MYSQL}/", MYSQL])
def test_a_group_may_be_spelt_with_and_without_slashes(
    root: Path, tmp_path: Path, name: str
) -> None:
    group(root, io_stat=IO)
    assert [MYSQL] == [found.name for found in cpu_collector.read_cgroups(tmp_path, [name]).value]


def test_a_duplicate_group_is_read_once(root: Path, tmp_path: Path) -> None:
    """The server and the settings name the same group."""
    group(root, io_stat=IO)
    assert 1 == len(cpu_collector.read_cgroups(tmp_path, [MYSQL, MYSQL.strip("/")]).value)


@pytest.mark.parametrize("name", ["/", "", "/../../..", "/a/../b", "/gone.service", "/file"])
def test_invalid_groups_are_omitted(root: Path, tmp_path: Path, name: str) -> None:
    """The root is the whole host; a cgroup namespace shows names that lead out of the tree."""
    root.mkdir(parents=True)
    (root / "file").write_text("")
    found = cpu_collector.read_cgroups(tmp_path, [name])
    assert ([], ()) == (found.value, found.faults)


def test_missing_group_files_are_none(root: Path, tmp_path: Path) -> None:
    group(root)
    assert [CgroupUsage(MYSQL, None, None)] == cpu_collector.read_cgroups(tmp_path, [MYSQL]).value


def test_a_broken_file_affects_only_itself_and_names_its_group(root: Path, tmp_path: Path) -> None:
    group(root, io_pressure="garbage\n", io_stat=IO + "x\n")
    found = cpu_collector.read_cgroups(tmp_path, [MYSQL])
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
    assert expected == page(cpu_collector.cgroup_samples(groups, {"8:0": "sda"}))


def test_a_group_name_that_is_too_long_is_omitted(tmp_path: Path) -> None:
    (tmp_path / "fs" / "cgroup").mkdir(parents=True)
    assert [] == cpu_collector.read_cgroups(tmp_path, ["a" * 300]).value


def kernel(proc: Path, **totals: str) -> Path:
    (proc / "pressure").mkdir()
    for resource, text in totals.items():
        (proc / "pressure" / resource).write_text(text)
    return proc


def line(kind: str, microseconds: int) -> str:
    return f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={microseconds}\n"


def test_each_resource_of_the_kernel_is_read(tmp_path: Path) -> None:
    proc = kernel(
        tmp_path,
        io=line("some", 3_000_000) + line("full", 2_000_000),
        cpu=line("some", 500_000),
        irq=line("full", 250_000),
    )
    found = cpu_collector.read_pressure(proc)
    expected = {"io": Pressure(3, 2), "cpu": Pressure(0.5, None), "irq": Pressure(None, 0.25)}
    assert (expected, ()) == (found.value, found.faults)


def test_a_broken_file_affects_only_its_resource(tmp_path: Path) -> None:
    found = cpu_collector.read_pressure(kernel(tmp_path, io="garbage\n", memory=line("some", 1)))
    assert {"memory"} == found.value.keys()
    (fault,) = found.faults
    assert isinstance(fault, ParseError)
    assert str(fault).startswith("io: pressure:1: ")


def test_a_kernel_without_psi_is_not_a_failure(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match=r"older than 4\.20, or booted with psi=0"):
        cpu_collector.read_pressure(tmp_path)


def test_unknown_pressure_has_no_sample() -> None:
    pressures = {
        "io": Pressure(3.0, 2.0),
        "cpu": Pressure(0.5, None),
        "memory": Pressure(0.0, 0.0),
        "irq": Pressure(None, 0.25),
    }
    expected = {
        "ssd_pressure_io_waiting_seconds_total": {(): 3.0},
        "ssd_pressure_io_stalled_seconds_total": {(): 2.0},
        "ssd_pressure_cpu_waiting_seconds_total": {(): 0.5},
        "ssd_pressure_memory_waiting_seconds_total": {(): 0.0},
        "ssd_pressure_memory_stalled_seconds_total": {(): 0.0},
        "ssd_pressure_irq_stalled_seconds_total": {(): 0.25},
    }
    assert expected == page(cpu_collector.pressure_samples(pressures, node_exporter=False))
    both = page(cpu_collector.pressure_samples(pressures, node_exporter=True))
    theirs = {name.replace("ssd_", "node_", 1): values for name, values in expected.items()}
    assert expected | theirs == both


def test_node_exporter_has_no_stalled_cpu() -> None:
    families = page(cpu_collector.pressure_samples({"cpu": Pressure(1.0, 0.5)}, node_exporter=True))
    assert "ssd_pressure_cpu_stalled_seconds_total" in families
    assert "node_pressure_cpu_stalled_seconds_total" not in families


def test_unknown_resources_are_ignored() -> None:
    assert {} == page(
        cpu_collector.pressure_samples({"network": Pressure(1.0, 1.0)}, node_exporter=True)
    )


def test_this_machine_has_at_least_io_cpu_and_memory() -> None:
    found = cpu_collector.read_pressure(Path("/proc"))
    assert found.faults == ()
    assert {"io", "cpu", "memory"} <= found.value.keys()
