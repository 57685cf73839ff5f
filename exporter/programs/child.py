"""One program that runs: started, read, ended. What watches several is in `children`."""

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

_CHUNK_BYTES = 1 << 16
_MOST_CHUNKS = 64

#: What Python ignores, or whoever started us in the background (nohup), a child would too.
_DEFAULT = (signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


class End(str, Enum):
    """How it ended with a child."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    TOO_MUCH_OUTPUT = "too_much_output"
    STUCK = "stuck"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Finished:
    """A child with which we are done.

    status: its exit status, or the number of the signal that ended it, negative; None where it
    has not ended (`STUCK`), never began, or somebody else took it.
    message: for people, where it did not end by itself.
    """

    key: Hashable
    end: End
    status: int | None = None
    output: bytes = b""
    errors: bytes = b""
    seconds: float = 0.0
    message: str = ""


class Stage(Enum):
    """How far we have gone to end a child."""

    RUNNING = 0
    TERMINATED = 1
    KILLED = 2
    GIVEN_UP = 3


class Watched:
    """The descriptors that one poll(2) looks at, and whose they are."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self._children: dict[int, Child] = {}

    def add(self, descriptor: int, child: "Child") -> None:
        if descriptor >= 0:
            self._children[descriptor] = child
            self.poll.register(descriptor, select.POLLIN)

    def child(self, descriptor: int) -> "Child | None":
        return self._children.get(descriptor)

    def close(self, descriptor: int) -> None:
        if self._children.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)
            os.close(descriptor)


@dataclass(slots=True)
class Child:
    """A process of ours that has not been collected.

    pidfd: becomes readable when it ends; -1 where the kernel gives none.
    pipes: what it prints and its errors; -1 where closed.
    deadline: when the next step is taken to end it, by the clock's monotonic seconds.
    send: gives a process group a signal.
    """

    key: Hashable
    program: str
    pid: int
    pidfd: int
    pipes: list[int]
    begun: float
    limit_seconds: float
    deadline: float
    may_kill: bool
    most_output_bytes: int
    watched: Watched
    send: Callable[[int, int], None]
    stage: Stage = Stage.RUNNING
    end: End = End.EXITED
    size: int = 0
    chunks: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))

    @property
    def is_open(self) -> bool:
        """Whether more may come of what it prints."""
        return max(self.pipes) >= 0

    def read(self, which: int) -> bool:
        """Take a chunk of what it printed; False where there is no more, for now or for good."""
        if self.pipes[which] < 0:
            return False
        try:
            chunk = os.read(self.pipes[which], _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self.size += len(chunk)
        if not chunk:
            self.close_pipe(which)
        elif self.size <= self.most_output_bytes:
            self.chunks[which].append(chunk)
        elif self.may_kill:
            self.end = End.TOO_MUCH_OUTPUT if self.end is End.EXITED else self.end
            self.close_pipe(0)
            self.close_pipe(1)
        else:
            # Emptied and dropped, for it must not be kept from coming to its end.
            self.end = End.TOO_MUCH_OUTPUT
        return self.pipes[which] >= 0

    def read_all(self) -> None:
        """Take what it has printed until now, of one that prints on and on a part."""
        for which in range(2):
            for _ in range(_MOST_CHUNKS):
                if not self.read(which):
                    break

    def close_pipe(self, which: int) -> None:
        if self.pipes[which] >= 0:
            os.close(self.pipes[which])
        self.pipes[which] = -1

    def close(self) -> None:
        self.close_pipe(0)
        self.close_pipe(1)
        self.watched.close(self.pidfd)

    def kill(self, number: int) -> None:
        """Send a signal to it and to what it has started, as long as it is not collected."""
        # Refused where the program runs with other rights than ours; it is then stuck in time.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.send(self.pid, number)

    def has_ended(self) -> bool:
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, flags) is not None
        except ChildProcessError:
            return True

    def collect(self) -> int | None:
        """Its exit status or minus the signal, once it has ended; None where somebody took it."""
        if self.may_kill:
            # Until it is collected its number is nobody else's: end what it left behind.
            self.kill(signal.SIGKILL)
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            return None
        return os.waitstatus_to_exitcode(status)


def spawn(
    argv: Sequence[str], environment: Mapping[str, str], *, may_kill: bool
) -> tuple[int, list[int]]:
    """Start a program in a process group of its own; its number, and what reads its two outputs.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    pipes: list[tuple[int, int]] = []
    try:
        pipes += (_pipe(),)
        pipes += (_pipe(),)
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, pipes[0][1], 1),
                (os.POSIX_SPAWN_DUP2, pipes[1][1], 2),
            ],
            # No session of its own, which Linux gives as much of the CPU as all of ours, whatever
            # the two nice values are (sched(7), autogroup).
            setpgroup=0,
            setsigmask=[],
            # Python ignores SIGPIPE, which a child would inherit. One that must not be killed
            # keeps it so: it does not die of it where we end before it does.
            setsigdef=[*_DEFAULT, *([signal.SIGPIPE] if may_kill else [])],
        )
    except (OSError, ValueError):
        for reading, _ in pipes:
            os.close(reading)
        raise
    finally:
        for _, writing in pipes:
            os.close(writing)
    # No setpriority(2) here: a child that is made to wait goes first for a turn of 2 ms (EEVDF,
    # Linux 6.6), in which nothing else of ours runs, for the call holds the interpreter's lock.
    return pid, [reading for reading, _ in pipes]


def pidfd(pid: int, open_pidfd: Callable[[int], int]) -> int:
    """-1 where the kernel (before 5.3), a seccomp filter or a limit gives none."""
    try:
        return open_pidfd(pid)
    except OSError:
        return -1


def _pipe() -> tuple[int, int]:
    """A pipe's ends, closed on exec. What we read does not block; what a child writes does."""
    reading, writing = (_above_two(descriptor) for descriptor in os.pipe())
    os.set_blocking(reading, False)
    return reading, writing


def _above_two(descriptor: int) -> int:
    """The same file under a number that a child's own three do not take.

    0 to 2 are free where a service manager has started us with them closed.
    """
    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved
