"""The clock. Tests replace it, as they replace external programs and the file system root."""

import time
from typing import Protocol


class Clock(Protocol):
    """Readings of time in seconds.

    monotonic: never steps, and stops while the machine is suspended, as the kernel's I/O accounting
    does (CLOCK_MONOTONIC).
    boottime: `monotonic` plus the time in suspension (CLOCK_BOOTTIME). If the difference between
    the two has grown, the machine was suspended.
    wall: Unix time, which may step.
    sleep: blocks the calling thread. A fake clock only advances its time.
    """

    def monotonic(self) -> float: ...
    def boottime(self) -> float: ...
    def wall(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clocks of the machine."""

    # The C functions themselves: a Python wrapper doubles the cost of a call.
    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)
    sleep = staticmethod(time.sleep)

    def boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
