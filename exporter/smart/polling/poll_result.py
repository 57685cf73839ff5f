"""Determines how a poll of a drive ended from the output and the exit status of smartctl."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from exporter.drives.fields import Fields, Json
from exporter.programs.child import End, Finished
from exporter.runtime.errors import ParseError
from exporter.smart import smartctl
from exporter.smart.smartctl import Form

#: The bits of smartctl's exit status, lowest first (smartctl(8), EXIT STATUS). The first two mean
#: that there is no data. The last two mean that a requested log has entries.
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

#: The message about smartctl 7.0 to 7.2 and a SCSI drive with pending defects.
_ENDED_EARLY = (
    "smartctl ended at the log of pending defects, so the results of self-tests and the errors of"
    " the link are missing: update smartmontools to 7.4"
)


class PollResult(str, Enum):
    """How a poll ended. The values are label values of the metric `ssd_smart_polls_total`."""

    SUCCESS = "success"
    STANDBY = "standby"  # the drive was not polled, because that would have woken it
    NO_ANSWER = "no_answer"  # the device is missing, or the drive does not identify itself
    REFUSED = "refused"  # a privilege is missing
    BAD_REQUEST = "bad_request"  # smartctl does not know the type
    TOO_OLD = "too_old"  # smartctl is older than 7.0
    UNREADABLE = "unreadable"  # the output could not be parsed
    KILLED = "killed"  # smartctl crashed, or another process killed it
    TIMED_OUT = "timed_out"  # smartctl was ended after its time limit
    STUCK = "stuck"  # smartctl still runs after its time limit, and was abandoned
    TOO_MUCH_OUTPUT = "too_much_output"  # smartctl printed more than the limit
    NOT_STARTED = "not_started"  # smartctl is not installed, or there is no memory


_RESULT_OF_END = {
    End.TIMED_OUT: PollResult.TIMED_OUT,
    End.STUCK: PollResult.STUCK,
    End.TOO_MUCH_OUTPUT: PollResult.TOO_MUCH_OUTPUT,
    End.NOT_STARTED: PollResult.NOT_STARTED,
}


def poll_result(finished: Finished, form: Form = Form.JSON) -> tuple[PollResult, str, Json]:
    """Returns the result, a message for people, and the report of a smartctl run, as in JSON.

    The message is empty for a success. The report is empty if smartctl printed none.

    form: the form of the output that was requested.
    """
    if finished.end is not End.EXITED:
        is_stuck = finished.end is End.STUCK
        note = "; the drive is not polled until it has ended" if is_stuck else ""
        return _RESULT_OF_END[finished.end], finished.message + note, {}
    if not has_exited(finished) or finished.status is None:
        return PollResult.KILLED, finished.message or "smartctl was killed", {}
    try:
        report = smartctl.report(finished.output)
    except ParseError as e:
        from_text = _text_report(finished) if form is not Form.JSON else None
        if from_text is None:
            return *_result_without_report(finished, e), {}
        report = from_text
    status = 0 if _ended_early(finished) else finished.status
    return *_result_of_report(status, report), report


def _result_of_report(status: int, report: Json) -> tuple[PollResult, str]:
    messages = tuple(_messages(report))
    if status == smartctl.STANDBY_STATUS:
        return _standby_result(messages)
    if status & (_COMMAND_LINE | _DEVICE_OPEN):
        return _failed_result(status, messages)
    return PollResult.SUCCESS, ""


def _text_report(finished: Finished) -> Json | None:
    """Returns the report of a run that printed text; None if the text is not smartctl's.

    If smartctl ended early, the report has no exit status, and a message that says so.
    """
    # The agent is small, and few of its drives need the parsers of text.
    from exporter.drives.smartctl_text.text_report import parse_text  # noqa: PLC0415

    report = parse_text(finished.output.decode("utf-8", "replace"))
    if report is None:
        return None
    program = Fields(report).get("smartctl")
    facts = program if isinstance(program, Mapping) else {}
    if not _ended_early(finished):
        return {**report, "smartctl": {**facts, "exit_status": finished.status}}
    note = {"string": _ENDED_EARLY, "severity": "information"}
    return {**report, "smartctl": {**facts, "messages": [note, *(facts.get("messages") or ())]}}


def _ended_early(finished: Finished) -> bool:
    """True if smartctl ended with an exception. Its status 1 then says nothing about the drive."""
    return smartctl.JSON_EXCEPTION in finished.output


def has_exited(finished: Finished) -> bool:
    """True if the process ended by itself. A negative status means that a signal ended it."""
    return finished.end is End.EXITED and finished.status is not None and finished.status >= 0


def _result_without_report(finished: Finished, e: ParseError) -> tuple[PollResult, str]:
    text = (finished.output[:4096] + b"\n" + finished.errors[:4096]).decode("utf-8", "replace")
    version = smartctl.version(text)
    if version is not None and version < smartctl.OLDEST:
        return PollResult.TOO_OLD, smartctl.too_old(version)
    errors = finished.errors[:200].decode("utf-8", "replace").strip()
    printed = f"; it printed {errors!r}" if errors else ""
    return PollResult.UNREADABLE, f"{e}; exit status {finished.status}{printed}"


def _standby_result(messages: Sequence[str]) -> tuple[PollResult, str]:
    """Returns the result and message for a run with the exit status for standby.

    SLEEP in smartctl's messages does not mean standby. smartctl reports it for every drive on which
    the command CHECK POWER MODE fails, because the drive is dead or the privilege to send it is
    missing. A drive that really sleeps is woken by the command (ataprint.cpp, ataPrintMain; libata
    resets a sleeping drive).
    """
    if any("in SLEEP mode" in message for message in messages):
        return PollResult.NO_ANSWER, (
            "the drive did not report its power mode: it does not respond, the privilege"
            " CAP_SYS_RAWIO is missing, or its bridge does not pass the command on"
        )
    return PollResult.STANDBY, "; ".join(messages) or "in standby"


def _failed_result(status: int, messages: Sequence[str]) -> tuple[PollResult, str]:
    message = "; ".join(messages)
    if re.search("Permission denied|Operation not permitted", message):
        hint = (
            "smartctl needs CAP_SYS_RAWIO (SATA, SAS) and CAP_SYS_ADMIN (NVMe, controllers);"
            " or the type is not the drive's"
        )
        return PollResult.REFUSED, f"{message}; {hint}"
    if status & _COMMAND_LINE and not re.search(r"Unable to detect|No such", message):
        return PollResult.BAD_REQUEST, message or "smartctl rejects its arguments"
    # smartctl prints the cause only as text, and --json leaves it out.
    return PollResult.NO_ANSWER, message or (
        "the device was opened and the drive did not identify itself; a privilege may be missing"
    )


def _messages(report: Json) -> Iterator[str]:
    for row in Fields(report).rows("smartctl", "messages", maximum=8):
        # The message that starts with "=======> VALID" lists all valid types and is left out.
        if (text := row.text("string")) and not text.startswith("=======> VALID"):
            yield text
