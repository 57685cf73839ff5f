"""A simulated host with one drive and a directory to probe, and a fake fio."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import MIB, ON_BY_DEFAULT, PROFILES, Profile
from exporter.io.probe_windows import ProbeWindows
from exporter.linux import topology
from exporter.linux.mysql.mysqld import MysqlServer
from exporter.linux.topology import Topology
from exporter.probe.budget import DAY_BYTES, ProbeBudget
from exporter.probe.fio import Fio
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.probe_directory import DriveCondition, ProbeContext, ProbeDirectory
from exporter.probe.results import ProfileResults, RoundHistory
from exporter.probe.schedule import ProbeSchedule
from exporter.probe.scheduler import ProbeScheduler
from exporter.probe.slot import ProbeTools
from exporter.programs.child import End, Finished
from exporter.runtime.collector_status import CollectorStatus
from tests.end_to_end.host import Host
from tests.fakes import FakeClock
from tests.probe import fio_reports

FIRST = 600.0

#: Returns the end of a run of these profiles.
Answer = Callable[[Sequence[Profile]], Finished]


def good(profiles: Sequence[Profile], mean: int = 100_000) -> Finished:
    """Returns a successful run with `mean` nanoseconds per operation."""
    jobs = []
    for profile in profiles:
        count = profile.operations_at_most
        timed = fio_reports.direction({mean: count}, profile.block_bytes)
        if profile.name == "fsync":
            syncs = {"total_ios": 0, "lat_ns": fio_reports.latency({mean: count - 1})}
            jobs.append(fio_reports.job("fsync", write=timed, sync=syncs))
        else:
            op = "write" if profile.writes else "read"
            jobs.append(fio_reports.job(profile.name, **{op: timed}))
    return Finished("fio", End.EXITED, 0, fio_reports.printed(*jobs))


class FakeFio:
    """A fake fio that runs for `seconds` and ends with `answer`. Each wait calls `meanwhile`."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.answer: Answer = good
        self.available: frozenset[str] | None = frozenset({"psync", "libaio"})
        self.seconds = 0.0
        self.meanwhile: Callable[[], None] = lambda: None
        self.ran: list[tuple[str, ...]] = []
        self.files: list[Path] = []
        self.problem = "fio: not found"
        self.is_stuck = False
        self.ended = 0
        self._profiles: Sequence[Profile] = ()
        self._until = 0.0

    def engines(self) -> frozenset[str] | None:
        return self.available

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        self.ran.append(tuple(profile.name for profile in profiles))
        self.files.append(file)
        self._profiles, self._until = profiles, self._clock.monotonic() + self.seconds
        return None

    def wait(self, seconds: float) -> Finished | None:
        self.meanwhile()
        if self.ended:
            return Finished("fio", End.TIMED_OUT, 128, b"\nfio: terminating on signal 15\n")
        if self._clock.monotonic() >= self._until:
            return self.answer(self._profiles)
        self._clock.advance(seconds)
        return None

    def end(self) -> None:
        self.ended += 1

    def close(self) -> None:
        self.end()


class Rig:
    """The probes of a daemon on the simulated host. Calling `begin` again restarts the daemon.

    program: used instead of the fake fio after the next `begin`.
    """

    def __init__(self, place: Path, rules: GateRules | None = None) -> None:
        self.host = Host(place)
        self.host.disk("nvme0n1", 0)
        self.host.write("2/comm", "kthreadd\n")
        self.host.diskstats(["nvme0n1"])
        self.path = place / "probe"
        self.mount()
        self.state = place / "state"
        self.state.mkdir()
        self.clock = FakeClock(monotonic=10_000.0)
        self.fio = FakeFio(self.clock)
        self.program: Fio | None = None
        self.boot_id = "boot"
        self.day_bytes = DAY_BYTES
        self.rated: dict[str, int] = {}
        self.rules = rules or GateRules(free_bytes=0, free_ratio=0.0)
        self.profiles = [replace(PROFILES[name], size_bytes=2 * MIB) for name in ON_BY_DEFAULT]
        self.busy_seconds: float | None = 0.0
        self.drive_condition = DriveCondition()
        self.kept: object = None
        self.servers: tuple[MysqlServer, ...] = ()
        self.begin()

    def mount(self, fstype: str = "ext4", options: str = "rw", source: str = "259:0") -> None:
        text = f"36 35 {source} / / rw - {fstype} /dev/nvme0n1 {options}\n"
        self.host.write("self/mountinfo", text)

    def topology(self) -> Topology:
        return topology.read(self.host.sys.root, self.host.proc, Path("/nonexistent")).value

    def begin(self, *paths: Path) -> "Rig":
        """Start the daemon. paths: the probed directories; the default is `path`."""
        seen = replace(self.topology(), servers=self.servers)
        self.context = ProbeContext(
            proc=self.host.proc,
            sys=self.host.sys.root,
            topology=lambda: seen,
            busy_seconds=lambda _device: self.busy_seconds,
            identity=lambda device: f"serial of {device}",
            drive_condition=lambda _drives: self.drive_condition,
            rated_bytes=self.rated,
        )
        self.rounds = RoundHistory(self.kept)
        first = self.clock.monotonic() + FIRST
        self.directories = [
            ProbeDirectory(
                path,
                self.profiles,
                schedule=ProbeSchedule(self.profiles, first),
                context=self.context,
                clock=self.clock,
                rounds=self.rounds,
            )
            for path in paths or (self.path,)
        ]
        self.windows = ProbeWindows()
        self._rated_of_drives: dict[str, float] = {}
        self.collector_status = CollectorStatus(self.clock)
        self.probe = ProbeScheduler(
            self.directories,
            self._tools,
            self.rules,
            clock=self.clock,
            collector_status=self.collector_status,
            copy_on_write=False,
            rated_bytes=self._rated_of_drives,
        )
        return self

    def _tools(self) -> ProbeTools:
        self.budget = ProbeBudget(
            self.state, self.clock, self.boot_id, self.day_bytes, self._rated_of_drives
        )
        self.lock = HostLock((self.state,))
        fio, pid_file = self.program or self.fio, ProbePidFile(self.state)
        return ProbeTools(fio, self.budget, self.lock, pid_file, self.windows)

    def run(self, seconds: float = FIRST, sampled: float = 10.0) -> None:
        """Advance the clock by `seconds` and run; sample the load `sampled` seconds before."""
        self.clock.advance(seconds - sampled)
        for each in self.directories:
            each.locate()
            each.record_load()
        self.clock.advance(sampled)
        self.probe.run_due()

    def run_unfit(self) -> None:
        """Run the first slot of a directory whose load cannot be sampled.

        The scheduler has waited for the load in vain.
        """
        self.clock.advance(FIRST + 60.0)
        self.probe.run_due()

    def of(self, name: str) -> ProfileResults:
        return self.directories[0].results.profiles[name]

    def skipped(self, name: str = "fsync") -> dict[Reason, int]:
        return {reason: count for reason, count in self.of(name).skipped.items() if count}

    def runs(self, name: str = "fsync") -> dict[ProfileResult, int]:
        return {result: count for result, count in self.of(name).runs.items() if count}

    def spent(self) -> dict[str, int]:
        kept = json.loads((self.state / "probe-budget.json").read_text())
        assert kept["reservation"] is None
        return {drive: each["day_bytes"] for drive, each in kept["spent"].items()}
