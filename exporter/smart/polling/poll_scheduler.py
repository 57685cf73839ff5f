"""Schedules SMART polls, runs smartctl for each, and isolates drives that hang.

The work is done in `step`, on the thread that calls it. smartctl runs in one process for each
drive, so that a drive that hangs delays no other drive. Times are monotonic seconds, unless a name
or docstring says otherwise.
"""

import math
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.programs.child import End, Finished
from exporter.programs.children import Children
from exporter.runtime.clock import Clock
from exporter.runtime.errors import CommandError
from exporter.runtime.threads import WakePipe
from exporter.smart import smartctl
from exporter.smart.polling.log_reading import LogBatch, LogReading
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import PollDocument, poll_document
from exporter.smart.polling.poll_timing import AdapterQueue, DueQueue, PolledDrive, State, Target
from exporter.smart.smartctl import Address, Logs

#: Some USB bridges are accessed by writes to the volume, by one process at a time. A drive on a
#: busy bridge is retried after this time, in seconds.
_BRIDGE_RETRY_SECONDS = 1.0

#: Polls that end within this time of the first one, in seconds, are processed together. With warm
#: caches, each further poll costs half the CPU time.
_TOGETHER_SECONDS = 0.5

#: During that time, the polls that have ended are collected at this interval, in seconds.
_GATHER_SECONDS = 0.06

#: The keys of the two scans: `SCAN` opens each drive, `LISTING` opens none.
SCAN = "scan"
LISTING = "listing"


@dataclass(frozen=True, slots=True)
class PollSettings:
    """Limits of polling.

    processes, processes_per_adapter: the largest number of smartctl processes that run at a time,
        in total and for the drives of one host adapter.
    slowest_retry_seconds: the longest interval of a drive that does not answer in time. Each poll
        that takes too long doubles the drive's interval, up to this value.
    daily_seconds: the interval at which the error and self-test logs are read too.
    log_interval_seconds: the interval at which log pages of NVMe drives are read, as in
        `LogReading`.
    """

    processes: int = 8
    processes_per_adapter: int = 4
    slowest_retry_seconds: float = 3600.0
    daily_seconds: float = 86_400.0
    log_interval_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Handover:
    """What the next scheduler of the drives takes over.

    children: runs the processes, and still tracks those that could not be ended.
    logs: what is known of the log pages.
    """

    children: Children
    logs: LogReading


def process_key(argv: Sequence[str]) -> str | Address | None:
    """Returns the key of a process that a scheduler has started; None if it is another one.

    argv: the command line of the process. An interpreter may come before the program.
    """
    if "--scan-open" in argv:
        return SCAN
    return LISTING if "--scan" in argv else smartctl.polled_address(argv)


def may_be_killed(key: object) -> bool:
    """True if the process with this key can be killed without harm."""
    return not isinstance(key, Address) or smartctl.may_be_killed(key.type)


class PollScheduler:
    """Polls each drive at once, then once per interval.

    It never runs two processes for one drive. If the process of a drive cannot be ended, the drive
    is polled again when the process has ended. An earlier scheduler may have started the process.

    For some USB bridges, smartctl writes to a sector of the volume and restores the sector at its
    end. Two drives on the path of such a bridge are not polled at the same time: each process would
    restore the sector that the other process has written.

    program: the path or name of smartctl.
    """

    def __init__(
        self, children: Children, clock: Clock, program: str, settings: PollSettings
    ) -> None:
        self._children = children
        self._clock = clock
        self._program = program
        self._settings = settings
        self._logs = LogReading(settings.log_interval_seconds)
        self._drives: dict[Address, PolledDrive] = {}
        self._active: dict[Address, PolledDrive] = {}
        self._due = DueQueue[Address]()
        self._queue = AdapterQueue[PolledDrive](settings.processes, settings.processes_per_adapter)
        self._not_started: list[Finished] = []
        self._scanning: set[str] = set()
        self._is_woken = False
        self._scan: Finished | None = None
        self._wake = WakePipe()

    @property
    def stuck(self) -> frozenset[Address]:
        """The drives whose smartctl process was abandoned and still exists."""
        return frozenset(key for key in self._children.stuck() if isinstance(key, Address))

    @property
    def is_scan_stuck(self) -> bool:
        """True if the process of a scan that opens drives was abandoned and still exists."""
        return SCAN in self._children.stuck()

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Replaces the drives to poll. New drives are polled at once, in the given order.

        A process for a drive that was removed runs to its end, and its result is dropped.
        """
        now, old, stuck = self._clock.monotonic(), self._drives, self.stuck
        self._drives = {}
        for target in targets:
            if target.address in self._drives:
                continue
            drive = old.get(target.address) or self._active.get(target.address)
            if drive is None:
                drive = PolledDrive.new(target, now)
                if target.address in stuck:
                    drive.state = State.STUCK
                    self._active[target.address] = drive
                else:
                    self._schedule(drive, now)
            elif drive.target != target:
                drive.target = target
                if drive.state is State.WAITING and drive.was_polled:
                    self._schedule(drive, drive.next_due(now, self._settings.slowest_retry_seconds))
            drive.wanted = True
            self._drives[target.address] = drive
        for address in old.keys() - self._drives.keys():
            old[address].wanted = False
            self._due.drop(address)
        self._logs.keep(self._drives)

    def start_scan(self, limit_seconds: float, kind: str = SCAN) -> bool:
        """Starts a scan, which runs at the same time as the polls.

        Returns False if a scan of the same kind still runs.

        limit_seconds: the time limit of the scan.
        kind: `SCAN` opens each drive and hangs at the first drive that hangs. `LISTING` opens no
            drive and reports less precise types (smartctl(8), --scan).
        """
        if kind in self._scanning or kind in self._children.stuck():
            return False
        self._scanning.add(kind)
        argv = smartctl.scan_arguments(self._program)
        if kind == LISTING:
            argv = [self._program, "--json=c", "--scan"]
        self._children.start(kind, argv, limit_seconds)
        return True

    def take_scan(self) -> Finished | None:
        """Returns the last scan that has ended, and forgets it; None if none has ended since.

        The key of the result is the kind of the scan.
        """
        scan, self._scan = self._scan, None
        return scan

    def wake(self) -> None:
        """Makes the current `step` return soon.

        This is the only method that other threads and signal handlers may call.
        """
        self._wake.set()

    def wake_on_signals(self) -> None:
        """Makes each signal wake `step`.

        Call it on the main thread. At the end, call `hand_over` or `close` on the main thread too.
        """
        self._wake.wake_on_signals()

    def step(self, timeout: float) -> Generator[PollDocument, None, None]:
        """Starts the polls that are due, and yields the documents of the polls that have ended.

        It waits at most `timeout` seconds for the end of a poll. It yields nothing if no poll ends
        in this time. It also ends without a document if it is woken, if a scan ends, or if another
        drive is due. Call it repeatedly and iterate over the whole result.
        """
        ended: list[Finished] = []
        until = self._clock.monotonic() + timeout
        while True:
            active = len(self._active)
            # If a drive waits for a free process, it must start as soon as another process ends.
            # In this case several results are not collected.
            gather = _GATHER_SECONDS if ended and not self._queue.waiting else 0.0
            more = self._round(until, gather)
            if more and not ended:
                until = self._clock.monotonic() + _TOGETHER_SECONDS
            ended += more
            nothing_came = not more and active == len(self._active)
            if self._is_woken or nothing_came or not self._expects_more(ended, until):
                break
        yield from self._documents(ended)

    def _documents(self, ended: Sequence[Finished]) -> Iterator[PollDocument]:
        """Yields the documents of processes that have ended, and reschedules their drives.

        The documents are built one at a time, because a parsed report takes ten times the memory of
        its text.
        """
        left = deque(ended)
        try:
            while left:
                if (document := self._finish(left.popleft())) is not None:
                    yield document
        finally:
            # If the receiver of a document has raised an exception, the other drives must still be
            # rescheduled.
            for finished in left:
                self._finish(finished)

    def _round(self, until: float, gather: float) -> list[Finished]:
        self._start_due()
        self._logs.start(self._children, self._clock.monotonic())
        due = -math.inf if self._queue.can_take else self._due.soonest()
        if due is not None:
            until = min(until, max(due, self._children.next_start))
        ended = self._wait(max(0.0, until - self._clock.monotonic()), gather)
        for finished in ended:
            if isinstance(finished.key, Address):
                self._queue.give_back(self._active[finished.key].adapter)
        self._release_stuck()
        # The next polls start before the documents are processed, so that both run at the same
        # time.
        self._start_due()
        return ended

    def _expects_more(self, ended: Sequence[Finished], until: float) -> bool:
        """True if another poll is likely to end or start before the time `until`.

        ended: the processes whose results are already collected.
        """
        now, due = self._clock.monotonic(), self._due.soonest()
        if now >= until:
            return False
        if self._queue.can_take or (due is not None and due < min(until, now + _TOGETHER_SECONDS)):
            return True
        done = {finished.key for finished in ended}
        return bool(ended) and any(
            drive.began > now - _TOGETHER_SECONDS and address not in done
            for address, drive in self._active.items()
        )

    def inherit(self, earlier: Handover) -> None:
        """Takes over from an earlier scheduler. Call it before the first `step`."""
        if self._children is not earlier.children:
            self._children.close()
        self._children = earlier.children
        self._logs.inherit(earlier.logs)

    def hand_over(self) -> Handover:
        """Ends the running processes within a bounded time."""
        self._children.end_all()
        self._wake.close()
        return Handover(self._children, self._logs)

    def close(self) -> None:
        """Ends the running processes within a bounded time."""
        self.hand_over().children.close()

    def _start_due(self) -> None:
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
                self._schedule(ready, now + _BRIDGE_RETRY_SECONDS)

    def _is_busy(self, target: Target) -> bool:
        """True if another process uses the target's path, and one of both writes to the volume."""
        path, may_kill = target.address.path, target.may_kill
        return any(
            address.path == path and not (may_kill and smartctl.may_be_killed(address.type))
            for address in (*self._active, *self.stuck)
        )

    def _start(self, drive: PolledDrive) -> None:
        target, now = drive.target, self._clock.monotonic()
        drive.start_poll(now, Moment.now(self._clock))
        self._active[target.address] = drive
        try:
            argv = smartctl.arguments(
                *(self._program, target.address, drive.logs),
                spins=target.spins,
                form=drive.form,
            )
        except CommandError as e:
            self._not_started.append(Finished(target.address, End.NOT_STARTED, message=str(e)))
            return
        limit = target.timeout_seconds
        self._children.start(target.address, argv, limit, may_kill=target.may_kill)

    def _wait(self, timeout: float, gather: float) -> list[Finished]:
        not_started, self._not_started = self._not_started, []
        timeout = 0.0 if not_started else timeout
        finished = self._children.wait(timeout, self._wake.reading, gather=gather)
        self._is_woken = self._wake.clear()
        return not_started + finished

    def _finish(self, finished: Finished) -> PollDocument | None:
        """Handles a process that has ended: stores the result of a scan, or reschedules the drive.

        Returns the poll document; None for a scan, for log pages, for a removed drive, or for a
        poll that is repeated with another form of output.
        """
        address = finished.key
        if isinstance(address, LogBatch):
            self._logs.finish(address, finished, self._clock.monotonic(), self._clock.wall())
            return None
        if not isinstance(address, Address):
            self._scan = finished
            self._scanning.discard(str(finished.key))
            return None
        drive = self._active[address]
        document = poll_document(
            finished,
            address,
            began=drive.began_moment or Moment.now(self._clock),
            interval_seconds=drive.target.interval_seconds,
            is_daily=drive.logs is Logs.DAILY,
            form=drive.form,
        )
        best = smartctl.best_form(finished.output, document.report)
        if drive.changes_form(document.result, best):
            self._reschedule(drive, is_due=True)
            return None
        drive.end_poll(document.result, self._settings.daily_seconds)
        if finished.end is End.STUCK:
            drive.state = State.STUCK
        else:
            self._reschedule(drive)
        if not drive.wanted:
            return None
        self._logs.follow(document, self._clock.monotonic())
        return document

    def _reschedule(self, drive: PolledDrive, *, is_due: bool = False) -> None:
        """Schedules the next poll of a drive whose process has gone.

        is_due: True for a poll at once.
        """
        del self._active[drive.target.address]
        drive.state = State.WAITING
        if drive.wanted:
            now, slowest = self._clock.monotonic(), self._settings.slowest_retry_seconds
            self._schedule(drive, now if is_due else drive.next_due(now, slowest))

    def _release_stuck(self) -> None:
        """Reschedules the drives whose abandoned process has gone."""
        stuck = self._children.stuck()
        for drive in [d for d in self._active.values() if d.state is State.STUCK]:
            if drive.target.address not in stuck:
                self._reschedule(drive)

    def _schedule(self, drive: PolledDrive, due: float) -> None:
        drive.state = State.WAITING
        self._due.put(drive.target.address, due)
