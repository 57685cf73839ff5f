"""Runs several programs at the same time from one thread, with limits on time and output.

One poll(2) waits for all children. Each child has a pidfd, a file descriptor that becomes readable
when the child ends. Output remains in the pipes of the child until the child ends, or until the
pipes are emptied at an interval. One thread for each program would need more memory, and the thread
of a child that cannot be killed would never end.
"""

import math
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol

from exporter.programs.child import Child, End, Finished, PidfdPoll, Stage, pidfd, spawn
from exporter.runtime.clock import Clock


class Children(Protocol):
    """Runs programs at the same time. Only one thread may use it."""

    @property
    def next_start(self) -> float:
        """The earliest time at which the next program should be started, in monotonic seconds.

        It is a suggestion: `start` starts a program at any time.
        """

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        """Starts a program. `wait` returns its result, even if it could not be started.

        key: identifies the program in its result.
        argv: the program and its arguments.
        limit_seconds: the time limit.
        may_kill: False if killing the program does harm. After its time limit it is abandoned and
            its result is `STUCK`.
        """

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        """Waits until a program has ended, and returns the results of all that have.

        The result is empty after `timeout` seconds, or earlier if `wake` becomes readable or an
        abandoned child has ended.

        timeout: the longest time to wait, in seconds.
        wake: a file descriptor that ends the wait when it becomes readable; None means that there
            is none.
        gather: the pause in seconds before each check of the children. Fewer checks save CPU time,
            because each check runs with cold caches.
        """

    def stuck(self) -> frozenset[Hashable]:
        """Returns the keys of the children that were abandoned and still exist."""

    def end_all(self) -> None:
        """Ends the running children within a bounded time and drops their results.

        The children that must not or cannot be killed keep running, and are in `stuck` until they
        end.
        """

    def close(self) -> None:
        """Calls `end_all`, and then forgets the children that keep running.

        It must be the last call: no program may be started after it.
        """


#: The variable in the environment of each child that contains the process number of its parent. By
#: it `leftovers` recognises the children of a process that was killed.
PARENT = "SSD_EXPORTER_PARENT"

#: The longest `wait`, in seconds. poll(2) takes its timeout as a 32-bit number of milliseconds.
_MAX_WAIT_SECONDS = 3600.0

#: The smallest average time between two starts, in seconds, and the number of starts over which it
#: is averaged. smartctl needs this much CPU time before it waits for its drive. If eight of them
#: started at once, each would reach its drive only after all have used their CPU time.
_START_INTERVAL_SECONDS, _STARTS_AVERAGED = 0.004, 3

#: Interval at which a child without a pidfd is checked whether it has ended, in seconds.
_CHECK_SECONDS = 0.02

#: Interval at which the pipes of running children are emptied, in seconds. The second, shorter one
#: applies after a pipe was full, because the child waits until it can print more. A pipe holds
#: 64 KB, and few programs print more.
_READ_SECONDS, _READ_AGAIN_SECONDS = 0.25, 0.02
_PIPE_BYTES = 1 << 16

#: The time that `end_all` waits for a child to end after SIGTERM, and again after SIGKILL, in
#: seconds.
_LAST_SECONDS = 0.3


class SystemChildren:
    """Runs programs on this machine, without a shell, without input, and in the C locale.

    Each child leads a process group, and a signal goes to the whole group. A child gets SIGTERM
    after its time limit, and SIGKILL if it has not ended `grace_seconds` later. If it still exists
    `abandon_seconds` after SIGKILL, it is in uninterruptible sleep in the kernel. It is then
    abandoned: its result is `STUCK`, and its exit status is read and dropped when it ends.

    max_output_bytes: the limit of standard output and standard error of a child together.
    open_pidfd: opens the pidfd of a process.
    send: sends a signal to a process group.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        grace_seconds: float = 2.0,
        abandon_seconds: float = 3.0,
        max_output_bytes: int = 1 << 20,
        open_pidfd: Callable[[int], int] = os.pidfd_open,
        send: Callable[[int, int], None] = os.killpg,
    ) -> None:
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._abandon_seconds = abandon_seconds
        self._max_output_bytes = max_output_bytes
        self._open_pidfd = open_pidfd
        self._send = send
        path = os.environ.get("PATH", os.defpath)
        self._environment = {"PATH": path, "LC_ALL": "C", PARENT: str(os.getpid())}
        self._pidfd_poll = PidfdPoll()
        self._running: dict[int, Child] = {}
        self._given_up: dict[int, Child] = {}
        self._done: list[Finished] = []
        self._read_at = math.inf
        self._starts = deque[float](maxlen=_STARTS_AVERAGED)

    @property
    def running(self) -> int:
        """The number of running children that were not abandoned."""
        return len(self._running)

    @property
    def next_start(self) -> float:
        if len(self._starts) < _STARTS_AVERAGED:
            return -math.inf
        return self._starts[0] + _STARTS_AVERAGED * _START_INTERVAL_SECONDS

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        started_at = self._clock.monotonic()
        self._starts.append(started_at)
        try:
            pid, pipes = spawn(argv, self._environment, may_kill=may_kill)
        except (OSError, ValueError) as e:
            reason = e.strerror if isinstance(e, OSError) else e
            message = f"{argv[0]!r} cannot be run: {reason}"
            self._done.append(Finished(key, End.NOT_STARTED, message=message))
            return
        child = Child(
            key=key,
            program=os.path.basename(argv[0]),
            pid=pid,
            pidfd=pidfd(pid, self._open_pidfd),
            pipes=pipes,
            started_at=started_at,
            limit_seconds=limit_seconds,
            deadline=started_at + limit_seconds,
            may_kill=may_kill,
            max_output_bytes=self._max_output_bytes,
            pidfd_poll=self._pidfd_poll,
            send=self._send,
        )
        self._running[pid] = child
        self._pidfd_poll.add(child.pidfd, child)
        self._read_at = min(self._read_at, started_at + _READ_SECONDS)

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        until = self._clock.monotonic() + min(timeout, _MAX_WAIT_SECONDS)
        if gather > 0 and not self._done:
            read_in = self._read_at - self._clock.monotonic()
            self._rest(max(0.0, min(gather, timeout, read_in)), wake)
        if wake is not None:
            self._pidfd_poll.poll.register(wake, select.POLLIN)
        try:
            while not self._done:
                left = max(0.0, self._soonest(until) - self._clock.monotonic())
                events = self._pidfd_poll.poll.poll(math.ceil(left * 1000))
                gone = self._take(descriptor for descriptor, _ in events)
                woken = any(descriptor == wake for descriptor, _ in events)
                if gone or woken or self._clock.monotonic() >= until:
                    break
        finally:
            if wake is not None:
                self._pidfd_poll.poll.unregister(wake)
        done, self._done = self._done, []
        return done

    @staticmethod
    def _rest(seconds: float, wake: int | None) -> None:
        """Sleeps until the time is over or `wake` becomes readable."""
        woken = select.poll()
        if wake is not None:
            woken.register(wake, select.POLLIN)
        woken.poll(seconds * 1000)

    def stuck(self) -> frozenset[Hashable]:
        return frozenset(child.key for child in self._given_up.values())

    def adopt(self, key: Hashable, program: str, pid: int, descriptor: int) -> None:
        """Tracks a process that an earlier process of this project started, until it ends.

        `stuck` contains its key meanwhile.

        program: the name of the program. pid: its process number.
        descriptor: a pidfd of the process. It is closed when the process ends.
        """
        now = self._clock.monotonic()
        self._given_up[pid] = Child(
            key=key,
            program=program,
            pid=pid,
            pidfd=descriptor,
            pipes=[-1, -1],
            started_at=now,
            limit_seconds=0.0,
            deadline=now,
            may_kill=False,
            max_output_bytes=0,
            pidfd_poll=self._pidfd_poll,
            send=self._send,
            is_adopted=True,
            stage=Stage.GIVEN_UP,
        )
        self._pidfd_poll.add(descriptor, self._given_up[pid])

    def pid(self, key: Hashable) -> int | None:
        """Returns the process number of the running child with this key; None if there is none."""
        return next((pid for pid, child in self._running.items() if child.key == key), None)

    def end(self, key: Hashable) -> None:
        """Ends a child as if its time limit were over. `wait` returns its result."""
        for child in self._running.values():
            if child.key == key and child.stage is Stage.RUNNING:
                child.deadline = self._clock.monotonic()

    def end_all(self) -> None:
        seconds = self._grace_seconds, self._abandon_seconds
        self._grace_seconds = min(self._grace_seconds, _LAST_SECONDS)
        self._abandon_seconds = min(self._abandon_seconds, _LAST_SECONDS)
        self._end_killable()
        self._grace_seconds, self._abandon_seconds = seconds
        now = self._clock.monotonic()
        for child in list(self._running.values()):
            self._give_up(child, now, "keeps running")
        self._done.clear()

    def close(self) -> None:
        self.end_all()
        for child in self._given_up.values():
            child.close()
        self._given_up.clear()

    def _end_killable(self) -> None:
        now = self._clock.monotonic()
        for child in self._running.values():
            if child.may_kill:
                last = now if child.stage is Stage.RUNNING else now + _LAST_SECONDS
                child.deadline = min(child.deadline, last)
        until = now + 2 * _LAST_SECONDS + 0.1
        while now < until and any(child.may_kill for child in self._running.values()):
            self.wait(until - now)
            now = self._clock.monotonic()

    def _soonest(self, until: float) -> float:
        """Returns when the children must be checked next, in monotonic seconds; at most `until`."""
        until = min(until, self._read_at)
        for child in self._running.values():
            until = min(until, child.deadline)
        if any(child.pidfd < 0 for child in (*self._running.values(), *self._given_up.values())):
            until = min(until, self._clock.monotonic() + _CHECK_SECONDS)
        return until

    def _take(self, descriptors: Iterable[int]) -> bool:
        """Stores the results of the children that have ended, and ends those past their time limit.

        Returns True if an abandoned child has ended.

        descriptors: the file descriptors that poll(2) reported.
        """
        before = len(self._given_up)
        for descriptor in descriptors:
            child = self._pidfd_poll.child(descriptor)
            if child is not None:  # `wake` has no child
                self._collect(child)
        self._read()
        for child in [c for c in self._given_up.values() if c.pidfd < 0]:
            self._collect(child)
        gone = len(self._given_up) < before
        for child in list(self._running.values()):
            if child.pidfd < 0:
                self._collect(child)
        self._end_overdue()
        return gone

    def _read(self) -> None:
        """Empties the pipes of all children, if the interval since the last time has passed."""
        now = self._clock.monotonic()
        if now < self._read_at:
            return
        printing = [c for c in (*self._running.values(), *self._given_up.values()) if c.is_open]
        read_in = _READ_SECONDS if printing else math.inf
        for child in printing:
            before = child.size
            child.read_all()
            if child.size - before >= _PIPE_BYTES and child.stage is not Stage.GIVEN_UP:
                read_in = _READ_AGAIN_SECONDS
        self._read_at = now + read_in

    def _end_overdue(self) -> None:
        now = self._clock.monotonic()
        for child in list(self._running.values()):
            too_much = child.end is End.TOO_MUCH_OUTPUT and child.may_kill
            if child.deadline <= now or (too_much and child.stage is Stage.RUNNING):
                self._end(child, now)

    def _end(self, child: Child, now: float) -> None:
        if not child.may_kill:
            # Its pipes stay open and are emptied, so that it can run to its end.
            self._give_up(child, now, "must not be killed")
        elif child.stage is Stage.RUNNING:
            child.end = End.TIMED_OUT if child.end is End.EXITED else child.end
            child.kill(signal.SIGTERM)
            child.stage, child.deadline = Stage.TERMINATED, now + self._grace_seconds
        elif child.stage is Stage.TERMINATED:
            child.kill(signal.SIGKILL)
            child.stage, child.deadline = Stage.KILLED, now + self._abandon_seconds
        else:
            child.close_pipe(0)
            child.close_pipe(1)
            self._give_up(child, now, "cannot be killed: it hangs in the kernel")

    def _give_up(self, child: Child, now: float, why: str) -> None:
        child.stage = Stage.GIVEN_UP
        output, errors = (b"".join(chunks) for chunks in child.chunks)
        for chunks in child.chunks:
            chunks.clear()
        child.max_output_bytes = 0
        self._given_up[child.pid] = self._running.pop(child.pid)
        seconds = now - child.started_at
        message = (
            f"{child.program} (process {child.pid}) has not ended after {seconds:.0f} s and {why}"
        )
        self._done.append(Finished(child.key, End.STUCK, None, output, errors, seconds, message))

    def _collect(self, child: Child) -> None:
        if not child.has_ended():
            return
        status = child.collect()
        child.read_all()
        child.close()
        if self._given_up.pop(child.pid, None) is not None:
            return
        del self._running[child.pid]
        output, errors = (b"".join(chunks) for chunks in child.chunks)
        seconds = self._clock.monotonic() - child.started_at
        message = self._failure(child, status)
        self._done.append(Finished(child.key, child.end, status, output, errors, seconds, message))

    def _failure(self, child: Child, status: int | None) -> str:
        """Returns why a child did not exit by itself, as text for people; empty if it did."""
        if child.end is End.TIMED_OUT:
            return f"{child.program} was ended: it ran longer than {child.limit_seconds:g} s"
        if child.end is End.TOO_MUCH_OUTPUT:
            limit = self._max_output_bytes
            return f"{child.program} printed more than {limit} bytes; its output is dropped"
        if status is None:
            return f"{child.program}: its exit status was lost (SIGCHLD ignored?)"
        return f"{child.program} was killed by signal {-status}" if status < 0 else ""
