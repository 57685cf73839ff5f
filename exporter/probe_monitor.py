"""Assembles the scheduled probes of one host. Starts no threads and uses no network.

Imported only if probe.directory is set, to save memory.
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

#: Below the host's root directory: all instances share it, those in containers too.
_LOCK_DIRECTORY = "run/lock"


class ProbeMonitor:
    """The scheduler (`probe`), its directories and results, and when probes ran (`windows`).

    state: the directory of the budget, the pid file and the lock. kept: an earlier result of
    `to_keep`. health: returns a drive's health, None if unknown. fio: called on the probes' thread.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        *,
        runner: Runner,
        boot_id: str,
        state: Path,
        kept: Any,
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
        self._state = state
        self._health = health
        self._runner = runner
        self._fio = fio
        found = kept if isinstance(kept, Mapping) else {}
        self._rounds = RoundHistory(found.get("rounds"))
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
                schedule=ProbeSchedule(chosen, first, self._ago(found.get("ran_at"), path, chosen)),
                context=context,
                clock=clock,
                rounds=self._rounds,
            )
            for path in configuration.directory
        ]
        self._slc = ScheduledSlc(
            state,
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
        """Yields the results of all directories, and the number of stuck fio processes."""
        yield from smart_collector.agent_samples({"fio": self.probe.stuck}, None)
        seen: set[str] = set()
        for each in self._directories:
            with each.lock:
                device = each.results.device
                # A second directory of a drive is not probed and has no results.
                if device not in seen:
                    is_running = self.windows.is_running(device)
                    yield from probe_collector.samples(each.results, is_running=is_running)
                seen.add(device)

    def to_state(self) -> dict[str, object]:
        """Returns JSON values for the state file."""
        ran_at: dict[str, dict[str, float]] = {}
        for each in self._directories:
            with each.lock:
                ran_at[str(each.path)] = {
                    name: found.last_run_at
                    for name, found in each.results.profiles.items()
                    if found.last_run_at is not None
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
                self._state,
                self._clock,
                self._boot_id,
                settings.probe.budget_bytes_per_day,
                self._rated,
            ),
            HostLock((lock_directory, self._state)),
            ProbePidFile(self._state),
            self.windows,
        )

    def _drive_condition(self, drives: Sequence[str]) -> DriveCondition:
        return worst_condition(map(self._health, drives), self._settings.probe.gate.hot_celsius)

    def _ago(self, kept: Any, path: Path, profiles: Sequence[Profile]) -> dict[str, float]:
        found = kept.get(str(path)) if isinstance(kept, Mapping) else None
        now = self._clock.wall()
        ran_at = found if isinstance(found, Mapping) else {}
        ago: dict[str, float] = {}
        for profile in profiles:
            at = ran_at.get(profile.name)
            if isinstance(at, int | float) and not isinstance(at, bool):
                ago[profile.name] = now - at
        return ago


def _host(settings: Settings) -> str:
    """Returns a string that identifies the host."""
    return files.read_attribute(settings.path.rootfs / "etc/machine-id") or platform.node()
