"""Falloff detection on a real device that becomes slower after a number of bytes."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.config.disk_rules import WriteFalloffRules
from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import write_cache
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page
from tests.end_to_end.waiting import await_page

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

#: The simulated write cache: bytes per second while it has room, its size in bytes, and bytes per
#: second when it is full.
FAST, CACHE_BYTES, SLOW = 40_000_000, 480_000_000, 10_000_000

#: So many bytes in flight that the limit of the disk determines its speed, and not the time that
#: the kernel's threads wait for a CPU.
WRITER = Job(pattern="write", depth=8, block_bytes=1 << 20)


def test_a_falloff_is_detected_on_a_cached_disk_and_not_on_a_flat_one(
    slow_disk: SlowDisk, tmp_path: Path
) -> None:
    """With the default rules; fio writes to both disks concurrently."""
    with ExitStack() as stack:
        flat = stack.enter_context(SlowDisk(Path("/dev/shm")))
        cached = slow_disk
        only = f"--collector.disk.device-include=^({cached.device}|{flat.device})$"
        daemon = stack.enter_context(Daemon(tmp_path, only, "--no-collector.smart"))
        flat.throttle(write_bps=FAST)
        cache = stack.enter_context(
            write_cache(cached, fast=FAST, slow=SLOW, cache_bytes=CACHE_BYTES)
        )
        stack.enter_context(load(flat, WRITER))
        stack.enter_context(load(cached, WRITER))
        events = "ssd_disk_write_falloff_events_total"
        samples: list[float] = []

        def is_certain(page: Page) -> bool:
            samples.append(page.value("ssd_sampler_last_sample_timestamp_seconds"))
            return 1 == page.value(events, device=cached.device)

        await_page(daemon, is_certain, 2 * PATIENCE_SECONDS)
        ended_unix = cache.begun_unix + cache.changes[0]
        # The first slow interval begins at the last sample before the end of the cache or later.
        slow_seconds = samples[-1] - max(sample for sample in samples if sample <= ended_unix)
        assert slow_seconds >= WriteFalloffRules().lasting_seconds - 0.1, str(cache)
        page = await_page(daemon, lambda page: page.verdict(cached.device) == ["write_cache"])

    assert ["write_cache"] == page.verdict(cached.device)
    assert 1 == page.value(events, device=cached.device)
    ratio = page.value("ssd_disk_write_falloff_last_ratio", device=cached.device)
    assert pytest.approx(cache.falloff_ratio(), rel=0.1) == ratio, str(cache)
    burst_bytes = page.value("ssd_disk_write_falloff_last_burst_bytes", device=cached.device)
    assert pytest.approx(CACHE_BYTES, rel=0.1) == burst_bytes

    assert 0 == page.value(events, device=flat.device)
    assert [] == [*page.find("ssd_disk_write_falloff_last_ratio", device=flat.device)]
    assert ["write_cache"] != page.verdict(flat.device)
