"""The verdict: what holds the work on a device back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.drive_class import DriveClass
from exporter.io.interval import CpuInterval, CpuShare, DiskInterval
from exporter.io.verdict import (
    AwaitLimits,
    SaturationRules,
    Verdict,
    VerdictRules,
    bottleneck_verdict,
    cpu_is_bottleneck,
    device_is_full,
    requests_are_slow,
    softirq_is_saturated,
    tasks_wait_for_io,
)
from tests.io.records import IDLE_CPUS, NEW, cpus, grown, over

SATURATION = SaturationRules()
VERDICT_RULES = VerdictRules()

#: A Raspberry Pi whose first CPU serves every interrupt of its USB port.
PI_CPUS = cpus(
    CpuShare(softirq=0.62, iowait=0.0, idle=0.056),
    *[CpuShare(softirq=0.0, iowait=0.0, idle=0.04)] * 3,
)


def verdict(
    disk: DiskInterval,
    kind: DriveClass,
    cpu: CpuInterval | None,
    pressure_ratio: float | None = 0.5,
    slowed_by: Verdict | None = None,
) -> Verdict:
    floor = SATURATION.await_floor_seconds[kind]
    knees = AwaitLimits(floor, floor)
    return bottleneck_verdict(
        disk,
        is_full=device_is_full(disk, kind, knees, SATURATION),
        is_slow=requests_are_slow(disk, knees),
        is_waited_for=tasks_wait_for_io(pressure_ratio, SATURATION),
        is_cpu_bound=cpu is not None and cpu_is_bottleneck(cpu, VERDICT_RULES),
        rules=VERDICT_RULES,
        slowed_by=slowed_by,
    )


def run(op: str, ios: int, ticks_ms: int, wall_ms: int) -> DiskInterval:
    """A run of fio at 100 % utilisation, as one interval."""
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
def test_small_writes_through_one_cpu_are_bound_by_its_softirqs(pressure: float | None) -> None:
    """S0-1: 62 % softirq on one CPU of four, 15.5 % on the average, the device at 0.2 ms."""
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
def test_deep_queues_with_slow_requests_are_the_device(
    disk: DiskInterval, kind: DriveClass, pressure: float | None
) -> None:
    """fio waits in libaio, where PSI does not look: the verdict does not need it."""
    assert verdict(disk, kind, IDLE_CPUS, pressure) is Verdict.DEVICE
    assert verdict(disk, kind, None, pressure) is Verdict.DEVICE


def test_a_device_at_its_limit_is_blamed_before_a_busy_cpu() -> None:
    assert verdict(SEQWRITE_PI, DriveClass.SSD, PI_CPUS) is Verdict.DEVICE


def test_utilisation_alone_is_no_verdict() -> None:
    """100 % with 0.23 in flight (StackOverflow 75362533), whatever waits and however busy."""
    disk = run("write", 7497, 225, 1000)
    for kind in DriveClass:
        for pressure in (None, 0.0, 1.0):
            assert verdict(disk, kind, IDLE_CPUS, pressure) is Verdict.NONE


def test_a_hang_is_the_device_whatever_else_holds() -> None:
    hanging = NEW._replace(io_now=2)
    assert verdict(over(hanging, hanging), DriveClass.NVME, PI_CPUS, 0.0) is Verdict.DEVICE


@pytest.mark.parametrize("cause", [Verdict.WRITE_CACHE, Verdict.THERMAL, Verdict.LINK])
def test_what_slowed_a_drive_down_is_said_rather_than_that_it_is_full(cause: Verdict) -> None:
    assert verdict(SEQWRITE_PI, DriveClass.SSD, PI_CPUS, slowed_by=cause) is cause
    hanging = NEW._replace(io_now=2)
    assert verdict(over(hanging, hanging), DriveClass.SSD, None, slowed_by=cause) is Verdict.DEVICE


def test_slow_requests_without_a_queue_are_unknown_where_somebody_waits() -> None:
    """A throttled volume or one writer after the other: the device is not out of parallelism."""
    alone = run("write", 50, 1000, 1000)
    assert verdict(alone, DriveClass.SSD, IDLE_CPUS, 0.9) is Verdict.UNKNOWN
    assert verdict(alone, DriveClass.SSD, IDLE_CPUS, 0.0) is Verdict.NONE
    assert verdict(alone, DriveClass.SSD, IDLE_CPUS, None) is Verdict.NONE


def test_a_device_without_work_has_no_bottleneck() -> None:
    """However slow its few requests, and however hot a CPU."""
    assert verdict(run("write", 3, 90, 1000), DriveClass.SSD, PI_CPUS) is Verdict.NONE


def test_a_hot_cpu_is_not_blamed_while_the_host_waits_for_devices() -> None:
    waiting = cpus(*PI_CPUS.cpus.values(), iowait=0.06)
    assert verdict(RANDWRITE_PI, DriveClass.SSD, waiting) is Verdict.NONE


def test_without_cpu_times_no_cpu_is_blamed() -> None:
    assert verdict(RANDWRITE_PI, DriveClass.SSD, None) is Verdict.NONE


def test_one_bound_cpu_among_many_is_enough() -> None:
    """1 of 64 is 1.6 % of the host."""
    idle = CpuShare(softirq=0.0, iowait=0.0, idle=1.0)
    assert softirq_is_saturated(cpus(*[idle] * 63, CpuShare(0.95, 0.0, 0.02)), VERDICT_RULES)
    assert not softirq_is_saturated(cpus(*[idle] * 64), VERDICT_RULES)


def test_a_cpu_with_idle_time_left_is_not_bound() -> None:
    assert softirq_is_saturated(cpus(CpuShare(0.5, 0.0, 0.1)), VERDICT_RULES)
    assert not softirq_is_saturated(cpus(CpuShare(0.5, 0.0, 0.11)), VERDICT_RULES)
    assert not softirq_is_saturated(cpus(CpuShare(0.49, 0.0, 0.1)), VERDICT_RULES)


@given(st.sampled_from(DriveClass), st.sampled_from([PI_CPUS, IDLE_CPUS, None]), st.floats(0, 1))
def test_a_device_with_nothing_to_do_is_never_accused(
    kind: DriveClass, cpu: CpuInterval | None, pressure: float
) -> None:
    assert verdict(over(NEW, NEW), kind, cpu, pressure) is Verdict.NONE


#: A second of any amount of writes.
_SECOND = st.builds(
    lambda **work: over(NEW, grown(NEW, **work)),
    writes_completed=st.integers(0, 100_000),
    write_time_seconds=st.floats(0, 1000),
    io_time_seconds=st.floats(0, 1),
    io_now=st.integers(0, 1000),
)


@given(_SECOND, st.sampled_from(DriveClass), st.sampled_from([PI_CPUS, IDLE_CPUS, None]))
def test_pressure_never_turns_a_verdict_against_the_device(
    disk: DiskInterval, kind: DriveClass, cpu: CpuInterval | None
) -> None:
    """It tells unknown from none, and nothing else."""
    without, with_it = (verdict(disk, kind, cpu, pressure) for pressure in (None, 1.0))
    assert with_it in {without, Verdict.UNKNOWN}
    assert without is with_it or without is Verdict.NONE
