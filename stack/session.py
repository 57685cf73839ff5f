"""Runs programs together until a signal, and stops all of them."""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stack.programs import Program, Running, StackError

#: Time in which all programs must become ready.
_START_SECONDS = 60.0
#: Interval between two checks whether the programs respond and run.
_POLL_SECONDS = 0.2


def run(
    programs: Sequence[Program],
    directory: Path,
    prepare: Callable[[], contextlib.AbstractContextManager[object]],
    message: Callable[[], str],
) -> int:
    """Runs the programs until a signal.

    directory: the directory for logs. prepare: creates it and writes the configuration files; its
    context lasts until all programs have ended. message: the text to print when all are ready.

    Returns 0 after a signal, 1 if a program fails after the start of the first one, and 2 if no
    program can be started.
    """
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    running: list[Running] = []
    with contextlib.ExitStack() as stack:
        try:
            for program in programs:
                program.argv()
                program.require_free_port()
            stack.enter_context(prepare())
            # Appended one by one: if a program cannot start, `finally` stops those before it.
            running.extend(Running(program, directory) for program in programs)
            _wait_until_ready(running, ended)
            if not ended.is_set():
                sys.stdout.write(message())
                sys.stdout.flush()
            while not ended.wait(_POLL_SECONDS):
                _require_running(running)
        except StackError as e:
            sys.stderr.write(f"stack: {e}\n")
            return 1 if running else 2
        except OSError as e:
            sys.stderr.write(f"stack: cannot write to {directory}: {e}\n")
            return 1 if running else 2
        finally:
            for started in running:
                started.end()
            for started in running:
                started.wait()
    return 0


def _wait_until_ready(running: Sequence[Running], ended: threading.Event) -> None:
    until = time.monotonic() + _START_SECONDS
    waiting = list(running)
    while waiting and not ended.is_set():
        _require_running(running)
        waiting = [started for started in waiting if not started.program.answers()]
        if waiting and time.monotonic() >= until:
            late = waiting[0]
            raise StackError(
                f"{late.program.name} does not respond on {late.program.address}"
                f" after {_START_SECONDS:.0f} s; see {late.log}"
            )
        ended.wait(_POLL_SECONDS if waiting else 0)


def _require_running(running: Sequence[Running]) -> None:
    for started in running:
        if started.status is not None:
            raise StackError(
                f"{started.program.name} ended with status {started.status}:"
                f" {started.failure_reason()} ({started.log})"
            )
