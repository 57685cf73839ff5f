"""When each profile is due: a grid from the first slot on, so that equal ones fall together.

One directory that is probed: what it needs for a run, and what has come of the runs.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ReadError
from exporter.linux.topology import Topology
from exporter.probe import location, probe_file, production_load, results
from exporter.probe.budget_ledger import WriteLimits
from exporter.probe.fio_run import (
    HostShareRules,
    ProfileResult,
    RunEnd,
    is_host_limited,
    share_outside,
)
from exporter.probe.gate import GateState, GuardSample, Skip
from exporter.probe.location import Place
from exporter.probe.production_load import GuardWatch, Heat, LoadSample, ProductionLoad
from exporter.probe.profiles import Profile
from exporter.probe.results import DirectoryResults, ProfileResults, Round, RoundHistory

#: Of the first delay, to both sides: a fleet on one storage does not probe at once.
_SPLAY_RATIO = 0.2

#: A profile that was skipped is tried again so soon, were its own interval a week.
_RETRY_SECONDS = 300.0

#: A rarer profile waits for its time over a restart too.
_RARE_SECONDS = 3600.0


def splayed(delay_seconds: float, host: str) -> float:
    """The delay of this host: the same one at each start."""
    place = int.from_bytes(hashlib.sha256(host.encode()).digest()[:4], "big") / (1 << 32)
    return delay_seconds * (1 + _SPLAY_RATIO * (2 * place - 1))


class ProbeSchedule:
    """The profiles that have an interval; times are monotonic seconds.

    first: the first slot.
    ago_seconds: how long ago a profile ran last, before this process, where that is known.
    """

    def __init__(
        self,
        profiles: Sequence[Profile],
        first: float,
        ago_seconds: Mapping[str, float] | None = None,
    ) -> None:
        self.first = first
        self._profiles = {p.name: p for p in profiles if p.interval_seconds is not None}
        self._due: dict[str, float] = {}
        for name, profile in self._profiles.items():
            interval = profile.interval_seconds or 0.0
            ago = (ago_seconds or {}).get(name, interval)
            rare = interval >= _RARE_SECONDS and 0 <= ago < interval
            self._due[name] = first + (interval - ago if rare else 0.0)

    def due(self, now: float) -> tuple[Profile, ...]:
        return tuple(p for name, p in self._profiles.items() if self._due[name] <= now)

    @property
    def next(self) -> float:
        """When something is due next; for ever where nothing ever is."""
        return min(self._due.values(), default=float("inf"))

    def done(self, name: str, now: float) -> None:
        """It has run: it is due an interval later."""
        self._due[name] = self._after(self._profiles[name].interval_seconds or 0.0, now)

    def skipped(self, name: str, now: float) -> None:
        """It has not run, and is tried again soon."""
        interval = self._profiles[name].interval_seconds or 0.0
        self._due[name] = self._after(min(interval, _RETRY_SECONDS), now)

    def postponed(self, until: float) -> None:
        """What is due before that waits till then."""
        self._due = {name: max(due, until) for name, due in self._due.items()}

    def _after(self, interval: float, now: float) -> float:
        gone = max(0.0, now - self.first)
        due = self.first + (gone // interval + 1) * interval
        # In floating point a moment on the grid may lie on either side of it.
        return due if due > now else due + interval


@dataclass(frozen=True, slots=True)
class DriveCondition:
    """Wear and heat of the drives below, the worst of each; None is not known."""

    endurance_used_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None


@dataclass(frozen=True, slots=True)
class ProbeContext:
    """What the rest of the monitor knows.

    topology: None as long as nobody has looked. busy_seconds: of a device, since the sampler began.
    identity: under which a drive is known over its names. fitness: of these drives, together.
    rated_bytes: that a drive's maker lets be written, by its name.
    """

    proc: Path
    sys: Path
    topology: Callable[[], Topology | None]
    busy_seconds: Callable[[str], float | None]
    identity: Callable[[str], str]
    fitness: Callable[[Sequence[str]], DriveCondition]
    rated_bytes: Mapping[str, int]


class ProbeDirectory:
    """Its `results` are read by other threads: they hold `lock`. All else is for one thread."""

    def __init__(
        self,
        path: Path,
        profiles: Sequence[Profile],
        *,
        schedule: ProbeSchedule,
        around: ProbeContext,
        clock: Clock,
        rounds: RoundHistory,
    ) -> None:
        self.path = path
        self.schedule = schedule
        self.load = ProductionLoad()
        self.results = DirectoryResults({each.name: ProfileResults(each) for each in profiles})
        self.place: Place | None = None
        self.lock = threading.RLock()
        self._around = around
        self._clock = clock
        self._rounds = rounds
        self._share_rules = HostShareRules()

    @property
    def drive(self) -> str:
        """Under which the drives are known to the budget."""
        assert self.place is not None
        leaves = self.place.leaves or (self.place.device,)
        return "+".join(map(self._around.identity, leaves))

    @property
    def file(self) -> str:
        assert self.place is not None
        return f"ssd-exporter-probe-{self.place.device.replace('/', '!')}"

    @property
    def rated_bytes(self) -> float | None:
        """The least that a drive below is rated for; None where none is configured."""
        assert self.place is not None
        rated = (self._around.rated_bytes.get(leaf) for leaf in self.place.leaves)
        return min((each for each in rated if each is not None), default=None)

    @property
    def is_known(self) -> bool:
        """Whether there has been time to find out what the gate asks for; not so at a start."""
        if self._around.topology() is None:
            return False
        return self.place is None or self.load.of().busy_ratio is not None

    def look(self) -> None:
        """Find out where the directory lies.

        Raises:
            ReadError: it cannot be told.
        """
        topology = self._around.topology()
        if topology is None:
            raise ReadError("the devices of this host are not known yet")
        place = location.read(self.path, topology, self._around.proc)
        if self.place is None or place.device != self.place.device:
            self.load.clear()
        self.place = place
        with self.lock:
            self.results.device, self.results.fstype = place.device, place.fstype
            self.results.mountpoint = place.mountpoint
            for each in self.results.profiles.values():
                if each.steady is None:
                    latency = results.is_latency(each.profile)
                    key = self._key(each.profile, each.profile.engine.value)
                    each.steady = self._rounds.known(key, lower_is_better=latency)

    def note_load(self) -> None:
        """Remember how much the device has been busy until now."""
        if self.place is None:
            return
        note = LoadSample(
            self._clock.monotonic(),
            self._around.busy_seconds(self.place.device),
            production_load.host_waiting(self._around.proc),
            production_load.stalled(self._groups()),
        )
        self.load.note(note)

    def gate_state(self, profile: Profile, *, copy_on_write: bool) -> GateState:
        """What is known for the gate but the budget and the locks.

        Raises:
            ReadError: the filesystem cannot be looked at.
        """
        assert self.place is not None
        topology = self._around.topology()
        space = location.space(self.path)
        fitness = self._around.fitness(self.place.leaves)
        return replace(
            self.load.of(),
            unfit=self.place.unfit(copy_on_write=copy_on_write),
            is_rebuilding=topology is not None and location.is_rebuilding(self.place, topology),
            host_uptime_seconds=self._clock.boottime(),
            writes=profile.writes,
            endurance_used_ratio=fitness.endurance_used_ratio,
            temperature_celsius=fitness.temperature_celsius,
            warning_celsius=fitness.warning_celsius,
            missing_bytes=probe_file.missing_bytes(self.path, self.file, profile.size_bytes),
            size_bytes=space.size_bytes,
            avail_bytes=space.avail_bytes,
            avail_inodes=space.avail_inodes,
            skips=self.results.profiles[profile.name].skips,
        )

    def watch(self, profiles: Sequence[Profile]) -> GuardWatch:
        """What looks on while these run."""
        assert self.place is not None
        leaves = self.place.leaves

        def heat() -> Heat:
            fitness = self._around.fitness(leaves)
            return fitness.temperature_celsius, fitness.warning_celsius

        celsius, warning = heat()
        start = GuardSample(
            own_in_flight=max((each.depth * each.jobs for each in profiles), default=1),
            temperature_celsius=celsius,
            warning_celsius=warning,
        )
        return GuardWatch(
            self._around.proc, self._groups(), self.place.device, start, self._clock, heat=heat
        )

    def avail_bytes(self) -> int | None:
        try:
            return location.space(self.path).avail_bytes
        except ReadError:
            return None

    def note_skip(self, name: str, skip: Skip) -> None:
        """A profile was due and does not run."""
        with self.lock:
            found = self.results.profiles[name]
            found.skipped[skip.reason] += 1
            found.skips = found.skips + 1 if skip.is_for_load else 0

    def note_charge(self, charged_bytes: int) -> None:
        with self.lock:
            self.results.written_bytes += charged_bytes

    def note_budget(self, limits: WriteLimits, left: WriteLimits) -> None:
        with self.lock:
            self.results.limits, self.results.left = limits, left

    def take(self, ended: RunEnd, profiles: Sequence[Profile]) -> None:
        """A run of these profiles is over."""
        # What was noted meanwhile is the probe's own load.
        self.load.clear()
        with self.lock:
            for profile in profiles:
                self._take(ended, profiles, profile)

    def _take(self, ended: RunEnd, profiles: Sequence[Profile], profile: Profile) -> None:
        now = self._clock.wall()
        found = self.results.profiles[profile.name]
        result = ended.result_of(profile.name)
        found.runs[result] += 1
        found.last_run_at, found.ran, found.skips = now, profile, 0
        if ended.run is not None:
            found.fio_version = ended.run.fio_version
            found.engine = profile.engine.value
        if ended.reason is not None:
            found.skipped[ended.reason] += 1
        job = ended.job(profile.name)
        if result is not ProfileResult.SUCCESS or job is None:
            return
        found.last_success_at = now
        found.take(job)
        share = share_outside(ended, profiles, profile.name, self._share_rules)
        found.host_share_ratio = share
        value = results.measured(profile, job)
        if value is not None:
            found.steady = self._rounds.add(
                self._key(profile, found.engine),
                Round(now, value, is_host_limited(share, self._share_rules)),
                lower_is_better=results.is_latency(profile),
            )

    def _key(self, profile: Profile, engine: str) -> str:
        topology = self._around.topology()
        device = topology.devices.get(self.results.device) if topology else None
        firmware = (device.identity.firmware if device else None) or ""
        return results.key(self.drive, firmware, profile, engine)

    def _groups(self) -> tuple[Path, ...]:
        topology = self._around.topology()
        names = [server.cgroup for server in topology.servers] if topology else []
        return production_load.groups_of(self._around.sys, names)
