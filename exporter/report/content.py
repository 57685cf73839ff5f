"""What a report says; the terminal, JSON and HTML are made of the same records.

A report as JSON, for programs.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words that people compare. numbers: the columns to be set flush right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One curve: points of x and y, x rising. dots: points without a line between them."""

    name: str
    points: tuple[tuple[float, float], ...]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the x axis that has a name, such as the end of a cache."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Band:
    """A range of y that has a name, such as the window of steady state."""

    low: float
    high: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over one pair of axes; y begins at zero, or near bands that lie far above it.

    x_unit, y_unit: the base unit of the numbers, such as B, B/s or s; the ticks then read 50 GB,
    1.2 GB/s, 300 µs. Without one they are plain numbers, and the label carries the unit.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]
    marks: tuple[Mark, ...] = ()
    bands: tuple[Band, ...] = ()
    x_unit: str = ""
    y_unit: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What one run found.

    verdict: one sentence for who reads nothing else. facts: name and value of what was measured on
    what (drive, directory, profile, versions, time). parts: in the order they are read. notes: what
    a reader must know to trust the figures. data: the same for programs, in base units; its keys
    stay. is_good: what the verdict says of the drive; None where nothing is judged.
    """

    title: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Table | Chart, ...]
    notes: Sequence[str]
    data: Mapping[str, Any]
    is_good: bool | None = None


def text(report: Report) -> str:
    """One object: what was found in words, and under `data` the same in base units.

    What is no number, such as NaN, is null: JSON has no word for it. ASCII alone, so that it can
    be written anywhere and steers no terminal.
    """
    whole = {
        "title": report.title,
        "verdict": report.verdict,
        "is_good": report.is_good,
        "facts": dict(report.facts),
        "notes": list(report.notes),
        "data": plain(report.data),
    }
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """The value as JSON has it: records by their fields, enumerations by their values."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [plain(each) for each in value]
    return str(value)
