"""A real load on a real device moves the numbers of `top`, and the JSON contains them."""

import os

import pytest

from exporter.config.settings import DiskSettings, Settings
from exporter.io.verdict import Verdict
from exporter.runtime.clock import SystemClock
from exporter.top.frame import DaemonDrive, as_json
from exporter.top.live_host import LiveHost
from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
from tests.duration import wait_until
from tests.top.rate_bounds import around, rate_bounds

pytestmark = pytest.mark.real
pytest_plugins = ("rigs.devices.fixtures",)

BASELINE = DaemonDrive(write_baseline_seconds=1e-9)


def test_a_load_moves_the_numbers(slow_disk: SlowDisk) -> None:
    clock, name = SystemClock(), slow_disk.device
    settings = Settings(disk=DiskSettings(device_include=f"^{name}$"))
    host = LiveHost(settings, clock, 0.5)
    host.tick()

    def is_idle() -> bool:
        clock.sleep(0.5)
        host.tick()
        (idle,) = host.frame({}).drives
        found = (idle.device, idle.now.writes, idle.now.busy_ratio, idle.now.verdict)
        return found == (name, 0, 0, Verdict.NONE)

    wait_until(is_idle)  # udev may read a new device
    with load(slow_disk, Job(depth=8), seconds=60):
        start = around(slow_disk.written_bytes, host.tick)
        for _ in range(4):
            clock.sleep(0.5)
            end = around(slow_disk.written_bytes, host.tick)
            (busy,) = host.frame({name: BASELINE}).drives
            lowest, highest = rate_bounds(start, end)
            assert lowest <= busy.now.written_bytes <= highest
            assert busy.now.write_await is not None
            start = end
    assert lowest > 0
    assert busy.now.writes > 0
    assert busy.slowdown is not None
    assert max(busy.now.written_column) > 0
    assert len(busy.now.statuses) == len(busy.now.read_column)


def test_the_values_as_json(slow_disk: SlowDisk) -> None:
    name = slow_disk.device
    host = LiveHost(Settings(disk=DiskSettings(device_include=f"^{name}$")), SystemClock(), 0.5)
    host.tick()
    with load(slow_disk, Job(depth=4), seconds=60):
        SystemClock().sleep(0.6)
        host.tick()
        host.frame({})
        SystemClock().sleep(0.6)
        host.tick()
    result = as_json(host.frame({}))
    (drive,) = result["drives"]
    assert os.uname().nodename == result["host"]
    assert {
        *("device", "model", "capacity_bytes", "roles", "mountpoints", "verdict"),
        *("read_bytes_per_second", "written_bytes_per_second"),
        *("reads_per_second", "writes_per_second"),
        *("read_await_seconds", "write_await_seconds", "flush_await_seconds"),
        *("queue_depth", "busy_ratio", "saturated_seconds", "stalled_seconds", "services"),
        *("temperature_celsius", "endurance_used_ratio", "spare_ratio", "media_errors"),
        *("read_await_baseline_seconds", "write_await_baseline_seconds"),
        *("read_slowest_inside_seconds", "write_slowest_inside_seconds"),
        *("read_slow_inside_drive", "write_slow_inside_drive"),
    } == drive.keys()
    assert drive["written_bytes_per_second"] > 0
    assert drive["write_await_seconds"] > 0
    assert drive["temperature_celsius"] is None
    assert [] == drive["services"]
