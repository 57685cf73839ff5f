"""Running a program: one of the three edges that tests replace.

Which versions of the programs we run are installed.
"""

import math
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from exporter.errors import CommandError

#: Of what a program may print: one that goes on is killed.
_LARGEST_OUTPUT_BYTES = 1 << 20

#: How long the death of a killed child is waited for: one in uninterruptible sleep dies later.
_DEATH_SECONDS = 1.0


class Runner(Protocol):
    """Runs a program to its end and returns what it printed.

    Raises:
        CommandError: it could not be started, failed, or took longer than `timeout` seconds.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str: ...


@dataclass(frozen=True, slots=True)
class Completed:
    """What a program has printed, and its exit status, or the signal that killed it as -N."""

    output: str
    status: int


class StatusRunner(Runner, Protocol):
    """A runner also of programs whose exit status is more than good or bad, as smartctl's is.

    Raises:
        CommandError: it could not be started, printed too much, or took longer than `timeout`.
    """

    def complete(self, argv: Sequence[str], timeout: float) -> Completed: ...


class SystemRunner:
    """Runs programs on this machine: without a shell or input, in the C locale and a session of
    their own, so that a program that is out of time goes with all that it started, and Ctrl-C on
    the terminal is ours alone.
    """

    def run(self, argv: Sequence[str], timeout: float) -> str:
        done = self.complete(argv, timeout)
        if done.status < 0:
            raise CommandError(f"{argv[0]}: was killed by signal {-done.status}")
        if done.status:
            raise CommandError(f"{argv[0]}: failed with status {done.status}")
        return done.output

    def complete(self, argv: Sequence[str], timeout: float) -> Completed:
        deadline = time.monotonic() + timeout
        child = _started(argv)
        assert child.stdout is not None
        with child.stdout as out:
            try:
                output = _read(out.fileno(), deadline)
                status = child.wait(max(0.0, deadline - time.monotonic()))
            except (TimeoutError, subprocess.TimeoutExpired) as e:
                raise CommandError(f"{argv[0]}: did not end within {timeout:g} s") from e
            except OverflowError as e:
                raise CommandError(f"{argv[0]}: printed more than 1 MiB") from e
            finally:
                if child.returncode is None:
                    _kill(child)
        return Completed(output.decode("utf-8", "backslashreplace"), status)


def _started(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  an argument list; the program is a setting
            argv,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )
    except FileNotFoundError as e:
        raise CommandError(f"{argv[0]}: not found") from e
    except OSError as e:
        raise CommandError(f"{argv[0]}: {e.strerror}") from e
    except ValueError as e:
        raise CommandError(f"{argv[0]!r}: {e}") from e


def _read(descriptor: int, deadline: float) -> bytes:
    """All that comes until the other end closes.

    Raises:
        TimeoutError: it was open at the deadline.
        OverflowError: more came than fits.
    """
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    output = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not readable.poll(math.ceil(left * 1000)):
            raise TimeoutError
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            return bytes(output)
        output += chunk
        if len(output) > _LARGEST_OUTPUT_BYTES:
            raise OverflowError


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End a child and all that it started; wait briefly, for some cannot be killed."""
    with suppress(ProcessLookupError, PermissionError):
        # Not reaped yet, so the number is still this child's.
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_DEATH_SECONDS)


_TIMEOUT_SECONDS = 5.0

#: "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-...] (local build)", "fio-3.33"
_VERSION = re.compile(r"\A(?:smartctl |fio-)(\d[\w.~+-]*)")


def version(runner: Runner, program: str) -> str:
    """The version that the program says it is; empty where it is not installed or says none."""
    try:
        return parse(runner.run([program, "--version"], _TIMEOUT_SECONDS))
    except CommandError:
        return ""


def parse(text: str) -> str:
    found = _VERSION.match(text)
    return found[1] if found else ""
