"""Measures the load of production before and during a probe.

Before a probe, the gate uses the load to decide whether the probe may start. During the probe, the
guard uses it to decide whether the probe must stop. In the names below, waiting is PSI "some" (at
least one task waited for I/O), and stalled is PSI "full" (all tasks waited).
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.linux import cgroup, diskstats, files, pressure, task_states
from exporter.linux.diskstats import SECTOR_BYTES, DiskStats
from exporter.linux.mysql.mysqld import MysqlServer
from exporter.probe.gate import GateState, GuardSample
from exporter.runtime.clock import Clock
from exporter.runtime.errors import SourceError

#: The intervals in seconds over which the gate averages the device's busy time, and the I/O
#: pressure of the host and of mysqld's control groups.
BUSY_SECONDS, PRESSURE_SECONDS = 60.0, 10.0

#: The value used for the queue setting max_sectors_kb if sysfs lacks it, in KiB.
_DEFAULT_REQUEST_KB = 128

#: Interval between two temperature readings during a probe, in seconds.
_TEMPERATURE_SECONDS = 5.0

#: Maximum number of kept samples. With one sample every 5 s, they cover five times `BUSY_SECONDS`.
_MAX_SAMPLES = 64
#: Minimum time between two samples from which a ratio is computed, in seconds.
_MIN_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LoadSample:
    """The counters of the load at one moment, in seconds. They normally only increase.

    at: the time of the sample, in monotonic seconds.
    busy: how long the device was busy, as the daemon's sampler counts it; None means unknown.
    waiting: how long at least one task of the host waited for I/O (PSI "some"); None means unknown.
    stalled: how long all tasks of a control group waited for I/O (PSI "full"), keyed by the group's
        path. Groups with an unknown value are missing.
    """

    at: float
    busy: float | None
    waiting: float | None
    stalled: Mapping[str, float] = field(default_factory=dict)


class ProductionLoad:
    """Keeps recent load samples, and computes the ratios that decide whether a probe may start."""

    def __init__(self) -> None:
        self._samples: deque[LoadSample] = deque(maxlen=_MAX_SAMPLES)

    def add(self, sample: LoadSample) -> None:
        """Adds the newest sample. If there are too many samples, the oldest is removed."""
        self._samples.append(sample)

    def clear(self) -> None:
        """Removes all samples. Call it after a probe, because they contain the probe's own load."""
        self._samples.clear()

    def ratios(self) -> GateState:
        """Returns a gate state in which only the load ratios are set.

        The ratios are 0 to 1; None means unknown.
        """
        now = self._samples[-1] if self._samples else None
        if now is None:
            return GateState()
        minute, moment = self._before(now, BUSY_SECONDS), self._before(now, PRESSURE_SECONDS)
        return GateState(
            busy_ratio=None if minute is None else _share(minute.at, now.at, minute.busy, now.busy),
            pressure_ratio=(
                None if moment is None else _share(moment.at, now.at, moment.waiting, now.waiting)
            ),
            cgroup_pressure_ratio=None if moment is None else _worst(moment, now),
        )

    def _before(self, now: LoadSample, seconds: float) -> LoadSample | None:
        """Returns the latest sample that is at least `seconds` older than `now`.

        If there is none, it returns the oldest sample. Returns None if no sample is at least
        `_MIN_INTERVAL_SECONDS` older.
        """
        earlier = [s for s in self._samples if s.at <= now.at - _MIN_INTERVAL_SECONDS]
        old_enough = [s for s in earlier if s.at <= now.at - seconds]
        return old_enough[-1] if old_enough else (earlier[0] if earlier else None)


#: The temperature and the warning temperature of the same drive in °C. None means unknown.
DriveTemperature = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class GuardReading:
    """The device's counters at one moment of a run.

    at: the time of the reading, in monotonic seconds.
    disk: the device's counters; None means that they could not be read.
    """

    at: float
    disk: DiskStats | None


def requests_in_flight(blocks: int, block_bytes: int, queue: Path) -> int:
    """Returns the largest number of requests that the device has in flight for these blocks.

    The kernel splits a block that exceeds the largest request. The limit is a number of bytes, a
    number of memory segments, or a boundary of the device. In the worst case each page is a segment
    of its own. One request is added for a block that is not contiguous on the device.

    blocks: the number of blocks that are read or written at the same time.
    queue: the directory /sys/block/<device>/queue (Documentation/ABI/stable/sysfs-block).
    """
    page = os.sysconf("SC_PAGE_SIZE")
    largest = (files.read_integer(queue / "max_sectors_kb") or _DEFAULT_REQUEST_KB) << 10
    if segments := files.read_integer(queue / "max_segments"):
        largest = min(largest, segments * page)
    if sectors := files.read_integer(queue / "chunk_sectors"):
        largest = min(largest, sectors * SECTOR_BYTES)
    parts = -(-block_bytes // max(largest, SECTOR_BYTES))
    return blocks * (parts + (block_bytes > page))


#: Readings of the threads of a server per guard sample, and the minimum time between two of them in
#: seconds.
_READINGS_PER_SAMPLE = 5
_MIN_READING_SECONDS = 0.04

#: Maximum number of readings that are kept of each server.
_MAX_READINGS = 20 * _READINGS_PER_SAMPLE

#: Lower bound of the number of threads that are read of each server, if there are many servers.
_MIN_THREADS = 16


class GuardSampler:
    """Samples the device, mysqld's control groups and mysqld's threads while a probe runs.

    proc: the mount point of procfs.
    groups: the directories of the control groups.
    servers: the process IDs of the servers whose threads are read. The pressure of a control group
        is not sufficient: the kernel averages it over the CPUs of the group. It is below one half
        while one thread waits and another thread computes.
    device: the name of the device.
    start: the temperature before the run, and the largest number of requests that the probe has in
        flight. The other values are not used.
    temperature: reads the temperature; it is called at most every 5 s. With None, the temperature
        of `start` is used for all samples.
    readings (attribute): the device's counters at each sample, oldest first.
    """

    def __init__(
        self,
        proc: Path,
        groups: Sequence[Path],
        device: str,
        start: GuardSample,
        clock: Clock,
        *,
        temperature: Callable[[], DriveTemperature] | None = None,
        servers: Sequence[int] = (),
    ) -> None:
        self._servers = servers
        self._readings = 0
        self._waits: Counter[int] = Counter()
        #: The last readings of each server, oldest first: True if it waited.
        self._recent: dict[int, deque[bool]] = {}
        self._read_at = float("-inf")
        #: How often `read_servers` must be called for each sample.
        self.readings_per_sample = _READINGS_PER_SAMPLE if servers else 1
        self._proc = proc
        self._groups = groups
        self._device = device
        self._start = start
        self._clock = clock
        self._read_temperature = temperature
        self._temperature: DriveTemperature = start.temperature_celsius, start.warning_celsius
        self._records: diskstats.RecordsByLine = {}
        self._waiting: Mapping[Path, float] = {}
        self._sampled_at = self._measured_at = clock.monotonic()
        self.readings: list[GuardReading] = []

    def read_servers(self) -> None:
        """Reads whether the servers wait for I/O at this moment. Call it between two samples."""
        now = self._clock.monotonic()
        if not self._servers or now - self._read_at < _MIN_READING_SECONDS:
            return
        self._read_at = now
        self._readings += 1
        most = max(_MIN_THREADS, task_states.MAX_TASKS // len(self._servers))
        for pid in self._servers:
            waits = bool(task_states.waits_for_io(self._proc, pid, most))
            self._waits[pid] += waits
            self._recent.setdefault(pid, deque(maxlen=_MAX_READINGS)).append(waits)

    def servers_starve(self, rules: GateRules) -> bool:
        """Returns True if a server waited for I/O in nearly all of its last readings.

        "Nearly all" is the share `guard_waiting_ratio`. The number of readings is that of
        `guard_samples` samples. The function can be called after each reading and not only after
        each sample. So fio ends up to half a second earlier than with `guard` alone.
        """
        needed = max(1, rules.guard_samples) * _READINGS_PER_SAMPLE
        return any(
            len(waits) >= min(needed, _MAX_READINGS)
            and sum(list(waits)[-needed:]) >= rules.guard_waiting_ratio * needed
            for waits in self._recent.values()
        )

    def sample(self, avail_bytes: int | None) -> GuardSample:
        """Returns a new sample for `guard`, which decides whether the probe must be ended.

        Values that cannot be read are None.

        avail_bytes: the free space of the filesystem, which is copied to the sample.
        """
        now = self._clock.monotonic()
        disk = self._disk()
        self.readings.append(GuardReading(now, disk))
        then, before = self._sampled_at, self._waiting
        self._sampled_at, self._waiting = now, waiting_seconds(self._groups)
        shares = [
            _share(then, now, before.get(group), seconds, minimum=0.0)
            for group, seconds in self._waiting.items()
        ]
        if self._read_temperature is not None and now - self._measured_at >= _TEMPERATURE_SECONDS:
            self._measured_at, self._temperature = now, self._read_temperature()
        waiting = max(self._waits.values(), default=0) / self._readings if self._readings else None
        self._readings = 0
        self._waits.clear()
        start = self._start
        return GuardSample(
            in_flight=None if disk is None else disk.io_now,
            own_in_flight=start.own_in_flight,
            cgroup_pressure_ratio=max((s for s in shares if s is not None), default=None),
            server_waiting_ratio=waiting,
            temperature_celsius=self._temperature[0],
            warning_celsius=self._temperature[1],
            avail_bytes=avail_bytes,
        )

    def _disk(self) -> DiskStats | None:
        try:
            self._records = diskstats.read(self._proc, self._records).value
        except SourceError:
            return None
        return diskstats.records_by_device(self._records.values()).get(self._device)


def read_disk(proc: Path, device: str) -> DiskStats | None:
    """Returns a device's counters; None if /proc/diskstats cannot be read or does not list it.

    proc: the mount point of procfs.
    """
    try:
        records = diskstats.read(proc).value
    except SourceError:
        return None
    return diskstats.records_by_device(records.values()).get(device)


def host_waiting_seconds(proc: Path) -> float | None:
    """Returns how long at least one task of the host waited for I/O since boot, in seconds.

    None means unknown. Source: "some" of /proc/pressure/io (Documentation/accounting/psi.rst).

    proc: the mount point of procfs.
    """
    try:
        return pressure.read(proc / "pressure" / "io").waiting_seconds
    except SourceError:
        return None


def cgroup_paths(sys: Path, names: Sequence[str | None]) -> tuple[Path, ...]:
    """Returns the directories of the control groups with these names.

    The root group is left out, because it contains the probe itself.

    sys: the mount point of sysfs.
    names: the groups' names in /proc/<pid>/cgroup; None is ignored.
    """
    root = cgroup.unified_root(sys)
    places = (root / name.strip("/") for name in names if name and name.strip("/"))
    return tuple(dict.fromkeys(place for place in places if ".." not in place.parts))


def servers_without_pressure(sys: Path, servers: Sequence[MysqlServer]) -> tuple[int, ...]:
    """Returns the process IDs of the servers whose control group reports no I/O pressure.

    sys: the mount point of sysfs.
    """
    return tuple(
        server.pid for server in servers if not waiting_seconds(cgroup_paths(sys, [server.cgroup]))
    )


def unguarded_reason(proc: Path, sys: Path, servers: Sequence[MysqlServer]) -> str:
    """Returns why it cannot be detected that a server waits for I/O; empty if it can be detected.

    proc, sys: the mount points of procfs and sysfs.
    servers: the known servers.
    """
    if not task_states.sees_all_processes(proc):
        return (
            f"{proc} does not show all processes of the host, so a database that waits for I/O"
            " would go unnoticed; a probe without a rate limit could starve it"
        )
    for pid in servers_without_pressure(sys, servers):
        if task_states.waits_for_io(proc, pid) is None:
            return (
                f"mysqld (process {pid}) has no I/O pressure information, and its threads cannot be"
                " read; a probe without a rate limit could starve it"
            )
    return ""


def waiting_seconds(groups: Sequence[Path]) -> dict[Path, float]:
    """Returns how long at least one task of each control group waited for I/O, in seconds.

    The result is keyed by the group's directory. Unreadable groups are missing.
    """
    return _pressures(groups, stalled=False)


def stalled_seconds(groups: Sequence[Path]) -> dict[str, float]:
    """Returns how long all tasks of each control group waited for I/O, in seconds.

    The result is keyed by the path of the group's directory. Unreadable groups are missing.
    """
    return {str(group): seconds for group, seconds in _pressures(groups, stalled=True).items()}


def _pressures(groups: Sequence[Path], *, stalled: bool) -> dict[Path, float]:
    pressures = {}
    for group in groups:
        try:
            group_pressure = pressure.read(group / "io.pressure")
        except SourceError:
            continue
        seconds = group_pressure.stalled_seconds if stalled else group_pressure.waiting_seconds
        if seconds is not None:
            pressures[group] = seconds
    return pressures


def _worst(then: LoadSample, now: LoadSample) -> float | None:
    """Returns the largest share of time in which all tasks of a control group waited for I/O.

    The share is 0 to 1; None means unknown.
    """
    shares = (
        _share(then.at, now.at, then.stalled.get(name), seconds)
        for name, seconds in now.stalled.items()
    )
    return max((share for share in shares if share is not None), default=None)


def _share(
    then: float,
    now: float,
    before: float | None,
    after: float | None,
    *,
    minimum: float = _MIN_INTERVAL_SECONDS,
) -> float | None:
    """Returns the rise of a counter of seconds, divided by the elapsed time: 0 to 1.

    None means unknown.

    then, now: the times of the two readings, in monotonic seconds.
    before, after: the counter at these times; None means unknown.
    minimum: minimum time between the readings, in seconds.
    """
    seconds = now - then
    # If the counter decreased, the second reading is of another device or group.
    if before is None or after is None or after < before or seconds < minimum or seconds <= 0:
        return None
    return min((after - before) / seconds, 1.0)
