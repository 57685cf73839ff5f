"""Draws a chart as an SVG element of the HTML page. The style sheet of the page sets the colours.

A chart has marks, which are named positions on the x axis, and bands, which are named ranges on the
y axis.

No library in pure Python meets the requirements:
- pygal 3.1 adds a script to every chart and has no named marks on the x axis
  (https://github.com/Kozea/pygal/issues/274).
- leather 0.4 has neither marks nor bands, and its colours are fixed.
- charted 1.2 has marks and bands. But it requires the same x values for all lines, draws names over
  each other, labels ticks as 3.4e10, and draws a line at the wrong height.
"""

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

from exporter.printable import printable
from exporter.report.axis import Axis, Point, drawable, x_axis, x_words, y_axis, y_words
from exporter.report.content import Chart, ChartLine, Mark
from exporter.report.formatting import MAX_VALUE, columns, quantity
from exporter.report.markup import element

#: Number of styles for lines and for bands in the style sheet. Further lines and bands reuse them.
KINDS = 4

#: Sizes in pixels: the height of a row of text, the width of a letter in a wide font, the margin at
#: the right side, and the length of a tick. Text is 12 px high.
_ROW = 16.0
_LETTER = 7.6
_MARGIN = 16.0
_TICK = 4.0

#: Maximum length of a mark's name, in characters. Longer names are shortened.
_MAX_MARK_LENGTH = 80


@dataclass(frozen=True, slots=True)
class _Label:
    """The name of a mark and its place in the chart.

    x: the position of the mark, in pixels.
    lines: the name, wrapped into lines of text.
    is_left: True if the name is to the left of the mark, False if it is to the right.
    row: the row of the first line of text; row 0 is at the top of the chart.
    """

    x: float
    lines: tuple[str, ...]
    is_left: bool
    row: int

    @property
    def reach(self) -> tuple[float, float]:
        long = max(map(_width, self.lines)) + _LETTER
        return (self.x - long, self.x) if self.is_left else (self.x, self.x + long)


@dataclass(frozen=True, slots=True)
class _Plot:
    """The area in which the lines are drawn.

    left, top, right, bottom: the edges of the area, in pixels.
    x, y: the axes.
    """

    left: float
    top: float
    right: float
    bottom: float
    x: Axis
    y: Axis

    def across(self, value: float) -> float:
        return self.left + self.x.share(value) * (self.right - self.left)

    def up(self, value: float) -> float:
        return self.bottom - self.y.share(value) * (self.bottom - self.top)


def svg(chart: Chart, width: int, height: int) -> ET.Element | None:
    """Returns the chart as an SVG element; None if it has no points.

    width: the width of the chart, in pixels.
    height: the height of the chart, in pixels. The chart becomes higher if the names of marks need
        many rows.
    """
    y = y_axis(chart, 5)
    left = 12.0 + max((_width(words) for _, words in y.ticks), default=0.0)
    x = x_axis(chart, width - _MARGIN - left, lambda words: _width(words) + 20)
    if x is None:
        return None
    frame = _Plot(left, 0, width - _MARGIN, 0, x, y)
    labels = _labels(chart.marks, frame)
    rows = max((label.row + len(label.lines) for label in labels), default=0)
    top = _ROW * (rows + 2)
    bottom = max(height - 2.7 * _ROW, top + 120.0)
    plot = _Plot(left, top, frame.right, bottom, x, y)
    whole = bottom + 2.7 * _ROW
    return element(
        "svg",
        *_bands(chart, plot),
        *_axes(chart, plot),
        *(drawn for n, line in enumerate(chart.lines) for drawn in _line(line, n, plot, chart)),
        *(drawn for label in labels for drawn in _mark(label, plot)),
        role="img",
        aria_label=described(chart),
        viewBox=f"0 0 {width} {whole:.0f}",
        width=width,
        height=round(whole),
    )


def described(chart: Chart) -> str:
    """Returns a text description of the chart, for screen readers."""
    sentences = [f"{chart.y_label} over {chart.x_label}."]
    for line in chart.lines:
        if points := drawable(line.points):
            low, high = min(y for _, y in points), max(y for _, y in points)
            reach = f"{quantity(low, chart.y_unit)} to {quantity(high, chart.y_unit)}"
            first, last = (quantity(y, chart.y_unit) for _, y in (points[0], points[-1]))
            sentences.append(f"{line.name}: {reach}, first {first}, last {last}.")
    sentences += [f"At {quantity(mark.at, chart.x_unit)}: {mark.words}." for mark in chart.marks]
    for band in chart.bands:
        low_high = f"{quantity(band.low, chart.y_unit)} to {quantity(band.high, chart.y_unit)}"
        sentences.append(f"{band.words}: {low_high}.")
    return " ".join(sentences)


def _labels(marks: Sequence[Mark], plot: _Plot) -> list[_Label]:
    """Returns the names of the marks with their places, from the leftmost mark to the rightmost.

    A name that would overlap earlier names, or whose mark would cross them, is placed below them.
    The line of each mark starts at its name.
    """
    placed: list[_Label] = []
    for mark in sorted((m for m in marks if abs(m.at) <= MAX_VALUE), key=lambda mark: mark.at):
        words = textwrap.shorten(printable(mark.words), _MAX_MARK_LENGTH, placeholder=" ...")
        x = plot.across(mark.at)
        is_left = x > (plot.left + plot.right) / 2
        room = (x - plot.left if is_left else plot.right - x) - _LETTER
        lines = tuple(textwrap.wrap(words, max(int(room / _LETTER), 1))) or ("",)
        label = _Label(x, lines, is_left, 0)
        left, right = label.reach
        overlapping = [o for o in placed if o.reach[0] <= right and left <= o.reach[1]]
        row = max((other.row + len(other.lines) for other in overlapping), default=0)
        placed.append(replace(label, row=row))
    return placed


def _mark(label: _Label, plot: _Plot) -> Iterator[ET.Element]:
    x, top = label.x, _ROW * label.row + 4
    yield element("line", class_="mark", x1=x, x2=x, y1=top, y2=plot.bottom)
    beside, anchor = (x - 5, "end") if label.is_left else (x + 5, "start")
    for number, words in enumerate(label.lines):
        y = _ROW * (label.row + number + 1)
        yield element("text", words, class_="name", x=beside, y=y, text_anchor=anchor)


def _bands(chart: Chart, plot: _Plot) -> Iterator[ET.Element]:
    wide = plot.right - plot.left
    for number, band in enumerate(chart.bands):
        if abs(band.low) <= MAX_VALUE and abs(band.high) <= MAX_VALUE:
            top, bottom = plot.up(max(band.low, band.high)), plot.up(min(band.low, band.high))
            kind = f"band b{number % KINDS}"
            high = bottom - top
            yield element("rect", class_=kind, x=plot.left, y=top, width=wide, height=high)


def _axes(chart: Chart, plot: _Plot) -> Iterator[ET.Element]:
    for value, words in plot.y.ticks:
        y = plot.up(value)
        yield element("line", class_="grid", x1=plot.left, x2=plot.right, y1=y, y2=y)
        yield element("text", words, x=plot.left - 6, y=y + 4, text_anchor="end")
    bottom = plot.bottom
    for y in {bottom, plot.up(0.0)}:
        yield element("line", class_="axis", x1=plot.left, x2=plot.right, y1=y, y2=y)
    for value, words in plot.x.ticks:
        x = plot.across(value)
        yield element("line", class_="axis", x1=x, x2=x, y1=bottom, y2=bottom + _TICK)
        half = _width(words) / 2
        x = min(x, plot.right + _MARGIN - half)
        yield element("text", words, x=x, y=bottom + _ROW + 2, text_anchor="middle")
    middle, below = (plot.left + plot.right) / 2, bottom + 2.2 * _ROW
    yield element("text", chart.x_label, class_="label", x=middle, y=below, text_anchor="middle")
    yield element("text", y_words(chart, plot.y), class_="label", x=4, y=plot.top - 14)


def _line(line: ChartLine, number: int, plot: _Plot, chart: Chart) -> Iterator[ET.Element]:
    kind = f"l{number % KINDS}"
    points = drawable(line.points)
    if line.dots or len(points) == 1:
        for x, y in _thinned(points, plot):
            at = f"{x_words(chart, x)}: {quantity(y, chart.y_unit)}"
            title = element("title", f"{line.name}, {at}")
            cx, cy = plot.across(x), plot.up(y)
            yield element("circle", title, class_=f"dot {kind}", cx=cx, cy=cy, r=4)
    elif points:
        path = " ".join(f"{plot.across(x):.1f},{plot.up(y):.1f}" for x, y in _thinned(points, plot))
        yield element("polyline", class_=f"line {kind}", points=path)


def _thinned(points: Sequence[Point], plot: _Plot) -> Iterator[Point]:
    """Yields the points to draw. If there are more than two per pixel column, some are omitted.

    Each column then has only its lowest and its highest point.
    """
    if len(points) <= 2 * (plot.right - plot.left):
        yield from points
        return
    for _, group in itertools.groupby(points, key=lambda point: int(plot.across(point[0]))):
        column = list(group)
        yield from sorted({min(column, key=_height), max(column, key=_height)}, key=column.index)


def _height(point: Point) -> float:
    return point[1]


def _width(words: str) -> float:
    return columns(printable(words)) * _LETTER
