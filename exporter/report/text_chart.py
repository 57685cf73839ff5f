"""Draws a chart as ASCII text, which every terminal and every mail program can display.

A chart has marks, which are named positions on the x axis, and bands, which are named ranges on the
y axis.
"""

import itertools
import math
from collections.abc import Iterator

from exporter.report.axis import Axis, drawable, x_axis, y_axis, y_words
from exporter.report.content import Chart, ChartLine
from exporter.report.formatting import MAX_VALUE, quantity
from exporter.runtime.printable import printable

#: The size of the plot area, in characters.
_ROWS = 12
_MAX_WIDTH = 100
_MIN_WIDTH = 24

#: The characters for lines and for bands. Further lines and bands reuse them.
_LINES = "*ox#"
_BANDS = ".:-="


def text(chart: Chart, width: int) -> str:
    """Returns the chart with its legend; an empty string if it has no points.

    width: the maximum width in characters. The plot area has at least `_MIN_WIDTH` characters, so
        the result may be wider.
    """
    y = y_axis(chart, 6)
    names = dict(_named_rows(y))
    left = max(map(len, names.values()), default=0) + 2
    across = max(min(width, _MAX_WIDTH) - left, _MIN_WIDTH)
    x = x_axis(chart, across, lambda words: len(words) + 4)
    if x is None:
        return ""
    lines = [printable(y_words(chart, y))]
    for number, row in enumerate(_drawn(chart, x, y, across)):
        edge = "|" if number not in names else "+"
        lines.append(f"{names.get(number, ''):>{left - 2}} {edge}{row}".rstrip())
    lines.append(" " * (left - 1) + "+" + "-" * across)
    lines.append(" " * left + _x_names(x, across))
    lines.append(" " * left + printable(chart.x_label).center(across).rstrip())
    lines += _legend(chart)
    return "\n".join(lines) + "\n"


def _drawn(chart: Chart, x: Axis, y: Axis, across: int) -> list[str]:
    rows = [[" "] * across for _ in range(_ROWS)]
    for number, band in enumerate(chart.bands):
        if abs(band.low) <= MAX_VALUE and abs(band.high) <= MAX_VALUE:
            low, high = sorted((_row(y, band.low), _row(y, band.high)))
            for row in rows[low : high + 1]:
                row[:] = _BANDS[number % len(_BANDS)] * across
    for mark in chart.marks:
        if abs(mark.at) <= MAX_VALUE:
            for row in rows:
                row[_column(x, mark.at, across)] = "|"
    # Dots are drawn last, because they are measured values and must cover the lines fitted to them.
    for number, line in sorted(enumerate(chart.lines), key=lambda item: (item[1].dots, -item[0])):
        for column, value in _columns(line, x, across).items():
            rows[_row(y, value)][column] = _LINES[number % len(_LINES)]
    return ["".join(row) for row in rows]


def _columns(line: ChartLine, x: Axis, across: int) -> dict[int, float]:
    """Returns the values of a curve, keyed by the column of the plot area.

    The value is the mean of the points in the column. A column without a point, between two
    connected points, has an interpolated value. Other columns have no value.
    """
    points = drawable(line.points)
    by_column: dict[int, list[float]] = {}
    for at, value in points:
        by_column.setdefault(_column(x, at, across), []).append(value)
    columns = {column: math.fsum(values) / len(values) for column, values in by_column.items()}
    for begin, end in () if line.dots else itertools.pairwise(points):
        first, last = _column(x, begin[0], across), _column(x, end[0], across)
        for column in range(first + 1, last):
            share = (column - first) / (last - first)
            columns.setdefault(column, begin[1] * (1 - share) + end[1] * share)
    return columns


def _row(y: Axis, value: float) -> int:
    return round((1 - y.share(value)) * (_ROWS - 1))


def _column(x: Axis, at: float, across: int) -> int:
    return round(x.share(at) * (across - 1))


def _named_rows(y: Axis) -> Iterator[tuple[int, str]]:
    for value, words in y.ticks:
        yield _row(y, value), words


def _x_names(x: Axis, across: int) -> str:
    """Returns one row of text with the labels of the ticks, each label below its tick.

    A label that would overlap the previous one is omitted.
    """
    row = ""
    for value, words in x.ticks:
        begin = min(max(_column(x, value, across) - len(words) // 2, 0), across - len(words))
        if not row or begin > len(row):
            row = row.ljust(begin) + words
    return row


def _legend(chart: Chart) -> Iterator[str]:
    for number, line in enumerate(chart.lines):
        yield f"  {_LINES[number % len(_LINES)]}  {printable(line.name)}"
    for mark in chart.marks:
        at = quantity(mark.at, chart.x_unit)
        where = "" if at in mark.words else f" (at {at})"
        yield f"  |  {printable(mark.words)}{where}"
    for number, band in enumerate(chart.bands):
        yield f"  {_BANDS[number % len(_BANDS)]}  {printable(band.words)}"
