"""Samples the kernel's I/O and CPU counters once per second and records the intervals.

A sample is one reading of the counters. An interval is the difference of two samples. The sampler
has its own timer, unlike most exporters, because a disk may be saturated for only a few of the
seconds between two scrapes. All results are cumulative, so they do not depend on the scrape
interval or on the number of scrapers.

A tick of the timer only reads the files. The sampler processes the pending samples together: when
there are twenty, or earlier when a page is requested. This saves CPU time. After a second of sleep
the CPU's caches are cold, and processing a single sample then takes three times as long as
processing it right after another one.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from exporter.config.disk_rules import DiskRules
from exporter.io.activity import DiskActivity
from exporter.io.baseline import Baselines
from exporter.io.block_completions import BlockCompletions
from exporter.io.counter_files import CounterFiles, RawSample
from exporter.io.cpu_activity import CpuActivity
from exporter.io.drive import Drive, drive_from_name
from exporter.io.interval import (
    CpuInterval,
    DiskInterval,
    cpu_interval,
    disk_interval,
    pressure_ratios,
)
from exporter.io.recent_activity import PROBED, SATURATED, STALLED, RecentActivity
from exporter.io.slowdown import SlowdownEvidence
from exporter.io.verdict import DiskContext, Verdict, tasks_wait_for_io
from exporter.linux import diskstats, files, pressure, proc_stat
from exporter.linux.diskstats import DiskStats
from exporter.linux.files import RawFile
from exporter.linux.pressure import Pressure
from exporter.linux.proc_stat import CpuStat
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import Parsed

#: There is a gap if two samples are more than this many sampling intervals apart, or if the host
#: was suspended for more than that time. The time between the samples is then not recorded as an
#: interval, because its mean values are not those of a single second. Its bytes count in a write.
_GAP_INTERVALS = 3

#: Pending samples are processed when there are this many, or when they span this many seconds: more
#: than Prometheus' usual scrape interval of 15 s, so normally a page request processes them.
_MAX_PENDING, _MAX_PENDING_SECONDS = 20, 20.0
#: The maximum total size of the pending samples, in bytes. 20 samples of 1,000 disks have 3 MB.
_MAX_PENDING_BYTES = 6 << 20

T = TypeVar("T")


class Sampler:
    """Takes a sample at each `tick`, and records the intervals between the samples.

    Collectors read the attributes inside a `with sampler.flushed():` block.

    Arguments:
    wanted: returns True for the names of devices to export.
    interval: the mean time between two samples in seconds; see `runtime.sample_times`.
    per_cpu: also count idle time and iowait per CPU.
    request_sizes: also record histograms of request sizes.
    evidence: returns the temperature and link speed of a device; it must not block.
    is_probed: returns True if a probe ran on the device between two monotonic times.

    Attributes:
    sampled_at, sampled_at_unix_time: monotonic time and Unix time of the last sample, in seconds;
        None before the first sample.
    disks: the records of the last processed sample, keyed by device name; None if they could not be
        read.
    stat: the CPU times of the last processed sample; None if they could not be read.
    activities: the accumulated results, keyed by device name.
    cpu: the accumulated results of the CPUs.
    recent: the last samples of the host and its drives.
    samples: the number of samples since the start.
    gaps: the number of gaps: samples that came too late, or after a suspension of the host.
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
        evidence: Callable[[str], SlowdownEvidence] = lambda _device: SlowdownEvidence(),
        is_probed: Callable[[str, float, float], bool] = lambda *_: False,
    ) -> None:
        self._sources = sources
        self._evidence = evidence
        self._is_probed = is_probed
        self._clock = clock
        self._collector_status = collector_status
        self._rules = rules
        self._baselines = baselines
        self._wanted = wanted
        self._per_cpu = per_cpu
        self._request_sizes = request_sizes
        self._drives: Mapping[str, Drive] = {}
        self._on_change: Callable[[], None] = lambda: None
        self._pending: list[RawSample] = []
        self._pending_bytes = 0
        self._flushed_at: float | None = None
        self._devices = 0
        self._lines: diskstats.RecordsByLine = {}
        self._is_complete = True
        self._boottime = 0.0
        self._pressure: Pressure | None = None
        self._lock = threading.RLock()
        self.interval = interval
        self.sampled_at: float | None = None
        self.sampled_at_unix_time: float | None = None
        self.disks: dict[str, DiskStats] | None = None
        #: The last readable records, and the monotonic time of their sample.
        self._known: dict[str, DiskStats] = {}
        self._known_at = 0.0
        self.stat: CpuStat | None = None
        self.activities: dict[str, DiskActivity] = {}
        self.cpu = CpuActivity()
        self.recent = RecentActivity()
        self._completions = BlockCompletions()
        self.samples = self.gaps = 0

    def update_drives(self, drives: Mapping[str, Drive]) -> None:
        """Replaces the drive of each device after a refresh of the topology.

        drives: keyed by device name.
        """
        with self._lock:
            if self._differ(drives):
                # The pending samples belong to the old drives.
                self._flush()
            self._drives = drives
            for device, activity in list(self.activities.items()):
                drive = drives.get(device)
                if drive is None or drive == activity.drive:
                    continue
                instance = activity.drive.instance
                if instance is not None and instance != drive.instance:
                    # Another device took the name. It is exported from the next sample on.
                    del self.activities[device]
                    self.recent.forget(device)
                    if self.disks is not None:
                        self.disks.pop(device, None)
                else:
                    activity.set_drive(drive, self._baselines.for_drive(drive.identity))

    def _differ(self, drives: Mapping[str, Drive]) -> bool:
        return any(
            activity.drive != drives.get(device, activity.drive)
            for device, activity in self.activities.items()
        )

    def on_change(self, callback: Callable[[], None]) -> None:
        """Sets the function that is called when a device appears, disappears or is created again.

        The function must not block, because it is called while the sampler is locked.
        """
        self._on_change = callback

    def reconfigure(
        self,
        rules: DiskRules,
        wanted: Callable[[str], bool],
        interval: float,
        *,
        per_cpu: bool,
        request_sizes: bool,
    ) -> None:
        """Applies new settings to the sampler and to all devices.

        rules, wanted, interval, per_cpu, request_sizes: as for the class.
        """
        with self.flushed():
            self._rules, self._wanted, self.interval = rules, wanted, interval
            self._per_cpu, self._request_sizes = per_cpu, request_sizes
            if self.stat is not None:
                # A page may be requested before the next sample, and then needs these counters.
                self.cpu.record_idle_time(self.stat, per_cpu=per_cpu)
            for activity in self.activities.values():
                activity.reconfigure(rules)
                if request_sizes:
                    activity.enable_request_sizes()

    def tick(self) -> None:
        """Takes one sample. It is processed now, or later together with other samples."""
        sample = self._sources.read(check_replaced=not self._pending)
        with self._lock:
            self._pending.append(sample)
            self.sampled_at = sample.monotonic
            self.sampled_at_unix_time = self._clock.wall()
            self.samples += 1
            pending, devices = len(self._pending), sample.devices
            # If a device appeared or disappeared, the samples are processed at once. This calls the
            # function of `on_change`, which requests a refresh of the topology.
            changed, self._devices = devices != self._devices, devices
            self._pending_bytes += sample.size_bytes
            is_full = (
                pending >= _MAX_PENDING
                or pending * self.interval >= _MAX_PENDING_SECONDS
                or self._pending_bytes > _MAX_PENDING_BYTES
            )
            if changed or is_full or self._flushed_at is None:
                self._flush()

    @contextmanager
    def flushed(self) -> Iterator[None]:
        """Context manager that processes all pending samples and locks the sampler."""
        with self._lock:
            self._flush()
            yield

    def verdicts(self) -> dict[str, Verdict]:
        """Returns the verdict of each drive at the last processed sample, at most 20 s ago."""
        with self._lock:
            now, known = self._flushed_at or 0.0, self.activities.items()
            return {name: each.verdict.value(now) for name, each in known if each.drive.leaf}

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        self._pending_bytes = 0
        if pending:
            # Once for all pending samples: only a saturated CPU needs it.
            self._completions.observe(*self._sources.read_softirqs())
        for sample in pending:
            self._process(sample)

    def _process(self, sample: RawSample) -> None:
        now = sample.monotonic
        read_seconds = sample.seconds
        disks = self._parsed("disk", sample.diskstats, self._parse_disks, read_seconds)
        cpus = self._parsed("cpu", sample.stat, _parse_stat, read_seconds)
        waiting = self._parsed("pressure", sample.pressure, _parse_pressure, read_seconds)
        seconds = 0.0 if self._flushed_at is None else now - self._flushed_at
        suspended = (sample.boottime - self._boottime) - seconds
        gap = max(seconds, suspended) > _GAP_INTERVALS * self.interval
        if self._flushed_at is not None and gap:
            self.gaps += 1
        is_comparable = self._flushed_at is not None and seconds > 0 and not gap
        shares = self._advance_cpus(now, cpus, seconds, is_comparable=is_comparable)
        ratios = pressure_ratios(self._pressure if is_comparable else None, waiting, seconds)
        is_cpu_bound, is_cpu_full = self.cpu.delays_completions(
            shares, self._completions, self._rules.bottleneck
        )
        is_waited_for = tasks_wait_for_io(ratios[0], self._rules.saturation)
        context = DiskContext(is_cpu_bound, is_waited_for, is_cpu_full)
        self.recent.begin(ratios, shares, round(seconds / self.interval) if gap else 0)
        self._advance_disks(now, disks, context, seconds, is_comparable=is_comparable)
        self._pressure = waiting
        self._boottime = sample.boottime
        self._flushed_at = now

    def _parsed(
        self,
        collector: str,
        raw: RawFile | None,
        parse: Callable[[RawFile], Parsed[T]],
        read_seconds: float,
    ) -> T | None:
        if raw is None:
            return None
        return self._collector_status.collect(collector, "tick", lambda: parse(raw), read_seconds)

    def _parse_disks(self, raw: RawFile) -> Parsed[dict[str, DiskStats]]:
        """Returns the records of the exported devices, keyed by device name."""
        parsed = diskstats.parse(diskstats.decode(raw), self._lines)
        self._lines, self._is_complete = parsed.value, not parsed.faults
        every = diskstats.records_by_device(parsed.value.values())
        wanted = {name: disk for name, disk in every.items() if self._wanted(name)}
        disks = diskstats.first_devices(wanted, self.activities)
        return Parsed(disks.value, (*parsed.faults, *disks.faults))

    def _advance_cpus(
        self, now: float, sampled: CpuStat | None, seconds: float, *, is_comparable: bool
    ) -> CpuInterval | None:
        previous, self.stat = self.stat, sampled
        if sampled is None:
            return None
        self.cpu.record_idle_time(sampled, per_cpu=self._per_cpu)
        if previous is None or not is_comparable:
            return None
        shares = cpu_interval(previous.ticks, sampled.ticks)
        if shares is not None:
            self.cpu.record(now, shares, seconds, self._rules.bottleneck)
        return shares

    def _advance_disks(
        self,
        now: float,
        disks: dict[str, DiskStats] | None,
        context: DiskContext,
        seconds: float,
        *,
        is_comparable: bool,
    ) -> None:
        if disks is None:
            self.disks = None
            return
        previous = (self.disks if is_comparable else None) or {}
        if not previous and now > self._known_at:
            self._record_gap(now, disks)
        if self.activities.keys() != disks.keys():
            self._forget_missing(disks)
        for device, disk in disks.items():
            before = previous.get(device)
            activity = self.activities.get(device)
            if activity is None:
                activity = self.activities[device] = self._new_activity(device, now)
            elif before is disk and not disk.io_now:
                activity.record_idle(seconds)
                continue
            if before is None:
                continue
            interval = disk_interval(before, disk, seconds, activity.uncredited_seconds)
            if interval is None:
                # `self._drives` still describes the previous device of this name.
                self.activities[device] = self._new_activity(device, now, drive_from_name(device))
                continue
            self._record(device, activity, now, interval, context)
        self.disks = self._known = disks
        self._known_at = now

    def _record(
        self,
        device: str,
        activity: DiskActivity,
        now: float,
        interval: DiskInterval,
        context: DiskContext,
    ) -> None:
        is_probed = self._is_probed(device, now - interval.seconds, now)
        saturated_seconds = activity.saturated_seconds
        verdict = activity.record(now, interval, context, is_probed=is_probed)
        if activity.drive.leaf:
            flags = PROBED if is_probed else 0
            if activity.saturated_seconds > saturated_seconds:
                flags |= SATURATED
            if activity.stalls.is_stalled:
                flags |= STALLED
            self.recent.record(device, interval, verdict, flags)

    def _forget_missing(self, disks: Mapping[str, DiskStats]) -> None:
        # A device with an unparsable line in this sample has not disappeared. Its results are kept
        # while there is space for them.
        known = len(self.activities.keys() | disks.keys())
        if not self._is_complete and known <= files.MAX_DEVICES:
            return
        for device in self.activities.keys() - disks.keys():
            del self.activities[device]
            self.recent.forget(device)
            self._on_change()

    def _record_gap(self, now: float, disks: Mapping[str, DiskStats]) -> None:
        """Records the time since the last readable sample for the devices that it has."""
        for device, before in self._known.items():
            disk, activity = disks.get(device), self.activities.get(device)
            if disk is None or activity is None:
                continue
            seconds = now - self._known_at
            interval = disk_interval(before, disk, seconds, activity.uncredited_seconds)
            if interval is not None:
                is_probed = self._is_probed(device, self._known_at, now)
                is_begun = before.io_now > 0
                activity.record_gap(now, interval, is_probed=is_probed, is_begun=is_begun)

    def _new_activity(self, device: str, now: float, drive: Drive | None = None) -> DiskActivity:
        self._on_change()
        self.recent.forget(device)
        drive = drive or self._drives.get(device) or drive_from_name(device)
        activity = DiskActivity(
            drive,
            self._rules,
            self._baselines.for_drive(drive.identity),
            now,
            partial(self._evidence, device),
        )
        if self._request_sizes:
            activity.enable_request_sizes()
        return activity


def _parse_stat(raw: RawFile) -> Parsed[CpuStat]:
    return proc_stat.parse(files.decode_required(raw))


def _parse_pressure(raw: RawFile) -> Parsed[Pressure]:
    return Parsed(pressure.parse(files.decode(raw)))
