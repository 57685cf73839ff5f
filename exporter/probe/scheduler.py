"""Runs the scheduled probes of all configured directories on one thread.

fio inherits the lock that allows one probe per host. If fio continues after the end of its daemon,
no other process on the host starts a probe or changes reserved bytes in the budget until fio ends.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import Profile, with_engine
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason, Skip
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.production_load import BUSY_SECONDS
from exporter.probe.slot import ProbeSlot, ProbeTools
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import CommandError, Parsed, ReadError, SourceError

log = logging.getLogger(__name__)

#: Interval between two samples of the load in the minute before a probe, in seconds.
_LOAD_INTERVAL_SECONDS = 5.0

#: Maximum time that `step` waits, in seconds, so that the count of stuck fio processes and the
#: remaining budgets stay up to date.
_MAX_WAIT_SECONDS = 60.0

#: How long the first probe waits until the topology is read and the load was sampled twice, in
#: seconds.
_FIRST_PROBE_PATIENCE_SECONDS = 60.0


class ProbeScheduler:
    """Waits until profiles are due and runs them. Each call of `step` waits once.

    The probes' thread is the thread that calls `step`.

    directories: the directories in which probes run.
    tools: creates the objects that all runs share. It is called once, on the probes' thread.
    rules: the limits above which no probe starts, or a running probe is ended.
    collector_status: receives the errors of the runs.
    copy_on_write: the operator allows probes on copy-on-write filesystems.
    rated_bytes: the rated endurance in bytes, keyed by drive identity. The scheduler fills this
        mapping, and the budget reads it.
    """

    def __init__(
        self,
        directories: Sequence[ProbeDirectory],
        tools: Callable[[], ProbeTools],
        rules: GateRules,
        *,
        clock: Clock,
        collector_status: CollectorStatus,
        copy_on_write: bool,
        rated_bytes: dict[str, float],
    ) -> None:
        self._directories = directories
        self._make_tools = tools
        self._tools: ProbeTools | None = None
        self._rules = rules
        self._clock = clock
        self._collector_status = collector_status
        self._copy_on_write = copy_on_write
        self._rated_bytes = rated_bytes
        self._is_recovered = False
        #: The number of fio processes that cannot be ended, as of the last check. Any thread may
        #: read it.
        self.stuck = 0
        self._stopping = threading.Event()
        self._done: Callable[[], None] = _nothing

    def on_done(self, done: Callable[[], None]) -> None:
        """Sets a function that is called after the due profiles of a directory were handled.

        It is called on the probes' thread.
        """
        self._done = done

    def stop(self) -> None:
        """Ends the current run and starts no more runs. Any thread may call it."""
        self._stopping.set()

    def close(self) -> None:
        """Ends fio within a bounded time. Call it on the probes' thread, after the last step."""
        if self._tools is not None:
            self._tools.fio.close()

    def step(self) -> None:
        """Waits until the next profile is due, then runs the profiles that are due.

        It waits at most 60 s, and less if the load must be sampled before. If no profile is due
        then, it runs none.
        """
        tools = self._tools or self._begin()
        self._count_stuck(tools)
        for directory in self._directories:
            self._observe(tools, directory)
        now = self._clock.monotonic()
        due = min(
            (directory.schedule.next for directory in self._directories), default=float("inf")
        )
        wait = min(due - now - BUSY_SECONDS, _MAX_WAIT_SECONDS)
        if wait <= 0:
            wait = min(max(due - now, 0.0), _LOAD_INTERVAL_SECONDS)
        if not self._stopping.wait(wait):
            self.run_due()

    def run_due(self) -> None:
        """Runs the profiles that are due now, one directory after the other."""
        tools = self._tools or self._begin()
        for directory in self._directories:
            if self._stopping.is_set():
                return
            now = self._clock.monotonic()
            if due := directory.schedule.due(now):
                faults = self._observe(tools, directory)
                if (
                    not directory.is_observed
                    and now < directory.schedule.first + _FIRST_PROBE_PATIENCE_SECONDS
                ):
                    directory.schedule.postponed(now + _LOAD_INTERVAL_SECONDS)
                    continue
                self._run_slot(tools, directory, due, faults)
                for profile in directory.schedule.due(now):
                    directory.schedule.skipped(profile.name, now)
                self._record_budget(tools, directory)
                if not self.stuck:
                    self._count_stuck(tools)
                self._record(faults)
                self._done()

    def _observe(self, tools: ProbeTools, directory: ProbeDirectory) -> list[SourceError]:
        """Finds the drives of a directory, and sample its load if a probe is due soon.

        Returns the errors.
        """
        try:
            directory.locate()
        except ReadError as e:
            return [e]
        self._record_budget(tools, directory)
        if self._clock.monotonic() >= directory.schedule.next - BUSY_SECONDS:
            directory.record_load()
        return []

    def _record(self, faults: Sequence[SourceError]) -> None:
        self._collector_status.collect("probe", "run", lambda: Parsed(None, tuple(faults)))

    def _begin(self) -> ProbeTools:
        """Creates the shared objects, and kill a fio that an earlier process left running.

        If the host lock is free, the reserved bytes of a killed run are charged. Returns the shared
        objects.
        """
        tools = self._tools = self._make_tools()
        self._count_stuck(tools)
        try:
            if not self.stuck and tools.lock.acquire():
                self._recover(tools)
        except OSError as e:
            log.warning(
                "%s: %s; no probe runs until it can be used", tools.budget.path, e.strerror or e
            )
        finally:
            tools.lock.release()
        return tools

    def _count_stuck(self, tools: ProbeTools) -> None:
        """Sets `stuck` to 1 if fio, of this or an earlier process, cannot be ended; else to 0."""
        self.stuck = int(tools.fio.is_stuck or not tools.pid_file.kill_leftover())

    def _recover(self, tools: ProbeTools) -> None:
        """Charges the reserved bytes of a killed run, at the first call.

        This process must hold the host lock, so that no run is under way.
        """
        if not self._is_recovered:
            tools.budget.recover()
            self._is_recovered = True

    def _run_slot(
        self,
        tools: ProbeTools,
        directory: ProbeDirectory,
        due: Sequence[Profile],
        faults: list[SourceError],
    ) -> None:
        slot = ProbeSlot(
            directory,
            tools,
            self._rules,
            self._clock,
            self._copy_on_write,
            self._stopping.is_set,
            self._exclusion(directory),
        )
        if directory.location is None or faults:
            for profile in due:
                slot.record_skip(profile, Skip(Reason.FILESYSTEM, str(faults[0] if faults else "")))
            return
        self._count_stuck(tools)
        is_stuck = self.stuck > 0
        ready = list(due)
        try:
            is_locked = not is_stuck and not tools.lock.acquire()
            if not is_locked and not is_stuck:
                self._recover(tools)
            runnable = self._runnable(tools, due, faults)
            ready = slot.admit(runnable, is_stuck=is_stuck, is_locked=is_locked)
            outcome = slot.run(ready) if ready else None
            if outcome is not None and outcome.result not in (
                ProfileResult.SUCCESS,
                ProfileResult.ABORTED,
            ):
                names = ", ".join(profile.name for profile in ready)
                words = outcome.message or outcome.result.value
                faults.append(CommandError(f"probe {names} of {directory.results.device}: {words}"))
        except OSError as e:
            faults.append(ReadError(f"{tools.budget.path}: {e.strerror or e}"))
            waiting = {profile.name for profile in directory.schedule.due(self._clock.monotonic())}
            for profile in (p for p in ready if p.name in waiting):
                slot.record_skip(profile, Skip(Reason.BUDGET, str(faults[-1])))
        finally:
            if not tools.fio.is_stuck:
                tools.lock.release()

    def _runnable(
        self, tools: ProbeTools, due: Sequence[Profile], faults: list[SourceError]
    ) -> list[Profile]:
        """Returns the due profiles, each with an engine that the installed fio has.

        If fio is missing or too old, no profile is returned, and an error is added to `faults`.
        """
        engines = tools.fio.engines()
        if engines is None:
            names = ", ".join(profile.name for profile in due)
            faults.append(CommandError(f"probes unavailable ({names}): {tools.fio.problem}"))
            return []
        return [with_engine(profile, engines) for profile in due]

    def _exclusion(self, directory: ProbeDirectory) -> str:
        """Returns a message if an earlier configured directory is on the same drive, else "".

        Probes then run only in the earlier directory.
        """
        for other in self._directories:
            if other is directory:
                break
            if other.results.device and other.results.device == directory.results.device:
                return f"{directory.results.device} is already probed in {other.path}"
        return ""

    def _record_budget(self, tools: ProbeTools, directory: ProbeDirectory) -> None:
        if directory.location is None:
            return
        if (rated := directory.rated_bytes) is not None:
            self._rated_bytes[directory.drive] = rated
        directory.record_budget(
            tools.budget.limits(directory.drive), tools.budget.remaining(directory.drive)
        )


def _nothing() -> None:
    return
