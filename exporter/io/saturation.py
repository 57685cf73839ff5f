"""Is a device saturated: is no more to be had from it, and does somebody wait for it?

Utilisation alone says neither (it counts time with one request in flight, and an SSD serves many
at once), so busy, queue and await must agree that it is full, and pressure that somebody waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.io.disk_interval import DiskInterval
from exporter.io.drive_class import DriveClass


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
class SaturationKnees:
    """From which await on a read and a write is slow on one drive, in seconds."""

    read_seconds: float
    write_seconds: float


def knee(rules: SaturationRules, kind: DriveClass, learned_seconds: float | None) -> float:
    """The await from which on one direction is slow."""
    floor = rules.await_floor_seconds[kind]
    return floor if learned_seconds is None else max(floor, rules.await_factor * learned_seconds)


def slow(disk: DiskInterval, knees: SaturationKnees) -> bool:
    """The reads and writes of the interval took longer, all together, than at their knees.

    One sum over both directions, so that a handful of slow reads beside thousands of fast writes
    does not decide. False where neither completed.
    """
    if not disk.reads and not disk.writes:
        return False
    allowed = disk.reads * knees.read_seconds + disk.writes * knees.write_seconds
    return disk.read_seconds + disk.write_seconds >= allowed


def full(
    disk: DiskInterval, kind: DriveClass, knees: SaturationKnees, rules: SaturationRules
) -> bool:
    """The device has nothing left to give: busy, its queue filled, its requests slow."""
    return (
        disk.busy_ratio >= rules.busy_ratio
        and disk.queue_depth >= rules.queue_depth[kind]
        and slow(disk, knees)
    )


def waited_for(pressure_ratio: float | None, rules: SaturationRules) -> bool | None:
    """Some task on the host waited for I/O; None where the kernel keeps no PSI.

    PSI does not see who waits in io_getevents(2): under a load of nothing but libaio it reads 0.
    """
    return None if pressure_ratio is None else pressure_ratio >= rules.pressure_ratio


def saturated(*, is_full: bool, is_waited_for: bool | None) -> bool:
    """The device is full and somebody waits; without PSI the first decides alone."""
    return is_full and is_waited_for is not False
