"""Formats text and numbers for people.

The text contains no escape sequences, its width can be computed, and numbers have units.
"""

import math
import os
import shutil
import unicodedata
from typing import TextIO

#: Pairs of a factor and a prefix in ascending order, keyed by unit. Seconds have no prefix for
#: large values.
_SMALL = ((1e-9, "n"), (1e-6, "µ"), (1e-3, "m"))
_LARGE = ((1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"))
_PREFIXES = {
    "s": (*_SMALL, (1.0, "")),
    "B": ((1.0, ""), *_LARGE),
    "B/s": ((1.0, ""), *_LARGE),
    "bit/s": ((1.0, ""), *_LARGE),
}

#: Maximum absolute value that is drawn. A larger value cannot be a measurement. The limit also
#: keeps differences of values finite.
MAX_VALUE = 1e18


def columns(words: str) -> int:
    """Returns the width of a printable text, in terminal columns."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in words
    )


def prefixed(largest: float, unit: str) -> tuple[float, str]:
    """Returns a factor and the unit with the prefix for that factor, such as ``(1e9, "GB/s")``.

    The prefix suits `largest`: the example is the result for 1.2e9 and ``B/s``. The factor is 1 for
    a unit without prefixes.
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
    """Returns the value with its unit, such as ``1.24 GB/s``; ``-`` if the value is not finite.

    value: the value in the base unit. It is rounded to three significant digits.
    """
    if not math.isfinite(value):
        return "-"
    if value and abs(value) < MAX_VALUE:
        value = float(f"{value:.3g}")  # so 999.9 MB is shown as 1 GB
    scale, name = prefixed(value, unit)
    return f"{number(value / scale)} {name}".rstrip()


def number(value: float) -> str:
    """Returns the number as text with three significant digits, such as ``1.24``.

    All digits before the decimal point are kept, as in ``20,123``.
    """
    if abs(value) >= MAX_VALUE or 0 < abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def terminal_width(default: int, least: int, most: int) -> int:
    """Returns the width of the terminal in columns, or the nearest of `least` and `most`.

    The environment variable COLUMNS takes precedence. `default` is used if the output is not a
    terminal.
    """
    return min(max(shutil.get_terminal_size((default, 0)).columns, least), most)


def has_colour(out: TextIO) -> bool:
    """Returns True if the output is a terminal and NO_COLOR is not set (https://no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR")


def has_unicode(out: TextIO) -> bool:
    """True if the encoding of the output is UTF-8."""
    return (out.encoding or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")


def encodable(words: str, out: TextIO) -> str:
    """Returns the text so that the encoding of the output can represent it.

    Characters that the encoding lacks are written as escapes, and µ as u.
    """
    if has_unicode(out):
        return words
    plain = words.replace("µ", "u")
    return plain.encode(out.encoding, "backslashreplace").decode(out.encoding)
