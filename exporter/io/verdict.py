"""Judges one interval of a device: was it saturated, and what was the bottleneck?

Busy time alone does not show saturation: it also counts time with a single request in flight, and
an SSD serves many at once. So a device is *full* only if busy ratio, queue depth and await agree.
It is *saturated* if, in addition, pressure stall information (PSI) shows that tasks wait for I/O.

Pure: no files, no clock, no logs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from exporter.io.drive_class import DriveClass
from exporter.io.interval import CpuInterval, DiskInterval


class Verdict(str, Enum):
    """The cause of the bottleneck. This is the closed set of values of the `cause` label.

    WRITE_CACHE, THERMAL and LINK explain a drive that became slower during a write.
    """

    NONE = "none"
    DEVICE = "device"
    CPU_SOFTIRQ = "cpu_softirq"
    WRITE_CACHE = "write_cache"
    THERMAL = "thermal"
    LINK = "link"
    UNKNOWN = "unknown"


def _queue_depths() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 4.0, DriveClass.SSD: 2.0, DriveClass.ROTATIONAL: 2.0}


def _await_floors() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 0.001, DriveClass.SSD: 0.003, DriveClass.ROTATIONAL: 0.010}


@dataclass(frozen=True, slots=True)
class SaturationRules:
    """The thresholds of the four conditions of saturation.

    busy_ratio: the device is busy from this ratio on.
    queue_depth: the queue is filled from this mean number of requests in flight on, by class. The
        queue depth alone is no evidence on an SSD: elsewhere such a rule raised 41 false alerts in
        7 days (https://github.com/vexxhost/atmosphere/pull/3713).
    await_factor: requests are slow from this multiple of the device's baseline await on. A deeper
        queue then gives no more throughput.
    await_floor_seconds: a shorter await is never slow, by class. It is also the limit until the
        baseline is learned.
    pressure_ratio: tasks wait for I/O if some task waited for at least this share of the time.
        Without PSI (kernels before 4.20, or psi=0) the other three conditions decide.
    """

    busy_ratio: float = 0.95
    queue_depth: Mapping[DriveClass, float] = field(default_factory=_queue_depths)
    await_factor: float = 3.0
    await_floor_seconds: Mapping[DriveClass, float] = field(default_factory=_await_floors)
    pressure_ratio: float = 0.10


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """The thresholds of the verdict that are not about saturation.

    work_busy_ratio: a device with a smaller busy ratio has too little work for a verdict.
    softirq_ratio, idle_ratio: a CPU is saturated by interrupts if it spends at least softirq_ratio
        in softirq and irq and at most idle_ratio idle. This is checked per CPU, because an average
        over many CPUs hides it.
    iowait_ratio: if the host spends more than this share in iowait, tasks wait for a device, and
        the verdict is not cpu_softirq. iowait is a kind of idle time, so it is never the only
        evidence for a verdict.
    """

    work_busy_ratio: float = 0.1
    softirq_ratio: float = 0.5
    idle_ratio: float = 0.1
    iowait_ratio: float = 0.05


@dataclass(frozen=True, slots=True)
class AwaitLimits:
    """The awaits, in seconds, from which reads and writes of one drive are slow."""

    read_seconds: float
    write_seconds: float


def await_limit(rules: SaturationRules, kind: DriveClass, baseline_seconds: float | None) -> float:
    """Returns the await in seconds from which one direction is slow.

    baseline_seconds: the drive's learned await; None until it is learned.
    """
    floor = rules.await_floor_seconds[kind]
    return floor if baseline_seconds is None else max(floor, rules.await_factor * baseline_seconds)


def requests_are_slow(disk: DiskInterval, limits: AwaitLimits) -> bool:
    """Returns True if reads and writes together took at least as long as at their limits.

    Both directions are summed, so a few slow reads among thousands of fast writes do not make the
    result True. Returns False if no read and no write completed.
    """
    if not disk.reads and not disk.writes:
        return False
    allowed = disk.reads * limits.read_seconds + disk.writes * limits.write_seconds
    return disk.read_seconds + disk.write_seconds >= allowed


def device_is_full(
    disk: DiskInterval, kind: DriveClass, limits: AwaitLimits, rules: SaturationRules
) -> bool:
    """Returns True if the device was busy, its queue was filled and its requests were slow."""
    return (
        disk.busy_ratio >= rules.busy_ratio
        and disk.queue_depth >= rules.queue_depth[kind]
        and requests_are_slow(disk, limits)
    )


def tasks_wait_for_io(pressure_ratio: float | None, rules: SaturationRules) -> bool | None:
    """Returns whether tasks on the host waited for I/O; None without PSI.

    PSI does not count tasks in io_getevents(2): with only libaio it shows no waiting tasks.
    """
    return None if pressure_ratio is None else pressure_ratio >= rules.pressure_ratio


def is_saturated(*, is_full: bool, is_waited_for: bool | None) -> bool:
    """Returns True if the device is full and tasks wait for I/O; without PSI, if it is full."""
    return is_full and is_waited_for is not False


def softirq_is_saturated(cpu: CpuInterval, rules: VerdictRules) -> bool:
    """Returns True if some CPU is saturated by interrupts; see `VerdictRules`."""
    return any(
        share.softirq >= rules.softirq_ratio and share.idle <= rules.idle_ratio
        for share in cpu.cpus.values()
    )


def cpu_is_bottleneck(cpu: CpuInterval, rules: VerdictRules) -> bool:
    """Returns True if some CPU is saturated by interrupts and the host has little iowait."""
    return cpu.host.iowait <= rules.iowait_ratio and softirq_is_saturated(cpu, rules)


def bottleneck_verdict(
    disk: DiskInterval,
    *,
    is_full: bool,
    is_slow: bool,
    is_waited_for: bool | None,
    is_cpu_bound: bool,
    rules: VerdictRules,
    slowed_by: Verdict | None = None,
) -> Verdict:
    """Returns the verdict for one interval.

    slowed_by: why the device became slower during the current write; None if it did not, or if the
        cause is unknown.

    DEVICE: the device is stalled or full. PSI is not required: it does not count InnoDB's waits for
        its own asynchronous I/O. A stall has priority over `slowed_by`.
    UNKNOWN: requests are slow and tasks wait, but the device is not full and no CPU is saturated.
        Examples are a throttled volume, a failing device and a single-threaded writer.
    """
    if disk.stalled:
        return Verdict.DEVICE
    if slowed_by is not None:
        return slowed_by
    if is_full:
        return Verdict.DEVICE
    if disk.busy_ratio < rules.work_busy_ratio:
        return Verdict.NONE
    if is_slow:
        return Verdict.UNKNOWN if is_waited_for else Verdict.NONE
    return Verdict.CPU_SOFTIRQ if is_cpu_bound else Verdict.NONE
