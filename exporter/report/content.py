"""Defines the records of a report, and returns a report as JSON.

`delivery` prints reports in all formats.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Table:
    """A table of plain text.

    title: the heading of the table.
    columns: the names of the columns.
    rows: the cells of each row.
    numbers: the indices of the columns that contain numbers. They are aligned to the right.
    keys: the number of columns at the left that name the rows. If a table is divided because the
        terminal is too narrow, each part has these columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    keys: int = 1


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One curve of a chart.

    name: the name in the legend.
    points: pairs of x and y, in ascending order of x.
    dots: True if the points are drawn as dots and not connected.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A named position on the x axis, such as the end of a write cache.

    at: the position, in the unit of the x axis.
    words: the name.
    """

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Band:
    """A named range on the y axis, such as the limits of steady state.

    low, high: the ends of the range, in the unit of the y axis.
    words: the name.
    """

    low: float
    high: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of one or more curves with common axes.

    The y axis starts at zero or at the lowest negative value. If there are bands far above zero, it
    starts near them.

    title: the heading of the chart.
    x_label, y_label: the names of the axes.
    lines: the curves.
    marks: the named positions on the x axis.
    bands: the named ranges on the y axis.
    x_unit, y_unit: the base unit of the values, such as B, B/s or s. The labels of ticks are then
        50 GB, 1.2 GB/s or 300 µs. If the unit is empty, ticks are plain numbers, and the name of
        the axis contains the unit.
    x_ticks: positions on the x axis with their labels. They are for an axis that is not linear: the
        caller has transformed the values of x. Empty means that the ticks are computed.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]
    marks: tuple[Mark, ...] = ()
    bands: tuple[Band, ...] = ()
    x_unit: str = ""
    y_unit: str = ""
    x_ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one run of a command.

    title: the heading of the report.
    verdict: the result in one sentence.
    facts: names and values that describe the run: drive, directory, profile, versions, time.
    parts: tables and charts in reading order.
    notes: sentences that a reader must know to interpret the figures.
    data: the result in base units, for JSON. The keys stay the same in later versions.
    is_good: True if the drive passed, False if it did not. None means that there is no judgement,
        for example because the run did not finish or because the command judges nothing.
    """

    title: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Table | Chart, ...]
    notes: Sequence[str]
    data: Mapping[str, Any]
    is_good: bool | None = None


def json_text(report: Report) -> str:
    """Returns the report as the text of one JSON object, without its tables and charts.

    The key `data` contains the values in base units. NaN and infinity become null, because JSON has
    no such numbers. The text is ASCII, so that every encoding can represent it and it contains no
    terminal escape sequence.
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
    """Returns a value in a form that json.dumps accepts.

    Dataclasses and mappings become dicts, other iterables become lists, and members of enumerations
    become their values. NaN and infinity become None, and any other object its str().
    """
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
