"""What became of a call of smartctl, in a closed set of words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from exporter.drives.fields import Fields, Json
from exporter.errors import ParseError
from exporter.programs.child import End, Finished
from exporter.smart import smartctl

#: The bits of the exit status, lowest first (smartctl(8), EXIT STATUS). The first two mean that
#: there are no data; the last two that a log which was asked for has entries.
EXIT_BITS = (
    "command_line",
    "device_open",
    "command_failed",
    "disk_failing",
    "prefail_below_threshold",
    "below_threshold_in_past",
    "error_log_entries",
    "self_test_errors",
)
_COMMAND_LINE, _DEVICE_OPEN = 1, 2


class PollResult(str, Enum):
    """What became of a call; the values are the labels of `ssd_smart_polls_total`."""

    SUCCESS = "success"
    STANDBY = "standby"  # left alone, for it would have been woken
    NO_ANSWER = "no_answer"  # it is not there, or does not say who it is
    REFUSED = "refused"  # the rights are missing
    BAD_REQUEST = "bad_request"  # an unknown type
    TOO_OLD = "too_old"  # a smartctl before 7.0
    UNREADABLE = "unreadable"  # what it printed is not understood
    KILLED = "killed"  # by somebody else, or a crash
    TIMED_OUT = "timed_out"
    STUCK = "stuck"  # it cannot be ended: abandoned
    TOO_MUCH_OUTPUT = "too_much_output"
    NOT_STARTED = "not_started"  # no such program, no memory


@dataclass(frozen=True, slots=True)
class PollOutcome:
    """What became of a call.

    report: what the drive said, with `SUCCESS` always, else where there is one: it then holds
    smartctl's messages, and no health.
    message: what went wrong, for people; empty with `SUCCESS`.
    """

    result: PollResult
    report: Json | None = None
    message: str = ""


_OF_END = {
    End.TIMED_OUT: PollResult.TIMED_OUT,
    End.STUCK: PollResult.STUCK,
    End.TOO_MUCH_OUTPUT: PollResult.TOO_MUCH_OUTPUT,
    End.NOT_STARTED: PollResult.NOT_STARTED,
}


def poll_outcome(finished: Finished) -> PollOutcome:
    """What became of a call, out of how the program ended and what it printed."""
    if finished.end is not End.EXITED:
        return PollOutcome(_OF_END[finished.end], None, finished.message)
    if finished.status is None or finished.status < 0:
        return PollOutcome(PollResult.KILLED, None, finished.message or "smartctl was killed")
    try:
        found = smartctl.report(finished.output)
    except ParseError as e:
        return _without_report(finished, e)
    said = tuple(_messages(found))
    if finished.status == smartctl.STANDBY_STATUS:
        return _standby(found, said)
    if finished.status & (_COMMAND_LINE | _DEVICE_OPEN):
        return _failed(finished.status, found, said)
    return PollOutcome(PollResult.SUCCESS, found)


def _without_report(finished: Finished, e: ParseError) -> PollOutcome:
    text = (finished.output[:4096] + b"\n" + finished.errors[:4096]).decode("utf-8", "replace")
    found = smartctl.version(text)
    if found is not None and found < smartctl.OLDEST:
        return PollOutcome(PollResult.TOO_OLD, None, smartctl.too_old(found))
    errors = finished.errors[:200].decode("utf-8", "replace").strip()
    said = f"; it says {errors!r}" if errors else ""
    return PollOutcome(PollResult.UNREADABLE, None, f"{e}; exit status {finished.status}{said}")


def _standby(found: Json, said: Sequence[str]) -> PollOutcome:
    """SLEEP is what smartctl says of every drive that fails CHECK POWER MODE.

    The command fails where a drive is dead or the right to send it is missing; a drive that does
    sleep is woken by it (ataprint.cpp, ataPrintMain; libata resets a sleeping drive).
    """
    if any("in SLEEP mode" in each for each in said):
        message = (
            "it did not say its power mode: it does not answer, the right is missing"
            " (CAP_SYS_RAWIO), or its bridge does not pass the question on"
        )
        return PollOutcome(PollResult.NO_ANSWER, found, message)
    return PollOutcome(PollResult.STANDBY, found, "; ".join(said) or "in standby")


def _failed(status: int, found: Json, said: Sequence[str]) -> PollOutcome:
    message = "; ".join(said)
    if re.search("Permission denied|Operation not permitted", message):
        hint = (
            "smartctl needs CAP_SYS_RAWIO (SATA, SAS) and CAP_SYS_ADMIN (NVMe, controllers);"
            " or the type is not the drive's"
        )
        return PollOutcome(PollResult.REFUSED, found, f"{message}; {hint}")
    if status & _COMMAND_LINE and not re.search(r"Unable to detect|No such", message):
        return PollOutcome(
            PollResult.BAD_REQUEST, found, message or "smartctl refuses its arguments"
        )
    if not message:
        # Why it did not is text that --json leaves out.
        message = "it was opened and did not say who it is; the right may be missing too"
    return PollOutcome(PollResult.NO_ANSWER, found, message)


def _messages(found: Json) -> Iterator[str]:
    for row in Fields(found).rows("smartctl", "messages", maximum=8):
        # The list of all types that are known would follow.
        if (text := row.text("string")) and not text.startswith("=======> VALID"):
            yield text
