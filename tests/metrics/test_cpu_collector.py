"""Tests of `metrics.cpu_collector`."""

from pathlib import Path

import pytest

from exporter.linux.proc_stat import CpuTimes
from exporter.metrics import cpu_collector
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
