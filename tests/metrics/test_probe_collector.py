"""What probes of write caches found, on the page."""

from dataclasses import replace

from exporter.metrics import probe_collector
from exporter.probe.cache_cliff import CacheCliff, CliffResult
from tests.metrics.page import page
from tests.probe.test_slc_results import RESULT


def test_a_cliff_has_all_its_figures() -> None:
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


def test_what_is_not_known_has_no_sample() -> None:
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
