"""Accumulates the intervals of each device into histograms, counters and maxima.

An interval is the difference of two samples of the kernel's counters. The sampler passes each
interval to `DiskActivity.record`, which also determines the verdict, the cause of the bottleneck.
The collectors read the attributes of the class.
"""

from collections.abc import Callable

from exporter.config.disk_rules import DiskRules
from exporter.config.drive_class import DriveClass, VolumeType
from exporter.families import disk_families as metrics
from exporter.io.accumulators import (
    PeakHistogram,
    RollingMode,
    WeightedHistogram,
)
from exporter.io.baseline import DriveBaselines
from exporter.io.drive import Drive
from exporter.io.falloff_tracker import WriteFalloffTracker
from exporter.io.hangs.stall_counter import StallCounter
from exporter.io.interval import DiskInterval, stalled_interval
from exporter.io.slowdown import SlowdownEvidence
from exporter.io.throttling import ThrottlingDetector
from exporter.io.verdict import (
    AwaitLimits,
    DiskContext,
    Verdict,
    await_limit,
    bottleneck_verdict,
    deep_limit,
    device_is_full,
    is_saturated,
    requests_are_slow,
    unsaturated_await_limit,
)
from exporter.io.write_falloff import MUCH_BYTES

#: The exported verdict is the one that lasted longest in this window, in seconds. So a short
#: disturbance of a second does not change it.
VERDICT_WINDOW_SECONDS = 10.0

#: With a smaller busy ratio, the queue depth while the device was busy is not known precisely.
_LEAST_BUSY_RATIO = 0.05


class DiskActivity:
    """One device's histograms, counters, rolling maxima, baselines and verdict.

    saturated_seconds: counter of the time in which the device was saturated.
    stalls: counts the time in which requests hang.
    read_size, write_size: histograms of the request sizes in bytes. None means that
        `enable_request_sizes` was not called.
    baselines: the drive's learned awaits.
    verdict: the verdict that lasted longest in the last 10 seconds.
    falloffs: counts the throughput drops during writes. None for rotational drives, volumes and
        stacked devices, because their throughput also drops for harmless reasons.
    uncredited_seconds: the value of the last interval; see `DiskInterval`.
    evidence (argument): returns the drive's temperature and link speed. It is called only when a
        throughput drop is detected and while the drive is slow.
    created_at (argument): monotonic time in seconds.
    """

    __slots__ = (
        "_await_limits",
        "_calm_busy_ratio",
        "_deep_limits",
        "_deep_queue_depth",
        "_evidence",
        "_full_busy_ratio",
        "_is_doubtful",
        "_is_limited",
        "_rules",
        "_throttling",
        "_unsaturated_limits",
        "_when_full",
        "_work_busy_ratio",
        "baselines",
        "busy_ratio",
        "drive",
        "falloffs",
        "flush_await",
        "queue_depth",
        "read_await",
        "read_size",
        "saturated_seconds",
        "stalls",
        "uncredited_seconds",
        "verdict",
        "write_await",
        "write_size",
    )

    def __init__(
        self,
        drive: Drive,
        rules: DiskRules,
        baselines: DriveBaselines,
        created_at: float,
        evidence: Callable[[], SlowdownEvidence] = SlowdownEvidence,
    ) -> None:
        self._rules = rules
        self._evidence = evidence
        self.drive = drive
        self.busy_ratio = PeakHistogram(metrics.BUSY_RATIO)
        self.queue_depth = PeakHistogram(metrics.QUEUE_DEPTH)
        self.read_await = PeakHistogram(metrics.READ_AWAIT)
        self.write_await = PeakHistogram(metrics.WRITE_AWAIT)
        self.flush_await = WeightedHistogram(metrics.FLUSH_AWAIT)
        self.read_size: WeightedHistogram | None = None
        self.write_size: WeightedHistogram | None = None
        self.uncredited_seconds = 0.0
        self.saturated_seconds = 0.0
        self.stalls = StallCounter(rules)
        self.verdict: RollingMode[Verdict] = RollingMode(
            VERDICT_WINDOW_SECONDS, Verdict.NONE, created_at
        )
        self.baselines = baselines
        self._throttling: ThrottlingDetector | None = None
        self._update_limits()
        self.falloffs: WriteFalloffTracker | None = None
        self._update_falloff_tracker()

    def enable_request_sizes(self) -> None:
        """Creates the histograms of request sizes, unless they already exist."""
        if self.read_size is None:
            self.read_size = WeightedHistogram(metrics.READ_SIZE)
            self.write_size = WeightedHistogram(metrics.WRITE_SIZE)

    def reconfigure(self, rules: DiskRules) -> None:
        """Applies new settings.

        If the rules of write falloffs have changed, the state of a long write that is in progress
        is discarded.
        """
        before, self._rules = self._rules, rules
        self.stalls.reconfigure(rules)
        self._throttling = None
        self._update_limits()
        if self.falloffs is not None and rules.write_falloff != before.write_falloff:
            self.falloffs.reconfigure(rules.write_falloff)

    def set_drive(self, drive: Drive, baselines: DriveBaselines) -> None:
        """Replaces the drive and its baselines, after a refresh of the topology."""
        self.drive, self.baselines = drive, baselines
        self._update_limits()
        self._update_falloff_tracker()

    def record_idle(self, seconds: float) -> None:
        """Records an interval of `seconds` in which the device had no request."""
        self.busy_ratio.observe_zero(seconds)
        self.queue_depth.observe_zero(seconds)
        self.stalls.previous = None

    def record(
        self, now: float, disk: DiskInterval, context: DiskContext, *, is_probed: bool = False
    ) -> Verdict:
        """Records the interval that ended at `now`, and returns its verdict.

        now: monotonic time in seconds.
        is_probed: a probe ran on the device. The interval then counts neither as saturated nor as
            part of a write falloff.
        """
        # One statement unpacks all fields, for speed: this runs for every busy device and second.
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
            excess,
            _,
        ) = disk
        if self.stalls.observe(now, disk, seconds, queue_depth, excess):
            stalled, disk = True, stalled_interval(disk)
        self.busy_ratio.record(now, busy_ratio, seconds)
        self.queue_depth.record(now, queue_depth, seconds)
        if reads:
            self.read_await.record(now, read_seconds / reads, reads)
            if self.read_size is not None:
                self.read_size.observe(read_bytes / reads, reads)
        if writes:
            self.write_await.record(now, write_seconds / writes, writes)
            if self.write_size is not None:
                self.write_size.observe(written_bytes / writes, writes)
        if flushes:
            self.flush_await.observe(flush_seconds / flushes, flushes)
        if not self.drive.leaf:
            return Verdict.NONE
        falloffs = self.falloffs
        # A probe may fill the write cache on purpose, so its writes are not checked for falloffs.
        slowed_by = (
            falloffs.observe(now, disk)
            if falloffs is not None
            and (
                busy_ratio >= falloffs.busy_ratio
                or written_bytes >= MUCH_BYTES
                or falloffs.burst.is_open
            )
            and not is_probed
            else None
        )
        # Without one of these conditions there is no bottleneck, whether requests are slow or not.
        may_be_bottleneck = stalled or (
            busy_ratio >= self._work_busy_ratio
            and (
                busy_ratio >= self._full_busy_ratio
                or slowed_by is not None
                or context.is_waited_for
                or context.is_cpu_bound
            )
        )
        verdict = Verdict.NONE
        if may_be_bottleneck:
            verdict = self._judge(now, disk, context, slowed_by, is_probed=is_probed)
        if (busy_ratio < self._calm_busy_ratio or self._is_doubtful) and not is_probed:
            self._learn(now, disk)
        return verdict

    def record_gap(
        self, now: float, disk: DiskInterval, *, is_probed: bool, is_begun: bool
    ) -> None:
        """Records an interval in which samples are missing: its means are not those of a second.

        Only a hang that goes on, and the bytes of a long write, are counted.

        is_begun: requests were in flight at the start.
        now, is_probed: as for `record`.
        """
        falloffs = self.falloffs
        if self.stalls.observe_gap(now, disk, is_begun=is_begun):
            self.uncredited_seconds = disk.uncredited_seconds
        if disk.stalled:
            return
        if falloffs is not None and self.drive.leaf and not is_probed:
            falloffs.observe(now, disk, is_gap=True)

    def _judge(
        self,
        now: float,
        disk: DiskInterval,
        context: DiskContext,
        slowed_by: Verdict | None,
        *,
        is_probed: bool,
    ) -> Verdict:
        rules = self._rules
        is_deep = disk.queue_depth >= self._deep_queue_depth
        limits = self._deep_limits if is_deep else self._await_limits
        is_full = device_is_full(disk, self.drive.kind, limits, rules.saturation)
        is_waited_for = context.is_waited_for
        if is_full and not is_probed and is_saturated(is_full=True, is_waited_for=is_waited_for):
            self.saturated_seconds += disk.seconds
        when_full = self._when_full
        if self._is_limited and self._is_throttled(now, disk, is_full=is_full):
            is_full, when_full = True, Verdict.THROTTLED
        verdict = bottleneck_verdict(
            disk,
            is_full=is_full,
            is_slow=not is_full and requests_are_slow(disk, self._unsaturated_limits),
            is_waited_for=is_waited_for,
            is_cpu_bound=context.is_cpu_bound,
            rules=rules.bottleneck,
            slowed_by=slowed_by,
            is_cpu_full=context.is_cpu_full,
            when_full=when_full,
        )
        if verdict is not Verdict.NONE:
            seconds = disk.seconds
            if disk.stalled:
                # A hang may be detected only after seconds, which then count at once.
                seconds = min(max(seconds, self.stalls.new_seconds), VERDICT_WINDOW_SECONDS)
            self.verdict.observe(now, seconds, verdict)
        return verdict

    def _is_throttled(self, now: float, disk: DiskInterval, *, is_full: bool) -> bool:
        """Returns True if this cloud volume is at its limit.

        At a high limit the await is only about twice the baseline, so any queue counts as deep.
        """
        rules, kind = self._rules, self.drive.kind
        if not is_full and not device_is_full(disk, kind, self._deep_limits, rules.saturation):
            return False
        if self._throttling is None:
            self._throttling = ThrottlingDetector(rules.throttling)
        return self._throttling.observe(now, disk)

    def _learn(self, now: float, disk: DiskInterval) -> None:
        # io_time may be 0 in a second with a few short requests.
        most = self._rules.baseline.calm_queue_depth * max(disk.busy_ratio, _LEAST_BUSY_RATIO)
        if disk.busy_ratio >= self._calm_busy_ratio:
            changed = self.baselines.observe_load(disk)
        else:
            changed = disk.queue_depth <= most and self.baselines.observe(now, disk)
        if changed:
            self._update_limits()

    def _update_falloff_tracker(self) -> None:
        drive = self.drive
        if not drive.leaf or drive.volume or drive.kind is DriveClass.ROTATIONAL:
            self.falloffs = None
        elif self.falloffs is None:
            self.falloffs = WriteFalloffTracker(self._rules.write_falloff, self._evidence)

    def _update_limits(self) -> None:
        rules, kind = self._rules.saturation, self.drive.kind
        read, write = self.baselines.read.seconds, self.baselines.write.seconds
        self._await_limits, self._unsaturated_limits = (
            AwaitLimits(limit(rules, kind, read), limit(rules, kind, write))
            for limit in (await_limit, unsaturated_await_limit)
        )
        self._is_doubtful = self.baselines.is_doubtful
        is_local = not self.drive.volume
        self._deep_limits = AwaitLimits(
            *(
                deep_limit(rules, kind, one.seconds, is_doubtful=one.is_doubtful, is_local=is_local)
                for one in (self.baselines.read, self.baselines.write)
            )
        )
        self._deep_queue_depth = rules.deep_queue_depth[kind]
        self._full_busy_ratio = rules.busy_ratio
        self._work_busy_ratio = self._rules.bottleneck.work_busy_ratio
        self._calm_busy_ratio = self._rules.baseline.calm_busy_ratio
        volume = self.drive.volume_type if self.drive.volume else VolumeType.DRIVE
        self._is_limited = volume is VolumeType.CLOUD
        # A disk of a hypervisor may have a limit or not, and constant throughput does not show one.
        is_limitable = volume in {VolumeType.CLOUD, VolumeType.HYPERVISOR}
        self._when_full = Verdict.UNKNOWN if is_limitable else Verdict.DEVICE
