"""Manages one directory in which probes run.

It finds the directory's drives, reads their state and load, and records the results of probes.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.config.profiles import Profile
from exporter.drives.health import DriveHealth
from exporter.linux.mysql.mysqld import MysqlServer
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
from exporter.probe.gate import GateState, GuardSample, Skip, is_load
from exporter.probe.location import Location
from exporter.probe.production_load import (
    DriveTemperature,
    GuardSampler,
    LoadSample,
    ProductionLoad,
)
from exporter.probe.results import DirectoryResults, ProfileResults, Round, RoundHistory
from exporter.probe.schedule import ProbeSchedule
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ReadError

#: A filling of at most this many bytes runs at its limited rate although a server without pressure
#: information waits for I/O. It is the file of the default profiles, which is written once.
_BRIEF_FILL_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class DriveCondition:
    """The wear and the temperature of the drives of a directory. None means unknown.

    endurance_used_ratio: the value of the most worn drive; 1.0 is its rated endurance.
    temperature_celsius: the temperature of the drive that is closest to its limit.
    warning_celsius: the warning temperature of the same drive; None if it reports none.
    """

    endurance_used_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None


def worst_condition(drives: Iterable[DriveHealth | None], hot_celsius: float) -> DriveCondition:
    """Returns the largest wear of the drives, and the temperature that is closest to its limit.

    drives: the health of each drive; None means unknown.
    hot_celsius: the limit for a drive that reports no warning temperature.
    """
    known = [health for health in drives if health is not None]
    used = [drive.endurance.used_ratio for drive in known if drive.endurance is not None]

    def margin_celsius(health: DriveHealth) -> float:
        limit = health.temperature_warning_celsius
        return (hot_celsius if limit is None else limit) - health.temperatures["drive"]

    hottest = min(
        (drive for drive in known if drive.temperatures.get("drive") is not None),
        key=margin_celsius,
        default=None,
    )
    return DriveCondition(
        max(used, default=None),
        hottest.temperatures["drive"] if hottest else None,
        hottest.temperature_warning_celsius if hottest else None,
    )


@dataclass(frozen=True, slots=True)
class ProbeContext:
    """The paths, functions and configured values of the host that all probe directories use.

    proc, sys: the mount points of procfs and sysfs.
    topology: returns the drives and filesystems of the host; None means not read yet.
    busy_seconds: returns how long a device was busy since the daemon's sampler of disk counters
        started, in seconds; None means unknown.
    identity: returns the identity of a device, which stays equal if the device's name changes.
    drive_condition: returns the largest wear, and the temperature closest to its limit, of the
        drives with these device names.
    rated_bytes: the configured rated endurance in bytes, keyed by device name.
    """

    proc: Path
    sys: Path
    topology: Callable[[], Topology | None]
    busy_seconds: Callable[[str], float | None]
    identity: Callable[[str], str]
    drive_condition: Callable[[Sequence[str]], DriveCondition]
    rated_bytes: Mapping[str, int]


class ProbeDirectory:
    """Manages one directory in which probes run.

    Use it on one thread. Other threads may read `results` while they hold `lock`.

    path: the directory.
    profiles: the profiles of the probes in the directory.
    schedule: the times at which the profiles are due.
    rounds: the values of recent runs, from which the steady state is computed.
    load (attribute): the recent load of production on the device.
    results (attribute): the results of all profiles.
    location (attribute): the filesystem and the drives; None before the first successful `locate`.
    """

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
        self.results = DirectoryResults(
            {profile.name: ProfileResults(profile) for profile in profiles}
        )
        self.location: Location | None = None
        self.lock = threading.RLock()
        self._context = context
        self._clock = clock
        self._rounds = rounds
        self._share_rules = HostShareRules()

    @property
    def drive(self) -> str:
        """The key in the budget: the identities of the directory's drives, joined by "+"."""
        assert self.location is not None
        leaves = self.location.leaves or (self.location.device,)
        return "+".join(map(self._context.identity, leaves))

    @property
    def file(self) -> str:
        """The name of the file that the probes read and write."""
        assert self.location is not None
        return f"ssd-exporter-probe-{self.location.device.replace('/', '!')}"

    @property
    def rated_bytes(self) -> float | None:
        """The lowest configured rated endurance of the directory's drives, in bytes.

        None means that no rated endurance is configured for them.
        """
        assert self.location is not None
        rated = (self._context.rated_bytes.get(leaf) for leaf in self.location.leaves)
        return min((value for value in rated if value is not None), default=None)

    @property
    def is_observed(self) -> bool:
        """True if enough is known to decide whether a probe may run.

        The topology must be known and, if the directory was located, also the device's load.
        """
        if self._context.topology() is None:
            return False
        return self.location is None or self.load.ratios().busy_ratio is not None

    def locate(self) -> None:
        """Finds the filesystem and the drives of the directory, and sets `location`.

        The steady state of a profile without one is set from the values of runs before the start of
        the daemon.

        Raises:
            ReadError: the filesystem or its drives cannot be determined.
        """
        topology = self._context.topology()
        if topology is None:
            raise ReadError("the devices of this host are not known yet")
        located = location.locate(self.path, topology, self._context.proc)
        if self.location is None or located.device != self.location.device:
            self.load.clear()
        self.location = located
        with self.lock:
            self.results.device, self.results.fstype = located.device, located.fstype
            self.results.mountpoint = located.mountpoint
            for result in self.results.profiles.values():
                if result.steady_state is None:
                    key = self._series_key(result.profile, result.profile.engine.value)
                    lower_is_better = results.is_latency_judged(result.profile)
                    result.steady_state = self._rounds.known(key, lower_is_better=lower_is_better)

    def record_load(self) -> None:
        """Adds a sample of the load of production. Does nothing before `locate` has succeeded."""
        if self.location is None:
            return
        self.load.add(
            LoadSample(
                self._clock.monotonic(),
                self._context.busy_seconds(self.location.device),
                production_load.host_waiting_seconds(self._context.proc),
                production_load.stalled_seconds(self._cgroups()),
            )
        )

    def gate_state(self, profile: Profile, *, copy_on_write: bool) -> GateState:
        """Returns the state from which `gate` decides whether a profile may run.

        The caller adds the budget and the locks.

        copy_on_write: the operator allows probes on copy-on-write filesystems.

        Raises:
            ReadError: the filesystem cannot be read.
        """
        assert self.location is not None
        topology = self._context.topology()
        space = location.free_space(self.path)
        condition = self._context.drive_condition(self.location.leaves)
        return replace(
            self.load.ratios(),
            unsuitable=self.location.unsuitable(copy_on_write=copy_on_write),
            is_rebuilding=topology is not None and location.is_rebuilding(self.location, topology),
            host_uptime_seconds=self._clock.boottime(),
            writes=profile.writes,
            endurance_used_ratio=condition.endurance_used_ratio,
            temperature_celsius=condition.temperature_celsius,
            warning_celsius=condition.warning_celsius,
            missing_bytes=probe_file.missing_bytes(self.path, self.file, profile.size_bytes),
            size_bytes=space.size_bytes,
            avail_bytes=space.avail_bytes,
            avail_inodes=space.avail_inodes,
            skips=self.results.profiles[profile.name].skips,
            aborts=self.results.profiles[profile.name].aborts,
            unguarded=""
            if profile.is_rate_capped
            else production_load.unguarded_reason(
                self._context.proc, self._context.sys, self._servers()
            ),
        )

    def guard_sampler(self, profiles: Sequence[Profile], fill_bytes: int = 0) -> GuardSampler:
        """Returns a new sampler that measures the device while these profiles run.

        `guard` decides from these samples whether the run must be ended.

        profiles: the profiles; empty means that the file is being filled. The samples are then
            taken after a sync, when no request of the filling is in flight.
        fill_bytes: the number of bytes of the filling.
        """
        assert self.location is not None
        leaves = self.location.leaves
        queue = self._context.sys / "block" / self.location.device.replace("/", "!") / "queue"

        def temperature() -> DriveTemperature:
            condition = self._context.drive_condition(leaves)
            return condition.temperature_celsius, condition.warning_celsius

        celsius, warning = temperature()
        start = GuardSample(
            own_in_flight=max(
                (
                    production_load.requests_in_flight(p.depth * p.jobs, p.block_bytes, queue)
                    for p in profiles
                ),
                default=1,
            ),
            temperature_celsius=celsius,
            warning_celsius=warning,
        )
        return GuardSampler(
            self._context.proc,
            self._cgroups(),
            self.location.device,
            start,
            self._clock,
            temperature=temperature,
            # Also for a probe with a rate limit: a hundred commits per second are a large share of
            # a slow volume.
            servers=tuple(server.pid for server in self._servers())
            if fill_bytes > _BRIEF_FILL_BYTES or profiles
            else (),
        )

    def avail_bytes(self) -> int | None:
        """Returns the free space of the filesystem in bytes; None if it cannot be read."""
        try:
            return location.free_space(self.path).avail_bytes
        except ReadError:
            return None

    def record_skip(self, name: str, skip: Skip) -> None:
        """Records that a profile was due but does not run.

        name: the name of the profile.
        """
        with self.lock:
            result = self.results.profiles[name]
            result.skipped[skip.reason] += 1
            result.skips = result.skips + 1 if skip.is_for_load else 0

    def record_charge(self, charged_bytes: int) -> None:
        """Adds the bytes of a run or a filling to the written bytes in the results."""
        with self.lock:
            self.results.written_bytes += charged_bytes

    def record_budget(self, limits: WriteLimits, left: WriteLimits) -> None:
        """Records in the results how many bytes probes may write, and how many of them remain."""
        with self.lock:
            self.results.limits, self.results.left = limits, left

    def record_run(self, outcome: RunOutcome, profiles: Sequence[Profile]) -> None:
        """Records the results of a run of these profiles."""
        # The samples during the run contain the load of the probe itself.
        self.load.clear()
        with self.lock:
            for profile in profiles:
                self._record_profile(outcome, profiles, profile)

    def _record_profile(
        self, outcome: RunOutcome, profiles: Sequence[Profile], profile: Profile
    ) -> None:
        now = self._clock.wall()
        results_of_profile = self.results.profiles[profile.name]
        result = outcome.result_of(profile.name)
        results_of_profile.runs[result] += 1
        results_of_profile.last_run_at, results_of_profile.last_run_profile = now, profile
        results_of_profile.was_aborted = result is ProfileResult.ABORTED
        if not results_of_profile.was_aborted:
            # After an abort the count stays, so that a host that is always busy gets another
            # minimal run soon.
            results_of_profile.skips = results_of_profile.aborts = 0
        elif outcome.reason is not None and is_load(outcome.reason):
            results_of_profile.aborts += 1
        if outcome.run is not None:
            results_of_profile.fio_version = outcome.run.fio_version
            results_of_profile.engine = profile.engine.value
        if outcome.reason is not None:
            results_of_profile.skipped[outcome.reason] += 1
        job = outcome.job(profile.name)
        if result is not ProfileResult.SUCCESS or job is None:
            return
        results_of_profile.last_success_at = now
        results_of_profile.record_job(job)
        share = host_share_of_run(outcome, profiles, profile.name, self._share_rules)
        results_of_profile.host_share_ratio = share
        value = results.round_value(profile, job)
        if value is not None:
            results_of_profile.steady_state = self._rounds.add(
                self._series_key(profile, results_of_profile.engine),
                Round(now, value, is_host_limited(share, self._share_rules)),
                lower_is_better=results.is_latency_judged(profile),
            )

    def _series_key(self, profile: Profile, engine: str) -> str:
        topology = self._context.topology()
        device = topology.devices.get(self.results.device) if topology else None
        firmware = (device.identity.firmware if device else None) or ""
        return results.series_key(self.drive, firmware, profile, engine)

    def _servers(self) -> tuple[MysqlServer, ...]:
        topology = self._context.topology()
        return topology.servers if topology else ()

    def _cgroups(self) -> tuple[Path, ...]:
        names = [server.cgroup for server in self._servers()]
        return production_load.cgroup_paths(self._context.sys, names)
