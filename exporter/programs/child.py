"""Starts one child process, reads its output and ends it. `children` runs several of them.

A pidfd is a file descriptor for a process. poll(2) reports it as readable when the process ends. A
process is collected when waitpid(2) has read its exit status. Afterwards the kernel can reuse its
process number.
"""

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

_CHUNK_BYTES = 1 << 16

#: The largest number of chunks that are read from one pipe of a child at a time. A child that
#: prints without end thus delays the others by at most 4 MB for each pipe.
_MAX_CHUNKS = 64

#: Signals that Python or its parent process (nohup) may ignore. A child would inherit this, so the
#: default action is restored for it.
_DEFAULT_SIGNALS = (
    *(signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
)


class End(str, Enum):
    """How the run of a child ended.

    STUCK: the child still exists and was abandoned, because it cannot or must not be killed.
    """

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    TOO_MUCH_OUTPUT = "too_much_output"
    STUCK = "stuck"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a child.

    key: the value that the caller has given to the child.
    end: how the run ended.
    status: the exit status, or the negative number of the signal that ended the child. None means
        that the child still exists (`STUCK`), that it was not started, or that the status was lost.
    output, errors: the bytes on standard output and standard error; empty if there was too much. Of
        a child that still exists, they are those up to now.
    seconds: the duration of the run.
    message: why the child did not exit by itself, as text for people; else empty.
    """

    key: Hashable
    end: End
    status: int | None = None
    output: bytes = b""
    errors: bytes = b""
    seconds: float = 0.0
    message: str = ""


class Stage(Enum):
    """The last step that was taken to end a child. RUNNING means no step."""

    RUNNING = 0
    TERMINATED = 1
    KILLED = 2
    GIVEN_UP = 3


class PidfdPoll:
    """A poll(2) object for the pidfds of all children, and the child of each pidfd."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self._children: dict[int, Child] = {}

    def add(self, descriptor: int, child: "Child") -> None:
        """Adds a child's pidfd. The value -1 is ignored."""
        if descriptor >= 0:
            self._children[descriptor] = child
            self.poll.register(descriptor, select.POLLIN)

    def child(self, descriptor: int) -> "Child | None":
        """Returns the child of a pidfd; None for any other file descriptor."""
        return self._children.get(descriptor)

    def close(self, descriptor: int) -> None:
        """Removes and closes a pidfd. Other file descriptors are ignored."""
        if self._children.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)
            os.close(descriptor)


@dataclass(slots=True)
class Child:
    """A child process that has not been collected with waitpid(2).

    key: the value that the caller has given to the child.
    program: the name of the program, for messages.
    pid: the process number, which is also that of its process group.
    pidfd: the pidfd; -1 means that the kernel provides none.
    pipes: the reading ends of its standard output and standard error; -1 means closed.
    started_at: when it was started, in monotonic seconds.
    limit_seconds: its time limit.
    deadline: when the next step to end it is due, in monotonic seconds.
    may_kill: False if killing the program does harm.
    max_output_bytes: the limit of standard output and standard error together.
    send: sends a signal to a process group.
    stage: the last step that was taken to end it.
    is_adopted: True if an earlier process has started it, so that waitpid(2) does not apply.
    end: how the run has ended, or will end as far as is known.
    size: the number of bytes that it has printed so far.
    chunks: what it has printed to standard output and to standard error.
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
    is_adopted: bool = False
    stage: Stage = Stage.RUNNING
    end: End = End.EXITED
    size: int = 0
    chunks: tuple[list[bytes], list[bytes]] = field(default_factory=lambda: ([], []))

    @property
    def is_open(self) -> bool:
        """True if at least one of its pipes is open, so that it may still print."""
        return max(self.pipes) >= 0

    def read(self, which: int) -> bool:
        """Reads a chunk from pipe 0 (standard output) or 1 (standard error).

        Returns True if there may be more to read, False if the pipe is empty or closed.
        """
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
            # The output is read and dropped, because a full pipe would prevent the process from
            # ending.
            self.end = End.TOO_MUCH_OUTPUT
        return self.pipes[which] >= 0

    def read_all(self) -> None:
        """Reads the output up to now, at most 4 MB from each pipe."""
        for which in range(2):
            for _ in range(_MAX_CHUNKS):
                if not self.read(which):
                    break

    def close_pipe(self, which: int) -> None:
        """Closes pipe 0 (standard output) or 1 (standard error), if it is open."""
        if self.pipes[which] >= 0:
            os.close(self.pipes[which])
        self.pipes[which] = -1

    def close(self) -> None:
        """Closes the pipes and the pidfd."""
        self.close_pipe(0)
        self.close_pipe(1)
        self.pidfd_poll.close(self.pidfd)

    def kill(self, number: int) -> None:
        """Sends a signal to the process and to all processes of its process group.

        Call it only before the process is collected. Later its number may belong to another
        process.
        """
        # The signal is not permitted if the program runs with other privileges. The child then
        # becomes `STUCK`.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.send(self.pid, number)

    def has_ended(self) -> bool:
        """True if the process has ended, so that `collect` returns at once."""
        if self.is_adopted:
            return is_over(self.pidfd)
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, flags) is not None
        except ChildProcessError:
            return True

    def collect(self) -> int | None:
        """Waits until the process has ended, and returns its exit status.

        If a signal ended it, the result is the negative number of the signal. None means that the
        status was lost: another waitpid(2) of this process has read it, or SIGCHLD is ignored. It
        is also lost if the process is adopted.
        """
        if self.is_adopted:
            return None
        if self.may_kill:
            # The processes that it started and left behind are ended. This is possible only now:
            # its number cannot be reused until it is collected.
            self.kill(signal.SIGKILL)
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            return None
        return os.waitstatus_to_exitcode(status)


def spawn(
    argv: Sequence[str], environment: Mapping[str, str], *, may_kill: bool
) -> tuple[int, list[int]]:
    """Starts a program in a process group of its own, without input.

    Returns its process number and the reading ends of its standard output and standard error.

    argv: the program and its arguments.
    environment: the environment variables of the program.
    may_kill: False if killing the program does harm. It then ignores SIGPIPE.

    Raises:
        OSError: the program cannot be started, for example because it does not exist.
        ValueError: an argument is invalid, for example because it contains a null character.
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
            # The child gets a process group of its own, but no session of its own. Linux would give
            # a session as much CPU time as this whole process, whatever the two nice values are
            # (sched(7), autogroup).
            setpgroup=0,
            setsigmask=[],
            # Python ignores SIGPIPE, and a child inherits this. For a child that must not be killed
            # it stays ignored, so that the child survives the end of this process.
            setsigdef=[*_DEFAULT_SIGNALS, *([signal.SIGPIPE] if may_kill else [])],
        )
    except (OSError, ValueError):
        for reading, _ in pipes:
            os.close(reading)
        raise
    finally:
        for _, writing in pipes:
            os.close(writing)
    # setpriority(2) is not called here. With EEVDF (Linux 6.6) the child would first run for 2 ms.
    # During this time the call holds the interpreter's lock, and no other thread of this process
    # runs.
    return pid, [reading for reading, _ in pipes]


def is_over(pidfd: int) -> bool:
    """True if the process of a pidfd has ended."""
    ended = select.poll()
    ended.register(pidfd, select.POLLIN)
    return bool(ended.poll(0))


def pidfd(pid: int, open_pidfd: Callable[[int], int]) -> int:
    """Returns a pidfd of the process; -1 if none can be opened.

    The cause may be a kernel before 5.3, a seccomp filter, or the limit of open files.

    open_pidfd: opens the pidfd of a process, as os.pidfd_open does.
    """
    try:
        return open_pidfd(pid)
    except OSError:
        return -1


def _pipe() -> tuple[int, int]:
    """Returns the reading and the writing end of a new pipe. Both are closed on exec.

    The reading end does not block; the writing end does.
    """
    reading, writing = (_above_two(descriptor) for descriptor in os.pipe())
    os.set_blocking(reading, False)
    return reading, writing


def _above_two(descriptor: int) -> int:
    """Returns a file descriptor above 2 for the same file. A descriptor from 0 to 2 is closed.

    The numbers 0 to 2 are the standard streams of a child. A new file gets one of them if a service
    manager has started this process with its standard streams closed.
    """
    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved
