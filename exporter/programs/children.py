"""Several programs at once: what who asks drives needs of them. They run in `system_children`.

Several programs at once from one thread: the edge through which drives are asked.

A thread for each would cost its stack, and one that waits for a child which cannot be killed
would never end. Here one poll(2) watches them all: a pidfd a child, which wakes us once, when it
has ended. What it prints stays in its pipes until then, or until somebody looks.
"""

import math
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol

from exporter.clock import Clock
from exporter.programs.child import Child, End, Finished, Stage, Watched, pidfd, spawn


class Children(Protocol):
    """Runs programs side by side. To be used from one thread."""

    @property
    def next_start(self) -> float:
        """From when another is best started, by the clock's monotonic seconds."""

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        """Start a program; `wait` tells how it ended, also where it could not be started.

        may_kill: False for what does harm when it is killed: after its time it is `STUCK`.
        """

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        """Those that have ended, as soon as one has; else nothing, after `timeout` seconds.

        Nothing sooner where the descriptor `wake` is readable, or a stuck child has gone.
        gather: nobody is looked at before so many seconds: each look costs cold caches.
        """

    def stuck(self) -> frozenset[Hashable]:
        """Whose child was given up and is still there."""

    def end_all(self) -> None:
        """End those that run, within a bounded time; nobody hears of them.

        Those that may not be killed, or cannot be, go on and are among the `stuck` until they end.
        """

    def close(self) -> None:
        """As `end_all`, and what goes on is no longer known: nothing can be started after."""


_LONGEST_WAIT_SECONDS = 3600.0

#: From one start to the next, on the average of so many. smartctl needs so much of a CPU before it
#: waits for its drive: of eight that begin at once, none does until all have had theirs.
_BETWEEN_SECONDS, _AT_ONCE = 0.004, 3

#: Where there is no pidfd, a child is asked this often whether it has ended.
_ASK_SECONDS = 0.02

#: The pipes of those that run are emptied this often: they hold 64 KB, and few print as much. One
#: that has filled its pipe waits for us.
_LOOK_SECONDS, _LOOK_AGAIN_SECONDS = 0.25, 0.02
_PIPE_BYTES = 1 << 16

#: When we end ourselves, within a second, a child has so long after SIGTERM and after SIGKILL.
_LAST_SECONDS = 0.3


class SystemChildren:
    """Runs programs on this machine, without a shell, in the C locale, without input.

    Each leads a process group of its own and is ended with what it started: SIGTERM after its time,
    SIGKILL `grace_seconds` later. One that is still there `abandon_seconds` after that sits in
    the kernel, uninterruptible: it is given up, and collected whenever it ends.

    environment: what they get besides the locale; None for nothing but a PATH.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        grace_seconds: float = 2.0,
        abandon_seconds: float = 3.0,
        most_output_bytes: int = 1 << 20,
        environment: Mapping[str, str] | None = None,
        open_pidfd: Callable[[int], int] = os.pidfd_open,
        send: Callable[[int, int], None] = os.killpg,
    ) -> None:
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._abandon_seconds = abandon_seconds
        self._most_output_bytes = most_output_bytes
        self._open_pidfd = open_pidfd
        self._send = send
        usual = {"PATH": os.environ.get("PATH", os.defpath)}
        self._environment = {**(usual if environment is None else environment), "LC_ALL": "C"}
        self._watched = Watched()
        self._running: dict[int, Child] = {}
        self._given_up: dict[int, Child] = {}
        self._done: list[Finished] = []
        self._look_at = math.inf
        self._starts = deque[float](maxlen=_AT_ONCE)

    @property
    def running(self) -> int:
        """How many run that are waited for; stuck ones are not."""
        return len(self._running)

    @property
    def next_start(self) -> float:
        if len(self._starts) < _AT_ONCE:
            return -math.inf
        return self._starts[0] + _AT_ONCE * _BETWEEN_SECONDS

    def start(
        self, key: Hashable, argv: Sequence[str], limit_seconds: float, *, may_kill: bool = True
    ) -> None:
        begun = self._clock.monotonic()
        self._starts.append(begun)
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
            begun=begun,
            limit_seconds=limit_seconds,
            deadline=begun + limit_seconds,
            may_kill=may_kill,
            most_output_bytes=self._most_output_bytes,
            watched=self._watched,
            send=self._send,
        )
        self._running[pid] = child
        self._watched.add(child.pidfd, child)
        self._look_at = min(self._look_at, begun + _LOOK_SECONDS)

    def wait(
        self, timeout: float, wake: int | None = None, *, gather: float = 0.0
    ) -> list[Finished]:
        until = self._clock.monotonic() + min(timeout, _LONGEST_WAIT_SECONDS)
        if gather > 0 and not self._done:
            look_in = self._look_at - self._clock.monotonic()
            self._rest(max(0.0, min(gather, timeout, look_in)), wake)
        if wake is not None:
            self._watched.poll.register(wake, select.POLLIN)
        try:
            while not self._done:
                left = max(0.0, self._soonest(until) - self._clock.monotonic())
                events = self._watched.poll.poll(math.ceil(left * 1000))
                gone = self._take(descriptor for descriptor, _ in events)
                woken = any(descriptor == wake for descriptor, _ in events)
                if gone or woken or self._clock.monotonic() >= until:
                    break
        finally:
            if wake is not None:
                self._watched.poll.unregister(wake)
        done, self._done = self._done, []
        return done

    @staticmethod
    def _rest(seconds: float, wake: int | None) -> None:
        woken = select.poll()
        if wake is not None:
            woken.register(wake, select.POLLIN)
        woken.poll(seconds * 1000)

    def stuck(self) -> frozenset[Hashable]:
        return frozenset(child.key for child in self._given_up.values())

    def pid(self, key: Hashable) -> int | None:
        """The process of a child that runs; None where there is none, as after a failed start."""
        return next((pid for pid, child in self._running.items() if child.key == key), None)

    def end(self, key: Hashable) -> None:
        """End a child now, as if its time were over; `wait` tells when it has ended."""
        for child in self._running.values():
            if child.key == key and child.stage is Stage.RUNNING:
                child.deadline = self._clock.monotonic()

    def end_all(self) -> None:
        usual = self._grace_seconds, self._abandon_seconds
        self._grace_seconds = min(self._grace_seconds, _LAST_SECONDS)
        self._abandon_seconds = min(self._abandon_seconds, _LAST_SECONDS)
        self._end_what_may_be_killed()
        self._grace_seconds, self._abandon_seconds = usual
        now = self._clock.monotonic()
        for child in list(self._running.values()):
            self._give_up(child, now, "goes on")
        self._done.clear()

    def close(self) -> None:
        self.end_all()
        for child in self._given_up.values():
            child.close()
        self._given_up.clear()

    def _end_what_may_be_killed(self) -> None:
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
        until = min(until, self._look_at)
        for child in self._running.values():
            until = min(until, child.deadline)
        if any(child.pidfd < 0 for child in (*self._running.values(), *self._given_up.values())):
            until = min(until, self._clock.monotonic() + _ASK_SECONDS)
        return until

    def _take(self, descriptors: Iterable[int]) -> bool:
        """Take what has come; True where a child that was given up has gone."""
        before = len(self._given_up)
        for descriptor in descriptors:
            child = self._watched.child(descriptor)
            if child is not None:  # the wake has none
                self._collect(child)
        self._look()
        for child in [c for c in self._given_up.values() if c.pidfd < 0]:
            self._collect(child)
        gone = len(self._given_up) < before
        for child in list(self._running.values()):
            if child.pidfd < 0:
                self._collect(child)
        self._end_late_ones()
        return gone

    def _look(self) -> None:
        """Empty the pipes, in time."""
        now = self._clock.monotonic()
        if now < self._look_at:
            return
        printing = [c for c in (*self._running.values(), *self._given_up.values()) if c.is_open]
        look_in = _LOOK_SECONDS if printing else math.inf
        for child in printing:
            before = child.size
            child.read_all()
            if child.size - before >= _PIPE_BYTES and child.stage is not Stage.GIVEN_UP:
                look_in = _LOOK_AGAIN_SECONDS
        self._look_at = now + look_in

    def _end_late_ones(self) -> None:
        now = self._clock.monotonic()
        for child in list(self._running.values()):
            too_much = child.end is End.TOO_MUCH_OUTPUT and child.may_kill
            if child.deadline <= now or (too_much and child.stage is Stage.RUNNING):
                self._end(child, now)

    def _end(self, child: Child, now: float) -> None:
        if not child.may_kill:
            # Its pipes stay open and are emptied, so that it can go on to its end.
            self._give_up(child, now, "is not killed, for that does harm")
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
        for chunks in child.chunks:
            chunks.clear()
        child.most_output_bytes = 0
        self._given_up[child.pid] = self._running.pop(child.pid)
        seconds = now - child.begun
        message = (
            f"{child.program} (process {child.pid}) has not ended after {seconds:.0f} s and {why};"
            " its drive is left alone until it has"
        )
        self._done.append(Finished(child.key, End.STUCK, seconds=seconds, message=message))

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
        seconds = self._clock.monotonic() - child.begun
        message = self._why(child, status)
        self._done.append(Finished(child.key, child.end, status, output, errors, seconds, message))

    def _why(self, child: Child, status: int | None) -> str:
        if child.end is End.TIMED_OUT:
            return f"{child.program} was ended: it took longer than {child.limit_seconds:g} s"
        if child.end is End.TOO_MUCH_OUTPUT:
            most = self._most_output_bytes
            return f"{child.program} printed more than {most} bytes; nothing of it is used"
        if status is None:
            return f"{child.program}: its exit status is lost; SIGCHLD must not be ignored"
        return f"{child.program} was killed by signal {-status}" if status < 0 else ""
