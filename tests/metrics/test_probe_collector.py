"""Tests of `metrics.probe_collector` and `probe_samples`: fio probes and SLC probes."""

from dataclasses import replace

from exporter.config.profiles import PROFILES
from exporter.metrics import probe_collector, probe_samples
from exporter.metrics.exposition import render
from exporter.probe.budget_ledger import WriteLimits
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.fio_report import JobResult, Op, OpResult, RunResult
from exporter.probe.results import DirectoryResults, ProfileResults
from exporter.probe.steady_state import SteadyPhase, SteadyState, SteadyWindow
from tests.metrics.page import page
from tests.probe.test_slc_results import RESULT

READ, BURST = PROFILES["page_read"], PROFILES["burst"]
FOUND = OpResult(
    operations=3, bytes=49_152, iops=10.0, bytes_per_second=163_840.0, mean_seconds=2e-4,
    p99_seconds=3e-4, bins={1e-4: 2, 4.0: 1},
)  # fmt: skip


def directory_page(found: DirectoryResults) -> list[str]:
    text = render(
        probe_samples.directory_samples(found, is_running=True), openmetrics=False
    ).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def results(*profiles: ProfileResults) -> DirectoryResults:
    return DirectoryResults(
        {each.profile.name: each for each in profiles},
        device="nvme0n1",
        fstype="ext4",
        mountpoint="/data",
        limits=WriteLimits(100, 1000),
        left=WriteLimits(40, 940),
    )


def test_a_directory_without_a_device_has_no_samples() -> None:
    assert [] == directory_page(DirectoryResults({"page_read": ProfileResults(READ)}))


def test_before_the_first_run_there_are_only_counts() -> None:
    lines = directory_page(results(ProfileResults(READ)))
    names = {line.partition("{")[0] for line in lines}
    assert {
        "ssd_probe_running",
        "ssd_probe_written_bytes_total",
        "ssd_probe_write_budget_bytes",
        "ssd_probe_write_budget_remaining_bytes",
        "ssd_probe_runs_total",
        "ssd_probe_skipped_total",
    } == names
    assert 'ssd_probe_write_budget_remaining_bytes{device="nvme0n1",period="day"} 40' in lines


def test_a_run_of_a_capped_profile_has_no_rate() -> None:
    lines = directory_page(results(_ran(READ, Op.READ)))
    assert not [line for line in lines if "iops{" in line or "throughput" in line]
    where = 'device="nvme0n1",profile="page_read",op="read"'
    assert f"ssd_probe_latency_seconds_count{{{where}}} 3" in lines
    assert f'ssd_probe_latency_seconds_bucket{{{where},le="2.5"}} 2' in lines
    assert f'ssd_probe_last_latency_seconds{{{where},stat="p99"}} 0.0003' in lines
    assert not [line for line in lines if 'stat="p50"' in line], "fio did not report it"


def test_a_run_at_full_speed_has_one() -> None:
    lines = directory_page(results(_ran(BURST, Op.WRITE)))
    where = 'device="nvme0n1",profile="burst",op="write"'
    assert f"ssd_probe_iops{{{where}}} 10" in lines
    assert f"ssd_probe_throughput_bytes_per_second{{{where}}} 163840" in lines


def test_the_parameters_of_the_run_are_exposed() -> None:
    (info,) = [
        line for line in directory_page(results(_ran(READ, Op.READ))) if "_probe_info" in line
    ]
    for label in ('engine="psync"', 'bs="16384"', 'fio_version="3.33"', 'mountpoint="/data"'):
        assert label in info


def test_with_too_few_runs_there_is_no_steady_state_sample() -> None:
    found = ProfileResults(READ)
    found.steady_state = SteadyState(SteadyPhase.TOO_FEW, None, None, None)
    lines = directory_page(results(found))
    where = 'device="nvme0n1",profile="page_read"'
    assert f'ssd_probe_steady_state_info{{{where},phase="too_few"}} 1' in lines
    assert not [line for line in lines if line.startswith("ssd_probe_steady_state{")]


def test_a_steady_drive_is_1() -> None:
    window = SteadyWindow(mean=10.0, least=9.0, most=10.5, deviation=0.1, excursion=-0.5)
    found = ProfileResults(READ)
    found.steady_state = SteadyState(SteadyPhase.STEADY, window, window, None)
    lines = directory_page(results(found))
    where = 'device="nvme0n1",profile="page_read"'
    assert f"ssd_probe_steady_state{{{where}}} 1" in lines
    assert f"ssd_probe_steady_range_ratio{{{where}}} 0.15" in lines
    assert f"ssd_probe_steady_slope_ratio{{{where}}} 0.05" in lines


def _ran(profile: object, op: Op) -> ProfileResults:
    found = ProfileResults(profile, profile, "psync", "3.33")  # type: ignore[arg-type]
    found.record_job(JobResult("name", RunResult.SUCCESS, 0, 2.5, {op: FOUND}))
    return found


def test_a_cache_cliff_has_all_samples() -> None:
    found = page(probe_collector.slc_samples({"nvme0n1": RESULT}))
    assert {
        "ssd_slc_probe_result_info": {("nvme0n1", "cliff"): 1},
        "ssd_slc_probe_timestamp_seconds": {("nvme0n1",): 1_700_000_000.5},
        "ssd_slc_cache_bytes": {("nvme0n1",): 8_500_000_000},
        "ssd_slc_burst_bytes_per_second": {("nvme0n1",): 540e6},
        "ssd_slc_sustained_bytes_per_second": {("nvme0n1",): 112.5e6},
        "ssd_slc_falloff_ratio": {("nvme0n1",): 112.5 / 540},
        "ssd_slc_recovered_bytes": {("nvme0n1", "30s"): 0, ("nvme0n1", "3600s"): 8_500_000_000},
    } == found


def test_unknown_values_have_no_sample() -> None:
    cliff = CacheCliff(CliffResult.BUDGET, 5, (), None, 5, 100.0)
    found = page(
        probe_collector.slc_samples({"sda": replace(RESULT, cliff=cliff, recovered_bytes={})})
    )
    assert {"probe_result_info", "probe_timestamp_seconds", "cache_min_bytes"} == {
        name.removeprefix("ssd_slc_") for name in found
    } - {"burst_bytes_per_second"}
    assert {("sda",): 5} == found["ssd_slc_cache_min_bytes"]


def test_without_results_there_are_no_samples() -> None:
    assert {} == page(probe_collector.slc_samples({}))
