"""What the sampler has seen of one device since it began to watch it.

What the sampler has seen of the CPUs since it began to watch them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from exporter.io.accumulators import MonotonicCounter, RollingMax, RollingMode, WeightedHistogram
from exporter.io.baseline import BaselineRules, DriveBaselines
from exporter.io.drive_class import Drive, DriveClass
from exporter.io.interval import CpuInterval, DiskInterval
from exporter.io.slowdown import SlowdownEvidence
from exporter.io.verdict import (
    AwaitLimits,
    SaturationRules,
    Verdict,
    VerdictRules,
    await_limit,
    bottleneck_verdict,
    device_is_full,
    is_saturated,
    requests_are_slow,
    softirq_is_saturated,
    tasks_wait_for_io,
)
from exporter.io.write_falloff import WriteFalloffRules, WriteFalloffTracker
from exporter.linux.proc_stat import CpuStat
from exporter.metrics import disk_families as metrics

#: The window of every rolling maximum, and its label value.
MAX_WINDOW_SECONDS = 60.0
MAX_WINDOW = "1m"

#: The verdict shown is the one that prevailed over so long: one odd second does not turn it.
VERDICT_WINDOW_SECONDS = 10.0


#: A second of silence is a stall; samples of a second come a little early too.
_STALL_SECONDS = 0.9


@dataclass(frozen=True, slots=True)
class DiskRules:
    """Every threshold of the judgement; the configuration's section names are the fields'."""

    saturation: SaturationRules = field(default_factory=SaturationRules)
    baseline: BaselineRules = field(default_factory=BaselineRules)
    bottleneck: VerdictRules = field(default_factory=VerdictRules)
    write_falloff: WriteFalloffRules = field(default_factory=WriteFalloffRules)


@dataclass(frozen=True, slots=True)
class DiskContext:
    """What the rest of the host did in the same interval.

    is_cpu_bound: a CPU is bound by interrupts; False where the CPUs are not known.
    pressure_ratio: the share of it in which some task waited for I/O; None without PSI.
    """

    is_cpu_bound: bool
    pressure_ratio: float | None


class DiskActivity:
    """One device's distributions, counters, maxima, baselines and verdict.

    condition: what is known of its heat and its link; asked only while it is slow.
    falloffs: None for what is no SSD of its own: they mean something else on a disk with tracks,
        on a volume and on a stack.
    """

    __slots__ = (
        "_condition",
        "_counted_seconds",
        "_knees",
        "_rules",
        "_silent_seconds",
        "baselines",
        "busy_ratio",
        "busy_ratio_max",
        "drive",
        "falloffs",
        "flush_await",
        "queue_depth",
        "queue_depth_max",
        "read_await",
        "read_await_max",
        "read_size",
        "saturated_seconds",
        "stalled_seconds",
        "uncredited_seconds",
        "verdict",
        "write_await",
        "write_await_max",
        "write_size",
    )

    def __init__(
        self,
        drive: Drive,
        rules: DiskRules,
        baselines: DriveBaselines,
        born: float,
        condition: Callable[[], SlowdownEvidence] = SlowdownEvidence,
    ) -> None:
        self._rules = rules
        self._condition = condition
        self.drive = drive
        self.busy_ratio = WeightedHistogram(metrics.BUSY_RATIO)
        self.queue_depth = WeightedHistogram(metrics.QUEUE_DEPTH)
        self.read_await = WeightedHistogram(metrics.READ_AWAIT)
        self.write_await = WeightedHistogram(metrics.WRITE_AWAIT)
        self.flush_await = WeightedHistogram(metrics.FLUSH_AWAIT)
        self.read_size: WeightedHistogram | None = None
        self.write_size: WeightedHistogram | None = None
        self.busy_ratio_max = RollingMax(MAX_WINDOW_SECONDS)
        self.queue_depth_max = RollingMax(MAX_WINDOW_SECONDS)
        self.read_await_max = RollingMax(MAX_WINDOW_SECONDS)
        self.write_await_max = RollingMax(MAX_WINDOW_SECONDS)
        self.uncredited_seconds = 0.0
        self.saturated_seconds = 0.0
        self.stalled_seconds = 0.0
        self._silent_seconds = self._counted_seconds = 0.0
        self.verdict: RollingMode[Verdict] = RollingMode(VERDICT_WINDOW_SECONDS, Verdict.NONE, born)
        self.baselines = baselines
        self._knees = self._now_slow()
        self.falloffs: WriteFalloffTracker | None = None
        self._watch_falloffs()

    def enable_request_sizes(self) -> None:
        """Keep the sizes of requests too, from now on."""
        if self.read_size is None:
            self.read_size = WeightedHistogram(metrics.READ_SIZE)
            self.write_size = WeightedHistogram(metrics.WRITE_SIZE)

    def reconfigure(self, rules: DiskRules) -> None:
        """The settings were read again."""
        before, self._rules = self._rules, rules
        self._knees = self._now_slow()
        if self.falloffs is not None and rules.write_falloff != before.write_falloff:
            self.falloffs.reconfigure(rules.write_falloff)

    def set_drive(self, drive: Drive, baselines: DriveBaselines) -> None:
        """The survey has told what drive this is."""
        self.drive, self.baselines = drive, baselines
        self._knees = self._now_slow()
        self._watch_falloffs()

    def record_idle(self, seconds: float) -> None:
        """The device did nothing and has nothing in flight."""
        self.busy_ratio.observe_zero(seconds)
        self.queue_depth.observe_zero(seconds)

    def record(
        self, now: float, disk: DiskInterval, around: DiskContext, *, is_probed: bool = False
    ) -> None:
        """Take in what the device did until `now`; what a probe of ours did saturates nothing."""
        # Taken apart in one go: this runs for every busy device and second.
        (
            seconds,
            reads,
            read_seconds,
            read_bytes,
            writes,
            write_seconds,
            written_bytes,
            flushes,
            flush_seconds,
            stalled,
            queue_depth,
            busy_ratio,
            self.uncredited_seconds,
        ) = disk
        self.busy_ratio.observe(busy_ratio, seconds)
        self.queue_depth.observe(queue_depth, seconds)
        self.busy_ratio_max.observe(now, busy_ratio)
        self.queue_depth_max.observe(now, queue_depth)
        if reads:
            read_await = read_seconds / reads
            self.read_await.observe(read_await, reads)
            self.read_await_max.observe(now, read_await)
            if self.read_size is not None:
                self.read_size.observe(read_bytes / reads, reads)
        if writes:
            write_await = write_seconds / writes
            self.write_await.observe(write_await, writes)
            self.write_await_max.observe(now, write_await)
            if self.write_size is not None:
                self.write_size.observe(written_bytes / writes, writes)
        if flushes:
            self.flush_await.observe(flush_seconds / flushes, flushes)
        if stalled or self._silent_seconds:
            self._count_stall(seconds, stalled=stalled)
        if not self.drive.leaf:
            return
        falloffs = self.falloffs
        # A probe may write until the cache is full: nobody's work became slower then.
        slowed_by = (
            falloffs.observe(now, disk)
            if falloffs is not None
            and (busy_ratio >= falloffs.busy_ratio or falloffs.burst.is_open)
            and not is_probed
            else None
        )
        if stalled or busy_ratio >= self._rules.bottleneck.work_busy_ratio:
            self._judge(now, disk, around, slowed_by, is_probed=is_probed)
        if busy_ratio < self._rules.baseline.calm_busy_ratio:
            self._learn(disk)

    def _count_stall(self, seconds: float, *, stalled: bool) -> None:
        # A whole second, also where samples come ten times as often: then a slow request is none.
        self._silent_seconds = self._silent_seconds + seconds if stalled else 0.0
        if self._silent_seconds >= _STALL_SECONDS:
            self.stalled_seconds += self._silent_seconds - self._counted_seconds
            self._counted_seconds = self._silent_seconds
        elif not stalled:
            self._counted_seconds = 0.0

    def _judge(
        self,
        now: float,
        disk: DiskInterval,
        around: DiskContext,
        slowed_by: Verdict | None,
        *,
        is_probed: bool,
    ) -> None:
        rules = self._rules
        is_full = device_is_full(disk, self.drive.kind, self._knees, rules.saturation)
        is_waited_for = tasks_wait_for_io(around.pressure_ratio, rules.saturation)
        if is_saturated(is_full=is_full, is_waited_for=is_waited_for) and not is_probed:
            self.saturated_seconds += disk.seconds
        cause = bottleneck_verdict(
            disk,
            is_full=is_full,
            # What is full is slow, and need not be asked twice.
            is_slow=is_full or requests_are_slow(disk, self._knees),
            is_waited_for=is_waited_for,
            is_cpu_bound=around.is_cpu_bound,
            rules=rules.bottleneck,
            slowed_by=slowed_by,
        )
        if cause is not Verdict.NONE:
            self.verdict.observe(now, disk.seconds, cause)

    def _learn(self, disk: DiskInterval) -> None:
        changed = False
        if disk.reads:
            changed = self.baselines.read.observe(disk.reads, disk.read_seconds)
        if disk.writes:
            changed = self.baselines.write.observe(disk.writes, disk.write_seconds) or changed
        if changed:
            self._knees = self._now_slow()

    def _watch_falloffs(self) -> None:
        its = self.drive
        if not its.leaf or its.volume or its.kind is DriveClass.ROTATIONAL:
            self.falloffs = None
        elif self.falloffs is None:
            self.falloffs = WriteFalloffTracker(self._rules.write_falloff, self._condition)

    def _now_slow(self) -> AwaitLimits:
        rules, kind = self._rules.saturation, self.drive.kind
        return AwaitLimits(
            await_limit(rules, kind, self.baselines.read.seconds),
            await_limit(rules, kind, self.baselines.write.seconds),
        )


@dataclass(slots=True)
class CpuActivity:
    """The CPUs' maxima and counters.

    hottest: the CPU with the largest softirq share in the last interval that could be compared.
    idle, iowait: of all CPUs, as counters that never step back; by CPU only where that is wanted.
    """

    softirq_max_ratio: RollingMax = field(default_factory=lambda: RollingMax(MAX_WINDOW_SECONDS))
    iowait_max_ratio: RollingMax = field(default_factory=lambda: RollingMax(MAX_WINDOW_SECONDS))
    hottest: int | None = None
    softirq_saturated_seconds: float = 0.0
    idle: MonotonicCounter = field(default_factory=MonotonicCounter)
    iowait: MonotonicCounter = field(default_factory=MonotonicCounter)
    idle_by_cpu: dict[int, MonotonicCounter] = field(default_factory=dict)
    iowait_by_cpu: dict[int, MonotonicCounter] = field(default_factory=dict)

    def record_idle_time(self, sampled: CpuStat, *, per_cpu: bool) -> None:
        """Go on with what the kernel has counted until this sample."""
        if sampled.total is not None:
            self.idle.advance(sampled.total.idle)
            self.iowait.advance(sampled.total.iowait)
        if per_cpu:
            for number, times in sampled.cpus.items():
                self.idle_by_cpu.setdefault(number, MonotonicCounter()).advance(times.idle)
                self.iowait_by_cpu.setdefault(number, MonotonicCounter()).advance(times.iowait)

    def record(self, now: float, shares: CpuInterval, seconds: float, rules: VerdictRules) -> None:
        """Take in what the CPUs did in the `seconds` until `now`."""
        if (hottest := shares.hottest) is None:
            return
        self.hottest = hottest
        self.softirq_max_ratio.observe(now, shares.cpus[hottest].softirq)
        if (iowait_max := shares.iowait_max) is not None:
            self.iowait_max_ratio.observe(now, iowait_max)
        if softirq_is_saturated(shares, rules):
            self.softirq_saturated_seconds += seconds
