"""Defines the time of a poll, whose age does not change if the wall clock is set.

The agent writes the time, and another process computes the age. Both read CLOCK_MONOTONIC, which is
the same for all processes until the next boot, and stops while the machine is suspended or paused.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from exporter.linux import kernel
from exporter.runtime.clock import Clock


class Moment(NamedTuple):
    """A time.

    unix_time: in seconds of Unix time.
    monotonic: in seconds of CLOCK_MONOTONIC; None in the documents of earlier versions.
    boot_id: the boot to which `monotonic` belongs; empty means unknown.
    """

    unix_time: float
    monotonic: float | None = None
    boot_id: str = ""

    @classmethod
    def now(cls, clock: Clock) -> "Moment":
        """Returns the current time."""
        return cls(clock.wall(), clock.monotonic(), boot_id())

    def seconds_since(self, earlier: "Moment") -> float:
        """Returns the time since an earlier moment, in seconds, without the time of suspensions.

        If the boot of one of them is unknown or another one, the result is the difference of the
        Unix times. It is negative if the clock was set back since.
        """
        if self.monotonic is None or earlier.monotonic is None:
            return self.unix_time - earlier.unix_time
        if not self.boot_id or self.boot_id != earlier.boot_id:
            return self.unix_time - earlier.unix_time
        return self.monotonic - earlier.monotonic


@cache
def boot_id() -> str:
    """Returns the ID of this boot of the kernel; empty if it cannot be read.

    It is read from the /proc of this process: `path.procfs` may be that of another host.
    """
    return kernel.boot_id(Path("/proc"))
