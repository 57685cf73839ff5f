"""Formats values for the page: escaped text, and numbers with at most three digits and a unit."""

import time

from exporter.runtime.printable import printable

#: Shown in place of a number that is unknown in this second.
NO_VALUE = "–"

_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;"}
_ESCAPES[ord("'")] = "&#39;"

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_YEAR = 365.25 * _DAY
_SIZES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_WORDS = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)

#: The latest time that a date is computed for, in seconds of Unix time: the year 9999.
_MAX_UNIX_TIME = 253_402_300_000.0


def escaped(text: str) -> str:
    """Returns the text for HTML elements and attributes. Unprintable characters become escapes."""
    return printable(text).translate(_ESCAPES)


def titled(key: str, heading: str, note: str, body: str) -> str:
    """Returns a section of a page. key: its id. heading, note, body: HTML."""
    return (
        f'<section aria-labelledby="{key}"><div class="h"><h2 id="{key}">{heading}</h2>'
        f'<span class="m">{note}</span></div>{body}</section>'
    )


def capitalized(text: str) -> str:
    """Returns the text with a capital first letter. The other letters stay as they are."""
    return text[:1].upper() + text[1:]


def megabytes(bytes_per_second: float) -> str:
    """Returns a rate in MB/s, such as ``84.6`` or ``1 204`` with a thin space."""
    value = bytes_per_second / 1e6
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}".replace(",", "\u2009")


def operations(per_second: float) -> tuple[str, str]:
    """Returns a rate of requests and its unit: ``("61", "/s")`` or ``("6.2", "k/s")``."""
    if per_second < 999.5:
        return f"{per_second:.0f}", "/s"
    thousands = per_second / 1000
    return (f"{thousands:.1f}" if thousands < 99.95 else f"{thousands:.0f}"), "k/s"


def milliseconds(seconds: float | None) -> str:
    """Returns a time in ms, such as ``0.09``, ``2.8`` or ``41``; a dash if unknown."""
    if seconds is None:
        return NO_VALUE
    value = seconds * 1000
    if value < 0.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def percent(ratio: float | None) -> str:
    """Returns a ratio as a percentage without the unit; a dash if unknown."""
    if ratio is None or ratio != ratio:  # noqa: PLR0124  NaN
        return NO_VALUE
    value = ratio * 100
    return f"{value:.1f}" if 0 < value < 9.95 else f"{value:.0f}"


def whole_percent(ratio: float) -> str:
    """Returns a ratio as a percentage, such as ``85``; below 1 % with one decimal: ``0.4``."""
    value = ratio * 100
    return f"{value:.1f}" if 0 < value < 0.95 else f"{value:.0f}"


def size(number: float) -> str:
    """Returns a number of bytes with its unit, such as ``512 GB`` or ``1.03 PB``."""
    for factor, unit in _SIZES:
        if number >= 0.9995 * factor:
            value = number / factor
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{number:.0f} B"


def speed(bytes_per_second: float) -> str:
    """Returns a rate with its unit, such as ``600 MB/s``."""
    number, unit = size(bytes_per_second).split(" ")
    value = float(number)
    return f"{f'{value:.1f}' if value % 1 and value < 10 else f'{value:.0f}'} {unit}/s"


def duration(seconds: float) -> str:
    """Returns a duration in its two largest units, such as ``3 h 50 min`` or ``84 days``."""
    if seconds >= _YEAR:
        return f"{seconds / _YEAR:.1f} years"
    if seconds >= 2 * _DAY:
        return f"{seconds / _DAY:.0f} days"
    if seconds >= _HOUR:
        hours, rest = divmod(seconds, _HOUR)
        return f"{hours:.0f} h {rest // _MINUTE:.0f} min"
    if seconds >= 2 * _MINUTE:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{max(seconds, 0):.0f} s"


def day(unix_time: float) -> str:
    """Returns a local date such as ``21 Jan 2027``; empty if the time is out of range."""
    if not 0 <= unix_time < _MAX_UNIX_TIME:
        return ""
    return time.strftime("%d %b %Y", time.localtime(unix_time)).lstrip("0")


def days(begin: float, end: float) -> str:
    """Returns two dates, such as ``21 Jan – 11 Apr 2027``. Equal years are shown once."""
    first, last = day(begin), day(end)
    if first[-4:] == last[-4:]:
        first = first[:-5]
    return f"{first} – {last}"


def clock(unix_time: float) -> str:
    """Returns the local time of day, such as ``10:02:33``."""
    return time.strftime("%H:%M:%S", time.localtime(unix_time))


def time_or_day(unix_time: float, now: float) -> str:
    """Returns a local time of today, such as ``10:02``, or the date of an earlier day."""
    date = day(unix_time)
    return clock(unix_time)[:5] if date == day(now) else date


def word(number: int) -> str:
    """Returns a number as text: a word up to twelve, and digits above."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def counted(number: int, noun: str) -> str:
    """Returns ``1 drive``, ``5 drives``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
