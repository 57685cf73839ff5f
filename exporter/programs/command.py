"""Runs one program to its end and returns what it printed. `SystemRunner` is replaced in tests."""

import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from exporter.clock import SystemClock
from exporter.errors import CommandError
from exporter.programs.child import End, Finished
from exporter.programs.children import SystemChildren

#: Limit of a program's output. A program that prints more is killed.
_MAX_OUTPUT_BYTES = 1 << 20

#: Time for a killed program to end. A program in uninterruptible sleep ends later.
_DEATH_SECONDS = 1.0

#: The longest wait for a program that ignores its time limit.
_WAIT_SECONDS = 60.0


class Runner(Protocol):
    """Runs a program to its end and returns what it printed.

    Raises:
        CommandError: it could not be started, failed, or took longer than `timeout` seconds.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str: ...


@dataclass(frozen=True, slots=True)
class Completed:
    """The standard output of a program, and its exit status or negative signal number."""

    output: str
    status: int


class StatusRunner(Runner, Protocol):
    """A runner for programs whose exit status is more than success or failure, as smartctl's is.

    Raises:
        CommandError: it could not be started, printed too much, or took longer than `timeout`.
    """

    def complete(self, argv: Sequence[str], timeout: float) -> Completed: ...


class SystemRunner:
    """Runs programs on this machine: without a shell or input, in the C locale.

    Each leads a process group, so that it is killed at its time limit with all that it started,
    and Ctrl-C on the terminal does not reach it. For any thread.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str:
        """The standard output. A signal or an exit status other than 0 raises CommandError."""
        completed = self.complete(argv, timeout)
        if completed.status < 0:
            raise CommandError(f"{argv[0]}: was killed by signal {-completed.status}")
        if completed.status:
            raise CommandError(f"{argv[0]}: failed with status {completed.status}")
        return completed.output

    def complete(self, argv: Sequence[str], timeout: float) -> Completed:
        """The standard output and the exit status or negative signal number."""
        children = SystemChildren(
            SystemClock(),
            grace_seconds=0.0,
            abandon_seconds=_DEATH_SECONDS,
            max_output_bytes=_MAX_OUTPUT_BYTES,
        )
        try:
            children.start(None, argv, timeout)
            ended: list[Finished] = []
            while not ended:
                ended = children.wait(_WAIT_SECONDS)
        finally:
            children.close()
        (finished,) = ended
        if finished.end is not End.EXITED or finished.status is None:
            raise CommandError(_problem(argv[0], finished, timeout))
        return Completed(finished.output.decode("utf-8", "backslashreplace"), finished.status)


def _problem(program: str, finished: Finished, timeout: float) -> str:
    if finished.end in (End.TIMED_OUT, End.STUCK):
        return f"{program}: did not end within {timeout:g} s"
    if finished.end is End.TOO_MUCH_OUTPUT:
        return f"{program}: printed more than {_MAX_OUTPUT_BYTES >> 20} MiB"
    if finished.message.endswith(os.strerror(errno.ENOENT)):
        return f"{program}: not found"
    return finished.message


_VERSION_TIMEOUT_SECONDS = 5.0

#: "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-...] (local build)", "fio-3.33"
_VERSION = re.compile(r"\A(?:smartctl |fio-)(\d[\w.~+-]*)")


def version(runner: Runner, program: str) -> str:
    """The version that a program prints; empty if it is not installed or prints none."""
    try:
        return parse_version(runner.run([program, "--version"], _VERSION_TIMEOUT_SECONDS))
    except CommandError:
        return ""


def parse_version(text: str) -> str:
    """The version in the first line of smartctl's or fio's output; empty if there is none."""
    match = _VERSION.match(text)
    return match[1] if match else ""
