"""Starts, watches and aborts the self-test of a drive. pySMART parses smartctl's text output.

`drives.self_test_log` maps smartctl's text for a test result to the code in the drive's log.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exporter.drives import self_test_log as log
from exporter.drives.fields import Fields
from exporter.drives.smartctl_text import text_report
from exporter.programs.command import Completed, StatusRunner
from exporter.runtime.errors import CommandError, NotAvailable, ParseError
from exporter.smart import pysmart
from exporter.smart.smartctl import OLDEST, Address, too_old, version

#: pySMART's text for a running test in the header of the NVMe log.
_NVME_RUNNING = "Running"

#: The code of a test that is still running, in all three protocols.
IN_PROGRESS = 15

_CODES: Mapping[str, Mapping[str, int]] = {
    "ATA": log.ATA_RESULTS,
    "NVMe": {**log.NVME_RESULTS, _NVME_RUNNING: IN_PROGRESS},
    "SCSI": log.SCSI_RESULTS,
}
_PASSED = {"ATA": log.ATA_PASSED, "NVMe": log.NVME_PASSED, "SCSI": log.SCSI_PASSED}

#: Characters at the end of a text that pySMART or a version of smartctl may leave out.
_OPTIONAL_END = "?. "

#: Options of smartctl that read the progress of a self-test every few seconds, without the other
#: logs of --all. -A is included because pySMART recognises an ATA drive by its attributes.
_LOOK = ("-i", "-H", "-c", "-A", "-l", "selftest")

#: The first version of smartctl with self-tests of NVMe drives. Older versions accept -t and do
#: nothing.
_OLDEST_FOR_NVME = (7, 4)

#: Bits of smartctl's exit status which mean that there is no data: the arguments are wrong, or the
#: device could not be opened or did not identify itself.
_NO_DATA = 0b11

#: The start of smartctl's texts for types of tests that the standards do not define.
_UNDEFINED_KINDS = ("Unknown (", "Reserved")
#: The largest number of digits of a power-on time. A number of 64 bits has 20.
_MAX_HOURS_DIGITS = 20

#: smartctl's text for an NVMe drive without self-tests.
_NVME_WITHOUT = "Self-tests not supported"

Kind = Literal["short", "long"]


@dataclass(frozen=True, slots=True)
class LoggedTest:
    """An entry of the drive's self-test log, as smartctl prints it.

    description: the type of the test.
    result: smartctl's text for the result.
    passed: True if the test passed. None means that the test was stopped from outside, or that the
        text is unknown.
    power_on_hours: the power-on time of the drive at the test, in hours, as text.
    first_error: the address of the first failed block, as text; empty if there is none.
    """

    description: str
    result: str
    passed: bool | None
    power_on_hours: str = ""
    first_error: str = ""


@dataclass(frozen=True, slots=True)
class SelfTestProgress:
    """The progress of a running test.

    done_ratio: the completed part of the test, from 0 to 1. The size of its steps depends on the
        drive. None means unknown.
    """

    done_ratio: float | None


def code(protocol: str, words: str) -> int | None:
    """Returns the protocol's code for smartctl's text of a test result; None for an unknown text.

    protocol: the drive's protocol, named as in smartctl's JSON: NVMe, ATA or SCSI.
    words: smartctl's text.
    """
    for known, number in _CODES.get(protocol, {}).items():
        if words.startswith(known.rstrip(_OPTIONAL_END)):
            return number
    return None


def passed(protocol: str, words: str) -> bool | None:
    """Returns True if the test passed, False if it failed.

    None means that the test is running or was stopped from outside, or that the text is unknown.
    The parameters are those of `code`.
    """
    number = code(protocol, words)
    return None if number is None else _PASSED[protocol].get(number)


class SelfTests:
    """The self-tests of one drive. The constructor reads the drive's identity and self-test log.

    runner: runs smartctl.
    program: the path or name of smartctl.
    timeout_seconds: the time limit of each run of smartctl.

    The constructor and all methods that run smartctl raise:
        CommandError: smartctl cannot be run, or cannot open the drive.
        NotAvailable: this drive or this smartctl has no self-tests, or pySMART is not installed.
        ParseError: pySMART cannot parse smartctl's output.
    """

    def __init__(
        self, runner: StatusRunner, program: str, address: Address, timeout_seconds: float
    ) -> None:
        self._runner = runner
        self._program = program
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._problem: CommandError | None = None
        self._age_hours: int | None = None
        first = self._look().output.splitlines()
        self.protocol = self._protocol(first)
        self._knows_duration = any("recommended polling time" in line for line in first)
        self._device: Any = self._call(
            lambda: pysmart.new_device(self._run_for_pysmart, self.protocol)
        )
        self._before = self._log()

    def start(self, kind: Kind) -> None:
        """Starts a test. The drive runs it in the background.

        Raises:
            CommandError: another test is running, or smartctl did not start the test.
            NotAvailable: the drive has no test of this kind.
        """
        self._device.messages.clear()
        status, message, _ = self._call(lambda: self._device.run_selftest(kind))
        self._before = self._log()
        if status == 1:
            done = self._device._test_progress  # noqa: SLF001  no method returns it
            left = "" if done is None else f", {100 - done} % remaining"
            raise CommandError(f"{self._address}: a self-test is already running{left}")
        if status == 2:
            raise NotAvailable(f"{self._address}: the drive has no {kind} self-test")
        if status != 0:
            raise CommandError(f"{self._address}: the self-test was not started: {message}")

    def look(self) -> SelfTestProgress | None:
        """Reads the progress of the running test; returns None if no test is running."""
        self._device.messages.clear()
        status, _, done = self._call(self._device.get_selftest_result)
        if status != 1:
            return None
        return SelfTestProgress(None if done is None else min(max(done / 100, 0.0), 1.0))

    def abort(self) -> None:
        """Aborts the running test, if there is one."""
        status = self._call(self._device.abort_selftest)
        if status & 0b111:
            raise CommandError(f"{self._address}: smartctl -X failed with status {status}")

    def result(self) -> LoggedTest | None:
        """Returns the log entry of the test that was started; None if the test has left no entry.

        The method compares the log that was read last with the log at the start of the test. If
        both are equal, the test has left no entry. A full log is an exception: it may look
        unchanged, because two equal tests within an hour have equal entries. The newest entry of a
        full log is therefore always returned.
        """
        log = self._log()
        if not log or (log == self._before and len(log) < 20):
            return None
        return log[0]

    def planned_seconds(self, kind: Kind) -> float | None:
        """Returns the expected duration of a test in seconds; None if the drive reports none."""
        minutes = self._device.test_polling_time.get(kind)
        return minutes * 60.0 if self._knows_duration and minutes else None

    def _log(self) -> tuple[LoggedTest, ...]:
        """Returns the log entries of tests that have ended, newest first.

        The first entry that is not valid has no result, and it is the last one.
        """
        tests = []
        for test in self._device.tests:
            words = str(test.status)
            if code(self.protocol, words) != IN_PROGRESS:
                reason = self._why_not_valid(str(test.type), str(test.hours))
                tests.append(
                    LoggedTest(
                        description=str(test.type),
                        result=f"{words} (not valid: {reason})" if reason else words,
                        passed=None if reason else passed(self.protocol, words),
                        power_on_hours=str(test.hours),
                        first_error="" if test.LBA in (None, "-") else str(test.LBA),
                    )
                )
                if reason:
                    break
        return tuple(tests)

    def _why_not_valid(self, kind: str, hours: str) -> str:
        """Returns why a log entry is not valid; empty if it is valid.

        kind, hours: the type of the test and the power-on time, as smartctl prints them.
        """
        if kind.startswith(_UNDEFINED_KINDS):
            return "the type of the test is not defined"
        if not hours.isdecimal() or len(hours) > _MAX_HOURS_DIGITS:
            return ""
        return log.why_not_valid(int(hours), self._age_hours, has_16_bits=self.protocol != "NVMe")

    def _protocol(self, lines: Sequence[str]) -> str:
        smartctl = version("\n".join(lines[:1]))
        if smartctl is not None and smartctl < OLDEST:
            raise NotAvailable(too_old(smartctl))
        protocol = pysmart.parse_protocol(lines)
        if protocol is None:
            errors = "; ".join(pysmart.parse_errors(lines))
            raise NotAvailable(
                f"{self._address}: smartctl cannot test this device: "
                f"{errors or 'it printed no reason'}"
            )
        if protocol == "NVMe":
            if smartctl is not None and smartctl < _OLDEST_FOR_NVME:
                raise NotAvailable(
                    f"{self._address}: smartctl {smartctl[0]}.{smartctl[1]} does not support "
                    "self-tests of NVMe drives; 7.4 or newer is required"
                )
            if any(line.startswith(_NVME_WITHOUT) for line in lines):
                raise NotAvailable(f"{self._address}: the drive has no self-tests")
        return protocol

    def _look(self) -> Completed:
        done = self._run(_LOOK)
        if done.status < 0 or done.status & _NO_DATA:
            errors = "; ".join(pysmart.parse_errors(done.output.splitlines()))
            raise CommandError(
                f"{self._address}: smartctl failed with status {done.status}: "
                f"{errors or 'it printed no reason'}"
            )
        report = text_report.parse_text(done.output)
        self._age_hours = Fields(report or {}).integer("power_on_time", "hours")
        return done

    def _run(self, arguments: Sequence[str]) -> Completed:
        kind = ("-d", self._address.type) if self._address.type else ()
        argv = [self._program, *kind, *arguments, self._address.path]
        return self._runner.complete(argv, self._timeout_seconds)

    def _run_for_pysmart(self, arguments: Sequence[str]) -> tuple[list[str], int]:
        """Runs smartctl for pySMART, with this drive's address and a timeout.

        Returns the output as lines, and the exit status. An error is stored in `_problem`, because
        pySMART may discard an exception that is raised here.
        """
        try:
            if "--all" in arguments:
                done = self._look()
            elif "-t" in arguments:
                done = self._run(("-t", arguments[list(arguments).index("-t") + 1]))
            else:
                done = self._run(("-X",))
        except CommandError as e:
            self._problem = e
            return [], _NO_DATA
        return pysmart.normalized(done.output.splitlines()), done.status

    def _call(self, function: Callable[[], Any]) -> Any:
        """Calls a function that uses pySMART, and returns its result.

        If smartctl and pySMART both failed, the error of smartctl is raised.
        """
        self._problem = None
        try:
            result = pysmart.call(function)
        except ParseError:
            if self._problem is None:
                raise
        if self._problem is not None:
            raise self._problem
        return result
