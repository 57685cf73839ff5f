"""The records of a report, and its JSON output. `delivery` prints reports in all formats."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text. numbers: the indices of the columns that are aligned to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One curve: points (x, y) in ascending order of x. dots: points are not connected."""

    name: str
    points: tuple[tuple[float, float], ...]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A named position on the x axis, such as the end of a write cache."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Band:
    """A named range on the y axis, such as the limits of steady state."""

    low: float
    high: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over one pair of axes. The y axis starts at zero, or near bands far above zero.

    x_unit, y_unit: the base unit of the values, such as B, B/s or s; ticks are then labelled 50 GB,
    1.2 GB/s or 300 µs. If empty, ticks are plain numbers, and the label names the unit.
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
    """The result of one run.

    verdict: the result in one sentence. facts: names and values that describe the run (drive,
    directory, profile, versions, time). parts: tables and charts in reading order. notes: what a
    reader must know to interpret the figures. data: the result as JSON values in base units, with
    stable keys. is_good: whether the drive passed; None if the run does not judge it.
    """

    title: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Table | Chart, ...]
    notes: Sequence[str]
    data: Mapping[str, Any]
    is_good: bool | None = None


def json_text(report: Report) -> str:
    """Returns the report as one JSON object: its texts, and the values in base units under `data`.

    NaN and infinity become null, because JSON has no such numbers. The text is ASCII, so that it
    fits every encoding and contains no terminal escape sequence.
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
    """Returns the value as JSON values: records as objects, enumerations as their values."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    return str(value)
