"""Block I/O: the kernel's counters and the sampler's view of each device."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from exporter.io.activity import MAX_WINDOW, DiskActivity
from exporter.io.baseline import Baseline
from exporter.io.sampler import Sampler
from exporter.io.verdict import SaturationRules, Verdict
from exporter.linux.diskstats import DiskStats
from exporter.metrics import disk_families as metrics
from exporter.metrics.desc import MetricDesc, Sample

#: What the kernel counts, and the family that it goes to. One table, so that no field is missed.
COUNTERS: tuple[tuple[MetricDesc, Callable[[DiskStats], float | None]], ...] = (
    (metrics.READS_COMPLETED, attrgetter("reads_completed")),
    (metrics.READS_MERGED, attrgetter("reads_merged")),
    (metrics.READ_BYTES, attrgetter("read_bytes")),
    (metrics.READ_TIME, attrgetter("read_time_seconds")),
    (metrics.WRITES_COMPLETED, attrgetter("writes_completed")),
    (metrics.WRITES_MERGED, attrgetter("writes_merged")),
    (metrics.WRITTEN_BYTES, attrgetter("written_bytes")),
    (metrics.WRITE_TIME, attrgetter("write_time_seconds")),
    (metrics.IO_NOW, attrgetter("io_now")),
    (metrics.IO_TIME, attrgetter("io_time_seconds")),
    (metrics.IO_TIME_WEIGHTED, attrgetter("io_time_weighted_seconds")),
    (metrics.DISCARDS_COMPLETED, attrgetter("discards_completed")),
    (metrics.DISCARDS_MERGED, attrgetter("discards_merged")),
    (metrics.DISCARDED_BYTES, attrgetter("discarded_bytes")),
    (metrics.DISCARD_TIME, attrgetter("discard_time_seconds")),
    (metrics.FLUSH_REQUESTS, attrgetter("flush_requests")),
    (metrics.FLUSH_TIME, attrgetter("flush_requests_time_seconds")),
)


def samples(
    sampler: Sampler, now: float, rules: SaturationRules, *, request_sizes: bool
) -> Iterator[Sample]:
    """Every device of the last sample, family by family."""
    disks = sampler.disks or {}
    series = [(name,) for name in disks]
    for desc, count in COUNTERS:
        yield from desc.each(series, map(count, disks.values()))
    activities = [sampler.activities[name] for name in disks]
    yield from _distributions(series, disks, activities, request_sizes=request_sizes)
    yield from metrics.STALLED.each(series, [its.stalled_seconds for its in activities])
    yield from _maxima([(name, MAX_WINDOW) for name in disks], activities, now)
    leaves = {name: its for name, its in zip(disks, activities, strict=True) if its.drive.leaf}
    yield from metrics.SATURATED.each(
        [(name,) for name in leaves], [its.saturated_seconds for its in leaves.values()]
    )
    for name, activity in leaves.items():
        yield from _baselines(name, activity, rules)
        yield from _falloffs(name, activity)
    yield from _verdicts(leaves, now)


def _distributions(
    series: Sequence[tuple[str, ...]],
    disks: Mapping[str, DiskStats],
    activities: Sequence[DiskActivity],
    *,
    request_sizes: bool,
) -> Iterator[Sample]:
    yield from metrics.BUSY_RATIO.each(series, [its.busy_ratio.buckets() for its in activities])
    yield from metrics.QUEUE_DEPTH.each(series, [its.queue_depth.buckets() for its in activities])
    yield from metrics.READ_AWAIT.each(series, [its.read_await.buckets() for its in activities])
    yield from metrics.WRITE_AWAIT.each(series, [its.write_await.buckets() for its in activities])
    flushes = [
        None if disk.flush_requests is None else its.flush_await.buckets()
        for disk, its in zip(disks.values(), activities, strict=True)
    ]
    yield from metrics.FLUSH_AWAIT.each(series, flushes)
    if request_sizes:
        for desc, sizes in (
            (metrics.READ_SIZE, [its.read_size for its in activities]),
            (metrics.WRITE_SIZE, [its.write_size for its in activities]),
        ):
            yield from desc.each(series, [None if its is None else its.buckets() for its in sizes])


def _maxima(
    series: Sequence[tuple[str, ...]], activities: Sequence[DiskActivity], now: float
) -> Iterator[Sample]:
    # A device at rest leaves no observation: its busiest second had nothing in it.
    yield from metrics.BUSY_RATIO_MAX.each(
        series, [its.busy_ratio_max.value(now) or 0.0 for its in activities]
    )
    yield from metrics.QUEUE_DEPTH_MAX.each(
        series, [its.queue_depth_max.value(now) or 0.0 for its in activities]
    )
    yield from metrics.READ_AWAIT_MAX.each(
        series, [its.read_await_max.value(now) for its in activities]
    )
    yield from metrics.WRITE_AWAIT_MAX.each(
        series, [its.write_await_max.value(now) for its in activities]
    )


def _verdicts(leaves: Mapping[str, DiskActivity], now: float) -> Iterator[Sample]:
    prevailing = [its.verdict.value(now) for its in leaves.values()]
    for cause in Verdict:
        yield from metrics.BOTTLENECK.each(
            [(name, cause.value) for name in leaves], [int(cause is each) for each in prevailing]
        )


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
