"""A simulated host: one drive, its workloads and CPUs, and the sampler that reads its /proc."""

import heapq
import math
import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from exporter.config.disk_rules import DiskRules
from exporter.config.drive_class import DriveClass, VolumeType
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles
from exporter.io.drive import Drive
from exporter.io.sampler import Sampler
from exporter.io.slowdown import SlowdownEvidence
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.sample_times import sample_time
from rigs.scenes import kernel
from rigs.scenes.drive import Job, Model, Served, serve
from rigs.scenes.kernel import BlockDevice, Cpu, IoTicks
from tests.fakes import FakeClock

#: How often the state of a fast drive is computed, as a share of the sampling interval.
_SLICES = 10


@dataclass(frozen=True)
class Hang:
    """Requests that do not complete until the time `until`, in seconds of the scene.

    share: the share of the hardware queues that hang; 1 for the whole drive.
    ops: the operations that hang.
    wander: how many of the running threads enter a hanging queue per second, as a share.
    """

    until: float
    share: float = 1.0
    ops: tuple[int, ...] = (kernel.READ, kernel.WRITE, kernel.DISCARD)
    wander: float = 0.02


@dataclass
class Second:
    """What the exporter showed after one sample, and the true state of the drive.

    used: the utilisation of the drive's bottleneck resource, 0 to 1.
    written: the bytes written so far.
    """

    at: float
    verdict: str
    used: float
    saturated: float
    stalled: float
    falloffs: int
    written: float


@dataclass
class Host:
    """Simulates phases of a workload; `log` has one entry per sample.

    one_by_one: simulate every request. Otherwise only the mean values of short slices of time,
        which suffices for a drive that completes several requests per jiffy.
    """

    model: Model
    rng: random.Random
    ticks: IoTicks = IoTicks.START
    hz: int = 250
    cpu_count: int = 4
    interval: float = 1.0
    volume: VolumeType = VolumeType.DRIVE
    one_by_one: bool = False
    evidence: SlowdownEvidence = field(default_factory=SlowdownEvidence)
    jitter: float = 0.08
    waits_elsewhere: float = 0.0
    log: list[Second] = field(default_factory=list)
    now: float = 0.0
    cache_used: float = 0.0
    fill_at: float | None = None
    written: float = 0.0
    slow_factor: float = 1.0

    def __post_init__(self) -> None:
        self.block = BlockDevice(ticks=self.ticks, hz=self.hz)
        self.cpus = [Cpu() for _ in range(self.cpu_count)]
        self.clock = FakeClock(monotonic=1000.0)
        self._waited = self._phase_begun = 0.0
        self._used = 0.0
        self._held: list[tuple[int, float, float]] = []
        self._slots: list[tuple[float, int, int, float, bool]] = []
        self._free: list[tuple[float, int]] = []
        self._next_sample, self._number = sample_time(1, self.interval), 1
        self._stack = ExitStack()
        place = self._stack.enter_context(
            tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        )
        self.proc = Path(place)
        (self.proc / "pressure").mkdir()
        self._write()
        rules = DiskRules()
        clock: Clock = self.clock
        self.sampler = Sampler(
            CounterFiles(self.proc, clock),
            clock=clock,
            collector_status=CollectorStatus(clock),
            rules=rules,
            baselines=Baselines(rules.baseline),
            wanted=lambda _device: True,
            interval=self.interval,
            evidence=lambda _device: self.evidence,
        )
        kind = DriveClass(self.model.kind)
        drive = Drive(
            self.model.name,
            kind,
            volume=self.volume is not VolumeType.DRIVE,
            volume_type=self.volume,
        )
        self.sampler.update_drives({"sdx": drive})
        self._sample(log=False)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> "Host":  # noqa: PYI034
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self,
        seconds: float,
        jobs: Sequence[Job],
        hang: Hang | None = None,
        missing: Sequence[float] = (),
        *,
        slowing_to: float | None = None,
    ) -> None:
        """Simulates one phase.

        hang: begins with the phase.
        missing: times from the start of the phase at which the sampler does not run.
        slowing_to: the drive's speed changes to this share of the present one during the phase.
        """
        begun, end = self.now, self.now + seconds
        self._phase_begun = begun
        first_factor = self.slow_factor
        skipped = {round((begun + at) / self.interval) for at in missing}
        if hang is not None and not self.one_by_one:
            self._hold_at_once(tuple(jobs), hang)
        if self.one_by_one:
            self._start_jobs(jobs)
        while self.now < end - 1e-9:
            if slowing_to is not None:
                part = (self.now - begun) / seconds
                self.slow_factor = first_factor + (slowing_to - first_factor) * part
            step_end = min(self.now + self.interval / _SLICES, self._next_sample, end)
            self._step(step_end, tuple(jobs), hang)
            if self.now >= self._next_sample - 1e-9:
                if self._number not in skipped:
                    self._sample(log=True)
                self._number += 1
                late = self.rng.uniform(-0.002, 0.004)
                self._next_sample = sample_time(self._number, self.interval) + late

    def _step(self, end: float, jobs: tuple[Job, ...], hang: Hang | None) -> None:
        seconds = end - self.now
        served, used = serve(
            self.model if self.slow_factor == 1 else self.model.faster(self.slow_factor),
            self._running(jobs),
            cache_is_full=self._cache_is_full(),
        )
        before = self.written
        if self.one_by_one:
            self._requests(end, jobs, served, hang)
        else:
            self._flow(end, jobs, served, hang)
        if not self.one_by_one or hang is None:
            self._used = used
        self._advance_cache(seconds, self.written - before)
        blocked = any(
            job.blocks and one.per_second > 0 for job, one in zip(jobs, served, strict=True)
        )
        busy = 1 - math.exp(-sum(one.per_second * one.wait for one in served))
        waits = busy if blocked else 0.0
        if self._held or self.waits_elsewhere:
            waits = max(waits, self.waits_elsewhere, 0.95 if self._held else 0.0)
        self._waited += waits * seconds
        for cpu in self.cpus:
            cpu.advance(seconds)
        self.now = end

    def _running(self, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        """Returns the jobs without the threads whose request is held."""
        if not self._held or self.one_by_one:
            return jobs
        result = []
        for job in jobs:
            held = sum(op == job.op for op, _, _ in self._held)
            result.append(_with_depth(job, max(job.depth - held, 0.0)))
        return tuple(result)

    def _hold_at_once(self, jobs: tuple[Job, ...], hang: Hang) -> None:
        served, _ = serve(self.model, jobs, cache_is_full=self._cache_is_full())
        for job, one in zip(jobs, served, strict=True):
            if job.op not in hang.ops:
                continue
            flying = min(one.per_second * one.wait, job.depth)
            count = int(flying * hang.share + self.rng.random())
            if hang.share < 1:
                count = max(count, 1)
            self._hold(job, min(count, int(job.depth)), hang)

    def _hold(self, job: Job, count: int, hang: Hang) -> None:
        for _ in range(count):
            self._held.append((job.op, self.now, job.size))
            self.block.start(self.now)

    def _flow(
        self, end: float, jobs: tuple[Job, ...], served: list[Served], hang: Hang | None
    ) -> None:
        seconds = end - self.now
        if hang is not None and self.now < hang.until:
            if self._enter_hanging_queues(jobs, hang, seconds):
                free = self._running(jobs)
                served = serve(self.model, free, cache_is_full=self._cache_is_full())[0]
        elif self._held:
            for op, started, size in self._held:
                self.block.end(self.now, op, started, size)
            self._held = []
        classes = []
        closed = 0.0
        total = sum(one.per_second for one in served) or 1.0
        for job, one in zip(jobs, served, strict=True):
            noise = math.exp(self.rng.gauss(0, self.jitter))
            rate = one.per_second * (noise if self._used < 0.9 else 1 + (noise - 1) / 4)
            classes.append((job.op, rate, one.wait, job.size))
            if job.op == kernel.WRITE:
                self.written += rate * job.size * seconds
            if job.flushes:
                self.block.flush(rate * seconds, rate * seconds * self.model.flush_seconds)
            if job.rate is None and job.think_seconds < 1 / self.hz / 4:
                closed += rate / total
        self.block.flow(seconds, classes, min(closed, 1.0))

    def _enter_hanging_queues(self, jobs: tuple[Job, ...], hang: Hang, seconds: float) -> bool:
        """Holds the requests of threads that use a hanging queue from now on; True if any does."""
        before = len(self._held)
        for job in jobs:
            free = job.depth - sum(op == job.op for op, _, _ in self._held)
            if job.op not in hang.ops or free < 1:
                continue
            share = 1.0 if hang.share >= 1 else hang.wander * seconds
            entering = int(free * share + self.rng.random())
            if job.rate is not None and hang.share >= 1:
                entering = int(job.rate * seconds + self.rng.random())
            self._hold(job, min(entering, int(free)), hang)
        return len(self._held) != before

    # Requests one by one. A slot is one thread of a job; it has one request in flight at most.

    def _start_jobs(self, jobs: Sequence[Job]) -> None:
        """Gives the slots of earlier jobs that are in flight time to end, and starts new ones."""
        self._slots = [(at, -1, op, started, True) for at, _, op, started, _ in self._slots]
        heapq.heapify(self._slots)
        self._free = []
        for index, job in enumerate(jobs):
            count = int(job.depth) if job.rate is None else 1
            for _ in range(count):
                self._free.append((self.now + self.rng.random() * 0.01, index))
        heapq.heapify(self._free)

    def _requests(
        self, end: float, jobs: tuple[Job, ...], served: list[Served], hang: Hang | None
    ) -> None:
        rng, block, slots, free = self.rng, self.block, self._slots, self._free
        while True:
            ends = slots[0][0] if slots else math.inf
            starts = free[0][0] if free else math.inf
            at = min(ends, starts)
            if at >= end:
                return
            if ends <= starts:
                _, index, op, started, _ = heapq.heappop(slots)
                if hang is not None and self._hangs(hang, at, op, started):
                    freed = hang.until + rng.random() * 0.05
                    heapq.heappush(slots, (freed, index, op, started, True))
                    continue
                job = jobs[index] if index >= 0 else None
                self._complete(at, job, op, started)
                if job is not None and job.rate is None:
                    think = job.think_seconds * rng.expovariate(1) if job.think_seconds else 0.0
                    heapq.heappush(free, (at + think, index))
            else:
                _, index = heapq.heappop(free)
                job = jobs[index]
                if job.rate is not None:
                    heapq.heappush(free, (at + rng.expovariate(job.rate), index))
                    if block.in_flight >= min(self.model.tags, job.depth):
                        continue
                wait = served[index].wait * rng.gammavariate(6, 1 / 6)
                block.start(at)
                heapq.heappush(slots, (at + wait, index, job.op, at, False))

    def _hangs(self, hang: Hang, at: float, op: int, started: float) -> bool:
        if at >= hang.until or op not in hang.ops:
            return False
        share = hang.share
        if share < 1 and started >= self._phase_begun:
            share = hang.wander * (at - started)
        return self.rng.random() < share

    def _complete(self, at: float, job: Job | None, op: int, started: float) -> None:
        size = job.size if job else 0.0
        self.block.end(at, op, started, size)
        if op == kernel.WRITE:
            self.written += size
        if job is not None and job.flushes:
            self.block.flush(1, self.model.flush_seconds)

    def _cache_is_full(self) -> bool:
        return self.cache_used >= self.model.cache_bytes

    def _advance_cache(self, seconds: float, written: float) -> None:
        if not math.isfinite(self.model.cache_bytes):
            return
        if self._cache_is_full():
            # A cache that has been full serves again only after a rest.
            idle = written < 0.02 * self.model.slow_rate * seconds
            if idle:
                self.cache_used -= self.model.fold_rate * seconds
            return
        idle_share = max(0.0, 1 - written / (self.model.write_rate * seconds))
        self.cache_used += written - self.model.fold_rate * seconds * (idle_share > 0.9)
        self.cache_used = max(self.cache_used, 0.0)
        if self.cache_used >= self.model.cache_bytes and self.fill_at is None:
            self.fill_at = self.written

    def _write(self) -> None:
        (self.proc / "diskstats").write_text(self.block.line(self.rng))
        (self.proc / "stat").write_text(kernel.stat_text(self.cpus))
        (self.proc / "softirqs").write_text(kernel.softirqs_text(self.cpus))
        (self.proc / "pressure" / "io").write_text(kernel.pressure_text(self._waited))

    def _sample(self, *, log: bool) -> None:
        self._write()
        behind = self.now + 1000.0 - self.clock.monotonic()
        if behind > 0:
            self.clock.advance(behind)
        self.sampler.tick()
        with self.sampler.flushed():
            activity = self.sampler.activities["sdx"]
            if not log:
                return
            falloffs = activity.falloffs
            self.log.append(
                Second(
                    at=self.now,
                    verdict=activity.verdict.value(self.clock.monotonic()).value,
                    used=self._used,
                    saturated=activity.saturated_seconds,
                    stalled=activity.stalls.total_seconds,
                    falloffs=falloffs.events if falloffs is not None else 0,
                    written=self.written,
                )
            )


def _with_depth(job: Job, depth: float) -> Job:
    return Job(
        op=job.op,
        size=job.size,
        depth=depth,
        rate=job.rate if depth > 0 else 0.0,
        think_seconds=job.think_seconds,
        flushes=job.flushes,
        is_random=job.is_random,
        blocks=job.blocks,
    )
