"""When which drive is asked for its health, and that one sick drive costs one drive.

Everything happens in `step`, on the thread that calls it: the drives are asked by processes of
their own, and nobody is waited for longer than the others need.
"""

import math
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.clock import Clock
from exporter.errors import CommandError
from exporter.programs.child import End, Finished
from exporter.programs.children import Children
from exporter.smart import smartctl
from exporter.smart.poll_document import PollOutcome, poll_outcome
from exporter.smart.poll_timing import AdapterQueue, DueQueue, PolledDrive, State, Target
from exporter.smart.smartctl import Address, Logs
from exporter.threads import WakePipe


@dataclass(frozen=True, slots=True)
class FinishedPoll:
    """A drive was asked; `began_at_unix` is when, in seconds."""

    target: Target
    logs: Logs
    finished: Finished
    outcome: PollOutcome
    began_at_unix: float


@dataclass(frozen=True, slots=True)
class PollSettings:
    """Bounds of the polling.

    slowest_retry_seconds: how rarely a drive is asked that takes longer than its time; each time
    that it does doubles its interval, up to this.
    """

    processes: int = 8
    processes_per_adapter: int = 4
    slowest_retry_seconds: float = 3600.0
    daily_seconds: float = 86_400.0


#: What is asked by writing to the volume is asked this much later where the bridge is busy.
_BRIDGE_SECONDS = 1.0

#: What drives say is looked at together with what others say so soon after: the second in a row
#: costs half of what it costs with cold caches.
_TOGETHER_SECONDS = 0.5

#: And meanwhile it is seen so often who else has ended.
_GATHER_SECONDS = 0.06

#: The two looks for drives, as keys of children: one opens each drive, the other none.
SCAN = "scan"
LISTING = "listing"


class PollScheduler:
    """Asks each drive at once, then once an interval, each at a moment of its own.

    The moments stand on a grid that the drive's address moves, so that they do not drift, and few
    drives share one. At most `settings.processes` run, `processes_per_adapter` on one adapter, and
    never two on one drive: one whose process cannot be ended is asked again when that has gone,
    also where an earlier poller has started it. Nor two on one path where one of them asks by
    writing to the volume: each would restore the sector that the other has written.
    """

    def __init__(
        self, children: Children, clock: Clock, program: str, settings: PollSettings
    ) -> None:
        self._children = children
        self._clock = clock
        self._program = program
        self._settings = settings
        self._drives: dict[Address, PolledDrive] = {}
        self._active: dict[Address, PolledDrive] = {}
        self._due = DueQueue[Address]()
        self._queue = AdapterQueue[PolledDrive](settings.processes, settings.processes_per_adapter)
        self._unasked: list[Finished] = []
        self._looking: set[str] = set()
        self._is_woken = False
        self._scan: Finished | None = None
        self._wake = WakePipe()

    @property
    def stuck(self) -> frozenset[Address]:
        """The drives whose process was given up and is still there."""
        return frozenset(key for key in self._children.stuck() if isinstance(key, Address))

    @property
    def is_scan_stuck(self) -> bool:
        return SCAN in self._children.stuck()

    @property
    def may_end(self) -> bool:
        """Whether nothing would go on beyond the end of this process."""
        running = (d for d in self._active.values() if d.state is State.RUNNING)
        return not self._children.stuck() and all(drive.target.may_kill for drive in running)

    def set_targets(self, targets: Iterable[Target]) -> None:
        """The drives there are from now on. New ones are asked at once, in this order.

        What runs for one that is gone runs to its end, and nobody hears of it.
        """
        now, old, stuck = self._clock.monotonic(), self._drives, self.stuck
        self._drives = {}
        for target in targets:
            if target.address in self._drives:
                continue
            drive = old.get(target.address) or self._active.get(target.address)
            if drive is None:
                drive = PolledDrive.found(target, now)
                if target.address in stuck:
                    drive.state = State.STUCK
                    self._active[target.address] = drive
                else:
                    self._schedule(drive, now)
            elif drive.target != target:
                drive.target = target
                if drive.state is State.WAITING and drive.was_begun:
                    self._schedule(drive, drive.next_due(now, self._settings.slowest_retry_seconds))
            drive.wanted = True
            self._drives[target.address] = drive
        for address in old.keys() - self._drives.keys():
            old[address].wanted = False
            self._due.drop(address)

    def rescan(self, limit_seconds: float, look: str = SCAN) -> bool:
        """Look for drives beside the polls; False where such a look is still under way.

        look: `SCAN` opens each drive, and hangs with the first that does. `LISTING` opens none,
        and knows less of their types (smartctl(8), --scan).
        """
        if look in self._looking or look in self._children.stuck():
            return False
        self._looking.add(look)
        argv = smartctl.scan_arguments(self._program)
        if look == LISTING:
            argv = [self._program, "--json=c", "--scan"]
        self._children.start(look, argv, limit_seconds)
        return True

    def take_scan(self) -> Finished | None:
        """How the last look for drives ended, once; its key is the look."""
        scan, self._scan = self._scan, None
        return scan

    def wake(self) -> None:
        """Let the `step` under way return soon. The only method for other threads and signals."""
        self._wake.set()

    def wake_on_signals(self) -> None:
        """Let each signal do so. For the main thread, as `hand_over` and `close` are then."""
        self._wake.wake_on_signals()

    def step(self, timeout: float) -> Generator[FinishedPoll, None, None]:
        """Start what is due, and give what has ended soon after something has.

        Nothing after `timeout` seconds, or sooner: when woken, when a scan ends, when another
        drive is due. To be called again and again, and iterated over.
        """
        ended: list[Finished] = []
        until = self._clock.monotonic() + timeout
        while True:
            active = len(self._active)
            # Who waits for a process is begun as soon as one ends.
            gather = _GATHER_SECONDS if ended and not self._queue.waiting else 0.0
            more = self._round(until, gather)
            if more and not ended:
                until = self._clock.monotonic() + _TOGETHER_SECONDS
            ended += more
            nothing_came = not more and active == len(self._active)
            if self._is_woken or nothing_came or not self._expects(ended, until):
                break
        yield from self._polls(ended)

    def _polls(self, ended: Sequence[Finished]) -> Iterator[FinishedPoll]:
        """One after the other: a report takes ten times the room of the text that it was."""
        left = deque(ended)
        try:
            while left:
                if (poll := self._settle(left.popleft())) is not None:
                    yield poll
        finally:
            # Who took the last one may have failed over it; the other drives are asked again.
            for finished in left:
                self._settle(finished)

    def _round(self, until: float, gather: float) -> list[Finished]:
        self._begin()
        due = -math.inf if self._queue.may_take else self._due.soonest()
        if due is not None:
            until = min(until, max(due, self._children.next_start))
        ended = self._wait(max(0.0, until - self._clock.monotonic()), gather)
        for finished in ended:
            if isinstance(finished.key, Address):
                self._queue.give_back(self._active[finished.key].adapter)
        self._release()
        # So that the next drives work while we look at what these have said.
        self._begin()
        return ended

    def _expects(self, ended: Sequence[Finished], until: float) -> bool:
        """Whether another drive is likely to end, or to be begun, until then."""
        now, due = self._clock.monotonic(), self._due.soonest()
        if now >= until:
            return False
        if self._queue.may_take or (due is not None and due < min(until, now + _TOGETHER_SECONDS)):
            return True
        done = {finished.key for finished in ended}
        return bool(ended) and any(
            drive.began > now - _TOGETHER_SECONDS and address not in done
            for address, drive in self._active.items()
        )

    def inherit(self, children: Children) -> None:
        """Go on with what an earlier poller handed over. To be called before the first `step`."""
        self._children.close()
        self._children = children

    def hand_over(self) -> Children:
        """End what runs, within a bounded time; what goes on is known to the children returned."""
        self._children.end_all()
        self._wake.close()
        return self._children

    def close(self) -> None:
        """End what runs, within a bounded time."""
        self.hand_over().close()

    def _begin(self) -> None:
        now = self._clock.monotonic()
        while (address := self._due.take(now)) is not None:
            drive = self._drives[address]
            drive.state, drive.adapter = State.READY, drive.target.adapter
            self._queue.put(drive.adapter, drive)
        while now >= self._children.next_start and (ready := self._queue.take()) is not None:
            if ready.wanted and not self._is_busy(ready.target):
                self._start(ready)
                continue
            self._queue.give_back(ready.adapter)
            if ready.wanted:
                self._schedule(ready, now + _BRIDGE_SECONDS)

    def _is_busy(self, target: Target) -> bool:
        """Something else is at its path, and one of the two asks by writing to the volume."""
        path, may_kill = target.address.path, target.may_kill
        return any(
            address.path == path and not (may_kill and smartctl.may_be_killed(address.type))
            for address in (*self._active, *self.stuck)
        )

    def _start(self, drive: PolledDrive) -> None:
        target, now = drive.target, self._clock.monotonic()
        drive.begin(now, self._clock.wall())
        self._active[target.address] = drive
        try:
            argv = smartctl.arguments(self._program, target.address, drive.logs, spins=target.spins)
        except CommandError as e:
            self._unasked.append(Finished(target.address, End.NOT_STARTED, message=str(e)))
            return
        limit = target.timeout_seconds
        self._children.start(target.address, argv, limit, may_kill=target.may_kill)

    def _wait(self, timeout: float, gather: float) -> list[Finished]:
        unasked, self._unasked = self._unasked, []
        timeout = 0.0 if unasked else timeout
        finished = self._children.wait(timeout, self._wake.reading, gather=gather)
        self._is_woken = self._wake.clear()
        return unasked + finished

    def _settle(self, finished: Finished) -> FinishedPoll | None:
        address = finished.key
        if not isinstance(address, Address):
            self._scan = finished
            self._looking.discard(str(finished.key))
            return None
        drive = self._active[address]
        came_of_it = poll_outcome(finished)
        drive.end(finished.end, came_of_it.result, self._settings.daily_seconds)
        if finished.end is End.STUCK:
            drive.state = State.STUCK
        else:
            self._part(drive)
        if not drive.wanted:
            return None
        return FinishedPoll(drive.target, drive.logs, finished, came_of_it, drive.began_at_unix)

    def _part(self, drive: PolledDrive) -> None:
        """Its process has gone: it is asked again in its time."""
        del self._active[drive.target.address]
        drive.state = State.WAITING
        if drive.wanted:
            slowest = self._settings.slowest_retry_seconds
            self._schedule(drive, drive.next_due(self._clock.monotonic(), slowest))

    def _release(self) -> None:
        """Take back those whose process was given up and has gone."""
        there = self._children.stuck()
        for drive in [d for d in self._active.values() if d.state is State.STUCK]:
            if drive.target.address not in there:
                self._part(drive)

    def _schedule(self, drive: PolledDrive, due: float) -> None:
        drive.state = State.WAITING
        self._due.put(drive.target.address, due)
