"""The verdicts for a real block device under fio, from the kernel's own files.

The device is a pair of stacked loop devices, and its limits are those of a control group
(`tests.rig.slow_disk`).
"""

import time
from pathlib import Path

import pytest

from exporter.clock import SystemClock
from exporter.collector_status import CollectorStatus
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.disk_rules import DiskRules
from exporter.io.sampler import Sampler
from exporter.io.verdict import Verdict
from tests.rig.load import Job, load
from tests.rig.slow_disk import SlowDisk

pytest_plugins = ("tests.rig.fixtures",)
pytestmark = pytest.mark.real

#: A state must be recognised within this number of samples.
SAMPLES = 40

#: Samples of a load for which nothing may be claimed.
HEALTHY_SAMPLES = 14


class Watched:
    """Samples /proc every second, and keeps the activity of one device."""

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

    def sample(self) -> DiskActivity:
        """Waits for a second, takes a sample, and returns the activity of the device."""
        time.sleep(1)
        self._sampler.tick()
        with self._sampler.flushed():
            return self._sampler.activities[self._device]

    def verdict(self) -> Verdict:
        with self._sampler.flushed():
            return self._sampler.activities[self._device].verdict.value(time.monotonic())

    def reads(self) -> float:
        return sum(self.sample().read_await.buckets().weights)

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
        assert all(watched.sample().stalled_seconds == 0 for _ in range(4))
        slow_disk.throttle(read_iops=2000, write_bps=1)
        before = watched.reads()
        late = next(n for n in range(SAMPLES) if watched.sample().stalled_seconds > 0)
        for _ in range(SAMPLES):
            activity = watched.sample()
            if watched.verdict() is Verdict.DEVICE:
                break
        assert watched.reads() > before + 100 * late, "reads completed all the time"
        assert activity.stalled_seconds >= 5
        assert Verdict.DEVICE is watched.verdict()
        assert late <= 13, "within about ten seconds"
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
    with load(slow_disk, job):
        watched = Watched(slow_disk.device)
        seen = watched.verdicts(HEALTHY_SAMPLES)
        activity = watched.sample()
    assert {*seen} <= {Verdict.NONE, Verdict.UNKNOWN}, "a busy machine may answer late"
    assert 0 == activity.stalled_seconds
    assert activity.falloffs is not None
    assert 0 == activity.falloffs.events
