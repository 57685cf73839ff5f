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
        baseline. A deeper queue then does not increase the throughput.
    await_floor_seconds: an await of at least this value is slow until the baseline is learned,
        keyed by drive class. If the device is not full, an await below it is never slow.
    learned_floor_seconds: an await below this value is never slow, keyed by drive class. It is the
        limit for a deep queue until the baseline is learned.
    deep_queue_depth, deep_await_factor: with at least this mean number of requests in flight, keyed
        by drive class, deep_await_factor replaces await_factor. The mean of many requests varies
        little, so a smaller factor is sufficient. If the await doubles when the queue doubles, the
        drive completes no more requests.
    pressure_ratio: tasks wait for I/O if at least one task waited during this share of the time or
        more, 0 to 1. Without PSI (kernels before 4.20, or psi=0) the other three conditions decide.
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
    """The thresholds of the verdict (the bottleneck of a device), except for those of saturation.

    Ratios are 0 to 1.

    work_busy_ratio: a device with a smaller busy ratio has too little work for a verdict.
    softirq_ratio, idle_ratio: a CPU is saturated by interrupts if both are true: it spends at least
        softirq_ratio of its time in interrupts (softirq and irq), and it is idle for at most
        idle_ratio of its time. Each CPU is checked, because an average over many CPUs hides a
        single saturated CPU.
    block_softirqs_per_second: a CPU completes requests if it runs at least this many softirqs of
        the vector BLOCK per second. A CPU that a network card saturates may complete no requests. A
        CPU needs 1 to 5 us per completion, so a CPU that only completes requests runs 10,000 and
        more per second.
    block_softirq_ratio: a saturated CPU delays the requests if it completes at least this share of
        them. A CPU of a network card that completes an eighth of them delays few.
    block_softirq_sum_ratio: several saturated CPUs delay the requests if together they complete at
        least this share of them.
    iowait_ratio: above this share of the host's time in iowait, tasks wait for a device. The
        verdict is then not cpu_softirq. The value iowait is a kind of idle time, so it is never the
        only evidence for a verdict.
    """

    work_busy_ratio: float = 0.1
    softirq_ratio: float = 0.5
    idle_ratio: float = 0.1
    block_softirqs_per_second: float = 1000.0
    block_softirq_ratio: float = 0.4
    block_softirq_sum_ratio: float = 0.7
    iowait_ratio: float = 0.05


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """Defines which intervals train the baseline, the normal await of a device at low load.

    calm_busy_ratio: only intervals with a smaller busy ratio train the baseline, 0 to 1.
    calm_queue_depth: only intervals with at most this many requests in flight, on average over the
        time in which the device was busy, train the baseline. In a burst requests wait for each
        other.
    largest_bytes: only requests of at most this mean size train the baseline. The await of larger
        requests depends on the bandwidth.
    operations: this many operations are averaged to one observation. The kernel counts whole
        milliseconds, so the time of a single short request would be 0 or 1 ms.
    observations: the baseline is valid after this many observations.
    interval_seconds: a valid baseline uses at most one observation in this time. So the age of its
        observations does not depend on the load.
    reference_observations: the reference is the value of the baseline after this many further
        observations. With one observation per hour, they take a day.
    memory: if there are more observations than this, the weights of all observations are halved.
        With one observation per hour, the baseline follows changes of the device over months.
    many_per_second: with at least this many requests per second, nothing sleeps between them. A CPU
        core needs about a millisecond without work for its deep states, PCIe and SATA links some
        milliseconds, and an NVMe drive 50 and more.
    refuted_ratio, refuted_seconds: if requests under load take less than this share of a baseline
        that was learned from few requests, during this time, that baseline is discarded.
    """

    calm_busy_ratio: float = 0.3
    calm_queue_depth: float = 2.0
    largest_bytes: int = 65536
    operations: int = 50
    observations: int = 60
    interval_seconds: float = 3600.0
    reference_observations: int = 24
    memory: int = 3000
    many_per_second: float = 1000.0
    refuted_ratio: float = 0.6
    refuted_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class PartialHangRules:
    """The thresholds of a partial hang: some requests do not complete, while others do.

    intervals: the number of successive intervals that are compared. Requests must be in flight at
        the ends of all of them.
    first_intervals: the smallest number of intervals for a decision.
    excess_requests: the excess is the number of requests in flight minus the number that the
        completed requests explain. Its mean must be at least this value, and in every interval it
        must be at least half of this value. With 1, a hang of a single request would be missed
        because of rounding.
    standard_errors: the mean excess must also be at least this multiple of its standard error. The
        number of requests in flight varies within a second, and is read once per second. The larger
        one of two variances is used: that of these intervals, and that of the time before. The
        first one is computed from the differences of successive intervals, because the number of
        requests that hang increases.
    noise_intervals: the variance of the time before is a moving average over this many intervals
        in which no request hung.
    first_noise: the variance before the first interval.
    least_variance: lower limit of the variance of the excess, as a share of the queue depth. The
        variance of a few intervals may be small by chance.
    most_least_variance: upper bound of this limit.
    least_deviation: the square of this share of the queue depth is added to this limit. The queue
        depth of a busy device varies at least by this share.
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
class SingleHangRules:
    """The thresholds of a hang of one request of many, for half a minute or longer.

    The excess is the number of requests in flight minus the number that the completed requests
    explain, as a mean of twelve intervals. These are a block. A surplus is a negative excess of one
    interval, multiplied by its length: the time of requests that waited before it.

    least_excess, most_excess: while a request hangs, the mean excess of at least three blocks must
        be between these values.
    deviation: each of these blocks may differ from their mean by this share of it, and the blocks
        before them must have a mean excess of at most this share of it.
    standard_errors: the mean must also be at least this multiple of its standard error.
    normal_blocks: the smallest number of blocks before them. A moment without requests in flight
        also counts as one.
    least_noise, noise_per_request: lower limit of the standard deviation of a block: a constant,
        and an addition for each request in flight.
    least_seconds: the smallest surplus that may be the end of a hang.
    surplus_factor: it must also be at least this multiple of any surplus of the last minutes.
    queue_seconds: it must also be at least the time of all requests in flight for this many
        seconds. A shorter hold of the whole queue is usual.
    seen_share: requests must have been in flight in all samples for this share of its time.
    ended_evidence: the natural logarithm of the smallest ratio of the likelihoods with and without
        a hang, computed from the surplus and the blocks before it.
    ended_share: a surplus of this share of the duration of a known hang is its end.
    """

    least_excess: float = 0.75
    most_excess: float = 1.6
    deviation: float = 0.5
    standard_errors: float = 5.0
    normal_blocks: int = 3
    least_noise: float = 0.1
    noise_per_request: float = 0.01
    least_seconds: float = 20.0
    surplus_factor: float = 2.0
    queue_seconds: float = 0.5
    seen_share: float = 0.8
    ended_evidence: float = 3.0
    ended_share: float = 0.5


@dataclass(frozen=True, slots=True)
class ThrottlingRules:
    """The thresholds that show that a cloud provider limits a volume.

    They apply to cloud volumes only.

    intervals: the volume must have been full in this number of intervals. Up to four other
        intervals may be between two of them.
    deviation_ratio: the standard deviation of the operations per second, or of the bytes per
        second, must be at most this share of their mean.
    """

    intervals: int = 10
    deviation_ratio: float = 0.03


@dataclass(frozen=True, slots=True)
class WriteFalloffRules:
    """The thresholds of a falloff: a drop of the write throughput during a long write.

    busy_ratio: after the drop the busy ratio of the device must be at least this value. An interval
        with it also belongs to a burst. The queue depth has no lower limit, because a single
        synchronous writer saturates the device with one request in flight.
    other_factor, other_share: the upper limit of the reads, flushes and discards per second is
        other_factor times their number before the drop, plus other_share times the number of writes
        before the drop. Above it they slow down the writes, and the drop is not a falloff.
    rest_seconds: the burst ends after this time without a long write.
    falloff_ratio: throughput at or below this share of the throughput before is slow. With 0.72, a
        drop from 410 to 295 MB/s counts.
    lasting_seconds: the slow intervals together must last at least this long.
    """

    busy_ratio: float = 0.9
    other_factor: float = 1.5
    other_share: float = 0.02
    rest_seconds: float = 30.0
    falloff_ratio: float = 0.72
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
    single_hang: SingleHangRules = field(default_factory=SingleHangRules)
    throttling: ThrottlingRules = field(default_factory=ThrottlingRules)
    write_falloff: WriteFalloffRules = field(default_factory=WriteFalloffRules)
