"""One directory that is probed: what it needs for a run, and what has come of the runs."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.background import probe_load, probe_place, probe_rounds
from exporter.background.probe_ledger import Limits
from exporter.background.probe_load import Heat, Load, Note, Watch
from exporter.background.probe_place import Place
from exporter.background.probe_results import DirectoryResults, ProfileResults
from exporter.background.probe_rounds import Round, Rounds
from exporter.background.probe_run import Ended, Result, share_outside
from exporter.background.probe_schedule import Schedule
from exporter.clock import Clock
from exporter.diagnosis.host_share import HostShareRules, is_host_limited
from exporter.diagnosis.probe_gate import GateState, Skip
from exporter.diagnosis.probe_guard import GuardSample
from exporter.errors import ReadError
from exporter.linux.topology import Topology
from exporter.tools import direct_read, probe_file
from exporter.tools.fio_profiles import Profile


@dataclass(frozen=True, slots=True)
class Fitness:
    """Wear and heat of the drives below, the worst of each; None is not known."""

    endurance_used_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
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
    fitness: Callable[[Sequence[str]], Fitness]
    rated_bytes: Mapping[str, int]


class ProbeDirectory:
    """Its `results` are read by other threads: they hold `lock`. All else is for one thread."""

    def __init__(
        self,
        path: Path,
        profiles: Sequence[Profile],
        *,
        schedule: Schedule,
        around: Surroundings,
        clock: Clock,
        rounds: Rounds,
    ) -> None:
        self.path = path
        self.schedule = schedule
        self.load = Load()
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
        place = probe_place.read(self.path, topology, self._around.proc)
        if self.place is None or place.device != self.place.device:
            self.load.clear()
        self.place = place
        with self.lock:
            self.results.device, self.results.fstype = place.device, place.fstype
            self.results.mountpoint = place.mountpoint
            for each in self.results.profiles.values():
                if each.steady is None:
                    latency = probe_rounds.is_latency(each.profile)
                    key = self._key(each.profile, each.profile.engine.value)
                    each.steady = self._rounds.known(key, lower_is_better=latency)

    def note_load(self) -> None:
        """Remember how much the device has been busy until now."""
        if self.place is None:
            return
        note = Note(
            self._clock.monotonic(),
            self._around.busy_seconds(self.place.device),
            probe_load.host_waiting(self._around.proc),
            probe_load.stalled(self._groups()),
        )
        self.load.note(note)

    def gate_state(self, profile: Profile, *, copy_on_write: bool) -> GateState:
        """What is known for the gate but the budget and the locks.

        Raises:
            ReadError: the filesystem cannot be looked at.
        """
        assert self.place is not None
        topology = self._around.topology()
        space = probe_place.space(self.path)
        fitness = self._around.fitness(self.place.leaves)
        return replace(
            self.load.of(),
            unfit=self.place.unfit(copy_on_write=copy_on_write),
            is_rebuilding=topology is not None and probe_place.is_rebuilding(self.place, topology),
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

    def watch(self, profiles: Sequence[Profile]) -> Watch:
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
        return Watch(
            self._around.proc, self._groups(), self.place.device, start, self._clock, heat=heat
        )

    def avail_bytes(self) -> int | None:
        try:
            return probe_place.space(self.path).avail_bytes
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

    def note_budget(self, limits: Limits, left: Limits) -> None:
        with self.lock:
            self.results.limits, self.results.left = limits, left

    def take(self, ended: Ended, profiles: Sequence[Profile]) -> None:
        """A run of these profiles is over."""
        # What was noted meanwhile is the probe's own load.
        self.load.clear()
        with self.lock:
            for profile in profiles:
                self._take(ended, profiles, profile)

    def _take(self, ended: Ended, profiles: Sequence[Profile], profile: Profile) -> None:
        now = self._clock.wall()
        found = self.results.profiles[profile.name]
        result = ended.result_of(profile.name)
        found.runs[result] += 1
        found.last_run_at, found.ran, found.skips = now, profile, 0
        if ended.run is not None:
            found.fio_version = ended.run.fio_version
            found.engine = profile.engine.value if found.fio_version else direct_read.ENGINE
        if ended.reason is not None:
            found.skipped[ended.reason] += 1
        job = ended.job(profile.name)
        if result is not Result.SUCCESS or job is None:
            return
        found.last_success_at = now
        found.take(job)
        share = share_outside(ended, profiles, profile.name, self._share_rules)
        found.host_share_ratio = share
        value = probe_rounds.measured(profile, job)
        if value is not None:
            found.steady = self._rounds.add(
                self._key(profile, found.engine),
                Round(now, value, is_host_limited(share, self._share_rules)),
                lower_is_better=probe_rounds.is_latency(profile),
            )

    def _key(self, profile: Profile, engine: str) -> str:
        topology = self._around.topology()
        device = topology.devices.get(self.results.device) if topology else None
        firmware = (device.identity.firmware if device else None) or ""
        return probe_rounds.key(self.drive, firmware, profile, engine)

    def _groups(self) -> tuple[Path, ...]:
        topology = self._around.topology()
        names = [server.cgroup for server in topology.servers] if topology else []
        return probe_load.groups_of(self._around.sys, names)
