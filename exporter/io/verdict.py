"""Is a device saturated: is no more to be had from it, and does somebody wait for it?

Utilisation alone says neither (it counts time with one request in flight, and an SSD serves many
at once), so busy, queue and await must agree that it is full, and pressure that somebody waits.

What holds the work on a device back: the device, or something else?
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from exporter.io.drive_class import DriveClass
from exporter.io.interval import CpuInterval, DiskInterval


def _queue_depths() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 4.0, DriveClass.SSD: 2.0, DriveClass.ROTATIONAL: 2.0}


def _await_floors() -> dict[DriveClass, float]:
    return {DriveClass.NVME: 0.001, DriveClass.SSD: 0.003, DriveClass.ROTATIONAL: 0.010}


@dataclass(frozen=True, slots=True)
class SaturationRules:
    """Where each of the four terms begins to hold.

    busy_ratio: no idle time is left to give.
    queue_depth: mean requests in flight, by class. One in flight is normal on an SSD: a rule of
        this kind gave 41 false alerts in 7 days elsewhere.
    await_factor: so many times its own low-load await makes a device slow: past that knee more
        queue buys no more throughput.
    await_floor_seconds: and no await below this is slow, by class. It stands in for the knee while
        no low-load await has been learned.
    pressure_ratio: the share of time in which some task on the host waited for I/O. Left out where
        the kernel keeps no PSI (before 4.20, or psi=0): the other three then decide.
    """

    busy_ratio: float = 0.95
    queue_depth: Mapping[DriveClass, float] = field(default_factory=_queue_depths)
    await_factor: float = 3.0
    await_floor_seconds: Mapping[DriveClass, float] = field(default_factory=_await_floors)
    pressure_ratio: float = 0.10


@dataclass(frozen=True, slots=True)
class AwaitLimits:
    """From which await on a read and a write is slow on one drive, in seconds."""

    read_seconds: float
    write_seconds: float


def await_limit(rules: SaturationRules, kind: DriveClass, learned_seconds: float | None) -> float:
    """The await from which on one direction is slow."""
    floor = rules.await_floor_seconds[kind]
    return floor if learned_seconds is None else max(floor, rules.await_factor * learned_seconds)


def requests_are_slow(disk: DiskInterval, knees: AwaitLimits) -> bool:
    """The reads and writes of the interval took longer, all together, than at their knees.

    One sum over both directions, so that a handful of slow reads beside thousands of fast writes
    does not decide. False where neither completed.
    """
    if not disk.reads and not disk.writes:
        return False
    allowed = disk.reads * knees.read_seconds + disk.writes * knees.write_seconds
    return disk.read_seconds + disk.write_seconds >= allowed


def device_is_full(
    disk: DiskInterval, kind: DriveClass, knees: AwaitLimits, rules: SaturationRules
) -> bool:
    """The device has nothing left to give: busy, its queue filled, its requests slow."""
    return (
        disk.busy_ratio >= rules.busy_ratio
        and disk.queue_depth >= rules.queue_depth[kind]
        and requests_are_slow(disk, knees)
    )


def tasks_wait_for_io(pressure_ratio: float | None, rules: SaturationRules) -> bool | None:
    """Some task on the host waited for I/O; None where the kernel keeps no PSI.

    PSI does not see who waits in io_getevents(2): under a load of nothing but libaio it reads 0.
    """
    return None if pressure_ratio is None else pressure_ratio >= rules.pressure_ratio


def is_saturated(*, is_full: bool, is_waited_for: bool | None) -> bool:
    """The device is full and somebody waits; without PSI the first decides alone."""
    return is_full and is_waited_for is not False


class Verdict(str, Enum):
    """The closed set of verdicts.

    write_cache, thermal and link are of a drive that became slower in the middle of a write.
    """

    NONE = "none"
    DEVICE = "device"
    CPU_SOFTIRQ = "cpu_softirq"
    WRITE_CACHE = "write_cache"
    THERMAL = "thermal"
    LINK = "link"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """When a device has work, and when a CPU is bound by interrupts.

    work_busy_ratio: below it the device has no work worth a verdict.
    softirq_ratio, idle_ratio: one CPU with at least so much softirq and irq and at most so much
        idle time serves nothing else. One CPU, for the average over many hides it.
    iowait_ratio: with more of the host's time than this in iowait, tasks wait for a device after
        all. A guard only: iowait is idle time under another name and convicts nobody.
    """

    work_busy_ratio: float = 0.1
    softirq_ratio: float = 0.5
    idle_ratio: float = 0.1
    iowait_ratio: float = 0.05


def softirq_is_saturated(cpu: CpuInterval, rules: VerdictRules) -> bool:
    """One CPU spends its time in interrupts and has none left."""
    return any(
        share.softirq >= rules.softirq_ratio and share.idle <= rules.idle_ratio
        for share in cpu.cpus.values()
    )


def cpu_is_bottleneck(cpu: CpuInterval, rules: VerdictRules) -> bool:
    """Some CPU is bound by interrupts, and hardly anybody waits for a device."""
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
    """The verdict over one interval.

    slowed_by: why the device is slower than it was when this write began; None where it is not,
    or nobody knows why. A device that hangs is more than slow.
    device: it hangs, or it is full, whether or not PSI sees anybody wait: InnoDB waits for its
    own asynchronous I/O where PSI does not look.
    unknown: requests are slow and somebody waits for them, and yet the device is not out of
    parallelism and no CPU is bound: a throttled volume, a sick device, a single-threaded writer.
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
