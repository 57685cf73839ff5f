"""Builds, encodes and parses poll documents. A poll document is the result of one poll of a drive.

The agent writes each document as JSON to a directory (`document_directory`). A failed poll has a
document too. The daemon reads the documents from the directory. A daemon that runs smartctl itself
builds the documents in its own memory. The parser checks the type and the range of each field. This
module does no I/O.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.programs.child import Finished
from exporter.runtime.errors import ParseError
from exporter.runtime.json_fields import MAX_TEXT_CHARACTERS, JsonFields
from exporter.smart import smartctl
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_result import has_exited, poll_result
from exporter.smart.smartctl import Address, Form

VERSION = 1

#: Interval of the heartbeat for a receiver in another process, in seconds.
HEARTBEAT_SECONDS = 15.0

#: If no heartbeat arrives during this number of heartbeat intervals, the poller has probably ended.
_FRESH_INTERVALS = 4

#: Limit of a document's size in bytes. Reports of real drives have up to 150 KB with all logs.
#: smartctl may print 1 MiB, and each byte that is not valid UTF-8 becomes three bytes.
LARGEST_BYTES = 4 << 20
#: The maximum number of values in a document: those of a report, and those of the agent.
_MAX_VALUES = smartctl.MAX_VALUES + 1000

_MAX_RESULTS = 32


@dataclass(frozen=True, slots=True)
class PollDocument:
    """The result of one poll of a drive.

    path, type: the drive's smartctl address, for example /dev/bus/0 and megaraid,3.
    result: one of the values of `PollResult`.
    began_at: when the poll started, in seconds of Unix time.
    seconds: the duration of the poll, in seconds.
    interval_seconds: the regular time between two polls of the drive.
    exit_status: smartctl's exit status. None means that a signal ended smartctl.
    is_daily: True if the error and self-test logs were read too.
    message: details of the result, as text for people; empty for a success.
    last_success_at: the start of the drive's last successful poll since the poller started, in
        seconds of Unix time. None means that there was none.
    counts: the number of polls since the poller started, keyed by result.
    report: smartctl's JSON object; empty if there is none. After a failed poll it contains
        smartctl's messages and no health data.
    monotonic, boot_id: further values of `began`.
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
    monotonic: float | None = None
    boot_id: str = ""

    @property
    def began(self) -> Moment:
        """When the poll started."""
        return Moment(self.began_at, self.monotonic, self.boot_id)

    @property
    def address(self) -> Address:
        """The drive's smartctl address."""
        return Address(self.path, self.type)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The poller's list of drives. It is sent regularly and shows that the poller is running.

    at: when it was sent, in seconds of Unix time.
    interval_seconds: the longest time to the next heartbeat.
    scanned_at: when the last successful scan ended, in seconds of Unix time. None means that none
        has ended yet.
    drives: path and type of each drive.
    stuck: path and type of each drive whose smartctl process cannot be ended. A scan that cannot be
        ended has the path "--scan-open".
    problem: why the last scan failed, as text for people; empty if it succeeded.
    only_configured: path and type of each drive that the settings name and no scan has found.
    monotonic, boot_id: further values of `sent`.
    """

    at: float
    interval_seconds: float
    scanned_at: float | None = None
    drives: tuple[tuple[str, str], ...] = ()
    stuck: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    only_configured: tuple[tuple[str, str], ...] = ()
    monotonic: float | None = None
    boot_id: str = ""

    @property
    def sent(self) -> Moment:
        """When the heartbeat was sent."""
        return Moment(self.at, self.monotonic, self.boot_id)

    def is_live(self, now: Moment) -> bool:
        """Returns True if the heartbeat is recent, so that its poller is running."""
        return abs(now.seconds_since(self.sent)) <= _FRESH_INTERVALS * self.interval_seconds


def poll_document(
    finished: Finished,
    address: Address,
    *,
    began: Moment,
    interval_seconds: float,
    is_daily: bool,
    form: Form = Form.JSON,
) -> PollDocument:
    """Returns the document of one smartctl run, without `last_success_at` and `counts`.

    finished: the result of the smartctl process.
    form: the form of the output that was requested.
    began: when the poll started.
    The other parameters are fields of `PollDocument`.
    """
    result, message, report = poll_result(finished, form)
    return PollDocument(
        path=address.path,
        type=address.type,
        result=result.value,
        began_at=began.unix_time,
        monotonic=began.monotonic,
        boot_id=began.boot_id,
        seconds=finished.seconds,
        interval_seconds=interval_seconds,
        exit_status=finished.status if has_exited(finished) else None,
        is_daily=is_daily,
        message=message,
        report=report,
    )


def file_name(path: str, drive_type: str, *, is_daily: bool) -> str:
    """Returns the file name of a drive's document. It is readable and different for each address.

    path, drive_type: the drive's smartctl address.
    is_daily: True for the file of the last daily poll.
    """
    address = f"{path} {drive_type}"
    slug = "".join(c if c.isalnum() and c.isascii() else "-" for c in address).strip("-")[:60]
    daily = ".daily" if is_daily else ""
    return f"drive-{slug}-{zlib.crc32(address.encode('utf-8', 'backslashreplace')):08x}{daily}.json"


def encoded(document: PollDocument | Heartbeat) -> bytes:
    """Returns the contents of the document's file: JSON in UTF-8."""
    values = {name: getattr(document, name) for name in document.__dataclass_fields__}
    text = json.dumps({"version": VERSION, **values}, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def parse_poll_document(text: bytes) -> PollDocument:
    """Returns the poll document that a file contains.

    text: the contents of the file.

    Raises:
        ParseError: it is not a document of this version, or a field has a wrong type or size.
    """
    values = _fields(text)
    report = values.get("report")
    if not isinstance(report, Mapping):
        raise ParseError("document: report is not an object")
    counts = values.get("counts")
    if not isinstance(counts, Mapping) or len(counts) > _MAX_RESULTS:
        raise ParseError(f"document: counts is not an object of at most {_MAX_RESULTS} entries")
    exit_status = values.get("exit_status")
    return PollDocument(
        path=values.text("path"),
        type=values.text("type"),
        result=values.text("result"),
        began_at=values.seconds("began_at"),
        seconds=values.seconds("seconds"),
        interval_seconds=values.seconds("interval_seconds"),
        exit_status=None if exit_status is None else values.count("exit_status"),
        is_daily=values.get("is_daily") is True,
        message=values.text("message"),
        last_success_at=values.seconds_or_none("last_success_at"),
        counts={str(name)[:64]: values.checked_count(n, "counts") for name, n in counts.items()},
        report=report,
        monotonic=values.seconds_or_none("monotonic"),
        boot_id=values.text_or_empty("boot_id"),
    )


def parse_heartbeat(text: bytes) -> Heartbeat:
    """Returns the heartbeat (the poller's list of drives) that a file contains.

    text: the contents of the file.

    Raises:
        ParseError: it is not a heartbeat of this version, or a field has a wrong type or size.
    """
    values = _fields(text)
    return Heartbeat(
        at=values.seconds("at"),
        interval_seconds=values.seconds("interval_seconds"),
        scanned_at=values.seconds_or_none("scanned_at"),
        drives=_addresses(values, "drives"),
        stuck=_addresses(values, "stuck"),
        problem=values.text("problem"),
        # Agents of earlier versions do not write it.
        only_configured=()
        if values.get("only_configured") is None
        else _addresses(values, "only_configured"),
        monotonic=values.seconds_or_none("monotonic"),
        boot_id=values.text_or_empty("boot_id"),
    )


def _fields(text: bytes) -> JsonFields:
    """Returns the fields of a document's file.

    Raises:
        ParseError: it is too large, or not a JSON object of this version.
    """
    if len(text) > LARGEST_BYTES:
        raise ParseError(f"document: larger than {LARGEST_BYTES} bytes")
    values = JsonFields.parsed(text, "document", _MAX_VALUES)
    values.require_version(VERSION)
    return values


def _addresses(values: JsonFields, name: str) -> tuple[tuple[str, str], ...]:
    value = values.get(name)
    if not isinstance(value, list):
        raise ParseError(f"document: {name} is not a list")
    pairs = []
    for pair in value:
        if not (
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(e, str) and len(e) <= MAX_TEXT_CHARACTERS for e in pair)
        ):
            raise ParseError(f"document: {name} has an entry that is not a path and a type")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)
