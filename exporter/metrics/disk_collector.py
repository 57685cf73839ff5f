"""The collector `disk`: the kernel's counters of block I/O, and the results of the sampler.

Some samples exist only for leaves: block devices that are not stacked on others, unlike dm and md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from exporter.config.disk_rules import SaturationRules
from exporter.families import disk_families as metrics
from exporter.families.desc import MetricDesc, Sample
from exporter.io.accumulators import MAX_WINDOW
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baseline
from exporter.io.sampler import Sampler
from exporter.io.verdict import Verdict
from exporter.linux.diskstats import DiskStats
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed

#: The families of the kernel's counters, each with the function that returns its value from a
#: record of /proc/diskstats. `node_exporter_compat` uses the same table.
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


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        sampler, settings = sources.sampler, sources.settings
        with sampler.flushed():
            found = list(
                samples(
                    sampler,
                    sources.clock.monotonic(),
                    settings.rules.saturation,
                    request_sizes=settings.disk.request_sizes,
                    histograms=settings.disk.histograms,
                )
            )
            if settings.compat.node_exporter:
                # Imported only if it is used, because the daemon's memory is limited.
                from exporter.metrics import node_exporter_compat  # noqa: PLC0415

                found += node_exporter_compat.disk_samples(sampler)
        return Parsed(found)

    return collect


def samples(
    sampler: Sampler,
    now: float,
    rules: SaturationRules,
    *,
    request_sizes: bool,
    histograms: bool = True,
) -> Iterator[Sample]:
    """Yields the samples of every device in the sampler's last reading of /proc/diskstats.

    now: the monotonic time.
    rules: the thresholds of saturation. Until the normal latency of a device has been learned,
        `await_floor_seconds` is exported instead, by the class of the device.
    request_sizes: True yields also the histograms of request sizes.
    histograms: False omits the histograms of busy ratio, queue depth and await.
    """
    disks = sampler.disks or {}
    series = [(name,) for name in disks]
    for desc, count in COUNTERS:
        yield from desc.samples(series, map(count, disks.values()))
    activities = [sampler.activities[name] for name in disks]
    if histograms:
        yield from _distributions(series, disks, activities)
    if request_sizes:
        yield from _request_sizes(series, activities)
    yield from metrics.STALLED.samples(
        series, [activity.stalled_seconds for activity in activities]
    )
    yield from _maxima([(name, MAX_WINDOW) for name in disks], activities, now)
    leaves = {
        name: activity
        for name, activity in zip(disks, activities, strict=True)
        if activity.drive.leaf
    }
    yield from metrics.SATURATED.samples(
        [(name,) for name in leaves], [activity.saturated_seconds for activity in leaves.values()]
    )
    for name, activity in leaves.items():
        yield from _baselines(name, activity, rules)
        yield from _falloffs(name, activity)
    yield from _verdicts(leaves, now)


def _distributions(
    series: Sequence[tuple[str, ...]],
    disks: Mapping[str, DiskStats],
    activities: Sequence[DiskActivity],
) -> Iterator[Sample]:
    yield from metrics.BUSY_RATIO.samples(
        series, [activity.busy_ratio.buckets() for activity in activities]
    )
    yield from metrics.QUEUE_DEPTH.samples(
        series, [activity.queue_depth.buckets() for activity in activities]
    )
    yield from metrics.READ_AWAIT.samples(
        series, [activity.read_await.buckets() for activity in activities]
    )
    yield from metrics.WRITE_AWAIT.samples(
        series, [activity.write_await.buckets() for activity in activities]
    )
    flushes = [
        None if disk.flush_requests is None else activity.flush_await.buckets()
        for disk, activity in zip(disks.values(), activities, strict=True)
    ]
    yield from metrics.FLUSH_AWAIT.samples(series, flushes)


def _request_sizes(
    series: Sequence[tuple[str, ...]], activities: Sequence[DiskActivity]
) -> Iterator[Sample]:
    for desc, sizes in (
        (metrics.READ_SIZE, [activity.read_size for activity in activities]),
        (metrics.WRITE_SIZE, [activity.write_size for activity in activities]),
    ):
        yield from desc.samples(
            series, [None if size is None else size.buckets() for size in sizes]
        )


def _maxima(
    series: Sequence[tuple[str, ...]], activities: Sequence[DiskActivity], now: float
) -> Iterator[Sample]:
    # There is no observation while a device is idle. So an unknown maximum is exported as 0.
    yield from metrics.BUSY_RATIO_MAX.samples(
        series, [activity.busy_ratio_max.value(now) or 0.0 for activity in activities]
    )
    yield from metrics.QUEUE_DEPTH_MAX.samples(
        series, [activity.queue_depth_max.value(now) or 0.0 for activity in activities]
    )
    yield from metrics.READ_AWAIT_MAX.samples(
        series, [activity.read_await_max.value(now) for activity in activities]
    )
    yield from metrics.WRITE_AWAIT_MAX.samples(
        series, [activity.write_await_max.value(now) for activity in activities]
    )


def _verdicts(leaves: Mapping[str, DiskActivity], now: float) -> Iterator[Sample]:
    verdicts = [activity.verdict.value(now) for activity in leaves.values()]
    for cause in Verdict:
        yield from metrics.BOTTLENECK.samples(
            [(name, cause.value) for name in leaves],
            [int(cause is verdict) for verdict in verdicts],
        )


def _falloffs(name: str, activity: DiskActivity) -> Iterator[Sample]:
    if (falloffs := activity.falloffs) is None:
        return
    yield metrics.WRITE_FALLOFF_EVENTS(falloffs.events, name)
    if falloffs.last is not None:
        yield metrics.WRITE_FALLOFF_RATIO(falloffs.last.ratio, name)
        yield metrics.WRITE_FALLOFF_BURST(falloffs.last.burst_bytes, name)


def _baselines(name: str, activity: DiskActivity, rules: SaturationRules) -> Iterator[Sample]:
    floor = rules.await_floor_seconds[activity.drive.kind]
    directions: tuple[tuple[str, Baseline], ...] = (
        ("read", activity.baselines.read),
        ("write", activity.baselines.write),
    )
    for op, baseline in directions:
        learned = baseline.seconds
        yield metrics.AWAIT_BASELINE(floor if learned is None else learned, name, op)
        if baseline.reference is not None:
            yield metrics.AWAIT_REFERENCE(baseline.reference, name, op)
        yield metrics.AWAIT_BASELINE_INFO(1, name, op, "floor" if learned is None else "learned")
