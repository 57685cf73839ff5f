"""One slot of one directory: what is due there is admitted, prepared, run and settled.

In this order, or bytes go uncounted: the gate, the file, its check, the reservation, the run, the
settling; all with the host's lock held.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ReadError
from exporter.probe import filling, probe_file
from exporter.probe.budget import ProbeBudget
from exporter.probe.fio import Fio
from exporter.probe.fio_run import RunOutcome, run_fio
from exporter.probe.gate import GateRules, Reason, Run, Skip, gate
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.profiles import Profile
from exporter.probe.results import ProbeWindows
from exporter.probe.slc_watch import SLC_PROFILE as SLC

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProbeTools:
    """What a run takes: fio, the budget, the locks, and who is told of a run."""

    fio: Fio
    budget: ProbeBudget
    lock: HostLock
    pid_file: ProbePidFile
    windows: ProbeWindows


@dataclass(frozen=True, slots=True)
class ProbeSlot:
    """A slot of `directory`. `holding` keeps readers of its results away while they change.

    exclusion: why the directory is not probed whatever the gate says; empty where it is.
    """

    directory: ProbeDirectory
    tools: ProbeTools
    rules: GateRules
    clock: Clock
    copy_on_write: bool
    is_stopping: Callable[[], bool]
    exclusion: str = ""

    def admit(self, due: Sequence[Profile], *, is_stuck: bool, is_locked: bool) -> list[Profile]:
        """Those that the gate lets through, all of which the budget holds together."""
        budget, each = self.tools.budget, self.directory
        budget.refresh()
        left = budget.remaining(each.drive)
        day, life = left.day_bytes, left.life_bytes
        admitted: list[Profile] = []
        for profile in due:
            try:
                state = each.gate_state(profile, copy_on_write=self.copy_on_write)
            except ReadError as e:
                self.record_skip(profile, Skip(Reason.FILESYSTEM, str(e)))
                continue
            # The file is filled once for all of them.
            is_whole = filling.writes_whole(profile)
            fill = 0 if admitted or is_whole else state.missing_bytes
            needed = filling.charged(profile.written_bytes_at_most + fill)
            state = replace(
                state,
                is_unacknowledged=budget.unacknowledged is not None,
                is_stuck=is_stuck,
                is_locked=is_locked,
                unsuitable=state.unsuitable or self.exclusion,
                needed_bytes=needed,
                budget_bytes=life if profile.name == SLC else min(day, life),
                # Its smallest run would take the space of its whole file.
                skips=0 if is_whole else state.skips,
            )
            verdict = gate(state, self.rules)
            if isinstance(verdict, Run):
                life -= needed
                day -= 0 if profile.name == SLC else needed
                admitted.append(profile.minimal() if verdict.minimal else profile)
            else:
                self.record_skip(profile, verdict)
        return admitted

    def run(self, profiles: Sequence[Profile]) -> RunOutcome | None:
        """Run those that were admitted; None where it came to nothing, which is counted.

        With `slc` among them the run is charged to the drive's life only: a rated drive's day holds
        none, which comes once a week at the most.

        Raises:
            OSError: the budget cannot be written down.
        """
        budget, each = self.tools.budget, self.directory
        try:
            filler = filling.ProbeFileFiller(each, budget, self.clock, self.rules, self.is_stopping)
            file = filler.prepare(profiles)
        except probe_file.FilesystemFull as e:
            self._record_skips(profiles, Skip(Reason.NO_SPACE, str(e)))
            return None
        except probe_file.UnsafeProbeFile as e:
            self._record_skips(profiles, Skip(Reason.FILESYSTEM, str(e)))
            return None
        except filling.FillAborted as e:
            self._record_skips(profiles, Skip(e.why, str(e)))
            return None
        except filling.ShuttingDown:
            return None
        names = "+".join(profile.name for profile in profiles)
        written = sum(profile.written_bytes_at_most for profile in profiles)
        reserved = None
        if file is not None:
            is_of_life = any(profile.name == SLC for profile in profiles)
            reserved = budget.reserve(each.drive, names, written, on_demand=is_of_life)
        if file is None or reserved is None:
            self._record_skips(profiles, Skip(Reason.BUDGET, "too little is left"))
            return None
        ended = self._run_fio(profiles, file)
        if not self.tools.fio.is_stuck and any(map(filling.writes_whole, profiles)):
            filler.shorten()
        now = self.clock.monotonic()
        for profile in profiles:
            each.schedule.done(profile.name, now)
        each.record_run(ended, profiles)
        each.record_charge(budget.settle(ended.fio_bytes, ended.device_bytes))
        words = "the probe %s of %s: %s in %.1f s"
        log.info(
            words, names, each.results.device, ended.result.value, ended.ended_at - ended.started_at
        )
        return ended

    def record_skip(self, profile: Profile, skip: Skip) -> None:
        """A profile was due and does not run."""
        each = self.directory
        each.record_skip(profile.name, skip)
        words = "the probe %s of %s does not run: %s: %s"
        where = each.results.device or each.path
        log.info(words, profile.name, where, skip.reason.value, skip.detail)

    def _record_skips(self, profiles: Sequence[Profile], skip: Skip) -> None:
        for profile in profiles:
            self.record_skip(profile, skip)

    def _write_pid(self, pid: int) -> None:
        try:
            self.tools.pid_file.write(pid)
        except OSError as e:
            # It dies with us, and has the lock while it lives.
            log.warning("which process probes is not written down: %s", e.strerror or e)

    def _run_fio(self, profiles: Sequence[Profile], file: Path) -> RunOutcome:
        each, tools = self.directory, self.tools
        assert each.location is not None
        tools.windows.begin((each.location.device, *each.location.leaves), self.clock.monotonic())
        watch = each.guard_sampler(profiles)
        try:
            return run_fio(
                tools.fio,
                profiles,
                file,
                lock=tools.lock,
                started=self._write_pid,
                watch=watch,
                avail=each.avail_bytes,
                rules=self.rules,
                clock=self.clock,
                is_stopping=self.is_stopping,
            )
        finally:
            tools.windows.end(self.clock.monotonic())
            if not tools.fio.is_stuck:
                tools.pid_file.clear()
