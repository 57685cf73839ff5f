"""The collector `disk`: the kernel's counters of block I/O, and the results of the sampler.

Some samples exist only for leaves: block devices that are not stacked on others, unlike dm and md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

from exporter.config.disk_rules import SaturationRules
from exporter.families import disk_families as metrics
from exporter.families.desc import MetricDesc, Sample, SampleBlock
from exporter.io.accumulators import MAX_WINDOW
from exporter.io.activity import DiskActivity
from exporter.io.baseline import AwaitBaseline
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

#: The values of the label `cause`, in the order of `Verdict`.
_CAUSES = tuple((cause.value,) for cause in Verdict)


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample | SampleBlock]]:
        sampler, settings = sources.sampler, sources.settings
        with sampler.flushed():
            found: list[Sample | SampleBlock] = list(
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
        for name, places in sources.slow_places.items():
            found += [
                metrics.SLOW_INSIDE_DRIVE(int(each.place.value == "inside"), name, each.op)
                for each in places.requests
            ]
        return Parsed(found)

    return collect


def samples(
    sampler: Sampler,
    now: float,
    rules: SaturationRules,
    *,
    request_sizes: bool,
    histograms: bool = True,
) -> Iterator[SampleBlock]:
    """Yields the samples of every device in the sampler's last reading of /proc/diskstats.

    now: the monotonic time.
    rules: the thresholds of saturation. Until the normal latency of a device has been learned,
        `await_floor_seconds` is exported instead, by the class of the device.
    request_sizes: True yields also the histograms of request sizes.
    histograms: False omits the histograms of busy ratio, queue depth and await.
    """
    disks = sampler.disks or {}
    series = _series(tuple(disks))
    for desc, count in COUNTERS:
        yield desc.block(series, [count(disk) for disk in disks.values()])
    activities = [sampler.activities[name] for name in disks]
    if histograms:
        yield from _distributions(series, disks, activities)
    if request_sizes:
        yield from _request_sizes(series, activities)
    yield metrics.STALLED.block(series, [activity.stalls.total_seconds for activity in activities])
    yield from _maxima(_series(tuple(disks), ((MAX_WINDOW,),)), activities, now)
    leaves = {
        name: activity
        for name, activity in zip(disks, activities, strict=True)
        if activity.drive.leaf
    }
    yield metrics.SATURATED.block(
        _series(tuple(leaves)), [activity.saturated_seconds for activity in leaves.values()]
    )
    yield from _baselines(leaves, rules)
    yield from _falloffs(leaves)
    yield _verdicts(leaves, now)


@lru_cache(maxsize=8)
def _series(
    names: tuple[str, ...], labels: tuple[tuple[str, ...], ...] = ((),)
) -> tuple[tuple[str, ...], ...]:
    """Returns the label values of each device, for each tuple of further labels.

    With the same objects each time, the text format recognizes the series of a family faster.
    """
    return tuple((name, *others) for others in labels for name in names)


def _distributions(
    series: Sequence[tuple[str, ...]],
    disks: Mapping[str, DiskStats],
    activities: Sequence[DiskActivity],
) -> Iterator[SampleBlock]:
    yield metrics.BUSY_RATIO.block(
        series, [activity.busy_ratio.buckets() for activity in activities]
    )
    yield metrics.QUEUE_DEPTH.block(
        series, [activity.queue_depth.buckets() for activity in activities]
    )
    yield metrics.READ_AWAIT.block(
        series, [activity.read_await.buckets() for activity in activities]
    )
    yield metrics.WRITE_AWAIT.block(
        series, [activity.write_await.buckets() for activity in activities]
    )
    flushes = [
        None if disk.flush_requests is None else activity.flush_await.buckets()
        for disk, activity in zip(disks.values(), activities, strict=True)
    ]
    yield metrics.FLUSH_AWAIT.block(series, flushes)


def _request_sizes(
    series: Sequence[tuple[str, ...]], activities: Sequence[DiskActivity]
) -> Iterator[SampleBlock]:
    for desc, sizes in (
        (metrics.READ_SIZE, [activity.read_size for activity in activities]),
        (metrics.WRITE_SIZE, [activity.write_size for activity in activities]),
    ):
        yield desc.block(series, [None if size is None else size.buckets() for size in sizes])


def _maxima(
    series: Sequence[tuple[str, ...]], activities: Sequence[DiskActivity], now: float
) -> Iterator[SampleBlock]:
    # There is no observation while a device is idle. So an unknown maximum is exported as 0.
    yield metrics.BUSY_RATIO_MAX.block(
        series, [activity.busy_ratio.peak.value(now) or 0.0 for activity in activities]
    )
    yield metrics.QUEUE_DEPTH_MAX.block(
        series, [activity.queue_depth.peak.value(now) or 0.0 for activity in activities]
    )
    yield metrics.READ_AWAIT_MAX.block(
        series, [activity.read_await.peak.value(now) for activity in activities]
    )
    yield metrics.WRITE_AWAIT_MAX.block(
        series, [activity.write_await.peak.value(now) for activity in activities]
    )


def _verdicts(leaves: Mapping[str, DiskActivity], now: float) -> SampleBlock:
    verdicts = [activity.verdict.value(now) for activity in leaves.values()]
    return metrics.BOTTLENECK.block(
        _series(tuple(leaves), _CAUSES),
        [int(cause is verdict) for cause in Verdict for verdict in verdicts],
    )


def _falloffs(leaves: Mapping[str, DiskActivity]) -> Iterator[SampleBlock]:
    trackers = {name: each.falloffs for name, each in leaves.items() if each.falloffs is not None}
    series = _series(tuple(trackers))
    last = [tracker.last for tracker in trackers.values()]
    yield metrics.WRITE_FALLOFF_EVENTS.block(
        series, [tracker.events for tracker in trackers.values()]
    )
    yield metrics.WRITE_FALLOFF_RATIO.block(
        series, [None if each is None else each.ratio for each in last]
    )
    yield metrics.WRITE_FALLOFF_BURST.block(
        series, [None if each is None else each.burst_bytes for each in last]
    )


def _baselines(leaves: Mapping[str, DiskActivity], rules: SaturationRules) -> Iterator[SampleBlock]:
    series: list[tuple[str, str]] = []
    baselines: list[AwaitBaseline] = []
    limits: list[float] = []
    origins: list[tuple[str, str, str]] = []
    for name, activity in leaves.items():
        floor, known = rules.await_floor_seconds[activity.drive.kind], activity.baselines
        for op, baseline in (("read", known.read), ("write", known.write)):
            learned = baseline.seconds
            series.append((name, op))
            baselines.append(baseline)
            limits.append(floor if learned is None else learned)
            origins.append((name, op, "floor" if learned is None else "learned"))
    yield metrics.AWAIT_BASELINE.block(series, limits)
    yield metrics.AWAIT_REFERENCE.block(series, [baseline.reference for baseline in baselines])
    yield metrics.AWAIT_BASELINE_INFO.block(origins, [1] * len(origins))
