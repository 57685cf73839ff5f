"""The daemon exports new results of write cache probes without a restart."""

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.probe import slc_results
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.slc_results import SlcResult
from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import CACHE_BYTES, FAST, SLOW, mounted, write_cache
from tests.commands.measured import GATE
from tests.duration import ahead_of_other_work, wait_until
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page
from tests.end_to_end.waiting import await_page

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

CLIFF = CacheCliff(
    CliffResult.CLIFF, 9, (), 5, None, burst_bytes_per_second=4.0, sustained_bytes_per_second=1.0
)
OFTEN = "[survey]\ninterval_seconds = 5\n"


def test_a_new_slc_result_is_exported_and_a_damaged_one_is_skipped(
    slow_disk: SlowDisk, tmp_path: Path
) -> None:
    device = slow_disk.device
    result = SlcResult((device,), device, 1.0, CLIFF)
    with Daemon(tmp_path, "--no-collector.smart", config=OFTEN) as daemon:
        assert [] == list(daemon.page().find("ssd_slc_probe_result_info"))
        slc_results.save(daemon.state, result)
        page = await_page(daemon, lambda page: any(page.find("ssd_slc_cache_bytes")))
        assert 5 == page.value("ssd_slc_cache_bytes", device=device)
        assert 0.25 == page.value("ssd_slc_falloff_ratio", device=device)
        broken = slc_results.save(daemon.state, replace(result, drives=("gone",)))
        broken.write_text("{")
        page = await_page(
            daemon,
            lambda page: any(
                count for _, count in page.find("ssd_collector_errors_total", collector="probe")
            ),
        )
        assert 5 == page.value("ssd_slc_cache_bytes", device=device)
        wait_until(lambda: str(broken) in daemon.log)
    with Daemon(tmp_path, "--no-collector.smart", config=OFTEN) as daemon:
        await_page(daemon, lambda page: any(page.find("ssd_slc_cache_bytes")))


def has_run(page: Page) -> bool:
    """Returns True after one run that stopped at the end of the cache with the result success."""
    found = page.find("ssd_probe_runs_total", profile="slc", result="success")
    return [1.0] == [value for _, value in found]


def test_the_scheduled_slc_profile_finds_the_end_of_the_cache(
    tmp_path: Path, large_disk: SlowDisk
) -> None:
    """It runs beside the other scheduled profiles."""
    (tmp_path / "root/run/lock").mkdir(parents=True)
    config = f"""
        {OFTEN}
        [disk]
        device_exclude = "^$"
        [probe]
        directory = "{tmp_path / "mnt/probe"}"
        profiles = ["slc", "fsync"]
        first_delay_seconds = 1.5
        [probe.profile.slc]
        size_bytes = 469762048
        depth = 2
        interval_seconds = 604800
        [probe.profile.fsync]
        size_bytes = 1048576
        number_ios = 50
        {GATE}
    """
    with (
        ahead_of_other_work(),
        mounted(large_disk, tmp_path / "mnt"),
        write_cache(large_disk, fast=FAST, slow=SLOW, cache_bytes=CACHE_BYTES) as simulated,
        Daemon(
            tmp_path / "daemon",
            "--no-collector.smart",
            f"--path.rootfs={tmp_path / 'root'}",
            config=config,
            prefix=large_disk.cgroup.prefix,
        ) as daemon,
    ):
        page = await_page(daemon, lambda page: any(page.find("ssd_slc_probe_result_info")))
        results = [labels["result"] for labels, _ in page.find("ssd_slc_probe_result_info")]
        assert ["cliff"] == results, (simulated, daemon.log)
        page = await_page(daemon, has_run)
        cache = page.value("ssd_slc_cache_bytes", device=large_disk.device)
        ratio = page.value("ssd_slc_falloff_ratio", device=large_disk.device)
    assert pytest.approx(CACHE_BYTES, rel=0.1) == cache
    assert pytest.approx(simulated.falloff_ratio(), rel=0.1) == ratio, str(simulated)
