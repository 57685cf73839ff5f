"""Durations that do not depend on the speed of the machine, and waits for a condition.

A test that compares a duration with a number of seconds fails on a busy machine. The kernel counts
for how long tasks wait for a CPU, a disk or memory (/proc/pressure). `at_most` extends its limit by
that time. On a quiet machine the limit is exact.

A test that simulates a device in real time cannot wait. It runs ahead of other work.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Limit in seconds of a wait that normally takes a moment. It is reached only if the awaited event
#: does not happen at all. The rest is margin for a machine with several times more work than CPUs.
PATIENCE_SECONDS = 90.0

#: Each second in which tasks of the machine wait extends a limit by this number of seconds: a task
#: waits several times for one result, and so do the processes that it asks.
EXTENSION = 10.0

#: The unit of times in /proc/stat.
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

#: Shortest interval between two checks of a condition, in seconds.
_CHECK_SECONDS = 0.01

#: The interval is this number of times as long as the check, and at most a second. A check that
#: parses a page would otherwise take the CPU time of the process that it waits for.
_INTERVAL_FACTOR, _MAX_INTERVAL_SECONDS = 3.0, 1.0


def pressure_seconds(proc: Path = Path("/proc")) -> float:
    """Returns for how long some task waited for a CPU, a disk or memory since the start.

    The value is the sum of the three totals of "some" in /proc/pressure (accounting/psi.rst), and
    of the time in which the hypervisor ran something else: `steal` of all CPUs in /proc/stat
    (proc_stat(5)). A kernel without the files of /proc/pressure yields the latter alone.
    """
    total = int(_first_line(proc / "stat").split()[8]) * 1_000_000 / _TICKS_PER_SECOND
    for resource in ("cpu", "io", "memory"):
        try:
            first = _first_line(proc / "pressure" / resource)
        except OSError:
            continue
        total += int(first.rpartition("total=")[2])
    return total / 1e6


def _first_line(path: Path) -> str:
    with path.open() as file:
        return file.readline()


@contextmanager
def at_most(seconds: float, what: str = "this") -> Iterator[None]:
    """Asserts that the block takes less than this time, extended while the machine was busy."""
    begun, waited = time.monotonic(), pressure_seconds()
    yield
    took, waited = time.monotonic() - begun, pressure_seconds() - waited
    assert took < seconds + EXTENSION * waited, (
        f"{what} took {took:.2f} s, not {seconds:g} s; tasks waited for {waited:.2f} s"
    )


def wait_until(
    happened: Callable[[], object], what: str = "it", seconds: float = PATIENCE_SECONDS
) -> None:
    """Waits until the condition is true; raises AssertionError after the limit."""
    begun = time.monotonic()
    until = begun + seconds
    while not happened():
        checked = time.monotonic()
        assert checked < until, f"{what} did not happen within {seconds:g} s"
        interval = max(_CHECK_SECONDS, _INTERVAL_FACTOR * (checked - begun))
        time.sleep(min(interval, _MAX_INTERVAL_SECONDS))
        begun = time.monotonic()


def avoid_midnight() -> None:
    """Waits until tomorrow (UTC) if today ends within five minutes."""
    left = 86_400 - time.time() % 86_400
    if left < 300:
        time.sleep(left + 1)


@contextmanager
def ahead_of_other_work() -> Iterator[None]:
    """Runs this thread, and the threads and processes that it starts, ahead of other work.

    Only for tests that use little CPU time. Without the capability CAP_SYS_NICE nothing changes,
    and the test needs a machine that has not much other work.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)
