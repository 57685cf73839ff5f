"""Runs one program, waits until it ends, and returns what it printed.

Tests replace `SystemRunner` by a stand-in.
"""

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

#: Limit of a program's output in bytes. A program that prints more is killed.
_MAX_OUTPUT_BYTES = 1 << 20

#: The time to wait for the end of a killed program, in seconds. A program in uninterruptible sleep
#: ends later.
_DEATH_SECONDS = 1.0

#: The longest single wait for a program, in seconds. Waits are repeated until the program has ended
#: or was abandoned.
_WAIT_SECONDS = 60.0


class Runner(Protocol):
    """Runs a program, waits until it ends, and returns what it printed to standard output.

    Raises:
        CommandError: the program could not be started, failed, printed too much, or took longer
            than `timeout` seconds.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str: ...


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a program that has ended.

    output: the standard output.
    status: the exit status, or the negative number of the signal that ended the program.
    """

    output: str
    status: int


class StatusRunner(Runner, Protocol):
    """A runner that also returns the exit status.

    It is for programs such as smartctl, whose exit status means more than success or failure.

    Raises:
        CommandError: the program could not be started, printed too much, or took longer than
            `timeout` seconds.
    """

    def complete(self, argv: Sequence[str], timeout: float) -> Completed: ...


class SystemRunner:
    """Runs programs on this machine, without a shell, without input, and in the C locale.

    Each program leads a process group. At its time limit, it is therefore killed together with the
    processes that it started, and Ctrl-C on the terminal does not reach it. Any thread may call the
    methods.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str:
        """Runs a program and returns its standard output.

        Raises:
            CommandError: the program could not be started, printed too much, took longer than
                `timeout` seconds, was ended by a signal, or its exit status is not 0.
        """
        completed = self.complete(argv, timeout)
        if completed.status < 0:
            raise CommandError(f"{argv[0]}: was killed by signal {-completed.status}")
        if completed.status:
            raise CommandError(f"{argv[0]}: failed with status {completed.status}")
        return completed.output

    def complete(self, argv: Sequence[str], timeout: float) -> Completed:
        """Runs a program and returns its standard output and exit status.

        Raises:
            CommandError: the program could not be started, printed too much, or took longer than
                `timeout` seconds.
        """
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

#: The version in the first line of smartctl and fio, which is for example
#: "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-...] (local build)" or "fio-3.33".
_VERSION = re.compile(r"\A(?:smartctl |fio-)(\d[\w.~+-]*)")


def version(runner: Runner, program: str) -> str:
    """Returns the version that a program prints; empty if it cannot be run or prints none."""
    try:
        return parse_version(runner.run([program, "--version"], _VERSION_TIMEOUT_SECONDS))
    except CommandError:
        return ""


def parse_version(text: str) -> str:
    """Returns the version in the first line of smartctl's or fio's output; empty if it has none."""
    match = _VERSION.match(text)
    return match[1] if match else ""
