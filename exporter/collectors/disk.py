"""Block I/O: the kernel's counters and the sampler's view of each device."""

from collections.abc import Callable, Iterator

from exporter.background.disk_activity import MAX_WINDOW, DiskActivity
from exporter.background.sampler import Sampler
from exporter.diagnosis.baseline import Baseline
from exporter.diagnosis.bottleneck import Cause
from exporter.diagnosis.saturation import SaturationRules
from exporter.linux.diskstats import DiskStats
from exporter.metrics import disk as metrics
from exporter.metrics.desc import Desc, Sample

#: What the kernel counts, and the family that it goes to. One table, so that no field is missed.
COUNTERS: tuple[tuple[Desc, Callable[[DiskStats], float | None]], ...] = (
    (metrics.READS_COMPLETED, lambda disk: disk.reads_completed),
    (metrics.READS_MERGED, lambda disk: disk.reads_merged),
    (metrics.READ_BYTES, lambda disk: disk.read_bytes),
    (metrics.READ_TIME, lambda disk: disk.read_time_seconds),
    (metrics.WRITES_COMPLETED, lambda disk: disk.writes_completed),
    (metrics.WRITES_MERGED, lambda disk: disk.writes_merged),
    (metrics.WRITTEN_BYTES, lambda disk: disk.written_bytes),
    (metrics.WRITE_TIME, lambda disk: disk.write_time_seconds),
    (metrics.IO_NOW, lambda disk: disk.io_now),
    (metrics.IO_TIME, lambda disk: disk.io_time_seconds),
    (metrics.IO_TIME_WEIGHTED, lambda disk: disk.io_time_weighted_seconds),
    (metrics.DISCARDS_COMPLETED, lambda disk: disk.discards_completed),
    (metrics.DISCARDS_MERGED, lambda disk: disk.discards_merged),
    (metrics.DISCARDED_BYTES, lambda disk: disk.discarded_bytes),
    (metrics.DISCARD_TIME, lambda disk: disk.discard_time_seconds),
    (metrics.FLUSH_REQUESTS, lambda disk: disk.flush_requests),
    (metrics.FLUSH_TIME, lambda disk: disk.flush_requests_time_seconds),
)


def samples(
    sampler: Sampler, now: float, rules: SaturationRules, *, request_sizes: bool
) -> Iterator[Sample]:
    """Every device of the last sample, family by family."""
    for name, disk in (sampler.disks or {}).items():
        for desc, count in COUNTERS:
            value = count(disk)
            if value is not None:
                yield desc(value, name)
        activity = sampler.activities[name]
        yield from _distributions(name, disk, activity, request_sizes=request_sizes)
        yield metrics.STALLED(activity.stalled_seconds, name)
        yield from _maxima(name, activity, now)
        if activity.drive.leaf:
            yield metrics.SATURATED(activity.saturated_seconds, name)
            yield from _baselines(name, activity, rules)
            yield from _falloffs(name, activity)
            prevailing = activity.verdict.value(now)
            for cause in Cause:
                yield metrics.BOTTLENECK(int(cause is prevailing), name, cause.value)


def _distributions(
    name: str, disk: DiskStats, activity: DiskActivity, *, request_sizes: bool
) -> Iterator[Sample]:
    yield metrics.BUSY_RATIO(activity.busy_ratio.buckets(), name)
    yield metrics.QUEUE_DEPTH(activity.queue_depth.buckets(), name)
    yield metrics.READ_AWAIT(activity.read_await.buckets(), name)
    yield metrics.WRITE_AWAIT(activity.write_await.buckets(), name)
    if disk.flush_requests is not None:
        yield metrics.FLUSH_AWAIT(activity.flush_await.buckets(), name)
    if activity.read_size is not None and activity.write_size is not None and request_sizes:
        yield metrics.READ_SIZE(activity.read_size.buckets(), name)
        yield metrics.WRITE_SIZE(activity.write_size.buckets(), name)


def _maxima(name: str, activity: DiskActivity, now: float) -> Iterator[Sample]:
    # A device at rest leaves no observation: its busiest second had nothing in it.
    yield metrics.BUSY_RATIO_MAX(activity.busy_ratio_max.value(now) or 0.0, name, MAX_WINDOW)
    yield metrics.QUEUE_DEPTH_MAX(activity.queue_depth_max.value(now) or 0.0, name, MAX_WINDOW)
    if (read_await := activity.read_await_max.value(now)) is not None:
        yield metrics.READ_AWAIT_MAX(read_await, name, MAX_WINDOW)
    if (write_await := activity.write_await_max.value(now)) is not None:
        yield metrics.WRITE_AWAIT_MAX(write_await, name, MAX_WINDOW)


def _falloffs(name: str, activity: DiskActivity) -> Iterator[Sample]:
    if (its := activity.falloffs) is None:
        return
    yield metrics.WRITE_FALLOFF_EVENTS(its.events, name)
    if its.last is not None:
        yield metrics.WRITE_FALLOFF_RATIO(its.last.ratio, name)
        yield metrics.WRITE_FALLOFF_BURST(its.last.burst_bytes, name)


def _baselines(name: str, activity: DiskActivity, rules: SaturationRules) -> Iterator[Sample]:
    floor = rules.await_floor_seconds[activity.drive.kind]
    directions: tuple[tuple[str, Baseline], ...] = (
        ("read", activity.baselines.read),
        ("write", activity.baselines.write),
    )
    for op, baseline in directions:
        learned = baseline.seconds
        yield metrics.AWAIT_BASELINE(floor if learned is None else learned, name, op)
        yield metrics.AWAIT_BASELINE_INFO(1, name, op, "floor" if learned is None else "learned")
