"""Runs the profiles of one directory that are due at the same time (a slot).

First, the gate decides which profiles are admitted. Then the file is filled if necessary, the bytes
of the run are reserved in the budget, and fio runs the profiles. At the end the written bytes are
charged to the budget, and the results are recorded.

Bytes are reserved before they are written, because otherwise they would not be counted after a
kill. The caller must hold the host lock all the time.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import Profile
from exporter.io.probe_windows import ProbeWindows
from exporter.probe import filling, probe_file
from exporter.probe.budget import ProbeBudget
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.probe.fio import Fio
from exporter.probe.fio_run import ProfileResult, RunOutcome, run_fio
from exporter.probe.gate import Reason, Run, Skip, gate
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.slc_watch import SLC_PROFILE
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ReadError

log = logging.getLogger(__name__)


class ShuttingDown(ReadError):
    """The filling of the file was interrupted, because the exporter stops."""


@dataclass(frozen=True, slots=True)
class ProbeTools:
    """The objects that all runs share.

    fio: runs fio.
    budget: the budget of bytes that probes may write.
    lock: the lock that allows one probe per host.
    pid_file: records fio's pid.
    windows: records when probes run, so that their load is not counted as load of production.
    """

    fio: Fio
    budget: ProbeBudget
    lock: HostLock
    pid_file: ProbePidFile
    windows: ProbeWindows


@dataclass(frozen=True, slots=True)
class ProbeSlot:
    """Runs the profiles of one directory that are due at the same time.

    directory: the directory.
    tools: the objects that all runs share.
    rules: the limits above which no probe starts, or a running probe is ended.
    copy_on_write: the operator allows probes on copy-on-write filesystems.
    is_stopping: returns True if the exporter stops. The current run is then ended.
    exclusion: a message that says why this directory is never probed; empty if it is probed.
    """

    directory: ProbeDirectory
    tools: ProbeTools
    rules: GateRules
    clock: Clock
    copy_on_write: bool
    is_stopping: Callable[[], bool]
    exclusion: str = ""

    def admit(self, due: Sequence[Profile], *, is_stuck: bool, is_locked: bool) -> list[Profile]:
        """Returns the profiles that may run now; the budget is enough for all of them together.

        A profile that may not run, for example because of load, is recorded as skipped. On a host
        that is always busy, a profile is returned with few operations only.

        due: the profiles that are due.
        is_stuck: an earlier fio process cannot be ended.
        is_locked: another process holds the host lock.
        """
        budget, directory = self.tools.budget, self.directory
        budget.refresh()
        left = budget.remaining(directory.drive)
        day, life = left.day_bytes, left.life_bytes
        admitted: list[Profile] = []
        for profile in due:
            try:
                state = directory.gate_state(profile, copy_on_write=self.copy_on_write)
            except ReadError as e:
                self.record_skip(profile, Skip(Reason.FILESYSTEM, str(e)))
                continue
            # The file is filled once for all profiles, so its bytes are counted for one profile.
            fill = 0 if admitted or profile.writes_whole_file else state.missing_bytes
            needed = FILESYSTEM_FACTOR * (profile.written_bytes_at_most + fill)
            state = replace(
                state,
                is_unacknowledged=budget.unacknowledged is not None,
                is_stuck=is_stuck,
                is_locked=is_locked,
                unsuitable=state.unsuitable or self.exclusion,
                needed_bytes=needed,
                budget_bytes=life if profile.name == SLC_PROFILE else min(day, life),
                # No minimal run for such a profile, because even a minimal run takes the space of
                # the whole file.
                skips=0 if profile.writes_whole_file else state.skips,
                aborts=0 if profile.writes_whole_file else state.aborts,
            )
            decision = gate(state, self.rules)
            if isinstance(decision, Run):
                life -= needed
                day -= 0 if profile.name == SLC_PROFILE else needed
                admitted.append(profile.minimal() if decision.minimal else profile)
            else:
                self.record_skip(profile, decision)
        return admitted

    def run(self, profiles: Sequence[Profile]) -> RunOutcome | None:
        """Runs admitted profiles in one fio. Returns how the run ended, None if it did not start.

        If the run does not start, its profiles are recorded as skipped. The exception is a run that
        does not start because the exporter stops. The bytes of a run with the profile `slc` count
        only against the budget for the drive's life. If the rated endurance of a drive is
        configured, the daily budget is too small for such a run.

        Raises:
            OSError: the budget's file cannot be read or written.
        """
        budget, directory = self.tools.budget, self.directory
        try:
            file = self._prepare_file(profiles)
        except probe_file.FilesystemFull as e:
            self._record_skips(profiles, Skip(Reason.NO_SPACE, str(e)))
            return None
        except probe_file.UnsafeProbeFile as e:
            self._record_skips(profiles, Skip(Reason.FILESYSTEM, str(e)))
            return None
        except filling.FillAborted as e:
            self._record_skips(profiles, Skip(e.guard_reason, str(e)))
            return None
        except ShuttingDown:
            return None
        names = "+".join(profile.name for profile in profiles)
        written = sum(profile.written_bytes_at_most for profile in profiles)
        reserved = None
        if file is not None:
            has_slc = any(profile.name == SLC_PROFILE for profile in profiles)
            reserved = budget.reserve(directory.drive, names, written, on_demand=has_slc)
        if file is None or reserved is None:
            self._record_skips(profiles, Skip(Reason.BUDGET, "the remaining budget is too small"))
            return None
        outcome = self._run_fio(profiles, file)
        if not self.tools.fio.is_stuck and any(profile.writes_whole_file for profile in profiles):
            self._shorten_file()
        now = self.clock.monotonic()
        for profile in profiles:
            if outcome.result_of(profile.name) is ProfileResult.ABORTED:
                directory.schedule.aborted(profile.name, now)
            else:
                directory.schedule.done(profile.name, now)
        directory.record_run(outcome, profiles)
        directory.record_charge(budget.settle(outcome.fio_bytes, outcome.device_bytes))
        log.info(
            "probe %s of %s: %s after %.1f s",
            names,
            directory.results.device,
            outcome.result.value,
            outcome.ended_at - outcome.started_at,
        )
        return outcome

    def record_skip(self, profile: Profile, skip: Skip) -> None:
        """Records and logs that a profile was due but does not run."""
        self.directory.record_skip(profile.name, skip)
        where = self.directory.results.device or self.directory.path
        log.info(
            "probe %s of %s skipped: %s: %s", profile.name, where, skip.reason.value, skip.detail
        )

    def _record_skips(self, profiles: Sequence[Profile], skip: Skip) -> None:
        for profile in profiles:
            self.record_skip(profile, skip)

    def _prepare_file(self, profiles: Sequence[Profile]) -> Path | None:
        """Returns the path of the file, which is filled as far as the profiles need data.

        Returns None if the budget is too small for the filling.

        Raises:
            UnsafeProbeFile: the file or the directory is not safe to use.
            FilesystemFull: the filesystem or a quota is full.
            FillAborted: the guard stopped the filling.
            ShuttingDown: the exporter stops.
            OSError: the budget cannot be read or written.
        """
        directory, budget = self.directory, self.tools.budget
        path, name = directory.path, directory.file
        filled = filling.filled_bytes(profiles)
        if missing := filling.bytes_to_fill(path, name, filled):
            # This check comes before the reservation, because an unusable file is not written and
            # must not be charged.
            probe_file.check_usable(path, name)
            if budget.reserve(directory.drive, "filling", missing) is None:
                return None
            filling.fill(
                directory,
                name,
                filled,
                missing,
                rules=self.rules,
                clock=self.clock,
                on_progress=self._raise_if_stopping,
                settle=lambda size: directory.record_charge(budget.settle(size, None)),
            )
        size = max(profile.size_bytes for profile in profiles)
        probe_file.prepare(path, name, size, fill=False)
        return probe_file.check(path, name, size)

    def _raise_if_stopping(self, _length_bytes: int) -> None:
        if self.is_stopping():
            raise ShuttingDown(f"{self.directory.path}: the exporter stops; filling interrupted")

    def _shorten_file(self) -> None:
        """Truncates the file after a run that wrote all of it.

        The file keeps the bytes that the other profiles of the directory read or overwrite.
        """
        directory = self.directory
        size = filling.filled_bytes(
            result.profile for result in directory.results.profiles.values()
        )
        try:
            probe_file.shorten(directory.path, directory.file, size)
        except ReadError as e:
            log.warning("the probes' file keeps its length: %s", e)

    def _run_fio(self, profiles: Sequence[Profile], file: Path) -> RunOutcome:
        directory, tools = self.directory, self.tools
        assert directory.location is not None
        devices = (directory.location.device, *directory.location.leaves)
        tools.windows.begin(devices, self.clock.monotonic())
        try:
            return run_fio(
                tools.fio,
                profiles,
                file,
                lock=tools.lock,
                pid_file=tools.pid_file,
                sampler=directory.guard_sampler(profiles),
                avail=directory.avail_bytes,
                rules=self.rules,
                clock=self.clock,
                is_stopping=self.is_stopping,
            )
        finally:
            tools.windows.end(self.clock.monotonic())
