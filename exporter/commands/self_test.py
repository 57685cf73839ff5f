"""What a command that waits shows to whoever waits for it.

``ssd-exporter self-test DEVICE short|long|abort``: have a drive test itself, and wait for it.
"""

import re
import time
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.errors import ConfigError, SourceError
from exporter.programs.command import StatusRunner
from exporter.smart.self_tests import Kind, LoggedTest, SelfTestProgress, SelfTests
from exporter.smart.smartctl import Address, may_be_killed


class ProgressLine:
    """One line that changes on a terminal; elsewhere a plain line for each change."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._width = 0
        self._last = ""

    def progress(self, words: str) -> None:
        if self._is_terminal:
            self._out.write("\r" + words.ljust(self._width))
            self._width = len(words)
        elif words.partition(",")[0] != self._last:
            self._last = words.partition(",")[0]
            self._out.write(f"{words}\n")
        self._out.flush()

    def line(self, words: str) -> None:
        if self._width:
            self._out.write("\n")
            self._width = 0
        # Drives say what they like; a terminal obeys what it is told.
        self._out.write("".join(c if c.isprintable() else repr(c)[1:-1] for c in words) + "\n")
        self._out.flush()


def duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.0f} h" if minutes < 2880 else f"{minutes / 1440:.0f} days"


class Exit(IntEnum):
    """The command's exit status, as Nagios has it; 2 is a mistake in how it was called."""

    PASSED = 0
    FAILED = 1
    UNKNOWN = 3


#: A drive answers within milliseconds, one that spins up within 15 s; the kernel tries for 30 s.
_ASK_SECONDS = 60.0

_LOOK_EVERY_SECONDS = 5.0
_LOOK_AT_MOST_EVERY_SECONDS = 60.0

#: A busy drive of 30 TB takes days for a long test.
_LONGEST_SECONDS = 7 * 86400.0

#: A drive that resets, or a controller that is busy, misses a look or two.
_MISSED_LOOKS = 5

#: "bus/0:megaraid,3", as the metrics' `device` names drives behind a controller.
_WITH_TYPE = re.compile(r"(.+):((?:[a-z][a-z0-9]*\+)?[a-z][a-z0-9]*(?:,[\w/]+)+)")


def run(
    device: str,
    kind: str,
    *,
    smartctl: str,
    runner: StatusRunner,
    clock: Clock,
    out: TextIO,
    device_type: str = "",
) -> int:
    """Start a self-test and show it to its end, or abort the one that runs.

    device: a path, a kernel name, or the metrics' name of a drive behind a controller.
    device_type: smartctl's -d; empty leaves it to `device` and smartctl.

    Raises:
        ConfigError: the arguments are no drive or no kind of test.
    """
    if kind not in ("short", "long", "abort"):
        raise ConfigError(f"{kind!r} is no self-test", "it is short, long or abort")
    address = addressed(device, device_type)
    show = ProgressLine(out)
    try:
        tests = SelfTests(runner, smartctl, address, _ASK_SECONDS)
        if kind == "abort":
            return _abort(tests, device, show)
        asked: Kind = "long" if kind == "long" else "short"
        return _SelfTestRun(tests, device, asked, clock, show).follow()
    except SourceError as e:
        show.line(f"unknown: {e}")
        return Exit.UNKNOWN
    except KeyboardInterrupt:
        show.line("interrupted before it was known whether a test has begun")
        return Exit.UNKNOWN


def addressed(device: str, device_type: str) -> Address:
    """How smartctl is told of what the user named.

    Raises:
        ConfigError: it is no drive, or none that may be tested from here.
    """
    found = None if device_type else _WITH_TYPE.fullmatch(device)
    path, kind = (found[1], found[2]) if found else (device, device_type)
    if not path or not path.isprintable() or path.startswith("-"):
        raise ConfigError(f"{device!r} is no device", "name it as in /dev: nvme0, sda, /dev/sdb")
    if not may_be_killed(kind):
        raise ConfigError(
            f"{device}: a smartctl for {kind} must not be interrupted",
            "run smartctl by hand, and do not stop it",
        )
    return Address(path if path.startswith("/") else str(Path("/dev", path)), kind)


def _abort(tests: SelfTests, device: str, show: ProgressLine) -> int:
    running = tests.look()
    tests.abort()
    if tests.look() is not None:
        show.line(f"unknown: {device}: the self-test still runs")
        return Exit.UNKNOWN
    show.line(f"{device}: no self-test runs" if running is None else f"{device}: aborted")
    return Exit.PASSED


class _SelfTestRun:
    """One test from its start to its end."""

    def __init__(
        self, tests: SelfTests, device: str, kind: Kind, clock: Clock, show: ProgressLine
    ) -> None:
        self._tests = tests
        self._device = device
        self._kind: Kind = kind
        self._clock = clock
        self._show = show

    def follow(self) -> int:
        self._tests.start(self._kind)
        self._began = self._clock.monotonic()
        planned = self._tests.planned_seconds(self._kind)
        self._show.line(
            f"{self._device}: {self._kind} self-test begun"
            + ("" if planned is None else f", the drive says {duration(planned)}")
        )
        try:
            return self._wait(planned)
        except KeyboardInterrupt:
            self._show.line(
                "the test goes on in the drive; its result will be in the drive's self-test log; "
                f"to end it: ssd-exporter self-test {self._device} abort"
            )
            return Exit.UNKNOWN

    def _wait(self, planned: float | None) -> int:
        missed = 0
        while self._clock.monotonic() - self._began < _LONGEST_SECONDS:
            self._clock.sleep(self._pause(planned))
            try:
                progress = self._tests.look()
            except SourceError as e:
                missed += 1
                if missed < _MISSED_LOOKS:
                    continue
                self._show.line(f"unknown: {e}; the test may go on in the drive")
                return Exit.UNKNOWN
            missed = 0
            if progress is None:
                return self._verdict(self._tests.result())
            self._show.progress(self._words(progress, planned))
        self._show.line(f"unknown: {self._device}: no end after {duration(_LONGEST_SECONDS)}")
        return Exit.UNKNOWN

    def _pause(self, planned: float | None) -> float:
        """A hundredth of what the test takes, as far as that is known."""
        taken = self._clock.monotonic() - self._began
        pause = max(planned or 0.0, taken) / 100
        return min(max(pause, _LOOK_EVERY_SECONDS), _LOOK_AT_MOST_EVERY_SECONDS)

    def _words(self, progress: SelfTestProgress, planned: float | None) -> str:
        if progress.done_ratio is None:
            return f"{self._kind} self-test runs"
        words = f"{self._kind} self-test: {(1 - progress.done_ratio) * 100:.0f} % remaining"
        left = self._left_seconds(progress.done_ratio, planned)
        if left is None:
            return words
        end = time.localtime(self._clock.wall() + left)
        return f"{words}, about {duration(left)}, until {time.strftime('%a %H:%M', end)}"

    def _left_seconds(self, done_ratio: float, planned: float | None) -> float | None:
        """By the drive's own plan as long as that holds, then by the pace so far."""
        taken = self._clock.monotonic() - self._began
        if planned is not None and taken < planned:
            return planned - taken
        return taken / done_ratio * (1 - done_ratio) if done_ratio > 0 else None

    def _verdict(self, test: LoggedTest | None) -> int:
        if test is None:
            self._show.line(f"unknown: {self._device}: the test ended and the log has no result")
            return Exit.UNKNOWN
        words = f"{self._device}: {test.description}: {test.result}"
        if test.power_on_hours.isdecimal():
            words += f", at {test.power_on_hours} hours of operation"
        if test.passed is None:
            self._show.line(f"unknown: {words}")
            return Exit.UNKNOWN
        if test.passed:
            self._show.line(f"passed: {words}")
            return Exit.PASSED
        where = f", first error at block {test.first_error}" if test.first_error else ""
        self._show.line(f"FAILED: {words}{where}; replace the drive")
        return Exit.FAILED
