"""Starts, reads and ends one child process. `children` runs several of them."""

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

_CHUNK_BYTES = 1 << 16

#: Limit of chunks read at a time from one child, so that one that prints without end delays the
#: others by 4 MB only.
_MAX_CHUNKS = 64

#: Signals that Python or the parent (nohup) may ignore. A child would inherit that.
_DEFAULT_SIGNALS = (
    *(signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
)


class End(str, Enum):
    """How the run of a child ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    TOO_MUCH_OUTPUT = "too_much_output"
    STUCK = "stuck"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a child.

    status: its exit status, or the negative number of the signal that ended it; None if it still
    exists (`STUCK`), was not started, or another part of the process collected its status.
    message: why it did not exit by itself, for people; else empty.
    """

    key: Hashable
    end: End
    status: int | None = None
    output: bytes = b""
    errors: bytes = b""
    seconds: float = 0.0
    message: str = ""


class Stage(Enum):
    """The last step that was taken to end a child."""

    RUNNING = 0
    TERMINATED = 1
    KILLED = 2
    GIVEN_UP = 3


class PidfdPoll:
    """A poll(2) object over the pidfds of all children, and the child of each."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self._children: dict[int, Child] = {}

    def add(self, descriptor: int, child: "Child") -> None:
        """Poll a child's pidfd; -1 is ignored."""
        if descriptor >= 0:
            self._children[descriptor] = child
            self.poll.register(descriptor, select.POLLIN)

    def child(self, descriptor: int) -> "Child | None":
        """The child of a pidfd; None for any other descriptor."""
        return self._children.get(descriptor)

    def close(self, descriptor: int) -> None:
        """Remove and close a pidfd."""
        if self._children.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)
            os.close(descriptor)


@dataclass(slots=True)
class Child:
    """A child process that has not been collected with waitpid(2).

    pidfd: becomes readable when the process ends; -1 where the kernel provides none.
    pipes: its standard output and standard error; -1 where closed.
    deadline: when the next step to end it is taken, in monotonic seconds.
    send: sends a signal to a process group.
    """

    key: Hashable
    program: str
    pid: int
    pidfd: int
    pipes: list[int]
    started_at: float
    limit_seconds: float
    deadline: float
    may_kill: bool
    max_output_bytes: int
    pidfd_poll: PidfdPoll
    send: Callable[[int, int], None]
    stage: Stage = Stage.RUNNING
    end: End = End.EXITED
    size: int = 0
    chunks: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))

    @property
    def is_open(self) -> bool:
        """Whether it may still print."""
        return max(self.pipes) >= 0

    def read(self, which: int) -> bool:
        """Read a chunk of pipe 0 or 1; False if there is nothing to read, now or ever."""
        if self.pipes[which] < 0:
            return False
        try:
            chunk = os.read(self.pipes[which], _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self.size += len(chunk)
        if not chunk:
            self.close_pipe(which)
        elif self.size <= self.max_output_bytes:
            self.chunks[which].append(chunk)
        elif self.may_kill:
            self.end = End.TOO_MUCH_OUTPUT if self.end is End.EXITED else self.end
            self.close_pipe(0)
            self.close_pipe(1)
        else:
            # The output is read and dropped: a full pipe would keep the process from ending.
            self.end = End.TOO_MUCH_OUTPUT
        return self.pipes[which] >= 0

    def read_all(self) -> None:
        """Read what it has printed so far, up to a limit."""
        for which in range(2):
            for _ in range(_MAX_CHUNKS):
                if not self.read(which):
                    break

    def close_pipe(self, which: int) -> None:
        """Close pipe 0 or 1."""
        if self.pipes[which] >= 0:
            os.close(self.pipes[which])
        self.pipes[which] = -1

    def close(self) -> None:
        """Close the pipes and the pidfd."""
        self.close_pipe(0)
        self.close_pipe(1)
        self.pidfd_poll.close(self.pidfd)

    def kill(self, number: int) -> None:
        """Send a signal to the process and all that it started. It must not be collected yet."""
        # Not permitted if the program runs with other privileges. It then becomes `STUCK`.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.send(self.pid, number)

    def has_ended(self) -> bool:
        """Whether `collect` would return at once."""
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, flags) is not None
        except ChildProcessError:
            return True

    def collect(self) -> int | None:
        """Exit status or negative signal number; None if another waitpid(2) has taken it."""
        if self.may_kill:
            # Until the process is collected its number is not reused: end what it left behind.
            self.kill(signal.SIGKILL)
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            return None
        return os.waitstatus_to_exitcode(status)


def spawn(
    argv: Sequence[str], environment: Mapping[str, str], *, may_kill: bool
) -> tuple[int, list[int]]:
    """Start a program in a process group of its own, without input.

    Returns its process number and the reading ends of its standard output and standard error.

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
            # A process group and not a session: Linux gives a session as much CPU time as all of
            # this process, whatever the two nice values are (sched(7), autogroup).
            setpgroup=0,
            setsigmask=[],
            # Python ignores SIGPIPE, which a child inherits. A child that must not be killed keeps
            # it so, and survives the end of this process.
            setsigdef=[*_DEFAULT_SIGNALS, *([signal.SIGPIPE] if may_kill else [])],
        )
    except (OSError, ValueError):
        for reading, _ in pipes:
            os.close(reading)
        raise
    finally:
        for _, writing in pipes:
            os.close(writing)
    # No setpriority(2) here. With EEVDF (Linux 6.6) the child would first run for 2 ms, during
    # which the call holds the interpreter's lock and no other thread of this process runs.
    return pid, [reading for reading, _ in pipes]


def pidfd(pid: int, open_pidfd: Callable[[int], int]) -> int:
    """A pidfd; -1 where the kernel (before 5.3), a seccomp filter or a limit provides none."""
    try:
        return open_pidfd(pid)
    except OSError:
        return -1


def _pipe() -> tuple[int, int]:
    """A pipe's two ends, closed on exec. Reading does not block; writing does."""
    reading, writing = (_above_two(descriptor) for descriptor in os.pipe())
    os.set_blocking(reading, False)
    return reading, writing


def _above_two(descriptor: int) -> int:
    """The same file with a number above the three standard streams of a child.

    Numbers 0 to 2 are free if a service manager has started this process with them closed.
    """
    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved
