"""Tests of `metrics.own_collector`."""

import os
import platform
from pathlib import Path

import pytest
from prometheus_client.process_collector import ProcessCollector

from exporter.errors import ReadError
from exporter.linux.files import Parsed
from exporter.linux.proc_stat import CpuTimes
from exporter.metrics import own_collector
from tests.io.machine import Machine
from tests.io.records import NEW
from tests.metrics.page import page


def test_collectors_and_sampler_and_versions(tmp_path: Path) -> None:
    machine = Machine(tmp_path, interval=2.0)
    machine.disks(NEW)
    machine.cpus(CpuTimes(*[1.0] * 8)).tick()
    machine.tick(2)
    machine.tick(60)

    def fail() -> Parsed[None]:
        raise ReadError("x")

    machine.collector_status.collect("device", "survey", fail)
    families = page(
        own_collector.samples(
            machine.collector_status,
            machine.sampler,
            (1.6e9, None),
            ("1", "3.11", "7.3", "", "6.1"),
        )
    )
    success = {("cpu",): 1, ("device",): 0, ("disk",): 1, ("pressure",): 1}
    assert success == families["ssd_collector_success"]
    errors = families["ssd_collector_errors_total"]
    assert {("device", "read")} == {series for series, count in errors.items() if count}
    assert {
        (name, reason) for (name,) in success for reason in ("bug", "parse", "read")
    } == errors.keys()
    assert success.keys() == families["ssd_collector_duration_seconds"].keys()
    assert {(): 3} == families["ssd_sampler_samples_total"]
    assert {(): 1} == families["ssd_sampler_gaps_total"]
    assert {(): 2.0} == families["ssd_sampler_interval_seconds"]
    assert {(): 1.6e9} == families["ssd_survey_start_timestamp_seconds"]
    assert "ssd_survey_last_success_timestamp_seconds" not in families, "no survey has succeeded"
    assert {("1", "3.11", "7.3", "", "6.1"): 1} == families["ssd_exporter_build_info"]


def test_process_samples_equal_those_of_prometheus_client() -> None:
    families = page(own_collector.process_samples(iter(ProcessCollector(registry=None).collect())))
    assert "process_cpu_seconds_total" in families
    assert families["process_resident_memory_bytes"][()] > 1 << 20
    assert families["process_open_fds"][()] == pytest.approx(
        len(os.listdir("/proc/self/fd")), abs=3
    )


def test_the_kernel_and_the_boot_are_those_of_this_machine(tmp_path: Path) -> None:
    assert platform.release() == own_collector.kernel_release(Path("/proc"))
    assert 36 == len(own_collector.boot_id(Path("/proc")))
    assert ("", "") == (own_collector.kernel_release(tmp_path), own_collector.boot_id(tmp_path))
