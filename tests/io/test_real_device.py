"""The verdicts for a real block device under fio, from the kernel's own files.

The device is a pair of stacked loop devices, and its limits are those of a control group
(`rigs.devices.slow_disk`).
"""

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.config.disk_rules import DiskRules
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.sampler import Sampler
from exporter.io.verdict import Verdict
from exporter.runtime.clock import SystemClock
from exporter.runtime.collector_status import CollectorStatus
from rigs.devices.load import Job, load
from rigs.devices.slow_disk import SlowDisk
from tests.duration import at_most, wait_until

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

#: A state is awaited for this number of samples. Other work can delay each of them.
SAMPLES = 90

#: Samples of a load for which nothing may be claimed.
HEALTHY_SAMPLES = 14

#: A device with spare throughput completes a request within this time on average, in seconds.
HEALTHY_SECONDS = 0.003


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of a device since boot: completed reads, all completed requests, their time."""

    reads: int
    requests: int
    seconds: float


def counters(device: str) -> Counters:
    """Reads the kernel's own counters (Documentation/block/stat.rst), with discards, no flushes."""
    n = [int(field) for field in Path("/sys/block", device, "stat").read_text().split()]
    return Counters(n[0], n[0] + n[4] + n[11], (n[3] + n[7] + n[14]) / 1e3)


class Watched:
    """Samples /proc every second, and keeps the activity of one device.

    counted: the kernel's own counters at the start and after each sample.
    """

    def __init__(self, device: str) -> None:
        clock, rules = SystemClock(), DiskRules()
        self._device = device
        self._sampler = Sampler(
            CounterFiles(Path("/proc"), clock),
            clock=clock,
            collector_status=CollectorStatus(clock),
            rules=rules,
            baselines=Baselines(rules.baseline),
            wanted=lambda name: name == device,
            interval=1.0,
        )
        self._sampler.tick()
        self.counted = [counters(device)]

    def sample(self) -> DiskActivity:
        """Waits for a second, takes a sample, and returns the activity of the device."""
        time.sleep(1)
        self._sampler.tick()
        self.counted.append(counters(self._device))
        with self._sampler.flushed():
            return self._sampler.activities[self._device]

    def verdict(self) -> Verdict:
        with self._sampler.flushed():
            return self._sampler.activities[self._device].verdict.value(time.monotonic())

    def had_spare_throughput(self) -> bool:
        """Returns True if requests completed in each second, and soon."""
        return all(
            b.seconds - a.seconds < HEALTHY_SECONDS * (b.requests - a.requests)
            for a, b in itertools.pairwise(self.counted)
        )

    def verdicts(self, samples: int) -> list[Verdict]:
        seen = []
        for _ in range(samples):
            self.sample()
            seen.append(self.verdict())
        return seen


def test_writes_that_hang_beside_reads_are_a_stall(slow_disk: SlowDisk) -> None:
    """A half of the requests hangs: the others complete every second, and hide them."""
    slow_disk.throttle(read_iops=2000, write_iops=2000)
    jobs = (
        Job("randread", "psync", depth=4, rate_iops=100),
        Job("randwrite", "psync", depth=4, rate_iops=100),
    )
    with load(slow_disk, *jobs):
        watched = Watched(slow_disk.device)
        assert all(watched.sample().stalls.total_seconds == 0 for _ in range(4))
        slow_disk.throttle(read_iops=2000, write_bps=1)
        del watched.counted[:-1]
        with at_most(14, "the detection of the stall"):
            assert any(watched.sample().stalls.total_seconds > 0 for _ in range(SAMPLES))
        reads = [counted.reads for counted in watched.counted]
        assert all(a < b for a, b in itertools.pairwise(reads)), "reads completed all the time"
        for _ in range(SAMPLES):
            activity = watched.sample()
            if watched.verdict() is Verdict.DEVICE:
                break
        assert activity.stalls.total_seconds >= 5
        assert Verdict.DEVICE is watched.verdict()
        slow_disk.free()


def test_random_reads_at_the_full_queue_depth_are_the_device(slow_disk: SlowDisk) -> None:
    slow_disk.throttle(read_iops=3000)
    with load(slow_disk, Job("randread", depth=64)):
        seen = Watched(slow_disk.device).verdicts(12)
    assert Verdict.DEVICE is seen[-1]
    assert {*seen} <= {Verdict.NONE, Verdict.DEVICE}


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(Job("randtrim", "psync", depth=2, rate_iops=200), id="discards"),
        pytest.param(
            Job("randwrite", "psync", depth=8, rate_iops=100, writes_per_fsync=1), id="flush storm"
        ),
    ],
)
def test_discards_and_flushes_of_a_device_with_spare_throughput_are_no_bottleneck(
    slow_disk: SlowDisk, job: Job
) -> None:
    """Other work can delay the device. What is claimed of a delayed device says nothing here."""
    claims: list[object] = []

    def is_conclusive() -> bool:
        watched = Watched(slow_disk.device)
        seen = {*watched.verdicts(HEALTHY_SAMPLES)}
        activity = watched.sample()
        claims[:] = (
            *(seen - {Verdict.NONE, Verdict.UNKNOWN}),  # a busy machine may answer late
            *([activity.stalls.total_seconds] if activity.stalls.total_seconds else []),
            *([activity.falloffs] if activity.falloffs is None or activity.falloffs.events else []),
        )
        return not claims or watched.had_spare_throughput()

    with load(slow_disk, job):
        wait_until(is_conclusive, "an interval with spare throughput")
    assert [] == claims
