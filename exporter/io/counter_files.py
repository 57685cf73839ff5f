"""Reads the kernel's counters of disks, CPUs and pressure, and leaves parsing to the sampler.

/proc/softirqs is read only when samples are processed: 512 CPUs have 60 kB.
"""

from pathlib import Path
from typing import NamedTuple

from exporter.linux import pressure, softirqs
from exporter.linux.files import OpenFile, RawFile
from exporter.runtime.clock import Clock

#: The maximum size of a file that is read every second, in bytes: ten times that of 2,000 disks.
_MAX_FILE_BYTES = 2 << 20


class RawSample(NamedTuple):
    """The unparsed contents of the files of one sample.

    monotonic, boottime: the time when the reading started, in seconds of the clocks `monotonic` and
        `boottime` of `exporter.runtime.clock`.
    seconds: the time that reading all files took.
    diskstats, stat, pressure: the contents of the files; None means that the file is not sampled.
    devices: the number of lines in /proc/diskstats; 0 if it is not sampled. The number changes when
        a device appears or disappears.
    size_bytes: the total size of the files.
    """

    monotonic: float
    boottime: float
    seconds: float
    diskstats: RawFile | None
    stat: RawFile | None
    pressure: RawFile | None
    devices: int
    size_bytes: int


class CounterFiles:
    """The files below /proc that are read every second. They stay open between the readings.

    proc: the mount point of /proc.
    with_disks, with_cpus, with_pressure, with_softirqs: whether to read diskstats, stat,
        pressure/io and softirqs.
    """

    def __init__(
        self,
        proc: Path,
        clock: Clock,
        *,
        with_disks: bool = True,
        with_cpus: bool = True,
        with_pressure: bool = True,
        with_softirqs: bool = True,
    ) -> None:
        self._clock = clock
        self._disks = OpenFile(proc / "diskstats", _MAX_FILE_BYTES) if with_disks else None
        self._cpus = None
        if with_cpus:
            self._cpus = OpenFile(proc / "stat", _MAX_FILE_BYTES, is_single=True)
        self._pressure = None
        if with_pressure:
            path = proc / "pressure" / "io"
            self._pressure = OpenFile(path, pressure.MAX_FILE_BYTES, is_single=True)
        self._softirqs = None
        if with_softirqs:
            self._softirqs = OpenFile(proc / "softirqs", softirqs.MAX_FILE_BYTES)

    def read(self, *, check_replaced: bool = True) -> RawSample:
        """Reads all files and returns their contents.

        It raises no error for a file that cannot be read. The file's `RawFile` contains the error.

        check_replaced: also check whether a path now leads to another file, and reopen it.
        """
        clock = self._clock
        now, boottime = clock.monotonic(), clock.boottime()
        disks = cpus = waiting = None
        devices = size = 0
        if self._disks is not None:
            disks = self._disks.read(check_replaced=check_replaced)
            devices, size = disks.content.count(b"\n"), len(disks.content)
        if self._cpus is not None:
            cpus = self._cpus.read(check_replaced=check_replaced)
            size += len(cpus.content)
        if self._pressure is not None:
            waiting = self._pressure.read(check_replaced=check_replaced)
            size += len(waiting.content)
        seconds = clock.monotonic() - now
        return RawSample(now, boottime, seconds, disks, cpus, waiting, devices, size)

    def read_softirqs(self) -> tuple[float, RawFile | None]:
        """Returns the monotonic time and the bytes of /proc/softirqs; None if it is not sampled."""
        now = self._clock.monotonic()
        return now, self._softirqs.read() if self._softirqs else None
