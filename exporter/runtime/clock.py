"""Provides the time. Tests replace the clock with one that they control."""

import time
from typing import Protocol


class Clock(Protocol):
    """The clocks that the exporter uses. All times are in seconds.

    monotonic: returns a time that never steps (CLOCK_MONOTONIC). It stops while the machine is
        suspended, as the kernel's I/O accounting does.
    boottime: returns `monotonic` plus the time that the machine was suspended (CLOCK_BOOTTIME). If
        the difference of the two has grown, the machine was suspended.
    wall: returns the Unix time, which steps when it is set.
    sleep: blocks the calling thread. The clock of a test only advances its time.
    """

    def monotonic(self) -> float: ...
    def boottime(self) -> float: ...
    def wall(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clocks of the machine."""

    # The C functions are used directly, because a Python wrapper doubles the cost of a call.
    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)
    sleep = staticmethod(time.sleep)

    def boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
