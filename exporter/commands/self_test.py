"""``ssd-exporter self-test DEVICE short|long|abort``: runs or aborts the self-test of a drive.

The drive tests itself. The command starts the test, waits until it ends and prints the result.
"""

import argparse
import re
import sys
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.programs.command import StatusRunner, SystemRunner
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.errors import ConfigError, SourceError
from exporter.runtime.printable import printable, with_control_characters
from exporter.smart.self_tests import Kind, LoggedTest, SelfTestProgress, SelfTests
from exporter.smart.smartctl import Address, may_be_killed

#: The start of smartctl's message about a device whose type it does not detect (7.3).
_NO_TYPE = "Unable to detect device type"


class Exit(IntEnum):
    """The exit status of the command. Mistakes in the arguments have the status 2."""

    PASSED = 0
    FAILED = 1
    UNKNOWN = 3


#: Timeout of one smartctl run. A drive answers within milliseconds, or within 15 s if it must spin
#: up first. The kernel's timeout for a command is 30 s.
_SMARTCTL_TIMEOUT_SECONDS = 60.0

#: Minimum and maximum of the interval between two queries of the progress. Within these bounds it
#: is 1 % of the test's duration.
_MIN_QUERY_INTERVAL_SECONDS = 5.0
_MAX_QUERY_INTERVAL_SECONDS = 60.0

#: The longest time to wait for the end of a test. A long test of a busy 30 TB drive takes days.
_MAX_TEST_SECONDS = 7 * 86400.0

#: After this many failed queries in a row the command gives up. A reset of the drive or a busy
#: controller makes only one or two queries fail.
_MAX_FAILED_QUERIES = 5

#: The name of a drive behind a controller, as in the `device` label of the metrics:
#: "bus/0:megaraid,3". It consists of smartctl's path and device type.
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
    """Starts a self-test and shows its progress until it ends, or aborts the running test.

    Returns the exit status, a value of `Exit`.

    device: a path, a kernel name, or the `device` label of a drive behind a controller.
    kind: "short" or "long" for a test; "abort" to abort the running test.
    smartctl: the path of smartctl.
    out: the stream for the progress and the result.
    device_type: the argument of smartctl's -d option. If empty, the type in the label is used. If
        the label has none, smartctl detects the type.

    Raises:
        ConfigError: the device or the kind of test is invalid.
    """
    if kind not in ("short", "long", "abort"):
        raise ConfigError(f"unknown self-test {kind!r}", "use short, long or abort")
    address = addressed(device, device_type)
    show = ProgressLine(out)
    try:
        tests = SelfTests(runner, smartctl, address, _SMARTCTL_TIMEOUT_SECONDS)
        if kind == "abort":
            return _abort(tests, device, show)
        requested: Kind = "long" if kind == "long" else "short"
        return _SelfTestRun(tests, device, requested, clock, show).follow()
    except SourceError as e:
        show.line(f"unknown: {_explained(str(e))}")
        return Exit.UNKNOWN
    except KeyboardInterrupt:
        show.line("interrupted before the drive confirmed the start: a test may be running")
        return Exit.UNKNOWN


def _explained(message: str) -> str:
    """Returns the message with the flag of this command in place of that of smartctl."""
    if _NO_TYPE not in message:
        return message
    return (
        f"{message.partition(_NO_TYPE)[0]}smartctl finds no drive there: a virtual disk has no"
        " self-test; if it is a physical drive, name its type with --type, such as --type sat"
    )


def addressed(device: str, device_type: str) -> Address:
    """Returns the path and the device type with which smartctl reaches a device.

    device: the name from the command line. device_type: the argument of smartctl's -d option; if
    empty, the type in `device` is used.

    Raises:
        ConfigError: the name is invalid, or smartctl must not be interrupted for this device type.
    """
    match = None if device_type else _WITH_TYPE.fullmatch(device)
    path, kind = (match[1], match[2]) if match else (device, device_type)
    if not path or not path.isprintable() or path.startswith("-"):
        raise ConfigError(
            f"invalid device {device!r}", "use a name from /dev, such as nvme0, sda or /dev/sdb"
        )
    if not may_be_killed(kind):
        raise ConfigError(
            f"{device}: smartctl must not be interrupted for type {kind}",
            "run smartctl yourself and let it finish",
        )
    return Address(path if path.startswith("/") else str(Path("/dev", path)), kind)


class ProgressLine:
    """Shows the progress. On a terminal it rewrites one line.

    In a file or a pipe it adds a line when the text before the first comma changes.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = with_control_characters(out)
        self._is_terminal = out.isatty()
        self._width = 0
        self._last = ""

    def progress(self, words: str) -> None:
        words = printable(words)
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
        # Text from the drive may contain escape sequences, which a terminal would execute.
        self._out.write(f"{printable(words)}\n")
        self._out.flush()


def duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.0f} h" if minutes < 2880 else f"{minutes / 1440:.0f} days"


def _abort(tests: SelfTests, device: str, show: ProgressLine) -> int:
    running = tests.look()
    tests.abort()
    if tests.look() is not None:
        show.line(f"unknown: {device}: the self-test is still running")
        return Exit.UNKNOWN
    show.line(f"{device}: no self-test is running" if running is None else f"{device}: aborted")
    return Exit.PASSED


@dataclass(slots=True)
class _SelfTestRun:
    """Starts one self-test of a drive and waits for its end; call `follow` once."""

    tests: SelfTests
    device: str
    kind: Kind
    clock: Clock
    show: ProgressLine
    _started_at: float = 0.0

    def follow(self) -> int:
        self.tests.start(self.kind)
        self._started_at = self.clock.monotonic()
        planned = self.tests.planned_seconds(self.kind)
        self.show.line(
            f"{self.device}: {self.kind} self-test started"
            + ("" if planned is None else f"; the drive estimates {duration(planned)}")
        )
        try:
            return self._wait(planned)
        except KeyboardInterrupt:
            self.show.line(
                "the self-test continues in the drive, which logs the result; to stop it, run:"
                f" ssd-exporter self-test {self.device} abort"
            )
            return Exit.UNKNOWN

    def _wait(self, planned: float | None) -> int:
        failed_queries = 0
        while self.clock.monotonic() - self._started_at < _MAX_TEST_SECONDS:
            self.clock.sleep(self._pause(planned))
            try:
                progress = self.tests.look()
            except SourceError as e:
                failed_queries += 1
                if failed_queries < _MAX_FAILED_QUERIES:
                    continue
                self.show.line(f"unknown: {e}; the self-test may still be running in the drive")
                return Exit.UNKNOWN
            failed_queries = 0
            if progress is None:
                return self._verdict(self.tests.result())
            self.show.progress(self._words(progress, planned))
        self.show.line(
            f"unknown: {self.device}: the self-test did not end within"
            f" {duration(_MAX_TEST_SECONDS)}"
        )
        return Exit.UNKNOWN

    def _pause(self, planned: float | None) -> float:
        """Returns the time until the next query of the progress, in seconds.

        It is 1 % of the drive's estimate or of the elapsed time, whichever is longer.
        """
        elapsed = self.clock.monotonic() - self._started_at
        pause = max(planned or 0.0, elapsed) / 100
        return min(max(pause, _MIN_QUERY_INTERVAL_SECONDS), _MAX_QUERY_INTERVAL_SECONDS)

    def _words(self, progress: SelfTestProgress, planned: float | None) -> str:
        if progress.done_ratio is None:
            return f"{self.kind} self-test running"
        words = f"{self.kind} self-test: {(1 - progress.done_ratio) * 100:.0f} % remaining"
        left = self._left_seconds(progress.done_ratio, planned)
        if left is None:
            return words
        end = time.localtime(self.clock.wall() + left)
        return f"{words}, about {duration(left)}, until {time.strftime('%a %H:%M', end)}"

    def _left_seconds(self, done_ratio: float, planned: float | None) -> float | None:
        """Returns the remaining time in seconds; None means unknown.

        It is calculated from the drive's estimate, or from the progress if the test takes longer
        than the estimate or there is none.

        done_ratio: the progress, 0 to 1. planned: the drive's estimate in seconds, or None.
        """
        elapsed = self.clock.monotonic() - self._started_at
        if planned is not None and elapsed < planned:
            return planned - elapsed
        return elapsed / done_ratio * (1 - done_ratio) if done_ratio > 0 else None

    def _verdict(self, test: LoggedTest | None) -> int:
        if test is None:
            self.show.line(
                f"unknown: {self.device}: the self-test ended, but the drive logged no result"
            )
            return Exit.UNKNOWN
        words = f"{self.device}: {test.description}: {test.result}"
        if test.power_on_hours.isdecimal():
            words += f", at {test.power_on_hours} power-on hours"
        if test.passed is None:
            self.show.line(f"unknown: {words}")
            return Exit.UNKNOWN
        if test.passed:
            self.show.line(f"passed: {words}")
            return Exit.PASSED
        where = f", first error at block {test.first_error}" if test.first_error else ""
        self.show.line(f"FAILED: {words}{where}; replace the drive")
        return Exit.FAILED


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "device",
        metavar="DEVICE",
        help="drive to test: /dev/sda, nvme0, or its label in the metrics: bus/0:megaraid,3",
    )
    p.add_argument(
        "kind",
        metavar="KIND",
        choices=("short", "long", "abort"),
        help="short (minutes) or long (hours); abort stops the running self-test",
    )
    p.add_argument(
        "--type", default="", metavar="TYPE", help="smartctl's -d option, if smartctl needs it"
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    return run(
        arguments.device,
        arguments.kind,
        smartctl=settings.path.smartctl,
        runner=SystemRunner(),
        clock=SystemClock(),
        out=sys.stdout,
        device_type=arguments.type,
    )


COMMAND = Command(
    "Start a drive's self-test and show its progress until it ends, or abort the running test."
    " Exit status 0: passed, 1: failed, 2: a wrong argument, 3: unknown.",
    _add_arguments,
    _run,
)
