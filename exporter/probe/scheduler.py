"""Periodic probes of the directories that were named, on one thread, when nobody is disturbed.

fio inherits the host's lock: as long as one runs that has outlived its daemon, nobody reserves,
settles or probes.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.errors import CommandError, ReadError, SourceError
from exporter.linux.files import Parsed
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import GateRules, Reason, Skip
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.production_load import BUSY_SECONDS
from exporter.probe.profiles import Profile, with_engine
from exporter.probe.slot import ProbeSlot, ProbeTools

log = logging.getLogger(__name__)

#: The load is noted so often in the minute before a probe.
_NOTE_SECONDS = 5.0
_LONGEST_WAIT_SECONDS = 60.0

#: So long the first probe waits for the first look at the devices, and for two at the load.
_PATIENCE_SECONDS = 60.0


class ProbeScheduler:
    """Runs what is due, `step` by step.

    tools: called once, on the probes' thread. rated_bytes: of each drive, filled for the budget.
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
        #: How many fio there are that cannot be ended, as of the last step. For other threads too.
        self.stuck = 0
        self._stopping = threading.Event()
        self._done: Callable[[], None] = _nothing

    def on_done(self, done: Callable[[], None]) -> None:
        """Have `done` called after each slot, on the probes' thread."""
        self._done = done

    def stop(self) -> None:
        """End the run under way, and begin none. For other threads."""
        self._stopping.set()

    def close(self) -> None:
        """End what runs, within a bounded time. On the probes' thread, after the last step."""
        if self._tools is not None:
            self._tools.fio.close()

    def step(self) -> None:
        """Wait for what is due next, and run it; returns earlier to note the load."""
        tools = self._tools or self._begin()
        self._count_stuck(tools)
        for each in self._directories:
            self._look(tools, each)
        now = self._clock.monotonic()
        due = min((each.schedule.next for each in self._directories), default=float("inf"))
        wait = min(due - now - BUSY_SECONDS, _LONGEST_WAIT_SECONDS)
        if wait <= 0:
            wait = min(max(due - now, 0.0), _NOTE_SECONDS)
        if not self._stopping.wait(wait):
            self.run_due()

    def run_due(self) -> None:
        """Run what is due by now, one directory after the other."""
        tools = self._tools or self._begin()
        for each in self._directories:
            if self._stopping.is_set():
                return
            now = self._clock.monotonic()
            if due := each.schedule.due(now):
                faults = self._look(tools, each)
                if not each.is_known and now < each.schedule.first + _PATIENCE_SECONDS:
                    each.schedule.postponed(now + _NOTE_SECONDS)
                    continue
                self._slot(tools, each, due, faults)
                for profile in each.schedule.due(now):
                    each.schedule.skipped(profile.name, now)
                self._show_budget(tools, each)
                if not self.stuck:
                    self._count_stuck(tools)
                self._note(faults)
                self._done()

    def _look(self, tools: ProbeTools, each: ProbeDirectory) -> list[SourceError]:
        """What is known of a directory now; its load where a probe is near."""
        try:
            each.locate()
        except ReadError as e:
            return [e]
        self._show_budget(tools, each)
        if self._clock.monotonic() >= each.schedule.next - BUSY_SECONDS:
            each.record_load()
        return []

    def _note(self, faults: Sequence[SourceError]) -> None:
        self._collector_status.collect("probe", "run", lambda: Parsed(None, tuple(faults)))

    def _begin(self) -> ProbeTools:
        """Before anything is due: end and settle what an earlier run has left."""
        tools = self._tools = self._make_tools()
        self._count_stuck(tools)
        try:
            if not self.stuck and tools.lock.acquire():
                self._recover(tools)
        except OSError as e:
            log.warning("%s: %s; probes wait for it", tools.budget.path, e.strerror or e)
        finally:
            tools.lock.release()
        return tools

    def _count_stuck(self, tools: ProbeTools) -> None:
        """Ours, which has the lock and keeps it, or one that an earlier daemon left."""
        self.stuck = int(tools.fio.is_stuck or not tools.pid_file.kill_leftover())

    def _recover(self, tools: ProbeTools) -> None:
        """Settle what stands, once; with the lock, so that nothing runs."""
        if not self._is_recovered:
            tools.budget.recover()
            self._is_recovered = True

    def _slot(
        self,
        tools: ProbeTools,
        each: ProbeDirectory,
        due: Sequence[Profile],
        faults: list[SourceError],
    ) -> None:
        slot = ProbeSlot(
            each,
            tools,
            self._rules,
            self._clock,
            self._copy_on_write,
            self._stopping.is_set,
            self._exclusion(each),
        )
        if each.location is None or faults:
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
            ended = slot.run(ready) if ready else None
            if ended is not None and ended.result not in (
                ProfileResult.SUCCESS,
                ProfileResult.ABORTED,
            ):
                names = ", ".join(profile.name for profile in ready)
                words = ended.message or ended.result.value
                faults.append(CommandError(f"the probe {names} of {each.results.device}: {words}"))
        except OSError as e:
            faults.append(ReadError(f"{tools.budget.path}: {e.strerror or e}"))
            waiting = {profile.name for profile in each.schedule.due(self._clock.monotonic())}
            for profile in (p for p in ready if p.name in waiting):
                slot.record_skip(profile, Skip(Reason.BUDGET, str(faults[-1])))
        finally:
            if not tools.fio.is_stuck:
                tools.lock.release()

    def _runnable(
        self, tools: ProbeTools, due: Sequence[Profile], faults: list[SourceError]
    ) -> list[Profile]:
        """Returns the due profiles with an engine that this fio has; none without fio."""
        engines = tools.fio.engines()
        if engines is None:
            names = ", ".join(profile.name for profile in due)
            faults.append(CommandError(f"probes unavailable ({names}): {tools.fio.problem}"))
            return []
        return [with_engine(profile, engines) for profile in due]

    def _exclusion(self, each: ProbeDirectory) -> str:
        """Why a second directory of a drive is not probed."""
        for other in self._directories:
            if other is each:
                break
            if other.results.device and other.results.device == each.results.device:
                return f"{each.results.device} is probed in {other.path} already"
        return ""

    def _show_budget(self, tools: ProbeTools, each: ProbeDirectory) -> None:
        if each.location is None:
            return
        if (rated := each.rated_bytes) is not None:
            self._rated_bytes[each.drive] = rated
        each.record_budget(tools.budget.limits(each.drive), tools.budget.remaining(each.drive))


def _nothing() -> None:
    return
