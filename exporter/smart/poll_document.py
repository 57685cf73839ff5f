"""What one poll of one drive found, as it passes from the half with rights to the half without.

One JSON object a drive and poll, failed polls included. The reader trusts nothing in it: field by
field, within bounds.
"""

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.errors import ParseError

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
