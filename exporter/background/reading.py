"""What the kernel says at one moment, read on the second and made sense of later.

After a second of sleep nothing of ours is in the CPU's caches, and a sample costs three times
what it costs right behind another one. So the sampler only reads at each tick, and works through
what it has read a few at a time, or when somebody looks.
"""

from pathlib import Path
from typing import NamedTuple

from exporter.attempts import Attempts, Held
from exporter.clock import Clock
from exporter.linux import diskstats, pressure, stat


class Reading(NamedTuple):
    """The text of each source at one moment; None where it is not watched.

    seconds: what reading them took, all together.
    """

    monotonic: float
    boottime: float
    seconds: float
    diskstats: Held[str] | None
    stat: Held[str] | None
    pressure: Held[str] | None

    @property
    def devices(self) -> int:
        """How many lines diskstats has: another number where a device has come or gone."""
        return (self.diskstats.value or "").count("\n") if self.diskstats else 0


class Sources:
    """The files of one /proc that are read every second."""

    def __init__(
        self,
        proc: Path,
        clock: Clock,
        attempts: Attempts,
        *,
        with_disks: bool = True,
        with_cpus: bool = True,
        with_pressure: bool = True,
    ) -> None:
        self._proc = proc
        self._pressure = proc / "pressure" / "io"
        self._clock = clock
        self._hold = attempts.hold
        self._with_disks = with_disks
        self._with_cpus = with_cpus
        self._with_pressure = with_pressure

    def read(self) -> Reading:
        """Never raises; what a file's reading raised is kept with it."""
        now, boottime = self._clock.monotonic(), self._clock.boottime()
        disks = self._hold(self._read_disks) if self._with_disks else None
        cpus = self._hold(self._read_stat) if self._with_cpus else None
        waiting = self._hold(self._read_pressure) if self._with_pressure else None
        return Reading(now, boottime, self._clock.monotonic() - now, disks, cpus, waiting)

    def _read_disks(self) -> str:
        return diskstats.text(self._proc)

    def _read_stat(self) -> str:
        return stat.text(self._proc)

    def _read_pressure(self) -> str:
        return pressure.text(self._pressure)
