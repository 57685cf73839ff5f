"""What one poll of one drive found, as it passes from the half with rights to the half without.

One JSON object a drive and poll, failed polls included. The reader trusts nothing in it: field by
field, within bounds.

What became of a call of smartctl, in a closed set of words.
"""

import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from exporter.drives.fields import Fields, Json
from exporter.errors import ParseError
from exporter.programs.child import End, Finished
from exporter.smart import smartctl

VERSION = 1

#: Real drives' reports have up to 150 KB, with all logs. A drive that prints nothing but bytes
#: that are no UTF-8 makes three of each, of the megabyte that it may print.
LARGEST_BYTES = 4 << 20

_LONGEST_TEXT = 4096
_MOST_RESULTS = 32


@dataclass(frozen=True, slots=True)
class PollDocument:
    """One poll. Times are seconds of Unix time, durations are seconds.

    path, type: how smartctl was told of the drive: /dev/bus/0 and megaraid,3.
    result: how it ended, one of `outcome.Result`; `message` says more, for people.
    is_daily: the error and self-test logs were asked for too.
    interval_seconds: until the drive is asked again.
    last_success_at: of this drive since the poller began; None if none.
    counts: polls since the poller began, by result.
    report: smartctl's own JSON; empty where there is none.
    """

    path: str
    type: str
    result: str
    began_at: float
    seconds: float
    interval_seconds: float
    exit_status: int | None = None
    is_daily: bool = False
    message: str = ""
    last_success_at: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    report: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The poller's heartbeat: that it lives, and which drives it knows of.

    scanned_at: when the list was last complete; None where no scan has succeeded yet.
    drives: path and type of each.
    stuck: paths of drives whose smartctl cannot be ended.
    problem: why nothing can be polled, for people; else empty.
    """

    at: float
    interval_seconds: float
    scanned_at: float | None = None
    drives: tuple[tuple[str, str], ...] = ()
    stuck: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def file_name(path: str, drive_type: str, *, is_daily: bool) -> str:
    """The name of a drive's document: readable, and another one for every other drive."""
    address = f"{path} {drive_type}"
    slug = "".join(c if c.isalnum() and c.isascii() else "-" for c in address).strip("-")[:60]
    daily = ".daily" if is_daily else ""
    return f"drive-{slug}-{zlib.crc32(address.encode('utf-8', 'backslashreplace')):08x}{daily}.json"


def encoded(document: PollDocument | Heartbeat) -> bytes:
    """The document as the bytes of its file."""
    values = {name: getattr(document, name) for name in document.__dataclass_fields__}
    text = json.dumps({"version": VERSION, **values}, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def parse_poll_document(text: bytes) -> PollDocument:
    """Raises ParseError where it is no document of this version, or a field is not usable."""
    values = _Values(text)
    report = values.get("report")
    if not isinstance(report, Mapping):
        raise ParseError("document: report is no object")
    counts = values.get("counts")
    if not isinstance(counts, Mapping) or len(counts) > _MOST_RESULTS:
        raise ParseError("document: counts is no short object")
    exit_status = values.get("exit_status")
    return PollDocument(
        path=values.text("path"),
        type=values.text("type"),
        result=values.text("result"),
        began_at=values.seconds("began_at"),
        seconds=values.seconds("seconds"),
        interval_seconds=values.seconds("interval_seconds"),
        exit_status=None if exit_status is None else values.count(exit_status, "exit_status"),
        is_daily=values.get("is_daily") is True,
        message=values.text("message"),
        last_success_at=values.seconds_or_none("last_success_at"),
        counts={str(name)[:64]: values.count(n, "counts") for name, n in counts.items()},
        report=report,
    )


def parse_heartbeat(text: bytes) -> Heartbeat:
    """Raises ParseError where it is no heartbeat of this version, or a field is not usable."""
    values = _Values(text)
    return Heartbeat(
        at=values.seconds("at"),
        interval_seconds=values.seconds("interval_seconds"),
        scanned_at=values.seconds_or_none("scanned_at"),
        drives=values.addresses("drives"),
        stuck=values.addresses("stuck"),
        problem=values.text("problem"),
    )


class _Values:
    """A JSON object whose values are of the kind asked for, or a ParseError."""

    def __init__(self, text: bytes) -> None:
        if len(text) > LARGEST_BYTES:
            raise ParseError(f"document: larger than {LARGEST_BYTES} bytes")
        try:
            values = json.loads(text)
        # Besides its own error: numbers of 5,000 digits, lists in lists in lists, no UTF-8.
        except (ValueError, RecursionError) as e:
            raise ParseError(f"document: no JSON: {e}") from e
        if not isinstance(values, dict):
            raise ParseError("document: no JSON object")
        if values.get("version") != VERSION:
            raise ParseError(
                f"document: of version {values.get('version')!r:.20}, not {VERSION}: "
                "the daemon and the smart-agent must be of one version"
            )
        self._values: dict[str, Any] = values

    def get(self, name: str) -> Any:
        return self._values.get(name)

    def text(self, name: str) -> str:
        found = self._values.get(name)
        if not isinstance(found, str):
            raise ParseError(f"document: {name} is no text")
        return found[:_LONGEST_TEXT]

    def seconds_or_none(self, name: str) -> float | None:
        return None if self._values.get(name) is None else self.seconds(name)

    def seconds(self, name: str) -> float:
        found = self._values.get(name)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise ParseError(f"document: {name} is no number")
        # Compared before it becomes a float: a number of 400 digits does not fit one.
        if not 0 <= found < 1e12 or not math.isfinite(found):
            raise ParseError(f"document: {name} is out of range")
        return float(found)

    @staticmethod
    def count(found: Any, name: str) -> int:
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 1 << 63:
            raise ParseError(f"document: {name} is no count")
        return found

    def addresses(self, name: str) -> tuple[tuple[str, str], ...]:
        found = self._values.get(name)
        if not isinstance(found, list):
            raise ParseError(f"document: {name} is no list")
        pairs = []
        for pair in found:
            if not (
                isinstance(pair, list)
                and len(pair) == 2
                and all(isinstance(each, str) and len(each) <= _LONGEST_TEXT for each in pair)
            ):
                raise ParseError(f"document: {name} holds what is no path and type")
            pairs.append((pair[0], pair[1]))
        return tuple(pairs)


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
