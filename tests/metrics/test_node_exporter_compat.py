"""Tests of `metrics.node_exporter_compat`: the families of node_exporter."""

from pathlib import Path

import pytest

from exporter.config.disk_rules import SaturationRules
from exporter.linux.proc_stat import CpuTimes
from exporter.metrics import disk_collector, node_exporter_compat
from tests.io.machine import Machine
from tests.io.records import NEW, NEW_OF_OLD, grown
from tests.metrics.page import page


def test_disks_have_the_same_values_as_ssd_disk(tmp_path: Path) -> None:
    """Discards are in sectors, as in node_exporter."""
    machine = Machine(tmp_path)
    work = {"reads_completed": 5, "read_bytes": 4096, "read_time_seconds": 0.25, "io_now": 2}
    machine.disks(grown(NEW, discarded_bytes=1 << 20, flush_requests=9, **work)).tick()
    theirs = page(node_exporter_compat.disk_samples(machine.sampler))
    ours = page(
        disk_collector.samples(machine.sampler, 0.0, SaturationRules(), request_sizes=False)
    )
    assert {("sdx",): 2048} == theirs.pop("node_disk_discarded_sectors_total")
    assert 16 == len(theirs)
    for name, values in theirs.items():
        assert ours[name.replace("node_", "ssd_", 1)] == values


def test_missing_kernel_counters_have_no_sample(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.disks(NEW_OF_OLD).tick()
    assert 11 == len(page(node_exporter_compat.disk_samples(machine.sampler)))


def test_cpus_have_eight_modes_each(tmp_path: Path) -> None:
    """nice is separate from user, and iowait never decreases."""
    machine = Machine(tmp_path, per_cpu=True)
    times = CpuTimes(10, 1, 3, 100, 5, 0.5, 1.5, 0.25)
    machine.cpus(times, times).tick()
    machine.cpus(times._replace(iowait=4.5), times).tick()
    expected = {
        (cpu, mode): pytest.approx(seconds)
        for cpu in ("0", "1")
        for mode, seconds in times._asdict().items()
    }
    assert {"node_cpu_seconds_total": expected} == page(
        node_exporter_compat.cpu_samples(machine.sampler)
    )


def test_without_a_sample_of_the_kernel_there_are_no_samples(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.tick()
    assert {} == page(node_exporter_compat.disk_samples(machine.sampler))
    assert {} == page(node_exporter_compat.cpu_samples(machine.sampler))
