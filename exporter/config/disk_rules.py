"""Defines the thresholds of all verdicts on a second of block I/O.

The modules of `exporter.io` that compute the verdicts describe the quantities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.config.drive_class import DriveClass


def _queue_depths() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 4.0, DriveClass.SSD: 2.0, DriveClass.ROTATIONAL: 2.0}


def _deep_queue_depths() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 32.0, DriveClass.SSD: 16.0, DriveClass.ROTATIONAL: 100_000.0}


def _await_floors() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 0.001, DriveClass.SSD: 0.003, DriveClass.ROTATIONAL: 0.010}


def _learned_floors() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 0.0002, DriveClass.SSD: 0.0005, DriveClass.ROTATIONAL: 0.010}


@dataclass(frozen=True, slots=True)
class SaturationRules:
    """The thresholds of saturation: a busy device, a long queue, slow requests, waiting tasks.

    busy_ratio: the minimum busy ratio of a busy device, 0 to 1.
    queue_depth: the minimum mean number of requests in flight of a long queue, keyed by drive
        class. The queue depth alone is not sufficient evidence on an SSD: in another project such a
        rule raised 41 false alerts in 7 days (https://github.com/vexxhost/atmosphere/pull/3713).
    await_factor: requests are slow if their await is at least this multiple of the device's
        baseline. A deeper queue then gives no more throughput.
    await_floor_seconds: an await of at least this value is slow until the baseline is learned,
        keyed by drive class. If the device is not full, an await below it is never slow.
    learned_floor_seconds: an await below this value is never slow, keyed by drive class. It is the
        limit for a deep queue until the baseline is learned.
    deep_queue_depth, deep_await_factor: with at least this mean number of requests in flight, keyed
        by drive class, deep_await_factor replaces await_factor. The variance of single requests
        hardly affects the mean of so many. A drive whose await doubles with its queue serves no
        more requests.
    pressure_ratio: tasks wait for I/O if some task waited for at least this share of the time, 0 to
        1. Without PSI (kernels before 4.20, or psi=0) the other three conditions decide.
    """

    busy_ratio: float = 0.95
    queue_depth: Mapping[DriveClass, float] = field(default_factory=_queue_depths)
    await_factor: float = 3.0
    await_floor_seconds: Mapping[DriveClass, float] = field(default_factory=_await_floors)
    learned_floor_seconds: Mapping[DriveClass, float] = field(default_factory=_learned_floors)
    deep_queue_depth: Mapping[DriveClass, float] = field(default_factory=_deep_queue_depths)
    deep_await_factor: float = 2.0
    pressure_ratio: float = 0.10


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """The thresholds of the verdict that do not concern saturation. All are ratios, 0 to 1.

    work_busy_ratio: a device with a smaller busy ratio has too little work for a verdict.
    softirq_ratio, idle_ratio: a CPU is saturated by interrupts if it spends at least softirq_ratio
        of its time in interrupts (softirq and irq) and is idle for at most idle_ratio of it. Each
        CPU is checked, because an average over many CPUs hides a single saturated CPU.
    block_softirqs_per_second: a CPU completes requests if it runs at least this many softirqs of
        the vector BLOCK per second. A network card may saturate a CPU that completes none. A CPU
        needs 1 to 5 us per completion, so one that only completes requests runs 10,000 and more.
    iowait_ratio: if the host spends more than this share of its time in iowait, tasks wait for a
        device, and the verdict is not cpu_softirq. iowait is a kind of idle time, so it is never
        the only evidence for a verdict.
    """

    work_busy_ratio: float = 0.1
    softirq_ratio: float = 0.5
    idle_ratio: float = 0.1
    block_softirqs_per_second: float = 1000.0
    iowait_ratio: float = 0.05


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """Defines which intervals train the baseline and how many observations it requires.

    calm_busy_ratio: only intervals with a smaller busy ratio train the baseline, 0 to 1.
    calm_queue_depth: only intervals with at most this many requests in flight, on average over the
        time in which the device was busy, train the baseline. In a burst requests wait for each
        other.
    largest_bytes: only requests of at most this mean size train the baseline. The await of larger
        ones shows the bandwidth.
    operations: this many operations are averaged to one observation. The kernel counts whole
        milliseconds, so the time of a single short request would be 0 or 1 ms.
    observations: the baseline is valid after this many observations.
    interval_seconds: a valid baseline takes at most one observation in this time, so that its
        memory does not depend on the load.
    reference_observations: the reference is the baseline after this many later observations: a day.
    memory: if there are more observations than this, the weights of all are halved. With one
        observation per hour, the baseline follows changes of the device over months.
    """

    calm_busy_ratio: float = 0.3
    calm_queue_depth: float = 2.0
    largest_bytes: int = 65536
    operations: int = 50
    observations: int = 60
    interval_seconds: float = 3600.0
    reference_observations: int = 24
    memory: int = 3000


@dataclass(frozen=True, slots=True)
class PartialHangRules:
    """The thresholds of a partial hang.

    intervals: the number of successive intervals that are compared. Requests must be in flight at
        the ends of all of them.
    first_intervals: the smallest number of intervals for a decision.
    excess_requests: at least this many more requests must be in flight, on average, than the
        completed requests explain, and at least half of it in every interval. With 1, a hang of a
        single request would be missed because of rounding.
    standard_errors: the mean excess must also be this many times its own standard error. The
        number of requests in flight varies within a second, and is read once per second. The
        variance is that of these intervals or of the time before, whichever is larger. That of
        these intervals comes from the differences of successive ones, because the number of
        requests that hang grows.
    noise_intervals: the variance of the time before is a moving average over this many intervals
        in which no request hung.
    first_noise: the variance before the first interval.
    least_variance, most_least_variance: lower limit of the variance of the excess, as a share of
        the queue depth, and the largest such limit. The variance of a few intervals may be small by
        chance.
    least_deviation: the square of this share of the queue depth is added to the limit. The queue
        depth of a busy device is never more constant.
    """

    intervals: int = 10
    first_intervals: int = 6
    excess_requests: float = 0.8
    standard_errors: float = 6.5
    noise_intervals: float = 50.0
    first_noise: float = 0.1
    least_variance: float = 0.25
    most_least_variance: float = 1.0
    least_deviation: float = 0.01


@dataclass(frozen=True, slots=True)
class ThrottlingRules:
    """The thresholds of a limit. They apply to cloud volumes only.

    intervals: the volume must have been full in this number of intervals. Up to four others may be
        between two of them.
    deviation_ratio: the standard deviation of the operations per second, or of the bytes per
        second, must be at most this share of their mean.
    """

    intervals: int = 10
    deviation_ratio: float = 0.03


@dataclass(frozen=True, slots=True)
class WriteFalloffRules:
    """The thresholds that define a saturating write and a falloff.

    busy_ratio, read_share: an interval is a saturating write if the device's busy ratio is at least
        busy_ratio and, until the reference is known, reads are less than this share of the bytes.
        Afterwards the share may grow, because a full cache slows down only the writes. No minimum
        queue depth is required, because a single synchronous writer saturates the device with one
        request in flight.
    other_factor, other_share: if there are more than other_factor times as many reads, flushes and
        discards per second as before, plus other_share of the number of writes before, these slow
        down the writes, and the drop is not a falloff.
    before_ratio: if the throughput before the burst was at least this share of the reference, the
        write began earlier, and the bytes that fit into the cache are unknown. Such a drop is not
        reported.
    near_ratio, sudden_seconds: a falloff is sudden if the throughput was between the limit and
        near_ratio of the reference for at most sudden_seconds before the drop.
    rest_seconds: the burst ends after this time without a saturating write.
    reference_bytes, reference_samples, reference_seconds: the first intervals of the burst are
        collected until they are at least reference_samples and contain reference_bytes or last
        reference_seconds. The reference throughput is the mean of those that are near or above
        their 75th percentile.
    reference_ratio, reference_most_seconds: later intervals whose throughput differs from the
        reference by at most reference_ratio are added to it, until it covers
        reference_most_seconds.
    falloff_ratio: throughput at or below this share of the reference is slow. With 0.67, a drop
        from 410 to 260 MB/s counts.
    size_ratio: if the mean request size differs from that of the reference by more than this ratio,
        the writer has changed, and the drop is not a falloff.
    await_factor: if the await (the mean time of a request) has not grown by more than this factor,
        the writer has slowed down and not the drive.
    lasting_seconds: the slow intervals together must last at least this long.
    """

    busy_ratio: float = 0.9
    read_share: float = 0.5
    other_factor: float = 1.5
    other_share: float = 0.02
    before_ratio: float = 0.25
    near_ratio: float = 0.85
    sudden_seconds: float = 5.0
    rest_seconds: float = 30.0
    reference_bytes: int = 10**9
    reference_samples: int = 3
    reference_seconds: float = 10.0
    reference_ratio: float = 0.2
    reference_most_seconds: float = 20.0
    falloff_ratio: float = 0.67
    size_ratio: float = 0.3
    await_factor: float = 1.4
    lasting_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class DiskRules:
    """The thresholds of all verdicts.

    Each field is a section of the configuration file, such as [rules.saturation].
    """

    saturation: SaturationRules = field(default_factory=SaturationRules)
    baseline: BaselineRules = field(default_factory=BaselineRules)
    bottleneck: VerdictRules = field(default_factory=VerdictRules)
    partial_hang: PartialHangRules = field(default_factory=PartialHangRules)
    throttling: ThrottlingRules = field(default_factory=ThrottlingRules)
    write_falloff: WriteFalloffRules = field(default_factory=WriteFalloffRules)
