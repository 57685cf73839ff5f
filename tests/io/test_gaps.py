"""A late or missing sample loses no bytes of a long write."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from exporter.config.disk_rules import WriteFalloffRules
from exporter.io.interval import DiskInterval
from exporter.io.write_falloff import WriteFalloff, WriteFalloffDetector
from exporter.linux.diskstats import DiskStats
from tests.io.machine import Machine
from tests.io.records import NEW, grown, over
from tests.probe.traces import GB, MB

#: The speeds before and after the cache is full, and the size of the cache.
FAST, SLOW, CACHE = 600 * MB, 120 * MB, 24 * GB


@dataclass
class Writer:
    """Writes from the second `begin` on, until `end`, on a drive with a cache."""

    machine: Machine
    begin: float
    end: float = 1000.0
    now: float = 0.0
    written: float = 0.0
    disk: DiskStats = field(default=NEW)

    def sample(self, at: float, *, is_readable: bool = True) -> None:
        """Takes a sample at the second `at`."""
        busy, written = self._work(self.now, at)
        self.disk = grown(
            self.disk,
            writes_completed=written // MB,
            written_bytes=written // MB * MB,
            write_time_seconds=8 * busy,
            io_time_seconds=busy,
        )
        self.machine.disks(self.disk)
        if not is_readable:
            self.machine.remove("diskstats")
        self.machine.tick(at - self.now)
        self.now, self.written = at, self.written + written

    def _work(self, since: float, until: float) -> tuple[float, int]:
        begin, end = max(since, self.begin), min(until, self.end)
        if end <= begin:
            return 0.0, 0
        full = self.begin + CACHE / FAST
        fast, slow = max(min(end, full) - begin, 0.0), max(end - max(begin, full), 0.0)
        return end - begin, round(fast * FAST + slow * SLOW)

    @property
    def falloff(self) -> WriteFalloff | None:
        falloffs = self.machine.sampler.activities["sdx"].falloffs
        assert falloffs is not None
        return falloffs.last


def late_each_15_seconds(until: int) -> Iterator[int]:
    return (at for at in range(1, until) if at % 15 not in {2, 3, 4})


def test_the_place_of_a_falloff_includes_the_bytes_of_late_samples(machine: Machine) -> None:
    """Three samples of 15 are missing, so that 4 of 15 seconds are gaps."""
    writer = Writer(machine, begin=5.0)
    for at in late_each_15_seconds(75):
        writer.sample(at)
    assert writer.falloff is not None
    assert pytest.approx(CACHE, rel=0.02) == writer.falloff.burst_bytes
    assert 5 == machine.sampler.gaps


@pytest.mark.parametrize("first", range(38, 46))
def test_the_cache_may_become_full_in_a_gap(machine: Machine, first: int) -> None:
    writer = Writer(machine, begin=5.0)
    for at in range(1, 75):
        if not first <= at < first + 5:
            writer.sample(at)
    assert writer.falloff is not None
    assert pytest.approx(CACHE, rel=0.02) == writer.falloff.burst_bytes
    assert pytest.approx(0.2, rel=0.02) == writer.falloff.ratio
    assert writer.falloff.is_sudden


@pytest.mark.parametrize("begin", [4.0, 5.5, 6.5, 7.7])
def test_a_write_may_begin_in_a_gap(machine: Machine, begin: float) -> None:
    writer = Writer(machine, begin)
    for at in range(1, 75):
        if not 5 <= at < 8:
            writer.sample(at)
    assert writer.falloff is not None
    assert pytest.approx(CACHE, rel=0.02) == writer.falloff.burst_bytes


@pytest.mark.parametrize("begin", [5.2, 5.5, 5.8])
def test_the_first_part_of_a_second_belongs_to_the_write(machine: Machine, begin: float) -> None:
    writer = Writer(machine, begin)
    for at in range(1, 75):
        writer.sample(at)
    assert writer.falloff is not None
    assert pytest.approx(CACHE, rel=0.005) == writer.falloff.burst_bytes


def test_samples_that_cannot_be_read_lose_no_bytes(machine: Machine) -> None:
    writer = Writer(machine, begin=5.0)
    for at in range(1, 75):
        writer.sample(at, is_readable=at % 15 not in {2, 3, 4})
    assert writer.falloff is not None
    assert pytest.approx(CACHE, rel=0.02) == writer.falloff.burst_bytes


def test_a_gap_alone_is_no_falloff(machine: Machine) -> None:
    """The write may have paused in it."""
    writer = Writer(machine, begin=5.0, end=25.0)
    for at in range(1, 120):
        if not 23 <= at < 60:
            writer.sample(at)
    assert writer.falloff is None


def test_a_gap_changes_no_histogram(machine: Machine) -> None:
    """The mean over many seconds is not the mean of one second."""
    writer = Writer(machine, begin=0.0)
    for at in [1, 2, 3, 9]:
        writer.sample(at)
    activity = machine.sampler.activities["sdx"]
    assert pytest.approx(2) == sum(activity.queue_depth.buckets().weights)


def test_the_bytes_of_an_interval_in_which_some_requests_hang_count() -> None:
    """Half of the 20 GB were written while one request hung."""
    burst = WriteFalloffDetector(WriteFalloffRules())
    told: list[WriteFalloff | None] = []
    for now in range(60):
        disk = second_of(500 * MB if now < 40 else 100 * MB, is_stalled=10 <= now < 30)
        told.append(burst.observe(float(now), disk))
    (falloff,) = [each for each in told if each]
    assert pytest.approx(40 * 500 * MB, rel=0.01) == falloff.burst_bytes


def second_of(written_bytes: float, *, is_stalled: bool) -> DiskInterval:
    work = {"writes_completed": written_bytes // MB, "written_bytes": written_bytes}
    disk = over(NEW, grown(NEW, **work, write_time_seconds=8, io_time_seconds=1.0))
    return disk._replace(stalled=is_stalled)
