"""Builds lines of text whose parts have styles, and formats numbers. Pure."""

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from exporter.report.formatting import columns
from exporter.runtime.printable import printable


class Style(Enum):
    """The style of a text; the value is the SGR parameter of ECMA-48."""

    PLAIN = ""
    BOLD = "1"
    QUIET = "2"
    VERDICT = "1;35"
    WARNING = "33"


class Span(NamedTuple):
    """A part of a line."""

    text: str
    style: Style = Style.PLAIN


#: One line of the screen.
Line = tuple[Span, ...]

#: Characters for terminals whose encoding is not UTF-8.
_ASCII = str.maketrans("▁▂▃▄▅▆▇█·×°›…–", "_.:-=+*#.xC>~-")


def line(*parts: str | Span) -> Line:
    """Returns a line of these parts. A part that is a text has no style."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def cut(spans: Line, width: int) -> Line:
    """Returns the line, cut after `width` columns. A cut line ends with an ellipsis."""
    if sum(columns(span.text) for span in spans) <= width:
        return spans
    if width <= 0:
        return ()
    kept: list[Span] = []
    left = width - 1
    for text, style in spans:
        part = text
        while columns(part) > left:
            part = part[:-1]
        kept.append(Span(part, style))
        left -= columns(part)
        if part != text:
            break
    return (*kept, Span("…"))


def as_text(
    lines: Iterable[Line], width: int, *, colour: bool = False, unicode: bool = True
) -> list[str]:
    """Returns the lines as text of at most `width` columns, without spaces at their end.

    Unprintable characters are replaced by escapes, so that no name can control the terminal.

    colour: True adds escape sequences for the styles.
    unicode: False replaces all characters that are not ASCII.
    """
    texts = []
    for each in lines:
        parts = [
            f"\x1b[{style.value}m{text}\x1b[0m" if colour and style.value else text
            for text, style in cut(_printable(each), width)
        ]
        text = "".join(parts).rstrip()
        texts.append(text if unicode else _ascii(text))
    return texts


def _printable(spans: Line) -> Line:
    if all(span.text.isprintable() for span in spans):
        return spans
    return tuple(Span(printable(text), style) for text, style in spans)


def fitted(text: str, width: int) -> str:
    """Returns the text in exactly `width` columns, cut with an ellipsis or filled with spaces."""
    short = as_text([line(text)], width)[0]
    return short + " " * (width - columns(short))


def compact(value: float | None) -> str:
    """Returns a number in at most five characters, such as "0.3", "101", "6.2k"; "-" for None."""
    if value is None:
        return "-"
    for factor, unit in ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / factor
        if scaled < 999.5 or unit == "G":
            digits = 1 if 0.05 <= scaled < 9.95 and scaled != int(scaled) else 0
            return f"{scaled:.{digits}f}{unit}"
    return "-"


def milliseconds(seconds: float | None) -> str:
    """Returns an await in milliseconds without a unit; from 10 s on, in seconds with the unit."""
    if seconds is None:
        return "-"
    value = seconds * 1000
    if value >= 9999.5:
        return f"{seconds:.0f}s"
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def percent(ratio: float | None) -> str:
    """Returns a ratio as a percentage with the unit; "-" for None."""
    return "-" if ratio is None else f"{ratio * 100:.0f} %"


def joined(parts: Sequence[str], width: int, separator: str = "  ") -> str:
    """Returns the first parts that fit into the width, as one text."""
    text = ""
    for part in parts:
        longer = f"{text}{separator}{part}" if text else part
        if columns(longer) > width:
            break
        text = longer
    return text


def _ascii(text: str) -> str:
    return re.sub(r"[^\x00-\x7f]", "?", text.translate(_ASCII))
