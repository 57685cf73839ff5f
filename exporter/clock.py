"""The clock: one of the three edges that tests replace."""

import time
from typing import Protocol


class Clock(Protocol):
    """Three readings of time, all in seconds.

    `monotonic` never steps and stands still while the machine is suspended, as the kernel's I/O
    accounting does; `boottime` counts suspension too, so the two together show it; `wall` is unix
    time and may step. `sleep` waits; a fake one only adds.
    """

    def monotonic(self) -> float: ...
    def boottime(self) -> float: ...
    def wall(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    # C functions themselves: a call through Python is half of what they cost.
    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)
    sleep = staticmethod(time.sleep)

    def boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
