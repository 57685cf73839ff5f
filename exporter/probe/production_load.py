"""How much production there is: before a probe, for the gate; and while one runs, for the guard."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import SourceError
from exporter.linux import cgroup, diskstats, pressure
from exporter.linux.diskstats import DiskStats
from exporter.probe.gate import GateState, GuardSample

#: Over so long the gate looks at the device, and at the host's pressure.
BUSY_SECONDS, PRESSURE_SECONDS = 60.0, 10.0

#: So often a drive that is probed is asked for its heat.
_HEAT_SECONDS = 5.0

_MOST_NOTES = 64
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LoadSample:
    """Sums at one moment, in seconds; None or missing is not known.

    busy: of the device, by the sampler. waiting: of tasks for I/O, on the host. stalled: the time
    in which all tasks of a control group waited for it.
    """

    at: float
    busy: float | None
    waiting: float | None
    stalled: Mapping[str, float] = field(default_factory=dict)


class ProductionLoad:
    """What the gate is told of the load: shares of the time between notes."""

    def __init__(self) -> None:
        self._notes: deque[LoadSample] = deque(maxlen=_MOST_NOTES)

    def add(self, note: LoadSample) -> None:
        self._notes.append(note)

    def clear(self) -> None:
        """After a probe, whose own load the notes would hold."""
        self._notes.clear()

    def ratios(self) -> GateState:
        """The ratios of the load alone; the rest is its default."""
        now = self._notes[-1] if self._notes else None
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
        """The last note that is so old, or the oldest."""
        older = [each for each in self._notes if each.at <= now.at - _LEAST_SECONDS]
        far = [each for each in older if each.at <= now.at - seconds]
        return far[-1] if far else (older[0] if older else None)


#: A drive's temperature and its own warning, in celsius; None is not known.
DriveTemperature = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class GuardReading:
    """The device at one moment of a run."""

    at: float
    disk: DiskStats | None


class GuardSampler:
    """Looks at the device and at mysqld's control groups while a probe runs.

    start: what is known before: heat, and what is in flight of our own. heat: asked again every few
    seconds.
    """

    def __init__(
        self,
        proc: Path,
        groups: Sequence[Path],
        device: str,
        start: GuardSample,
        clock: Clock,
        *,
        heat: Callable[[], DriveTemperature] | None = None,
    ) -> None:
        self._proc = proc
        self._groups = groups
        self._device = device
        self._start = start
        self._clock = clock
        self._ask_heat = heat
        self._heat: DriveTemperature = start.temperature_celsius, start.warning_celsius
        self._lines: diskstats.RecordsByLine = {}
        self._waiting: Mapping[Path, float] = {}
        self._looked_at = self._felt_at = clock.monotonic()
        self.readings: list[GuardReading] = []

    def sample(self, avail_bytes: int | None) -> GuardSample:
        """One sample; what cannot be read in it is not known."""
        now = self._clock.monotonic()
        disk = self._disk()
        self.readings.append(GuardReading(now, disk))
        then, before = self._looked_at, self._waiting
        self._looked_at, self._waiting = now, waiting_seconds(self._groups)
        shares = [
            _share(then, now, before.get(group), seconds, least=0.0)
            for group, seconds in self._waiting.items()
        ]
        if self._ask_heat is not None and now - self._felt_at >= _HEAT_SECONDS:
            self._felt_at, self._heat = now, self._ask_heat()
        start = self._start
        return GuardSample(
            in_flight=None if disk is None else disk.io_now,
            own_in_flight=start.own_in_flight,
            cgroup_pressure_ratio=max((s for s in shares if s is not None), default=None),
            temperature_celsius=self._heat[0],
            warning_celsius=self._heat[1],
            avail_bytes=avail_bytes,
        )

    def _disk(self) -> DiskStats | None:
        try:
            self._lines = diskstats.read(self._proc, self._lines).value
        except SourceError:
            return None
        return diskstats.records_by_device(self._lines.values()).get(self._device)


def host_waiting_seconds(proc: Path) -> float | None:
    try:
        return pressure.read(proc / "pressure" / "io").waiting_seconds
    except SourceError:
        return None


def cgroup_paths(sys: Path, names: Sequence[str | None]) -> tuple[Path, ...]:
    """Where control groups stand, by their names in /proc/<pid>/cgroup; the root is no group."""
    root = cgroup.unified_root(sys)
    places = (root / name.strip("/") for name in names if name and name.strip("/"))
    return tuple(dict.fromkeys(place for place in places if ".." not in place.parts))


def waiting_seconds(groups: Sequence[Path]) -> dict[Path, float]:
    """The time in which a task of each group waited for I/O, of those that can be read."""
    return _pressures(groups, stalled=False)


def stalled_seconds(groups: Sequence[Path]) -> dict[str, float]:
    """The time in which all tasks of each group did."""
    return {str(group): seconds for group, seconds in _pressures(groups, stalled=True).items()}


def _pressures(groups: Sequence[Path], *, stalled: bool) -> dict[Path, float]:
    found = {}
    for group in groups:
        try:
            its = pressure.read(group / "io.pressure")
        except SourceError:
            continue
        seconds = its.stalled_seconds if stalled else its.waiting_seconds
        if seconds is not None:
            found[group] = seconds
    return found


def _worst(then: LoadSample, now: LoadSample) -> float | None:
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
    least: float = _LEAST_SECONDS,
) -> float | None:
    seconds = now - then
    # A sum that went back is of another device or group.
    if before is None or after is None or after < before or seconds < least or seconds <= 0:
        return None
    return min((after - before) / seconds, 1.0)
