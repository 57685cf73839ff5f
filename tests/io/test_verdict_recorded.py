"""Tests of `io` with the recorded counters of a real disk that slows down, hangs and recovers.

rigs/devices/record.py describes the recording and its phases.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from exporter.config.disk_rules import SaturationRules, VerdictRules
from exporter.config.drive_class import DriveClass
from exporter.io.interval import DiskInterval, cpu_interval, disk_interval
from exporter.io.verdict import (
    AwaitLimits,
    Verdict,
    bottleneck_verdict,
    cpu_is_bottleneck,
    device_is_full,
    is_saturated,
    requests_are_slow,
    tasks_wait_for_io,
)
from exporter.linux import diskstats, pressure, proc_stat
from exporter.linux.diskstats import DiskStats
from tests.io.machine import Machine

TRACE = json.loads(
    (Path(__file__).parents[2] / "rigs" / "devices" / "data" / "slow_disk_seconds.json").read_text()
)
RULES = SaturationRules()
_FLOOR = RULES.await_floor_seconds[DriveClass.SSD]
LIMITS = AwaitLimits(_FLOOR, _FLOOR)


class Second(NamedTuple):
    """One second of the trace with its verdict."""

    phase: str
    disk: DiskInterval
    cause: Verdict
    is_saturated: bool


def disk_of(reading: dict[str, Any]) -> DiskStats:
    (disk,) = diskstats.parse(reading["diskstats"] + "\n", {}).value.values()
    return disk


def judged(before: dict[str, Any], after: dict[str, Any]) -> Second:
    seconds = after["monotonic_seconds"] - before["monotonic_seconds"]
    disk = disk_interval(disk_of(before), disk_of(after), seconds)
    assert disk is not None
    cpus = [
        proc_stat.parse("\n".join(reading["cpu"]) + "\n").value.ticks for reading in (before, after)
    ]
    waiting = [
        pressure.parse("\n".join(reading["pressure_io"]) + "\n").waiting_seconds or 0.0
        for reading in (before, after)
    ]
    is_full = device_is_full(disk, DriveClass.SSD, LIMITS, RULES)
    is_waited_for = tasks_wait_for_io((waiting[1] - waiting[0]) / seconds, RULES)
    shares = cpu_interval(*cpus)
    cause = bottleneck_verdict(
        disk,
        is_full=is_full,
        is_slow=requests_are_slow(disk, LIMITS),
        is_waited_for=is_waited_for,
        is_cpu_bound=shares is not None
        and cpu_is_bottleneck(shares, dict.fromkeys(shares.cpus, 1.0), VerdictRules()),
        rules=VerdictRules(),
    )
    counts_as_saturated = is_saturated(is_full=is_full, is_waited_for=is_waited_for)
    return Second(after["phase"], disk, cause, counts_as_saturated)


SECONDS = [judged(*pair) for pair in pairwise(TRACE["seconds"])]


def phase(name: str) -> list[Second]:
    return [second for second in SECONDS if second.phase == name]


@pytest.mark.parametrize("name", ["calm", "calm again"])
def test_a_calm_second_has_no_bottleneck(name: str) -> None:
    for second in phase(name):
        assert Verdict.NONE is second.cause
        assert not second.is_saturated
        assert second.disk.busy_ratio < 0.1
        assert not second.disk.stalled


def test_the_verdict_for_a_second_at_the_limit_is_device() -> None:
    """The first second started before the limit was in effect."""
    for second in phase("slow")[1:]:
        assert Verdict.DEVICE is second.cause
        assert second.is_saturated
        assert pytest.approx(1, abs=0.01) == second.disk.busy_ratio
        assert pytest.approx(33, rel=0.02) == second.disk.queue_depth


def test_without_the_limit_the_device_is_not_the_bottleneck() -> None:
    """The first second drains the queue."""
    for second in phase("free")[1:]:
        assert Verdict.DEVICE is not second.cause
        assert not second.is_saturated
        assert second.disk.writes > TRACE["slow_write_iops"]


def test_four_seconds_of_a_hang_are_four_stalled_busy_seconds() -> None:
    hanging = phase("hang")
    assert 4 == len(hanging)
    for second in hanging:
        assert second.disk.stalled
        assert second.disk.busy_ratio >= 0.99
        assert 1 <= second.disk.queue_depth <= 33
        assert Verdict.DEVICE is second.cause
    assert not any(second.disk.stalled for second in SECONDS if second.phase != "hang")


def test_the_second_after_the_hang_has_a_plausible_queue_depth() -> None:
    """The kernel adds the whole time of the hang in this second. Then all is as before."""
    first, *later = phase("after")
    requests = first.disk.reads + first.disk.writes
    assert first.disk.queue_depth <= requests + TRACE_IN_FLIGHT
    assert all(second.disk.queue_depth < 2 for second in later)


TRACE_IN_FLIGHT = max(disk_of(reading).io_now for reading in TRACE["seconds"])


def replayed(machine: Machine) -> Iterator[str]:
    """Run the sampler over the trace, one phase per step."""
    then = TRACE["seconds"][0]["monotonic_seconds"]
    for reading in TRACE["seconds"]:
        machine.write("diskstats", reading["diskstats"] + "\n")
        machine.write("stat", "\n".join([*reading["cpu"], "intr 0"]) + "\n")
        machine.write("pressure/io", "\n".join(reading["pressure_io"]) + "\n")
        machine.tick(reading["monotonic_seconds"] - then)
        then = reading["monotonic_seconds"]
        yield reading["phase"]


def test_the_sampler_gives_the_same_results(tmp_path: Path) -> None:
    """Return the verdict and the counters at the end of each phase."""
    machine = Machine(tmp_path)
    shown: dict[str, tuple[Verdict, int, int]] = {}
    for name in replayed(machine):
        activity = machine.sampler.activities[TRACE["device"]]
        shown[name] = (
            activity.verdict.value(machine.clock.monotonic()),
            round(activity.saturated_seconds),
            round(activity.stalls.total_seconds),
        )
    saturated_seconds = sum(second.is_saturated for second in SECONDS)
    assert (Verdict.NONE, 0, 0) == shown["calm"]
    assert Verdict.DEVICE is shown["slow"][0]
    assert shown["slow"][1] in (9, 10)
    assert Verdict.NONE is shown["free"][0]
    assert (0, 4) == (shown["free"][2], shown["hang"][2])
    assert (Verdict.NONE, saturated_seconds, 4) == shown["calm again"]
    assert 0 == machine.sampler.gaps
    counted = sum(activity.busy_ratio.buckets().weights)
    passed = TRACE["seconds"][-1]["monotonic_seconds"] - TRACE["seconds"][0]["monotonic_seconds"]
    assert passed == pytest.approx(counted)
    worst = activity.queue_depth.peak.value(machine.clock.monotonic())
    # Also after the hang, when the kernel adds four seconds of 18 requests at once.
    assert worst == pytest.approx(TRACE_IN_FLIGHT, rel=0.05)
