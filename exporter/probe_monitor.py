"""Builds the scheduler of the probes of one host, and returns the samples of their results.

It starts no thread: the daemon does. The module is imported only if probe.directory is set, to save
memory.
"""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.config import Settings
from exporter.drives.health import DriveHealth
from exporter.linux import files
from exporter.linux.topology import Topology
from exporter.metrics import probe_collector, smart_collector
from exporter.metrics.desc import Sample
from exporter.probe import profiles
from exporter.probe.budget import ProbeBudget
from exporter.probe.fio import Fio, SystemFio
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.probe_directory import (
    DriveCondition,
    ProbeContext,
    ProbeDirectory,
    worst_condition,
)
from exporter.probe.profiles import Profile
from exporter.probe.results import ProbeWindows, RoundHistory
from exporter.probe.schedule import ProbeSchedule, splayed_delay
from exporter.probe.scheduler import ProbeScheduler
from exporter.probe.slc_watch import SLC_PROFILE as SLC
from exporter.probe.slc_watch import ScheduledSlc
from exporter.probe.slot import ProbeTools
from exporter.programs.command import Runner
from exporter.smart.polling_plan import rated_bytes

#: The directory of the host's probe lock, below the host's root directory. All instances share it,
#: also those in containers.
_LOCK_DIRECTORY = "run/lock"


class ProbeMonitor:
    """The scheduled probes of one host.

    state_directory: contains the budget, the pid file and, without a shared directory, the lock.
    saved: the value that `to_state` returned in an earlier run; any value from a damaged file.
    windows: receives the times at which probes run.
    busy_seconds: returns the busy time of a device in seconds; None if unknown.
    identity: returns the identity of a device, which survives a change of its name.
    health: returns the health of a drive; None if unknown.
    fio: replaces the real fio in tests.
    probe: the scheduler.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        *,
        runner: Runner,
        boot_id: str,
        state_directory: Path,
        saved: Any,
        windows: ProbeWindows,
        topology: Callable[[], Topology | None],
        busy_seconds: Callable[[str], float | None],
        identity: Callable[[str], str],
        health: Callable[[str], DriveHealth | None],
        fio: Callable[[], Fio] | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._boot_id = boot_id
        self._state_directory = state_directory
        self._health = health
        self._runner = runner
        self._fio = fio
        saved_values = saved if isinstance(saved, Mapping) else {}
        saved_times = saved_values.get("ran_at")
        self._rounds = RoundHistory(saved_values.get("rounds"))
        self._rated: dict[str, float] = {}
        self.windows = windows
        context = ProbeContext(
            proc=settings.path.procfs,
            sys=settings.path.sysfs,
            topology=topology,
            busy_seconds=busy_seconds,
            identity=identity,
            drive_condition=self._drive_condition,
            rated_bytes=rated_bytes(settings),
        )
        configuration = settings.probe
        chosen = [
            profiles.configured(name, configuration.profile)
            # WatchedFio watches the last profile of a slot, so `slc` comes last.
            for name in sorted(configuration.profiles, key=lambda name: name == SLC)
        ]
        delay = splayed_delay(configuration.first_delay_seconds, _host(settings))
        first = clock.monotonic() + delay
        self._directories = [
            ProbeDirectory(
                path,
                chosen,
                schedule=ProbeSchedule(chosen, first, self._run_ages(saved_times, path, chosen)),
                context=context,
                clock=clock,
                rounds=self._rounds,
            )
            for path in configuration.directory
        ]
        self._slc = ScheduledSlc(
            state_directory,
            self._directories,
            clock=clock,
            proc=settings.path.procfs,
            topology=topology,
            identity=identity,
        )
        self.probe = ProbeScheduler(
            self._directories,
            self._tools,
            configuration.gate,
            clock=clock,
            collector_status=collector_status,
            copy_on_write=configuration.copy_on_write,
            rated_bytes=self._rated,
        )

    def samples(self) -> Iterator[Sample]:
        """Returns the results of all directories, and the number of stuck fio processes."""
        yield from smart_collector.agent_samples({"fio": self.probe.stuck}, None)
        devices: set[str] = set()
        for directory in self._directories:
            with directory.lock:
                device = directory.results.device
                # A second directory of a drive is not probed and has no results.
                if device not in devices:
                    is_running = self.windows.is_running(device)
                    yield from probe_collector.samples(directory.results, is_running=is_running)
                devices.add(device)

    def to_state(self) -> dict[str, object]:
        """Returns JSON values for the state file: recent rounds, and when each profile ran."""
        ran_at: dict[str, dict[str, float]] = {}
        for directory in self._directories:
            with directory.lock:
                ran_at[str(directory.path)] = {
                    name: results.last_run_at
                    for name, results in directory.results.profiles.items()
                    if results.last_run_at is not None
                }
                rounds = self._rounds.to_state()
        return {"rounds": rounds, "ran_at": ran_at}

    def _tools(self) -> ProbeTools:
        settings = self._settings
        lock_directory = settings.path.rootfs / _LOCK_DIRECTORY
        fio = self._fio() if self._fio else SystemFio(settings.path.fio, self._runner, self._clock)
        return ProbeTools(
            self._slc.watched(fio),
            ProbeBudget(
                self._state_directory,
                self._clock,
                self._boot_id,
                settings.probe.budget_bytes_per_day,
                self._rated,
            ),
            HostLock((lock_directory, self._state_directory)),
            ProbePidFile(self._state_directory),
            self.windows,
        )

    def _drive_condition(self, drives: Sequence[str]) -> DriveCondition:
        return worst_condition(map(self._health, drives), self._settings.probe.gate.hot_celsius)

    def _run_ages(
        self, saved_times: Any, path: Path, profiles: Sequence[Profile]
    ) -> dict[str, float]:
        """Returns the seconds since the last run of each profile that ran, by profile name."""
        of_directory = saved_times.get(str(path)) if isinstance(saved_times, Mapping) else None
        times = of_directory if isinstance(of_directory, Mapping) else {}
        now = self._clock.wall()
        ages: dict[str, float] = {}
        for profile in profiles:
            ran_at = times.get(profile.name)
            if isinstance(ran_at, int | float) and not isinstance(ran_at, bool):
                ages[profile.name] = now - ran_at
        return ages


def _host(settings: Settings) -> str:
    """Returns a string that identifies the host."""
    return files.read_attribute(settings.path.rootfs / "etc/machine-id") or platform.node()
