"""Builds the scheduler of the host's probes from the settings.

A probe is a short run of fio that measures a drive. This module starts no thread; the daemon calls
the scheduler on its own thread. To save memory, the daemon imports this module only if the setting
probe.directory is set.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exporter.config import profiles
from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.drives.health import DriveHealth
from exporter.io.probe_windows import ProbeWindows
from exporter.linux import files
from exporter.linux.topology import Topology
from exporter.probe.budget import ProbeBudget
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR, write_limits
from exporter.probe.fio import Fio, SystemFio
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.probe_directory import (
    DriveCondition,
    ProbeContext,
    ProbeDirectory,
    worst_condition,
)
from exporter.probe.results import RoundHistory
from exporter.probe.schedule import ProbeSchedule, counted_from, splayed_delay, spread_over_life
from exporter.probe.scheduler import ProbeScheduler
from exporter.probe.slc_watch import SLC_PROFILE as SLC
from exporter.probe.slc_watch import ScheduledSlc
from exporter.probe.slot import ProbeTools
from exporter.programs.command import Runner
from exporter.runtime import untrusted_file
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus

#: The directory of the lock that allows one probe per host, relative to the host's root directory.
#: All instances of the exporter on the host share it, also those in containers.
_LOCK_DIRECTORY = "run/lock"

log = logging.getLogger(__name__)


class ProbeMonitor:
    """Owns the scheduled probes of one host.

    state_directory: the directory of the budget file and of the pid file. It also contains the
        lock file if the shared lock directory cannot be used.
    saved: the value that `to_state` returned in an earlier run. A damaged state file may yield any
        value; invalid parts are ignored.
    windows: receives the start and the end of each run.
    topology: returns the drives and filesystems of the host; None means not read yet.
    busy_seconds: returns the busy time of a device in seconds; None means unknown.
    identity: returns the identity of a device, which stays equal if the device's name changes.
    health: returns the health of a drive; None means unknown.
    fio: creates a replacement of the real fio, for tests; None means the real fio.
    probe (attribute): the scheduler.
    directories (attribute): the probed directories, with their results.
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
        self._saved_times = _times(saved_values.get("ran_at"), settings.probe.directory)
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
            rated_bytes=settings.rated_bytes(),
        )
        configuration = settings.probe
        chosen = [
            _spread(profiles.configured(name, configuration.profile), settings)
            # Profiles that are due together run one after the other in one fio. WatchedFio watches
            # only the last of them, so `slc` must be last.
            for name in sorted(configuration.profiles, key=lambda name: name == SLC)
        ]
        self._chosen = {profile.name: profile for profile in chosen}
        delay = splayed_delay(configuration.first_delay_seconds, _host(settings))
        first = clock.monotonic() + delay
        self.directories = [
            ProbeDirectory(
                path,
                chosen,
                schedule=ProbeSchedule(chosen, first, self._run_ages(path, chosen)),
                context=context,
                clock=clock,
                rounds=self._rounds,
            )
            for path in configuration.directory
        ]
        self._slc = ScheduledSlc(state_directory, self.directories, clock, context)
        self.probe = ProbeScheduler(
            self.directories,
            self._tools,
            configuration.gate,
            clock=clock,
            collector_status=collector_status,
            copy_on_write=configuration.copy_on_write,
            rated_bytes=self._rated,
        )

    def to_state(self) -> dict[str, object]:
        """Returns JSON values for the state file: the recent results and the times of last runs.

        "rounds" contains one value per recent run, for the detection of steady state. "ran_at"
        contains the start times of the current intervals in unix seconds, keyed by directory and
        then by profile name. It includes profiles that have not run since the start.
        """
        ran_at: dict[str, dict[str, float]] = {}
        for directory in self.directories:
            with directory.lock:
                known = dict(self._saved_times.get(str(directory.path), {}))
                for name, results in directory.results.profiles.items():
                    if (ended := results.last_run_at) is not None:
                        profile = self._chosen[name]
                        known[name] = counted_from(profile, ended, was_aborted=results.was_aborted)
                ran_at[str(directory.path)] = known
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

    def _run_ages(self, path: Path, chosen: Sequence[Profile]) -> dict[str, float]:
        """Returns the seconds since each profile's last run, keyed by profile name.

        Profiles that never ran are missing.
        """
        times, now = self._saved_times.get(str(path), {}), self._clock.wall()
        return {each.name: now - times[each.name] for each in chosen if each.name in times}


def _times(saved: Any, directories: Sequence[Path]) -> dict[str, dict[str, float]]:
    """Returns the valid unix times in the value "ran_at" of the state file, which is unchecked.

    directories: those of other directories are left out.
    """
    times: dict[str, dict[str, float]] = {}
    for path in map(str, directories):
        of_directory = saved.get(path) if isinstance(saved, Mapping) else None
        known = of_directory.items() if isinstance(of_directory, Mapping) else ()
        checked = {
            name: untrusted_file.number(value, 0, untrusted_file.MAX_UNIX_TIME)
            for name, value in known
            if name in profiles.PROFILES
        }
        times[path] = {name: at for name, at in checked.items() if at is not None}
    return times


def _spread(profile: Profile, settings: Settings) -> Profile:
    """Returns the profile, with a longer interval if it would use up the budget for life too soon.

    Only `slc` is charged to that budget without a daily limit.
    """
    if profile.name != SLC:
        return profile
    day, rated = settings.probe.budget_bytes_per_day, settings.rated_bytes()
    limits = [write_limits(day, each).life_bytes for each in (None, *rated.values())]
    charged = FILESYSTEM_FACTOR * profile.written_bytes_at_most
    slower = spread_over_life(profile, charged, min(limits))
    if slower != profile:
        log.info(
            "probe %s: runs every %.0f days, because the budget for the drive's life must last for"
            " ten years; raise probe.budget_bytes_per_day for a shorter interval",
            profile.name,
            (slower.interval_seconds or 0.0) / 86_400,
        )
    return slower


def _host(settings: Settings) -> str:
    """Returns the machine id of the host, or its name if the id cannot be read."""
    return files.read_attribute(settings.path.rootfs / "etc/machine-id") or os.uname().nodename
