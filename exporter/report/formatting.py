"""Text for people: nothing that steers a terminal, its width there, numbers with their unit."""

import math
import unicodedata
from typing import TextIO

#: Prefixes for units that take them, from small to large; time has no kiloseconds.
_SMALL = ((1e-9, "n"), (1e-6, "µ"), (1e-3, "m"))
_LARGE = ((1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"))
_PREFIXES = {
    "s": (*_SMALL, (1.0, "")),
    "B": ((1.0, ""), *_LARGE),
    "B/s": ((1.0, ""), *_LARGE),
    "bit/s": ((1.0, ""), *_LARGE),
}

#: Values beyond are no measurement, and differences of those within stay finite.
MOST = 1e18


def printable(words: str) -> str:
    """Drives name themselves: no escape sequence, and no change of direction, gets through."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)


def columns(words: str) -> int:
    """How many columns of a terminal printable text takes."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in words
    )


def prefixed(largest: float, unit: str) -> tuple[float, str]:
    """What one of the unit with the prefix that suits this value is worth, and its name.

    ``(1e9, "GB/s")`` for 1.2e9 B/s. A unit that takes no prefix is worth 1.
    """
    rungs = _PREFIXES.get(unit, ((1.0, ""),))
    scale, prefix = rungs[0]
    if not largest:
        return 1.0, unit
    for worth, name in rungs:
        if abs(largest) >= worth:
            scale, prefix = worth, name
    return scale, f"{prefix}{unit}"


def quantity(value: float, unit: str = "") -> str:
    """A number of three digits with its unit: ``1.24 GB/s``, ``380 µs``; ``-`` for none."""
    if not math.isfinite(value):
        return "-"
    if value and abs(value) < MOST:
        value = float(f"{value:.3g}")  # 999.9 MB is 1 GB
    scale, name = prefixed(value, unit)
    return f"{number(value / scale)} {name}".rstrip()


def number(value: float) -> str:
    """Three digits, or all before the point: ``1.24``, ``20,000``."""
    if abs(value) >= MOST or 0 < abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def has_unicode(out: TextIO) -> bool:
    """Whether every letter can be written there."""
    return (out.encoding or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")


def encodable(words: str, out: TextIO) -> str:
    """What the encoding of the output lacks as escapes; a micro as the u that everybody writes."""
    if has_unicode(out):
        return words
    plain = words.replace("µ", "u")
    return plain.encode(out.encoding, "backslashreplace").decode(out.encoding)
