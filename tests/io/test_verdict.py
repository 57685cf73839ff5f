"""Tests of `io.verdict`: saturation needs all its conditions, and each verdict has its own."""

import types
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.disk_rules import SaturationRules, VerdictRules
from exporter.config.drive_class import DriveClass
from exporter.io.interval import CpuInterval, CpuShare, DiskInterval
from exporter.io.verdict import (
    AwaitLimits,
    Verdict,
    await_limit,
    bottleneck_verdict,
    completing_cpu_is_full,
    cpu_is_bottleneck,
    device_is_full,
    is_saturated,
    requests_are_slow,
    softirq_is_saturated,
    tasks_wait_for_io,
)
from tests.io.records import IDLE_CPUS, NEW, cpus, grown, over

RULES = SaturationRules()
FLOORS = {kind: AwaitLimits(floor, floor) for kind, floor in RULES.await_floor_seconds.items()}


def writing(
    *, await_seconds: float = 0.004, queue_depth: float = 8.0, busy_ratio: float = 1.0
) -> DiskInterval:
    """Return one second of writes."""
    writes = round(queue_depth / await_seconds)
    work: dict[str, Any] = {
        "writes_completed": writes,
        "write_time_seconds": writes * await_seconds,
        "io_time_seconds": busy_ratio,
    }
    return over(NEW, grown(NEW, **work))


def is_full(disk: DiskInterval, kind: DriveClass = DriveClass.SSD) -> bool:
    return device_is_full(disk, kind, FLOORS[kind], RULES)


def test_a_busy_device_with_a_deep_queue_and_slow_requests_is_full() -> None:
    assert is_full(writing())


def test_a_device_with_idle_time_left_is_not_full() -> None:
    assert is_full(writing(busy_ratio=0.95))
    assert not is_full(writing(busy_ratio=0.94))


@pytest.mark.parametrize(
    ("kind", "depth"), [(DriveClass.NVME, 4), (DriveClass.SSD, 2), (DriveClass.ROTATIONAL, 2)]
)
def test_a_device_with_a_short_queue_is_not_full(kind: DriveClass, depth: float) -> None:
    assert is_full(writing(await_seconds=0.02, queue_depth=depth), kind)
    assert not is_full(writing(await_seconds=0.02, queue_depth=depth - 0.1), kind)


@pytest.mark.parametrize(
    ("kind", "floor"),
    [(DriveClass.NVME, 0.001), (DriveClass.SSD, 0.003), (DriveClass.ROTATIONAL, 0.010)],
)
def test_a_device_with_fast_requests_is_not_full(kind: DriveClass, floor: float) -> None:
    assert is_full(writing(await_seconds=floor * 1.01), kind)
    assert not is_full(writing(await_seconds=floor * 0.9), kind)


def test_utilisation_alone_does_not_make_a_device_full() -> None:
    """100 % with 0.23 requests in flight of 0.03 ms each (StackOverflow 75362533)."""
    work = {"writes_completed": 7497, "write_time_seconds": 0.225, "io_time_seconds": 1.0}
    disk = over(NEW, grown(NEW, **work))
    assert not any(is_full(disk, kind) for kind in DriveClass)
    assert not any(requests_are_slow(disk, FLOORS[kind]) for kind in DriveClass)


def test_a_device_that_completes_nothing_is_not_slow() -> None:
    """It may be stalled, which is a separate condition."""
    hanging = NEW._replace(io_now=5)
    assert not requests_are_slow(over(hanging, hanging), FLOORS[DriveClass.SSD])


def test_a_few_slow_reads_among_thousands_of_fast_writes_do_not_decide() -> None:
    work = {
        "reads_completed": 3,
        "read_time_seconds": 0.06,
        "writes_completed": 5000,
        "write_time_seconds": 2.5,
        "io_time_seconds": 1.0,
    }
    assert not requests_are_slow(over(NEW, grown(NEW, **work)), FLOORS[DriveClass.SSD])
    work["writes_completed"], work["write_time_seconds"] = 5, 0.0025
    assert requests_are_slow(over(NEW, grown(NEW, **work)), FLOORS[DriveClass.SSD])


def test_each_direction_has_its_own_await_limit() -> None:
    limits = AwaitLimits(read_seconds=0.020, write_seconds=0.001)
    reads = {"reads_completed": 100, "read_time_seconds": 1.0}
    writes = {"writes_completed": 100, "write_time_seconds": 1.0}
    assert not requests_are_slow(over(NEW, grown(NEW, **reads)), limits)
    assert requests_are_slow(over(NEW, grown(NEW, **writes)), limits)


def test_the_await_limit_is_three_times_the_baseline() -> None:
    assert pytest.approx(0.006) == await_limit(RULES, DriveClass.SSD, 0.002)
    assert pytest.approx(0.006) == await_limit(RULES, DriveClass.NVME, 0.002)


@pytest.mark.parametrize("kind", list(DriveClass))
def test_no_await_limit_is_below_the_floor_of_its_class(kind: DriveClass) -> None:
    """An NVMe drive with a baseline of 20 µs is not slow at 60 µs."""
    assert RULES.learned_floor_seconds[kind] == await_limit(RULES, kind, 0.000_02)
    assert RULES.await_floor_seconds[kind] == await_limit(RULES, kind, None)
    assert RULES.learned_floor_seconds[kind] == await_limit(RULES, kind, None, is_deep=True)


def test_the_limit_is_a_multiple_of_the_baseline_that_is_smaller_for_a_deep_queue() -> None:
    assert pytest.approx(0.0006) == await_limit(RULES, DriveClass.NVME, 0.0002)
    assert pytest.approx(0.0004) == await_limit(RULES, DriveClass.NVME, 0.0002, is_deep=True)


@given(st.sampled_from(DriveClass), st.none() | st.floats(1e-6, 100), st.booleans())
def test_an_await_limit_is_never_below_floor_or_baseline(
    kind: DriveClass, learned: float | None, is_deep: bool
) -> None:
    found = await_limit(RULES, kind, learned, is_deep=is_deep)
    assert found >= RULES.learned_floor_seconds[kind]
    assert learned is None or found >= learned


def test_pressure_shows_that_tasks_wait() -> None:
    assert tasks_wait_for_io(0.10, RULES) is True
    assert tasks_wait_for_io(0.09, RULES) is False
    assert tasks_wait_for_io(None, RULES) is None


def test_a_full_device_without_waiting_tasks_is_not_saturated() -> None:
    """A backup at idle priority uses spare capacity and delays no task."""
    assert is_saturated(is_full=True, is_waited_for=True)
    assert not is_saturated(is_full=True, is_waited_for=False)
    assert not is_saturated(is_full=False, is_waited_for=True)


def test_without_pressure_the_device_alone_decides() -> None:
    """Kernels before 4.20, or booted with psi=0."""
    assert is_saturated(is_full=True, is_waited_for=None)
    assert not is_saturated(is_full=False, is_waited_for=None)


SATURATION = SaturationRules()
VERDICT_RULES = VerdictRules()

#: A Raspberry Pi whose first CPU handles all interrupts of the USB port.
PI_CPUS = cpus(
    CpuShare(softirq=0.62, iowait=0.0, idle=0.056),
    *[CpuShare(softirq=0.0, iowait=0.0, idle=0.04)] * 3,
)


def verdict(
    disk: DiskInterval,
    kind: DriveClass,
    cpu: CpuInterval | None,
    pressure_ratio: float | None = 0.5,
    *,
    slowed_by: Verdict | None = None,
    completing: Mapping[int, float] = types.MappingProxyType({0: 1.0}),
) -> Verdict:
    floor = SATURATION.await_floor_seconds[kind]
    limits = AwaitLimits(floor, floor)
    return bottleneck_verdict(
        disk,
        is_full=device_is_full(disk, kind, limits, SATURATION),
        is_slow=requests_are_slow(disk, limits),
        is_waited_for=tasks_wait_for_io(pressure_ratio, SATURATION),
        is_cpu_bound=cpu is not None and cpu_is_bottleneck(cpu, completing, VERDICT_RULES),
        rules=VERDICT_RULES,
        slowed_by=slowed_by,
        is_cpu_full=cpu is not None and completing_cpu_is_full(cpu, completing, VERDICT_RULES),
    )


def run(op: str, ios: int, ticks_ms: int, wall_ms: int) -> DiskInterval:
    """Return a fio run at 100 % utilisation as one interval."""
    work = {
        f"{op}s_completed": ios,
        f"{op}_time_seconds": ticks_ms / 1000,
        "io_time_seconds": wall_ms / 1000,
    }
    return over(NEW, grown(NEW, **work), wall_ms / 1000)


RANDWRITE_PI = run("write", 30_170_065, 6_428_786, 1_000_001)
SEQWRITE_PI = run("write", 649_953, 54_335_318, 1_000_091)
SEQREAD_PI = run("read", 756_532, 31_953_025, 1_000_042)
RANDWRITE_NVME = run("write", 6_360_259, 30_567_537, 60_011)


@pytest.mark.parametrize("pressure", [None, 0.0, 0.9])
def test_small_writes_on_one_cpu_are_limited_by_its_softirqs(pressure: float | None) -> None:
    """62 % softirq on one of four CPUs is 15.5 % on average; the device is at 0.2 ms."""
    assert verdict(RANDWRITE_PI, DriveClass.SSD, PI_CPUS, pressure) is Verdict.CPU_SOFTIRQ


@pytest.mark.parametrize("pressure", [None, 0.0, 0.9])
@pytest.mark.parametrize(
    ("disk", "kind"),
    [
        pytest.param(SEQWRITE_PI, DriveClass.SSD, id="S0-9"),
        pytest.param(SEQREAD_PI, DriveClass.SSD, id="S0-10"),
        pytest.param(RANDWRITE_NVME, DriveClass.NVME, id="S3-10"),
    ],
)
def test_a_deep_queue_with_slow_requests_is_the_device(
    disk: DiskInterval, kind: DriveClass, pressure: float | None
) -> None:
    """fio waits in libaio, which PSI does not count. The verdict does not need PSI."""
    assert verdict(disk, kind, IDLE_CPUS, pressure) is Verdict.DEVICE
    assert verdict(disk, kind, None, pressure) is Verdict.DEVICE


def test_a_saturated_cpu_that_completes_no_requests_is_not_the_cause() -> None:
    """A network card may use a whole CPU, or one that completes requests may have other work."""
    elsewhere = {1: 0.5, 2: 0.5}
    assert verdict(RANDWRITE_PI, DriveClass.SSD, PI_CPUS, completing=elsewhere) is Verdict.NONE
    assert verdict(SEQWRITE_PI, DriveClass.SSD, PI_CPUS, completing=elsewhere) is Verdict.DEVICE


@pytest.mark.parametrize(("share", "cause"), [(0.39, Verdict.NONE), (0.4, Verdict.CPU_SOFTIRQ)])
def test_a_saturated_cpu_is_the_cause_from_forty_percent_of_the_completions_on(
    share: float, cause: Verdict
) -> None:
    completing = {0: share, 1: 1 - share}
    assert verdict(RANDWRITE_PI, DriveClass.SSD, PI_CPUS, completing=completing) is cause
    full = Verdict.DEVICE if cause is Verdict.NONE else Verdict.UNKNOWN
    assert verdict(SEQWRITE_PI, DriveClass.SSD, PI_CPUS, completing=completing) is full


@pytest.mark.parametrize(("share", "cause"), [(0.17, Verdict.NONE), (0.18, Verdict.CPU_SOFTIRQ)])
def test_saturated_cpus_that_together_complete_most_requests_are_the_cause(
    share: float, cause: Verdict
) -> None:
    hot = CpuShare(softirq=0.95, iowait=0.0, idle=0.01)
    four = cpus(*[hot] * 4, CpuShare(softirq=0.1, iowait=0.0, idle=0.8))
    completing = {**dict.fromkeys(range(4), share), 4: 1 - 4 * share}
    assert verdict(RANDWRITE_PI, DriveClass.SSD, four, completing=completing) is cause


def test_a_full_device_beside_a_saturated_cpu_is_unknown() -> None:
    """Requests that the CPU has not completed yet also count as in flight."""
    assert verdict(SEQWRITE_PI, DriveClass.SSD, PI_CPUS) is Verdict.UNKNOWN
    waiting = cpus(*PI_CPUS.cpus.values(), iowait=0.06)
    assert verdict(SEQWRITE_PI, DriveClass.SSD, waiting) is Verdict.UNKNOWN


def test_a_full_device_is_the_cause_if_the_cpu_waits_for_it() -> None:
    """iowait is idle time, so the CPU could complete more requests."""
    half = cpus(CpuShare(softirq=0.52, iowait=0.4, idle=0.02), iowait=0.1)
    assert verdict(SEQWRITE_PI, DriveClass.SSD, half) is Verdict.DEVICE


def test_utilisation_alone_gives_no_verdict() -> None:
    """100 % with 0.23 requests in flight (StackOverflow 75362533), for any pressure."""
    disk = run("write", 7497, 225, 1000)
    for kind in DriveClass:
        for pressure in (None, 0.0, 1.0):
            assert verdict(disk, kind, IDLE_CPUS, pressure) is Verdict.NONE


def test_a_stall_is_always_the_device() -> None:
    hanging = NEW._replace(io_now=2)
    assert verdict(over(hanging, hanging), DriveClass.NVME, PI_CPUS, 0.0) is Verdict.DEVICE


@pytest.mark.parametrize("cause", [Verdict.WRITE_CACHE, Verdict.THERMAL, Verdict.LINK])
def test_the_cause_of_a_slowdown_has_priority_over_a_full_device(cause: Verdict) -> None:
    assert verdict(SEQWRITE_PI, DriveClass.SSD, PI_CPUS, slowed_by=cause) is cause
    hanging = NEW._replace(io_now=2)
    assert verdict(over(hanging, hanging), DriveClass.SSD, None, slowed_by=cause) is Verdict.DEVICE


def test_slow_requests_without_a_queue_are_unknown_if_tasks_wait() -> None:
    """A throttled volume or a sequential writer: the device could serve more in parallel."""
    alone = run("write", 50, 1000, 1000)
    assert verdict(alone, DriveClass.SSD, IDLE_CPUS, 0.9) is Verdict.UNKNOWN
    assert verdict(alone, DriveClass.SSD, IDLE_CPUS, 0.0) is Verdict.NONE
    assert verdict(alone, DriveClass.SSD, IDLE_CPUS, None) is Verdict.NONE


def test_a_device_without_work_has_no_bottleneck() -> None:
    """This holds for any await and any CPU load."""
    assert verdict(run("write", 3, 90, 1000), DriveClass.SSD, PI_CPUS) is Verdict.NONE


def test_a_busy_cpu_is_not_the_cause_while_the_host_has_iowait() -> None:
    waiting = cpus(*PI_CPUS.cpus.values(), iowait=0.06)
    assert verdict(RANDWRITE_PI, DriveClass.SSD, waiting) is Verdict.NONE


def test_without_cpu_times_no_cpu_is_the_cause() -> None:
    assert verdict(RANDWRITE_PI, DriveClass.SSD, None) is Verdict.NONE


def test_one_saturated_cpu_among_many_is_enough() -> None:
    """One CPU of 64 is 1.6 % of the host."""
    idle = CpuShare(softirq=0.0, iowait=0.0, idle=1.0)
    assert softirq_is_saturated(cpus(*[idle] * 63, CpuShare(0.95, 0.0, 0.02)), VERDICT_RULES)
    assert not softirq_is_saturated(cpus(*[idle] * 64), VERDICT_RULES)


def test_a_cpu_with_idle_time_is_not_saturated() -> None:
    assert softirq_is_saturated(cpus(CpuShare(0.5, 0.0, 0.1)), VERDICT_RULES)
    assert not softirq_is_saturated(cpus(CpuShare(0.5, 0.0, 0.11)), VERDICT_RULES)
    assert not softirq_is_saturated(cpus(CpuShare(0.49, 0.0, 0.1)), VERDICT_RULES)


@given(st.sampled_from(DriveClass), st.sampled_from([PI_CPUS, IDLE_CPUS, None]), st.floats(0, 1))
def test_an_idle_device_is_never_the_cause(
    kind: DriveClass, cpu: CpuInterval | None, pressure: float
) -> None:
    assert verdict(over(NEW, NEW), kind, cpu, pressure) is Verdict.NONE


#: One second with any number of writes.
_SECOND = st.builds(
    lambda **work: over(NEW, grown(NEW, **work)),
    writes_completed=st.integers(0, 100_000),
    write_time_seconds=st.floats(0, 1000),
    io_time_seconds=st.floats(0, 1),
    io_now=st.integers(0, 1000),
)


@given(_SECOND, st.sampled_from(DriveClass), st.sampled_from([PI_CPUS, IDLE_CPUS, None]))
def test_pressure_never_changes_a_verdict_to_device(
    disk: DiskInterval, kind: DriveClass, cpu: CpuInterval | None
) -> None:
    """Pressure only decides between unknown and none."""
    without, with_it = (verdict(disk, kind, cpu, pressure) for pressure in (None, 1.0))
    assert with_it in {without, Verdict.UNKNOWN}
    assert without is with_it or without is Verdict.NONE
