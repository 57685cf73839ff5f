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
    RunOutcome,
    host_share_of_run,
    is_host_limited,
)
from exporter.probe.gate import GateState, GuardSample, Skip
from exporter.probe.location import Location
from exporter.probe.production_load import (
    DriveTemperature,
    GuardSampler,
    LoadSample,
    ProductionLoad,
)
from exporter.probe.profiles import Profile
from exporter.probe.results import DirectoryResults, ProfileResults, Round, RoundHistory

#: Of the first delay, to both sides: a fleet on one storage does not probe at once.
_SPLAY_RATIO = 0.2

#: A profile that was skipped is tried again so soon, were its own interval a week.
_RETRY_SECONDS = 300.0

#: A rarer profile waits for its time over a restart too.
_RARE_SECONDS = 3600.0


def splayed_delay(delay_seconds: float, host: str) -> float:
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
    identity: of a drive, by its device name. drive_condition: of these drives together.
    rated_bytes: that a drive's maker lets be written, by its name.
    """

    proc: Path
    sys: Path
    topology: Callable[[], Topology | None]
    busy_seconds: Callable[[str], float | None]
    identity: Callable[[str], str]
    drive_condition: Callable[[Sequence[str]], DriveCondition]
    rated_bytes: Mapping[str, int]


class ProbeDirectory:
    """Its `results` are read by other threads: they hold `lock`. All else is for one thread."""

    def __init__(
        self,
        path: Path,
        profiles: Sequence[Profile],
        *,
        schedule: ProbeSchedule,
        context: ProbeContext,
        clock: Clock,
        rounds: RoundHistory,
    ) -> None:
        self.path = path
        self.schedule = schedule
        self.load = ProductionLoad()
        self.results = DirectoryResults({each.name: ProfileResults(each) for each in profiles})
        self.location: Location | None = None
        self.lock = threading.RLock()
        self._context = context
        self._clock = clock
        self._rounds = rounds
        self._share_rules = HostShareRules()

    @property
    def drive(self) -> str:
        """Under which the drives are known to the budget."""
        assert self.location is not None
        leaves = self.location.leaves or (self.location.device,)
        return "+".join(map(self._context.identity, leaves))

    @property
    def file(self) -> str:
        assert self.location is not None
        return f"ssd-exporter-probe-{self.location.device.replace('/', '!')}"

    @property
    def rated_bytes(self) -> float | None:
        """The least that a drive below is rated for; None where none is configured."""
        assert self.location is not None
        rated = (self._context.rated_bytes.get(leaf) for leaf in self.location.leaves)
        return min((each for each in rated if each is not None), default=None)

    @property
    def is_known(self) -> bool:
        """Whether there has been time to find out what the gate asks for; not so at a start."""
        if self._context.topology() is None:
            return False
        return self.location is None or self.load.ratios().busy_ratio is not None

    def locate(self) -> None:
        """Find out where the directory lies.

        Raises:
            ReadError: it cannot be told.
        """
        topology = self._context.topology()
        if topology is None:
            raise ReadError("the devices of this host are not known yet")
        place = location.locate(self.path, topology, self._context.proc)
        if self.location is None or place.device != self.location.device:
            self.load.clear()
        self.location = place
        with self.lock:
            self.results.device, self.results.fstype = place.device, place.fstype
            self.results.mountpoint = place.mountpoint
            for each in self.results.profiles.values():
                if each.steady is None:
                    latency = results.is_latency_judged(each.profile)
                    key = self._key(each.profile, each.profile.engine.value)
                    each.steady = self._rounds.known(key, lower_is_better=latency)

    def record_load(self) -> None:
        """Remember how much the device has been busy until now."""
        if self.location is None:
            return
        note = LoadSample(
            self._clock.monotonic(),
            self._context.busy_seconds(self.location.device),
            production_load.host_waiting_seconds(self._context.proc),
            production_load.stalled_seconds(self._groups()),
        )
        self.load.add(note)

    def gate_state(self, profile: Profile, *, copy_on_write: bool) -> GateState:
        """What is known for the gate but the budget and the locks.

        Raises:
            ReadError: the filesystem cannot be looked at.
        """
        assert self.location is not None
        topology = self._context.topology()
        space = location.free_space(self.path)
        drive_condition = self._context.drive_condition(self.location.leaves)
        return replace(
            self.load.ratios(),
            unsuitable=self.location.unsuitable(copy_on_write=copy_on_write),
            is_rebuilding=topology is not None and location.is_rebuilding(self.location, topology),
            host_uptime_seconds=self._clock.boottime(),
            writes=profile.writes,
            endurance_used_ratio=drive_condition.endurance_used_ratio,
            temperature_celsius=drive_condition.temperature_celsius,
            warning_celsius=drive_condition.warning_celsius,
            missing_bytes=probe_file.missing_bytes(self.path, self.file, profile.size_bytes),
            size_bytes=space.size_bytes,
            avail_bytes=space.avail_bytes,
            avail_inodes=space.avail_inodes,
            skips=self.results.profiles[profile.name].skips,
        )

    def guard_sampler(self, profiles: Sequence[Profile]) -> GuardSampler:
        """What looks on while these run."""
        assert self.location is not None
        leaves = self.location.leaves

        def heat() -> DriveTemperature:
            drive_condition = self._context.drive_condition(leaves)
            return drive_condition.temperature_celsius, drive_condition.warning_celsius

        celsius, warning = heat()
        start = GuardSample(
            own_in_flight=max((each.depth * each.jobs for each in profiles), default=1),
            temperature_celsius=celsius,
            warning_celsius=warning,
        )
        return GuardSampler(
            self._context.proc, self._groups(), self.location.device, start, self._clock, heat=heat
        )

    def avail_bytes(self) -> int | None:
        try:
            return location.free_space(self.path).avail_bytes
        except ReadError:
            return None

    def record_skip(self, name: str, skip: Skip) -> None:
        """A profile was due and does not run."""
        with self.lock:
            found = self.results.profiles[name]
            found.skipped[skip.reason] += 1
            found.skips = found.skips + 1 if skip.is_for_load else 0

    def record_charge(self, charged_bytes: int) -> None:
        with self.lock:
            self.results.written_bytes += charged_bytes

    def record_budget(self, limits: WriteLimits, left: WriteLimits) -> None:
        with self.lock:
            self.results.limits, self.results.left = limits, left

    def record_run(self, ended: RunOutcome, profiles: Sequence[Profile]) -> None:
        """A run of these profiles is over."""
        # What was noted meanwhile is the probe's own load.
        self.load.clear()
        with self.lock:
            for profile in profiles:
                self._record_profile(ended, profiles, profile)

    def _record_profile(
        self, ended: RunOutcome, profiles: Sequence[Profile], profile: Profile
    ) -> None:
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
        found.record_job(job)
        share = host_share_of_run(ended, profiles, profile.name, self._share_rules)
        found.host_share_ratio = share
        value = results.round_value(profile, job)
        if value is not None:
            found.steady = self._rounds.add(
                self._key(profile, found.engine),
                Round(now, value, is_host_limited(share, self._share_rules)),
                lower_is_better=results.is_latency_judged(profile),
            )

    def _key(self, profile: Profile, engine: str) -> str:
        topology = self._context.topology()
        device = topology.devices.get(self.results.device) if topology else None
        firmware = (device.identity.firmware if device else None) or ""
        return results.series_key(self.drive, firmware, profile, engine)

    def _groups(self) -> tuple[Path, ...]:
        topology = self._context.topology()
        names = [server.cgroup for server in topology.servers] if topology else []
        return production_load.cgroup_paths(self._context.sys, names)
