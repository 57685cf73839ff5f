"""The times that a page can show, and the addresses of these pages. Pure.

All times are Unix times. They are shown in the local time of the host.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs

from exporter.pages.page_texts import clock

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

#: A minute is recorded after the first sample of the next one, at most this time later in seconds.
_LAG_SECONDS = 3

#: The latest time in an address, in digits.
_MAX_DIGITS = 11

#: The largest number of fields in a query. The pages use two.
_MAX_FIELDS = 8


@dataclass(frozen=True, slots=True)
class RangeKind:
    """A length of time: its word in the address, and the seconds of a point and of a tick.

    has_hours: True if the points are read from the hours, and not from the minutes.
    """

    word: str
    seconds: int
    step_seconds: int
    tick_seconds: int
    has_hours: bool = False

    @property
    def points(self) -> int:
        """The number of points, at most 300."""
        return self.seconds // self.step_seconds


KINDS = {
    kind.word: kind
    for kind in (
        RangeKind("hour", _HOUR, _MINUTE, 10 * _MINUTE),
        RangeKind("day", _DAY, 5 * _MINUTE, 3 * _HOUR),
        RangeKind("month", 30 * _DAY, 3 * _HOUR, 5 * _DAY, has_hours=True),
    )
}


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time that a page shows. end: the Unix time of its end, a multiple of the step.

    is_latest: True if it ends now.
    """

    kind: RangeKind
    end: int
    is_latest: bool

    @property
    def begin(self) -> int:
        """The Unix time of the begin."""
        return self.end - self.kind.seconds

    @property
    def query(self) -> str:
        """The query of the address of the page with this time."""
        end = "" if self.is_latest else f"&end={self.end}"
        return f"?range={self.kind.word}{end}"

    def moved(self, seconds: int, now: float) -> "TimeRange | None":
        """Returns an earlier or later time; None if it would end in the future or before 1971.

        now: the Unix time.
        """
        latest = latest_range(self.kind, now)
        end = self.end + seconds
        if (self.is_latest and seconds > 0) or end < 366 * _DAY:
            return None
        return latest if end >= latest.end else TimeRange(self.kind, end, is_latest=False)


def latest_range(kind: RangeKind, now: float) -> TimeRange:
    """Returns the time that ends now. The last point has ended if it is a minute."""
    step = kind.step_seconds
    if step == _MINUTE:
        return TimeRange(kind, int((now - _LAG_SECONDS) // step) * step, is_latest=True)
    return TimeRange(kind, int(now // step) * step + step, is_latest=True)


def range_around(word: str, at: float, now: float) -> TimeRange:
    """Returns the time with a moment in its middle. word: the kind. now: the Unix time."""
    kind = KINDS[word]
    end = int((at + kind.seconds / 2) // kind.step_seconds + 1) * kind.step_seconds
    latest = latest_range(kind, now)
    return latest if end >= latest.end else TimeRange(kind, end, is_latest=False)


def parsed_range(query: str, now: float) -> TimeRange | None:
    """Returns the time that a query asks for; None for the live page.

    The fields are `range` and `end`. A value that makes no sense counts as absent.
    """
    fields = _fields(query)
    kind = KINDS.get(fields.get("range", ""))
    if kind is None:
        return None
    latest = latest_range(kind, now)
    asked = _number(fields.get("end", ""))
    if asked is None:
        return latest
    end = -(-asked // kind.step_seconds) * kind.step_seconds
    if end >= latest.end or end < kind.seconds:
        return latest
    return TimeRange(kind, end, is_latest=False)


def parsed_before(query: str, now: float) -> float:
    """Returns the Unix time before which events are wanted: the field `before`, else now."""
    asked = _number(_fields(query).get("before", ""))
    return now if asked is None or asked > now else float(asked)


def ticks(shown: TimeRange) -> Iterator[tuple[float, str]]:
    """Yields the places of the time axis, 0 to 1, and their texts."""
    step = shown.kind.tick_seconds
    # Local times that are a multiple of the step, also after a change to summer time.
    for number in range(shown.begin // step - 1, shown.end // step + 3):
        at = number * step - _offset(number * step)
        if shown.begin <= at <= shown.end:
            yield (at - shown.begin) / shown.kind.seconds, _tick_text(at, step)


def day_and_clock(at: float) -> str:
    """Returns a local time, such as ``28 Nov 03:12``."""
    return f"{time.strftime('%d %b', time.localtime(at)).lstrip('0')} {clock(at)[:5]}"


def zone(at: float) -> str:
    """Returns the time zone of the host, such as ``CET (UTC+01:00)``."""
    name = time.strftime("%Z", time.localtime(at))
    sign = "−" if _offset(at) < 0 else "+"
    minutes = abs(_offset(at)) // 60
    offset = f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}"
    return name if name == "UTC" else f"{name} ({offset})" if name else offset


def _tick_text(at: int, step: int) -> str:
    shown = clock(at)[:5]
    if step >= _DAY or (step >= _HOUR and shown == "00:00"):
        return time.strftime("%d %b", time.localtime(at)).lstrip("0")
    return shown


def _offset(at: float) -> int:
    return time.localtime(at).tm_gmtoff


def _fields(query: str) -> dict[str, str]:
    try:
        return {
            name: values[0] for name, values in parse_qs(query, max_num_fields=_MAX_FIELDS).items()
        }
    except ValueError:
        return {}


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else None
