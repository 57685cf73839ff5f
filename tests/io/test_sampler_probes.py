"""Tests that the seconds of a probe do not count as saturated."""

from exporter.io.probe_windows import ProbeWindows
from tests.io.machine import FULL, Machine
from tests.io.records import NEW, grown


def test_a_probe_window_covers_overlapping_intervals_of_its_devices() -> None:
    windows = ProbeWindows()
    windows.begin(["md0", "sda"], 10.0)
    assert windows.is_running("sda")
    assert not windows.is_running("sdb")
    assert windows.covers("md0", 11.0, 12.0)
    windows.end(13.5)
    assert not windows.is_running("sda")
    assert windows.covers("sda", 13.0, 14.0)
    assert not windows.covers("sda", 14.0, 15.0)
    assert not windows.covers("sda", 9.0, 10.0)


def test_old_probe_windows_are_dropped() -> None:
    windows = ProbeWindows()
    for number in range(1000):
        windows.begin(["sda"], number * 100.0)
        windows.end(number * 100.0 + 1)
    assert len(windows._windows) < 5


def test_the_seconds_of_a_probe_are_not_saturated(machine: Machine) -> None:
    windows = ProbeWindows()
    machine.sampler._is_probed = windows.covers
    machine.remove("pressure")
    machine.tick()
    windows.begin(["sdx"], machine.clock.monotonic() + 0.2)
    disk = grown(NEW, **FULL)
    machine.disks(disk).tick()
    activity = machine.sampler.activities["sdx"]
    assert 0.0 == activity.saturated_seconds
    assert 400 == sum(activity.write_await.buckets().weights), (
        "the operations of the probe still count"
    )
    windows.end(machine.clock.monotonic())
    machine.disks(grown(disk, **FULL)).tick()
    assert 1.0 == activity.saturated_seconds
