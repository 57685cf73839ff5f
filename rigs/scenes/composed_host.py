"""A simulated host whose workloads and disturbances begin and end at any time.

`ComposedHost` advances a drive of `stations` in slices of 0.2 seconds, and passes what a kernel
would show to the real sampler. The number of requests in flight at a sample varies by chance, as it
does on a real host. The state of the drive is the truth of the scene.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from exporter.config.disk_rules import DiskRules
from exporter.config.drive_class import DriveClass, VolumeType
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.counter_files import CounterFiles, RawSample
from exporter.io.drive import Drive
from exporter.io.sampler import Sampler
from exporter.io.slowdown import SlowdownEvidence
from exporter.linux.files import RawFile
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.sample_times import sample_time
from rigs.scenes import kernel
from rigs.scenes.drive import Job, Served
from rigs.scenes.kernel import BlockDevice, Cpu, IoTicks
from rigs.scenes.stations import Flash, State, serve_at_stations
from tests.fakes import FakeClock

SLICE = 0.2


@dataclass(frozen=True)
class Part:
    """A workload from `begin` to `end`; with `on` and `off` it pauses, with `pulse` it is periodic.

    pulse: the share of each second in which it runs, always the same part of the second.
    """

    job: Job
    begin: float
    end: float = math.inf
    on: float = 0.0
    off: float = 0.0
    pulse: float = 0.0

    def runs(self, at: float) -> bool:
        if not self.begin <= at < self.end:
            return False
        if self.pulse:
            middle = (math.floor(at / SLICE + 1e-3) + 0.5) * SLICE
            return middle % 1.0 >= 1.0 - self.pulse
        return not self.on or (at - self.begin) % (self.on + self.off) < self.on


@dataclass(frozen=True)
class Change:
    """A change of the drive from `begin` to `end`.

    kind: "speed" (the flash has `factor` of its speed), "ramp" (it falls to `factor` until `end`,
        and remains), "link" (the link has it), "hang" (no request completes) or "stick"
        (`factor` requests hang).
    """

    kind: str
    begin: float
    end: float
    factor: float = 1.0


class Noise:
    """The factor by which the speed of the flash varies; its mean is about 1."""

    def __init__(self, rng: random.Random, shape: str, strength: float) -> None:
        self._rng, self._shape, self._strength = rng, shape, strength
        self._seconds = rng.uniform(1, 15)
        self._value, self._until, self._is_low = 0.0, 0.0, False
        self._phase, self._period = rng.random() * 2 * math.pi, rng.uniform(5, 60)

    def at(self, now: float) -> float:
        rng, strength, shape = self._rng, self._strength, self._shape
        if shape == "none" or not strength:
            return 1.0
        if shape == "white":
            return math.exp(rng.gauss(0, strength))
        if shape == "wander":
            keep = math.exp(-SLICE / self._seconds)
            self._value = keep * self._value + math.sqrt(1 - keep * keep) * rng.gauss(0, strength)
            return math.exp(self._value)
        if shape == "swing":
            return 1 + strength * math.sin(self._phase + 2 * math.pi * now / self._period)
        if now >= self._until:
            self._is_low = not self._is_low
            mean = (0.8 if self._is_low else 3.0) if shape == "dips" else self._seconds / 2
            self._until = now + max(SLICE, rng.expovariate(1 / mean))
        return 1 - min(2 * strength, 0.7) if self._is_low else 1.0


@dataclass
class Shown:
    """What the exporter showed after one sample, and the true state of the drive."""

    at: float
    verdict: str
    used: float
    depth: float
    saturated: float
    stalled: float
    falloffs: int
    written: float


class _Memory(CounterFiles):
    """The files of /proc in memory."""

    def __init__(self, host: "ComposedHost") -> None:
        self._host = host

    def read(self, *, check_replaced: bool = True) -> RawSample:
        host, now = self._host, self._host.clock.monotonic()
        disks = host.block.line(host.rng, host.flying()).encode()
        waiting = kernel.pressure_text(host.waited).encode()
        cpus = kernel.stat_text(host.cpus).encode()
        return RawSample(
            *(now, now, 0.0, RawFile("diskstats", disks), RawFile("stat", cpus)),
            *(RawFile("io", waiting), 1, len(disks)),
        )

    def read_softirqs(self) -> tuple[float, RawFile | None]:
        return self._host.clock.monotonic(), None


@dataclass
class ComposedHost:
    """Simulates a scene; `shown` has one entry per sample.

    fills: for each time when the cache became full, the second and the bytes written until then.
    missing: the numbers of samples that are not taken.
    """

    flash: Flash
    rng: random.Random
    ticks: IoTicks = IoTicks.START
    hz: int = 250
    interval: float = 1.0
    noise: Noise | None = None
    parts: Sequence[Part] = ()
    changes: Sequence[Change] = ()
    missing: frozenset[int] = frozenset()
    volume: VolumeType = VolumeType.DRIVE
    evidence: SlowdownEvidence = field(default_factory=SlowdownEvidence)
    shown: list[Shown] = field(default_factory=list)
    fills: list[tuple[float, float]] = field(default_factory=list)
    now: float = 0.0
    written: float = 0.0
    cache_used: float = 0.0
    waited: float = 0.0
    sampled: bool = True

    def __post_init__(self) -> None:
        self.block = BlockDevice(ticks=self.ticks, hz=self.hz)
        self.cpus = [Cpu(), Cpu()]
        self.clock = FakeClock(monotonic=1000.0)
        rules = DiskRules()
        self.baselines = Baselines(rules.baseline)
        self.sampler = Sampler(
            _Memory(self),
            clock=self.clock,
            collector_status=CollectorStatus(self.clock),
            rules=rules,
            baselines=self.baselines,
            wanted=lambda _device: True,
            interval=self.interval,
            evidence=lambda _device: self.evidence,
        )
        drive = Drive(
            "composed",
            DriveClass(self.flash.kind),
            volume=self.volume is not VolumeType.DRIVE,
            volume_type=self.volume,
        )
        self.sampler.update_drives({"sdx": drive})
        self._is_full = False
        self._idle_seconds = 0.0
        self._next = sample_time(1, self.interval)
        self._number = 0
        self._flying: list[tuple[Job, Served]] = []
        self._ages = 0.0
        self._stuck: list[tuple[int, float, float]] = []
        self._used = self._depth = 0.0
        self._fold_until, self._is_folding = 0.0, False
        self._noise_at, self._noise_value = -1.0, 1.0
        self.sampler.tick()

    @property
    def activity(self) -> DiskActivity:
        return self.sampler.activities["sdx"]

    def run(self, until: float, slice_seconds: float = SLICE) -> None:
        """Simulates until this second of the scene."""
        while self.now < until - 1e-6:
            # Slices begin at multiples of their length, so that pulses have the same phase.
            end = (math.floor(self.now / slice_seconds + 1e-3) + 1) * slice_seconds
            self._step(max(min(end, self._next) - self.now, 1e-3))
            if self.now >= self._next - 1e-6:
                self._number += 1
                self._next = sample_time(self._number + 1, self.interval)
                if self._number not in self.missing:
                    self._sample()

    def flying(self) -> int:
        """Returns the number of requests in flight at this moment."""
        rng, count = self.rng, len(self._stuck)
        for job, one in self._flying:
            mean = one.per_second * one.wait
            if job.rate is None:
                think = job.think_seconds + 2e-6
                share = min(one.wait / (one.wait + think), 1.0)
                spread = job.depth * share * (1 - share)
                value = rng.gauss(job.depth * share, math.sqrt(spread))
                count += min(max(math.floor(value + rng.random()), 0), int(job.depth))
            elif mean >= 0.95 * job.depth:
                count += min(int(mean + rng.random()), int(job.depth))
            elif mean > 0:
                value = rng.gauss(mean, math.sqrt(1.5 * mean)) if mean > 4 else -1.0
                if mean <= 4:
                    value = float(_poisson(rng, mean))
                count += max(math.floor(value + rng.random()), 0) if mean > 4 else int(value)
        return count

    # One slice.

    def _state(self, at: float) -> State:
        flash, speed, link = self.flash, 1.0, 1.0
        if self.noise is not None:
            speed *= self.noise.at(at)
        for change in self.changes:
            if change.kind == "ramp" and at >= change.begin:
                part = min((at - change.begin) / (change.end - change.begin), 1.0)
                speed *= 1 + (change.factor - 1) * part
            elif change.begin <= at < change.end:
                if change.kind == "speed":
                    speed *= change.factor
                elif change.kind == "link":
                    link *= change.factor
        rate = flash.slow_rate if self._is_full else flash.fast_rate
        if self._is_full and flash.fold_seconds:
            if at >= self._fold_until:
                self._is_folding = not self._is_folding
                self._fold_until = at + flash.fold_seconds * self.rng.uniform(0.5, 1.5)
            rate *= flash.fold_ratio if self._is_folding else 1.0
        # In steps of 2 %, so that the results of the queueing network can be kept.
        return State(_step(speed), _step(link), rate)

    def _step(self, seconds: float) -> None:
        rng, at = self.rng, self.now
        jobs = tuple(part.job for part in self.parts if part.runs(at))
        state = self._state(at)
        is_hung = self._advance_hangs(at, jobs)
        free = self._free(jobs)
        served, self._used = serve_at_stations(self.flash, free, state)
        served = tuple(self._awake(job, one) for job, one in zip(free, served, strict=True))
        if is_hung:
            served = tuple(Served(0.0, 0.0) for _ in served)
        self._flying = list(zip(free, served, strict=True))
        classes, closed, written = [], 0.0, 0.0
        total = sum(one.per_second for one in served) or 1.0
        depth = ages = 0.0
        idle = 1.0
        for job, one in self._flying:
            count = one.per_second * seconds
            count = _poisson(rng, count) if count < 50 else rng.gauss(count, math.sqrt(count) / 2)
            rate = max(count, 0.0) / seconds
            wait = one.wait
            if job.rate is None and rate > 0:
                # A thread is always in one of its states: fewer requests are slower ones.
                wait = max(job.depth / rate - job.think_seconds - 2e-6, one.wait / 2)
                wait = min(wait, 2 * one.wait)
            classes.append((job.op, rate, wait, job.size))
            depth += one.per_second * one.wait
            if job.rate is None:
                idle *= max(1 - one.wait / (one.wait + job.think_seconds + 2e-6), 0.0) ** job.depth
            else:
                idle *= math.exp(-one.per_second * one.wait)
            ages += one.per_second * one.wait * one.wait * rng.uniform(0.4, 0.6)
            if job.op == kernel.WRITE:
                written += rate * job.size * seconds
            if job.flushes:
                self.block.flush(rate * seconds, rate * seconds * self.flash.flush_seconds)
            if job.rate is None and job.think_seconds < 1 / self.hz / 4:
                closed += one.per_second / total
        self._depth = depth
        self._ages = ages
        if self._stuck or not is_hung:
            self.block.flow(seconds, classes, min(closed, 1.0), 1 - idle)
        self.written += written
        self._advance_cache(seconds, written, state)
        blocked = any(job.blocks for job in jobs)
        busy = 1 - math.exp(-depth) if not (is_hung or self._stuck) else 0.95
        self.waited += (busy if blocked else 0.0) * seconds
        self._idle_seconds = 1 / total if served else 1.0
        for cpu in self.cpus:
            cpu.advance(seconds)
        self.now = round(at + seconds, 6)
        behind = self.now + 1000.0 - self.clock.monotonic()
        self.clock.advance(max(behind, 0.0))

    def _awake(self, job: Job, one: Served) -> Served:
        """Adds the time to wake up to the requests that come after an idle time."""
        flash = self.flash
        if not flash.wake_seconds or one.per_second <= 0:
            return one
        # Open requests come at random times: after an idle time with this probability.
        rate = sum(other.per_second for _, other in self._flying) or one.per_second
        share = flash.wake_share * math.exp(-rate * (flash.wake_after_seconds + one.wait))
        wait = one.wait + share * flash.wake_seconds
        if job.rate is not None:
            return Served(one.per_second, wait)
        return Served(min(one.per_second, job.depth / (wait + job.think_seconds)), wait)

    def _advance_hangs(self, at: float, jobs: tuple[Job, ...]) -> bool:
        is_hung = False
        wanted = 0
        for change in self.changes:
            if change.begin <= at < change.end:
                if change.kind == "hang":
                    is_hung = True
                    wanted = sum(int(job.depth) for job in jobs if job.rate is None) or 1
                elif change.kind == "stick":
                    wanted = int(change.factor)
        while len(self._stuck) > wanted:
            op, started, size = self._stuck.pop(0)
            self.block.end(at, op, started, size)
        closed = [job for job in jobs if job.depth >= 1]
        while len(self._stuck) < wanted and closed:
            job = closed[len(self._stuck) % len(closed)]
            self._stuck.append((job.op, at, job.size))
            self.block.start(at)
        return is_hung

    def _free(self, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        if not self._stuck:
            return jobs
        result, held = [], [op for op, _, _ in self._stuck]
        for job in jobs:
            taken = 0
            while job.op in held and taken < job.depth and job.rate is None:
                held.remove(job.op)
                taken += 1
            result.append(replace(job, depth=job.depth - taken) if taken else job)
        return tuple(result)

    def _advance_cache(self, seconds: float, written: float, state: State) -> None:
        flash = self.flash
        if not math.isfinite(flash.cache_bytes):
            return
        is_idle = written < 0.02 * flash.slow_rate * seconds
        if is_idle:
            self.cache_used = max(self.cache_used - flash.fold_rate * seconds, 0.0)
            if self.cache_used < 0.9 * flash.cache_bytes:
                self._is_full = False
            return
        if self._is_full:
            return
        self.cache_used += written
        if self.cache_used >= flash.cache_bytes:
            self._is_full = True
            self._is_folding, self._fold_until = False, 0.0
            self.fills.append((self.now + seconds, self.written))

    def _sample(self) -> None:
        self.sampler.tick()
        with self.sampler.flushed():
            activity = self.activity
            falloffs = activity.falloffs
            self.shown.append(
                Shown(
                    self.now,
                    activity.verdict.value(self.clock.monotonic()).value,
                    self._used,
                    self._depth,
                    activity.saturated_seconds,
                    activity.stalls.total_seconds,
                    falloffs.events if falloffs is not None else 0,
                    self.written,
                )
            )


def _step(value: float) -> float:
    return math.exp(round(math.log(max(value, 0.05)) / 0.02) * 0.02)


def _poisson(rng: random.Random, mean: float) -> float:
    limit, count, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        count += 1
        product *= rng.random()
    return float(count)
