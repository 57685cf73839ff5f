"""Formats text and numbers for people: no escape sequences, known width, numbers with units."""

import math
import unicodedata
from typing import TextIO

#: Factors and prefixes by unit, in ascending order. Seconds have no prefix for large values.
_SMALL = ((1e-9, "n"), (1e-6, "µ"), (1e-3, "m"))
_LARGE = ((1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"))
_PREFIXES = {
    "s": (*_SMALL, (1.0, "")),
    "B": ((1.0, ""), *_LARGE),
    "B/s": ((1.0, ""), *_LARGE),
    "bit/s": ((1.0, ""), *_LARGE),
}

#: Maximum of a value that is drawn. A larger one cannot be a measurement. The limit also keeps
#: differences of values finite.
MAX_VALUE = 1e18


def printable(words: str) -> str:
    """Returns the text with control characters as escapes: model names come from the drives."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)


def columns(words: str) -> int:
    """Returns the width of printable text, in terminal columns."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in words
    )


def prefixed(largest: float, unit: str) -> tuple[float, str]:
    """Returns the factor and the name of the unit with the prefix that suits the value.

    Example: ``(1e9, "GB/s")`` for 1.2e9 B/s. The factor is 1 for a unit without prefixes.
    """
    prefixes = _PREFIXES.get(unit, ((1.0, ""),))
    scale, prefix = prefixes[0]
    if not largest:
        return 1.0, unit
    for factor, name in prefixes:
        if abs(largest) >= factor:
            scale, prefix = factor, name
    return scale, f"{prefix}{unit}"


def quantity(value: float, unit: str = "") -> str:
    """Returns the value with three digits and its unit (``1.24 GB/s``); ``-`` if not finite."""
    if not math.isfinite(value):
        return "-"
    if value and abs(value) < MAX_VALUE:
        value = float(f"{value:.3g}")  # 999.9 MB is 1 GB
    scale, name = prefixed(value, unit)
    return f"{number(value / scale)} {name}".rstrip()


def number(value: float) -> str:
    """Returns ``1.24`` or ``20,000``: three significant digits, and all before the point."""
    if abs(value) >= MAX_VALUE or 0 < abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def has_unicode(out: TextIO) -> bool:
    """True if the encoding of the output is UTF-8."""
    return (out.encoding or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")


def encodable(words: str, out: TextIO) -> str:
    """Returns the text with characters that the output's encoding lacks as escapes, and µ as u."""
    if has_unicode(out):
        return words
    plain = words.replace("µ", "u")
    return plain.encode(out.encoding, "backslashreplace").decode(out.encoding)
