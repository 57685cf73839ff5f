"""Tests of `metrics.own_collector`."""

from pathlib import Path

from exporter.linux.proc_stat import CpuTimes
from exporter.metrics import own_collector
from exporter.runtime.errors import Parsed, ReadError
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
