"""What the kernel says at one moment, read on the second and made sense of later.

After a second of sleep nothing of ours is in the CPU's caches, and a sample costs three times
what it costs right behind another one. So the sampler only reads at each tick, and works through
what it has read a few at a time, or when somebody looks.

The per-second sampler: reads the kernel, takes differences, judges, and keeps what came of it.

Sampling on a timer of its own is against the usual advice for exporters; the reason is that the
seconds between two scrapes are where a disk saturates. Everything sampled is exposed cumulatively,
so no scrape interval and no number of scrapers changes it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.io.activity import CpuActivity, DiskActivity, DiskContext, DiskRules
from exporter.io.baseline import Baselines
from exporter.io.drive_class import Drive, drive_from_name
from exporter.io.interval import CpuInterval, cpu_interval, disk_interval
from exporter.io.slowdown import SlowdownEvidence
from exporter.io.verdict import cpu_is_bottleneck
from exporter.linux import diskstats, files, pressure, proc_stat
from exporter.linux.diskstats import DiskStats
from exporter.linux.files import OpenFile, Parsed, RawFile
from exporter.linux.proc_stat import CpuStat


class RawSample(NamedTuple):
    """What each source said at one moment; None where it is not watched.

    seconds: what reading them took, all together.
    """

    monotonic: float
    boottime: float
    seconds: float
    diskstats: RawFile | None
    stat: RawFile | None
    pressure: RawFile | None

    @property
    def devices(self) -> int:
        """How many lines diskstats has: another number where a device has come or gone."""
        return self.diskstats.content.count(b"\n") if self.diskstats else 0


class CounterFiles:
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

    def read(self, *, look_up: bool = True) -> RawSample:
        """Never raises; what a file's reading raised is kept with it.

        Without `look_up` it is not noticed that another file has taken one's place.
        """
        now, boottime = self._clock.monotonic(), self._clock.boottime()
        disks = self._disks.read(check_replaced=look_up) if self._disks else None
        cpus = self._cpus.read(check_replaced=look_up) if self._cpus else None
        waiting = self._pressure.read(check_replaced=look_up) if self._pressure else None
        return RawSample(now, boottime, self._clock.monotonic() - now, disks, cpus, waiting)


#: A sample later than so many intervals is a gap: its mean says nothing of a second.
_GAP_INTERVALS = 3

#: So many readings, or so many seconds of them, are worked through together where nobody looks:
#: more than come between two scrapes at Prometheus' usual 15 s. Right before a page that work costs
#: half of what it does by itself, with cold caches.
_TOGETHER, _TOGETHER_SECONDS = 20, 20.0

T = TypeVar("T")


class Sampler:
    """Takes a sample at each `tick`; collectors read within `flushed`.

    `condition` tells of a device's heat and link and must not wait, `is_probed` whether a probe of
    ours ran on it between two moments. `disks` and `stat` are the last
    sample's records, None where the last reading failed.
    """

    def __init__(
        self,
        sources: CounterFiles,
        *,
        clock: Clock,
        collector_status: CollectorStatus,
        rules: DiskRules,
        baselines: Baselines,
        wanted: Callable[[str], bool],
        interval: float,
        per_cpu: bool = False,
        request_sizes: bool = False,
        condition: Callable[[str], SlowdownEvidence] = lambda _device: SlowdownEvidence(),
        is_probed: Callable[[str, float, float], bool] = lambda *_: False,
    ) -> None:
        self._sources = sources
        self._condition = condition
        self._is_probed = is_probed
        self._clock = clock
        self._collector_status = collector_status
        self._rules = rules
        self._baselines = baselines
        self._wanted = wanted
        self._per_cpu = per_cpu
        self._request_sizes = request_sizes
        self._drives: Mapping[str, Drive] = {}
        self._changed: Callable[[], None] = _nothing
        self._pending: list[RawSample] = []
        self._flushed_at: float | None = None
        self._devices = 0
        self._lines: diskstats.RecordsByLine = {}
        self._whole = True
        self._boottime = 0.0
        self._waiting_seconds: float | None = None
        self._lock = threading.RLock()
        self.interval = interval
        self.sampled_at: float | None = None
        self.sampled_at_unix_time: float | None = None
        self.disks: dict[str, DiskStats] | None = None
        self.stat: CpuStat | None = None
        self.activities: dict[str, DiskActivity] = {}
        self.cpu = CpuActivity()
        self.samples = 0
        self.gaps = 0

    def update_drives(self, drives: Mapping[str, Drive]) -> None:
        """Take over what the survey has found out about the devices."""
        with self._lock:
            if self._is_news(drives):
                self._flush()
            self._drives = drives
            for device, activity in list(self.activities.items()):
                drive = drives.get(device)
                if drive is None or drive == activity.drive:
                    continue
                before = activity.drive.instance
                if before is not None and before != drive.instance:
                    # Off the page until the next sample, which then has no past to compare with.
                    del self.activities[device]
                    if self.disks is not None:
                        self.disks.pop(device, None)
                else:
                    activity.set_drive(drive, self._baselines.for_drive(drive.identity))

    def _is_news(self, drives: Mapping[str, Drive]) -> bool:
        return any(
            activity.drive != drives.get(device, activity.drive)
            for device, activity in self.activities.items()
        )

    def on_change(self, changed: Callable[[], None]) -> None:
        """Have `changed` called when a device comes, goes, or is made anew."""
        self._changed = changed

    def reconfigure(
        self,
        rules: DiskRules,
        wanted: Callable[[str], bool],
        interval: float,
        *,
        per_cpu: bool,
        request_sizes: bool,
    ) -> None:
        """The settings were read again."""
        with self.flushed():
            self._rules, self._wanted, self.interval = rules, wanted, interval
            self._per_cpu, self._request_sizes = per_cpu, request_sizes
            if self.stat is not None:
                # The page may ask for each CPU before the next sample.
                self.cpu.record_idle_time(self.stat, per_cpu=per_cpu)
            for activity in self.activities.values():
                activity.reconfigure(rules)
                if request_sizes:
                    activity.enable_request_sizes()

    def tick(self) -> None:
        """Take one sample; it shows in what collectors read once it is `flushed`."""
        reading = self._sources.read(look_up=not self._pending)
        with self._lock:
            self._pending.append(reading)
            self.sampled_at = reading.monotonic
            self.sampled_at_unix_time = self._clock.wall()
            self.samples += 1
            waiting, devices = len(self._pending), reading.devices
            # A device that has come or gone is to be looked at, and not in a while.
            changed, self._devices = devices != self._devices, devices
            enough = waiting >= _TOGETHER or waiting * self.interval >= _TOGETHER_SECONDS
            if changed or enough or self._flushed_at is None:
                self._flush()

    @contextmanager
    def flushed(self) -> Iterator[None]:
        """Everything read until now is worked through, and nothing changes meanwhile."""
        with self._lock:
            self._flush()
            yield

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for reading in pending:
            self._work_through(reading)

    def _work_through(self, reading: RawSample) -> None:
        now = reading.monotonic
        spent = reading.seconds
        lines = self._parsed("disk", reading.diskstats, self._parse_disks, spent)
        cpus = self._parsed("cpu", reading.stat, _parse_stat, spent)
        waiting = self._parsed("pressure", reading.pressure, _parse_waiting, spent)
        seconds = 0.0 if self._flushed_at is None else now - self._flushed_at
        slept = (reading.boottime - self._boottime) - seconds
        gap = max(seconds, slept) > _GAP_INTERVALS * self.interval
        if self._flushed_at is not None and gap:
            self.gaps += 1
        usable = self._flushed_at is not None and seconds > 0 and not gap
        shares = self._advance_cpus(now, cpus, seconds, usable=usable)
        around = DiskContext(
            shares is not None and cpu_is_bottleneck(shares, self._rules.bottleneck),
            self._pressure_ratio(waiting, seconds) if usable else None,
        )
        self._advance_disks(now, lines, around, seconds, usable=usable)
        self._waiting_seconds = waiting
        self._boottime = reading.boottime
        self._flushed_at = now

    def _parsed(
        self,
        collector: str,
        found: RawFile | None,
        parse: Callable[[RawFile], Parsed[T]],
        spent: float,
    ) -> T | None:
        if found is None:
            return None
        return self._collector_status.collect(collector, "tick", lambda: parse(found), spent)

    def _parse_disks(self, found: RawFile) -> Parsed[diskstats.RecordsByLine]:
        parsed = diskstats.parse(diskstats.decode(found), self._lines)
        self._whole = not parsed.faults
        return parsed

    def _pressure_ratio(self, waiting: float | None, seconds: float) -> float | None:
        if waiting is None or self._waiting_seconds is None:
            return None
        return min(max((waiting - self._waiting_seconds) / seconds, 0.0), 1.0)

    def _advance_cpus(
        self, now: float, sampled: CpuStat | None, seconds: float, *, usable: bool
    ) -> CpuInterval | None:
        then, self.stat = self.stat, sampled
        if sampled is None:
            return None
        self.cpu.record_idle_time(sampled, per_cpu=self._per_cpu)
        if then is None or not usable:
            return None
        shares = cpu_interval(then.cpus, sampled.cpus)
        if shares is not None:
            self.cpu.record(now, shares, seconds, self._rules.bottleneck)
        return shares

    def _advance_disks(
        self,
        now: float,
        lines: diskstats.RecordsByLine | None,
        around: DiskContext,
        seconds: float,
        *,
        usable: bool,
    ) -> None:
        if lines is None:
            self.disks = None
            return
        then = self.disks if usable else None
        self._lines = lines
        disks = {
            name: disk
            for name, disk in diskstats.records_by_device(lines.values()).items()
            if self._wanted(name)
        }
        # A device whose line was broken in this reading has not gone.
        for device in self.activities.keys() - disks.keys() if self._whole else ():
            del self.activities[device]
            self._changed()
        for device, disk in disks.items():
            before = then.get(device) if then else None
            activity = self.activities.get(device)
            if activity is None:
                activity = self.activities[device] = self._begin(device, now)
            elif before is disk and not disk.io_now:
                activity.record_idle(seconds)
                continue
            if before is None:
                continue
            interval = disk_interval(before, disk, seconds, activity.uncredited_seconds)
            if interval is None:
                # What the survey has told is of the device that was.
                self.activities[device] = self._begin(device, now, drive_from_name(device))
            else:
                is_probed = self._is_probed(device, now - seconds, now)
                activity.record(now, interval, around, is_probed=is_probed)
        self.disks = disks

    def _begin(self, device: str, now: float, drive: Drive | None = None) -> DiskActivity:
        self._changed()
        drive = drive or self._drives.get(device) or drive_from_name(device)
        activity = DiskActivity(
            drive,
            self._rules,
            self._baselines.for_drive(drive.identity),
            now,
            partial(self._condition, device),
        )
        if self._request_sizes:
            activity.enable_request_sizes()
        return activity


def _parse_stat(found: RawFile) -> Parsed[CpuStat]:
    return proc_stat.parse(files.decode_required(found))


def _parse_waiting(found: RawFile) -> Parsed[float | None]:
    return Parsed(pressure.parse(files.decode(found)).waiting_seconds)


def _nothing() -> None:
    return
