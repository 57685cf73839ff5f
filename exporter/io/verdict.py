"""What holds the work on a device back: the device, or something else?"""

from dataclasses import dataclass
from enum import Enum

from exporter.io.cpu_interval import CpuInterval
from exporter.io.disk_interval import DiskInterval


class Cause(str, Enum):
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
class BottleneckRules:
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


def softirq_bound(cpu: CpuInterval, rules: BottleneckRules) -> bool:
    """One CPU spends its time in interrupts and has none left."""
    return any(
        share.softirq >= rules.softirq_ratio and share.idle <= rules.idle_ratio
        for share in cpu.cpus.values()
    )


def cpu_bound(cpu: CpuInterval, rules: BottleneckRules) -> bool:
    """Some CPU is bound by interrupts, and hardly anybody waits for a device."""
    return cpu.host.iowait <= rules.iowait_ratio and softirq_bound(cpu, rules)


def bottleneck(
    disk: DiskInterval,
    *,
    is_full: bool,
    is_slow: bool,
    is_waited_for: bool | None,
    is_cpu_bound: bool,
    rules: BottleneckRules,
    slowed_by: Cause | None = None,
) -> Cause:
    """The verdict over one interval.

    slowed_by: why the device is slower than it was when this write began; None where it is not,
    or nobody knows why. A device that hangs is more than slow.
    device: it hangs, or it is full, whether or not PSI sees anybody wait: InnoDB waits for its
    own asynchronous I/O where PSI does not look.
    unknown: requests are slow and somebody waits for them, and yet the device is not out of
    parallelism and no CPU is bound: a throttled volume, a sick device, a single-threaded writer.
    """
    if disk.stalled:
        return Cause.DEVICE
    if slowed_by is not None:
        return slowed_by
    if is_full:
        return Cause.DEVICE
    if disk.busy_ratio < rules.work_busy_ratio:
        return Cause.NONE
    if is_slow:
        return Cause.UNKNOWN if is_waited_for else Cause.NONE
    return Cause.CPU_SOFTIRQ if is_cpu_bound else Cause.NONE
