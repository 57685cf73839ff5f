"""What the kernel says at one moment, read on the second and made sense of later.

After a second of sleep nothing of ours is in the CPU's caches, and a sample costs three times
what it costs right behind another one. So the sampler only reads at each tick, and works through
what it has read a few at a time, or when somebody looks.
"""

from pathlib import Path
from typing import NamedTuple

from exporter.clock import Clock
from exporter.linux.files import OpenFile, Raw


class Reading(NamedTuple):
    """What each source said at one moment; None where it is not watched.

    seconds: what reading them took, all together.
    """

    monotonic: float
    boottime: float
    seconds: float
    diskstats: Raw | None
    stat: Raw | None
    pressure: Raw | None

    @property
    def devices(self) -> int:
        """How many lines diskstats has: another number where a device has come or gone."""
        return self.diskstats.content.count(b"\n") if self.diskstats else 0


class Sources:
    """The files of one /proc that are read every second."""

    def __init__(
        self,
        proc: Path,
        clock: Clock,
        *,
        with_disks: bool = True,
        with_cpus: bool = True,
        with_pressure: bool = True,
    ) -> None:
        self._clock = clock
        self._disks = OpenFile(proc / "diskstats") if with_disks else None
        self._cpus = OpenFile(proc / "stat") if with_cpus else None
        self._pressure = OpenFile(proc / "pressure" / "io") if with_pressure else None

    def read(self, *, look_up: bool = True) -> Reading:
        """Never raises; what a file's reading raised is kept with it.

        Without `look_up` it is not noticed that another file has taken one's place.
        """
        now, boottime = self._clock.monotonic(), self._clock.boottime()
        disks = self._disks.raw(look_up=look_up) if self._disks else None
        cpus = self._cpus.raw(look_up=look_up) if self._cpus else None
        waiting = self._pressure.raw(look_up=look_up) if self._pressure else None
        return Reading(now, boottime, self._clock.monotonic() - now, disks, cpus, waiting)
