"""Measures the load of production, before a probe for the gate and during it for the guard."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import SourceError
from exporter.linux import cgroup, diskstats, pressure
from exporter.linux.diskstats import DiskStats
from exporter.probe.gate import GateState, GuardSample

#: The intervals over which the gate averages the device's busy time and the host's I/O pressure.
BUSY_SECONDS, PRESSURE_SECONDS = 60.0, 10.0

#: Interval between two temperature readings during a probe, in seconds.
_TEMPERATURE_SECONDS = 5.0

#: Maximum number of samples. At one every 5 s they cover five times `BUSY_SECONDS`.
_MAX_SAMPLES = 64
#: Minimum time between two samples of which a ratio is computed, in seconds.
_MIN_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LoadSample:
    """Counters at one moment, in seconds; None or missing is unknown.

    at: monotonic seconds. busy: time the device was busy, as the sampler counts it. waiting: time
    some task of the host waited for I/O (PSI "some"). stalled: time all tasks of a control group
    waited (PSI "full"), by the group's path.
    """

    at: float
    busy: float | None
    waiting: float | None
    stalled: Mapping[str, float] = field(default_factory=dict)


class ProductionLoad:
    """Recent load samples, and the ratios that the gate compares with its limits."""

    def __init__(self) -> None:
        self._samples: deque[LoadSample] = deque(maxlen=_MAX_SAMPLES)

    def add(self, sample: LoadSample) -> None:
        """Add the newest sample; the oldest is dropped if there are too many."""
        self._samples.append(sample)

    def clear(self) -> None:
        """Remove all samples, because after a probe they contain the probe's own load."""
        self._samples.clear()

    def ratios(self) -> GateState:
        """Returns a gate state with only the load ratios set, 0 to 1; None is unknown."""
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
        """Returns the latest sample that is at least `seconds` older than `now`, else the oldest.

        None if no sample is older by `_MIN_INTERVAL_SECONDS`.
        """
        earlier = [s for s in self._samples if s.at <= now.at - _MIN_INTERVAL_SECONDS]
        old_enough = [s for s in earlier if s.at <= now.at - seconds]
        return old_enough[-1] if old_enough else (earlier[0] if earlier else None)


#: A drive's temperature and its own warning temperature in °C; None is unknown.
DriveTemperature = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class GuardReading:
    """The device's counters at one moment of a run, in monotonic seconds; None is unknown."""

    at: float
    disk: DiskStats | None


class GuardSampler:
    """Samples the device and mysqld's control groups while a probe runs.

    proc: the mount point of procfs. groups: directories of control groups. device: its name.
    start: the temperature and the probe's own requests in flight before the first sample.
    temperature: reads the temperature, every 5 s; None keeps that of `start`.
    readings (attribute): the device's counters at each sample.
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
    ) -> None:
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

    def sample(self, avail_bytes: int | None) -> GuardSample:
        """Returns one sample for the guard; values that cannot be read are None."""
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
        start = self._start
        return GuardSample(
            in_flight=None if disk is None else disk.io_now,
            own_in_flight=start.own_in_flight,
            cgroup_pressure_ratio=max((s for s in shares if s is not None), default=None),
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


def host_waiting_seconds(proc: Path) -> float | None:
    """Returns the seconds since boot in which some task of the host waited for I/O.

    None is unknown. Source: "some" of /proc/pressure/io (Documentation/accounting/psi.rst).
    """
    try:
        return pressure.read(proc / "pressure" / "io").waiting_seconds
    except SourceError:
        return None


def cgroup_paths(sys: Path, names: Sequence[str | None]) -> tuple[Path, ...]:
    """Returns the directories of control groups by their names in /proc/<pid>/cgroup.

    The root group is left out: it contains the probe itself.
    """
    root = cgroup.unified_root(sys)
    places = (root / name.strip("/") for name in names if name and name.strip("/"))
    return tuple(dict.fromkeys(place for place in places if ".." not in place.parts))


def waiting_seconds(groups: Sequence[Path]) -> dict[Path, float]:
    """Returns how long some task of each group waited for I/O, in seconds.

    Unreadable groups are missing.
    """
    return _pressures(groups, stalled=False)


def stalled_seconds(groups: Sequence[Path]) -> dict[str, float]:
    """Returns how long all tasks of each group waited for I/O, in seconds, by the group's path.

    Unreadable groups are missing.
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
    """Returns the largest stalled ratio of a control group; None is unknown."""
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
    """Returns the rise of a counter of seconds per second, 0 to 1; None is unknown.

    then, now: the times of the readings `before` and `after`. minimum: minimum time between them.
    """
    seconds = now - then
    # A counter that decreased belongs to another device or group.
    if before is None or after is None or after < before or seconds < minimum or seconds <= 0:
        return None
    return min((after - before) / seconds, 1.0)
