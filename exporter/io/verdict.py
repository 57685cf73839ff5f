"""Decides for one interval whether a device was saturated, and what the bottleneck was.

Busy time alone does not show saturation: it also counts time with a single request in flight, and
an SSD serves many requests at once. Two terms are used here:

- A device is *full* if it has no spare throughput: its busy ratio, its queue depth and its await
  (the mean time of a request) are all above their limits.
- A device is *saturated* if it is full and tasks wait for I/O. The kernel's pressure stall
  information (PSI) shows whether tasks wait.

This module uses no files, no clock and no logs.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from enum import Enum

from exporter.io.drive_class import DriveClass
from exporter.io.interval import CpuInterval, DiskInterval


class Verdict(str, Enum):
    """The cause of the bottleneck. These are all values of the metric label `cause`.

    NONE: there is no bottleneck.
    DEVICE: the device is stalled or has no spare throughput.
    CPU_SOFTIRQ: a CPU that completes requests is saturated by interrupts.
    THROTTLED: a cloud volume is at the limit of its throughput that the provider sets.
    WRITE_CACHE, THERMAL, LINK: the drive became slower during a write, because its write cache is
        full, because of heat, or because of a slow link.
    UNKNOWN: requests are slow and tasks wait, but no cause is known, or there are two.
    """

    NONE = "none"
    DEVICE = "device"
    CPU_SOFTIRQ = "cpu_softirq"
    WRITE_CACHE = "write_cache"
    THERMAL = "thermal"
    LINK = "link"
    THROTTLED = "throttled"
    UNKNOWN = "unknown"


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
class AwaitLimits:
    """The smallest awaits, in seconds, that count as slow for reads and for writes of one drive."""

    read_seconds: float
    write_seconds: float


def await_limit(
    rules: SaturationRules,
    kind: DriveClass,
    baseline_seconds: float | None,
    *,
    is_deep: bool = False,
) -> float:
    """Returns the smallest await, in seconds, that counts as slow for reads or for writes.

    kind: the drive's class.
    baseline_seconds: the drive's learned await at low load; None until it is learned.
    is_deep: True for the limit with a deep queue.
    """
    floor = rules.learned_floor_seconds[kind]
    if baseline_seconds is None:
        return floor if is_deep else rules.await_floor_seconds[kind]
    factor = rules.deep_await_factor if is_deep else rules.await_factor
    return max(floor, factor * baseline_seconds)


def unsaturated_await_limit(
    rules: SaturationRules, kind: DriveClass, baseline_seconds: float | None
) -> float:
    """Returns the smallest await, in seconds, that counts as slow if the device is not full.

    The evidence is weaker than for a full device, because the large requests of a backup or an
    ALTER TABLE also take longer than the small ones of the baseline. So the await must also reach
    `await_floor_seconds`.

    The arguments are those of `await_limit`.
    """
    return max(rules.await_floor_seconds[kind], await_limit(rules, kind, baseline_seconds))


def requests_are_slow(disk: DiskInterval, limits: AwaitLimits) -> bool:
    """Returns True if reads and writes together took at least as long as the limits allow.

    The times of both directions are summed, so a few slow reads among thousands of fast writes do
    not make the result True. Returns False if no read and no write completed.
    """
    if not disk.reads and not disk.writes:
        return False
    allowed = disk.reads * limits.read_seconds + disk.writes * limits.write_seconds
    return disk.read_seconds + disk.write_seconds >= allowed


def device_is_full(
    disk: DiskInterval, kind: DriveClass, limits: AwaitLimits, rules: SaturationRules
) -> bool:
    """Returns True if the device was busy, its queue was long and its requests were slow.

    Such a device has no spare throughput.
    """
    return (
        disk.busy_ratio >= rules.busy_ratio
        and disk.queue_depth >= rules.queue_depth[kind]
        and requests_are_slow(disk, limits)
    )


def tasks_wait_for_io(pressure_ratio: float | None, rules: SaturationRules) -> bool | None:
    """Returns True if tasks on the host waited for I/O; None if the kernel has no PSI.

    PSI does not count tasks in io_getevents(2). If all tasks use libaio, it shows no waiting tasks.

    pressure_ratio: the share of the time in which some task waited for I/O, 0 to 1; None without
        PSI.
    """
    return None if pressure_ratio is None else pressure_ratio >= rules.pressure_ratio


def is_saturated(*, is_full: bool, is_waited_for: bool | None) -> bool:
    """Returns True if the device is full and tasks wait for I/O.

    is_full: the result of `device_is_full`.
    is_waited_for: the result of `tasks_wait_for_io`. With None, only `is_full` decides.
    """
    return is_full and is_waited_for is not False


def softirq_is_saturated(cpu: CpuInterval, rules: VerdictRules) -> bool:
    """Returns True if a CPU is saturated by interrupts; see `VerdictRules`."""
    return any(
        share.softirq >= rules.softirq_ratio and share.idle <= rules.idle_ratio
        for share in cpu.cpus.values()
    )


def cpu_is_bottleneck(cpu: CpuInterval, completing: Container[int], rules: VerdictRules) -> bool:
    """Returns True if a CPU that completes requests is saturated, and the host has little iowait.

    completing: the numbers of the CPUs that complete requests; see `BlockCompletions`.
    """
    return cpu.host.iowait <= rules.iowait_ratio and any(
        share.softirq >= rules.softirq_ratio
        and share.idle <= rules.idle_ratio
        and number in completing
        for number, share in cpu.cpus.items()
    )


def completing_cpu_is_full(
    cpu: CpuInterval, completing: Container[int], rules: VerdictRules
) -> bool:
    """Returns True if a CPU that completes requests has no time left, beside any host's iowait.

    iowait of the CPU itself counts as time left. `completing` is that of `cpu_is_bottleneck`.
    """
    return any(
        share.softirq >= rules.softirq_ratio
        and share.idle + share.iowait <= rules.idle_ratio
        and number in completing
        for number, share in cpu.cpus.items()
    )


def bottleneck_verdict(
    disk: DiskInterval,
    *,
    is_full: bool,
    is_slow: bool,
    is_waited_for: bool | None,
    is_cpu_bound: bool,
    rules: VerdictRules,
    slowed_by: Verdict | None = None,
    is_cpu_full: bool = False,
    when_full: Verdict = Verdict.DEVICE,
) -> Verdict:
    """Returns the cause of the bottleneck in one interval.

    is_full, is_slow, is_waited_for, is_cpu_bound: the results of `device_is_full`,
        `requests_are_slow` (with `unsaturated_await_limit`), `tasks_wait_for_io` and
        `cpu_is_bottleneck`.
    slowed_by: why the device became slower during the current write. None means that it did not, or
        that the cause is unknown.
    is_cpu_full: the result of `completing_cpu_is_full`. With a full device, the verdict is UNKNOWN:
        requests that wait for the CPU count as in flight, so the device may not be full.
    when_full: the verdict for a full device. A volume may be full because it is throttled.

    The verdict is DEVICE if the device is stalled or full. PSI is not required, because it does not
    count InnoDB's waits for its own asynchronous I/O. A stall has priority over `slowed_by`.

    The verdict is UNKNOWN if requests are slow and tasks wait, but the device is not full. Examples
    are a throttled volume, a failing device and a single-threaded writer.
    """
    if disk.stalled:
        return Verdict.DEVICE
    if slowed_by is not None:
        return slowed_by
    if is_full:
        return Verdict.UNKNOWN if is_cpu_full else when_full
    if disk.busy_ratio < rules.work_busy_ratio:
        return Verdict.NONE
    if is_slow:
        return Verdict.UNKNOWN if is_waited_for else Verdict.NONE
    return Verdict.CPU_SOFTIRQ if is_cpu_bound else Verdict.NONE
