"""Whether a device is saturated: every term must hold, and each alone can say no."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.drive_class import DriveClass
from exporter.io.interval import DiskInterval
from exporter.io.verdict import (
    AwaitLimits,
    SaturationRules,
    await_limit,
    device_is_full,
    is_saturated,
    requests_are_slow,
    tasks_wait_for_io,
)
from tests.io.records import NEW, grown, over

RULES = SaturationRules()
FLOORS = {kind: AwaitLimits(floor, floor) for kind, floor in RULES.await_floor_seconds.items()}


def writing(
    *, await_seconds: float = 0.004, queue_depth: float = 8.0, busy_ratio: float = 1.0
) -> DiskInterval:
    """A second of writes."""
    writes = round(queue_depth / await_seconds)
    work: dict[str, Any] = {
        "writes_completed": writes,
        "write_time_seconds": writes * await_seconds,
        "io_time_seconds": busy_ratio,
    }
    return over(NEW, grown(NEW, **work))


def is_full(disk: DiskInterval, kind: DriveClass = DriveClass.SSD) -> bool:
    return device_is_full(disk, kind, FLOORS[kind], RULES)


def test_a_device_that_is_busy_deep_and_slow_is_full() -> None:
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
def test_a_device_with_quick_requests_is_not_full(kind: DriveClass, floor: float) -> None:
    assert is_full(writing(await_seconds=floor * 1.01), kind)
    assert not is_full(writing(await_seconds=floor * 0.9), kind)


def test_utilisation_alone_fills_no_device() -> None:
    """100 % with 0.23 requests in flight of 0.03 ms each (StackOverflow 75362533)."""
    work = {"writes_completed": 7497, "write_time_seconds": 0.225, "io_time_seconds": 1.0}
    disk = over(NEW, grown(NEW, **work))
    assert not any(is_full(disk, kind) for kind in DriveClass)
    assert not any(requests_are_slow(disk, FLOORS[kind]) for kind in DriveClass)


def test_a_device_that_completes_nothing_is_not_slow() -> None:
    """It may hang, which is another word."""
    hanging = NEW._replace(io_now=5)
    assert not requests_are_slow(over(hanging, hanging), FLOORS[DriveClass.SSD])


def test_a_few_slow_reads_do_not_decide_beside_thousands_of_quick_writes() -> None:
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


def test_each_direction_is_measured_against_its_own_knee() -> None:
    knees = AwaitLimits(read_seconds=0.020, write_seconds=0.001)
    reads = {"reads_completed": 100, "read_time_seconds": 1.0}
    writes = {"writes_completed": 100, "write_time_seconds": 1.0}
    assert not requests_are_slow(over(NEW, grown(NEW, **reads)), knees)
    assert requests_are_slow(over(NEW, grown(NEW, **writes)), knees)


def test_the_knee_is_three_times_what_was_learned() -> None:
    assert pytest.approx(0.006) == await_limit(RULES, DriveClass.SSD, 0.002)
    assert pytest.approx(0.006) == await_limit(RULES, DriveClass.NVME, 0.002)


@pytest.mark.parametrize("kind", list(DriveClass))
def test_no_knee_lies_below_the_floor_of_its_class(kind: DriveClass) -> None:
    """An NVMe drive that takes 20 µs at rest is not slow at 60."""
    assert RULES.await_floor_seconds[kind] == await_limit(RULES, kind, 0.000_02)
    assert RULES.await_floor_seconds[kind] == await_limit(RULES, kind, None)


@given(st.sampled_from(DriveClass), st.none() | st.floats(1e-6, 100))
def test_a_knee_is_never_below_floor_or_baseline(kind: DriveClass, learned: float | None) -> None:
    found = await_limit(RULES, kind, learned)
    assert found >= RULES.await_floor_seconds[kind]
    assert learned is None or found >= learned


def test_pressure_says_who_waits_where_there_is_any() -> None:
    assert tasks_wait_for_io(0.10, RULES) is True
    assert tasks_wait_for_io(0.09, RULES) is False
    assert tasks_wait_for_io(None, RULES) is None


def test_a_full_device_that_nobody_waits_for_is_not_saturated() -> None:
    """A backup at idle priority takes what is left, and is nobody's trouble."""
    assert is_saturated(is_full=True, is_waited_for=True)
    assert not is_saturated(is_full=True, is_waited_for=False)
    assert not is_saturated(is_full=False, is_waited_for=True)


def test_without_pressure_the_device_alone_decides() -> None:
    """Kernels before 4.20, or psi=0."""
    assert is_saturated(is_full=True, is_waited_for=None)
    assert not is_saturated(is_full=False, is_waited_for=None)
