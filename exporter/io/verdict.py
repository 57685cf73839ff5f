"""Decides for one interval whether a device was saturated, and what the bottleneck was.

Busy time alone does not show saturation: it also counts time with a single request in flight, and
an SSD serves many requests at once. Two terms are used here:

- A device is *full* if it has no spare throughput: its busy ratio, its queue depth and its await
  (the mean time of a request) are all above their limits.
- A device is *saturated* if it is full and tasks wait for I/O. The kernel's pressure stall
  information (PSI) shows whether tasks wait.

This module uses no files, no clock and no logs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from exporter.config.disk_rules import SaturationRules, VerdictRules
from exporter.config.drive_class import DriveClass
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

    @property
    def word(self) -> str:
        """The word of the verdict for people, such as ``write cache``: the value with spaces."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class AwaitLimits:
    """The smallest awaits, in seconds, that count as slow for reads and for writes of one drive."""

    read_seconds: float
    write_seconds: float


@dataclass(frozen=True, slots=True)
class DiskContext:
    """The activity of the rest of the host in the same interval.

    is_cpu_bound: True if a CPU that completes requests is saturated by interrupts, and the host has
        little iowait; False if the CPUs are not sampled.
    is_waited_for: True if tasks waited for I/O, see `tasks_wait_for_io`. None means that the kernel
        provides no pressure stall information (PSI), or that it is not sampled.
    is_cpu_full: True if a CPU that completes requests has no time left, beside any iowait.
    """

    is_cpu_bound: bool
    is_waited_for: bool | None
    is_cpu_full: bool = False


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


def deep_limit(
    rules: SaturationRules,
    kind: DriveClass,
    baseline_seconds: float | None,
    *,
    is_doubtful: bool,
    is_local: bool,
) -> float:
    """Returns the smallest await, in seconds, that counts as slow with a deep queue.

    The await of a volume includes a network, so its limit for a deep queue requires a baseline. On
    a local drive, a doubtful baseline may include the time to wake up, and counts as not learned.
    """
    if is_local and is_doubtful:
        baseline_seconds = None
    is_deep = is_local or baseline_seconds is not None
    return await_limit(rules, kind, baseline_seconds, is_deep=is_deep)


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


def cpu_is_bottleneck(
    cpu: CpuInterval, completing: Mapping[int, float], rules: VerdictRules
) -> bool:
    """Returns True if CPUs that complete requests are saturated, and the host has little iowait.

    completing: the share of each CPU in all completions; see `BlockCompletions.shares`.
    """
    if cpu.host.iowait > rules.iowait_ratio:
        return False
    saturated = (
        completing[number]
        for number, share in cpu.cpus.items()
        if share.softirq >= rules.softirq_ratio
        and share.idle <= rules.idle_ratio
        and number in completing
    )
    return _complete_much(saturated, rules)


def completing_cpu_is_full(
    cpu: CpuInterval, completing: Mapping[int, float], rules: VerdictRules
) -> bool:
    """Returns True if CPUs that complete requests have no time left, beside any host's iowait.

    iowait of the CPU itself counts as time left. `completing` is that of `cpu_is_bottleneck`.
    """
    full = (
        completing[number]
        for number, share in cpu.cpus.items()
        if share.softirq >= rules.softirq_ratio
        and share.idle + share.iowait <= rules.idle_ratio
        and number in completing
    )
    return _complete_much(full, rules)


def _complete_much(shares: Iterable[float], rules: VerdictRules) -> bool:
    """Returns True if one of these CPUs, or all of them, complete a large share of the requests."""
    largest = total = 0.0
    for share in shares:
        largest, total = max(largest, share), total + share
    return largest >= rules.block_softirq_ratio or total >= rules.block_softirq_sum_ratio


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
