"""Computes the axes of a chart: the range of values, and ticks at round numbers.

A tick is a value that has a label on the axis. Marks are named positions on the x axis, and bands
are named ranges on the y axis.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from exporter.report.content import Chart
from exporter.report.formatting import MAX_VALUE, prefixed, quantity

Point = tuple[float, float]

#: Minimum range of an axis, in the unit of its values. A narrower range is only a rounding error:
#: the smallest value that is measured, 1 ns, is 1000 times as large.
_MIN_RANGE = 1e-12

#: The distance between two ticks is one of these numbers times a power of ten.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart.

    low, high: the values at the two ends, in the unit of the chart.
    ticks: the values with a label, each with its label.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def share(self, value: float) -> float:
        """Returns the position of a value on the axis: 0 at the low end, 1 at the high end.

        A value outside of the axis has the position of the nearer end.
        """
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def drawable(points: Iterable[Point]) -> list[Point]:
    """Returns the points whose coordinates are finite and between -`MAX_VALUE` and `MAX_VALUE`."""
    return [(x, y) for x, y in points if abs(x) <= MAX_VALUE and abs(y) <= MAX_VALUE]


def x_axis(chart: Chart, room: float, label_width: Callable[[str], float]) -> Axis | None:
    """Returns the x axis for the lines and marks of a chart; None if no line has a point.

    The axis starts at zero if the lowest value is positive and less than a tenth of the highest. If
    the chart has no unit and all values are whole numbers, the values are counts. The ticks of
    counts are whole numbers. If the range of counts is below 50, the axis has a margin of half a
    unit on each side.

    room: the width for the labels of all ticks. The axis has as many ticks as fit.
    label_width: returns the width of a label with its margin, in the unit of `room`.
    """
    points = [x for line in chart.lines for x, _ in drawable(line.points)]
    if not points:
        return None
    if chart.x_ticks:
        return _given_axis(chart, points, room, label_width)
    values = [*points, *(mark.at for mark in chart.marks if abs(mark.at) <= MAX_VALUE)]
    low, high = min(values), max(values)
    is_count = not chart.x_unit and all(value == round(value) for value in points)
    if is_count and high - low < 50:
        low, high = math.floor(low) - 0.5, math.ceil(high) + 0.5
    elif 0 < low < high / 10:
        low = 0.0
    if high - low < max(abs(low), abs(high)) * 1e-9 or high - low < _MIN_RANGE:
        half = max(abs(low), abs(high)) / 20
        low, high = (low - half, high + half) if half >= _MIN_RANGE else (-0.5, 0.5)
    for max_ticks in range(10, 0, -1):
        step = _step(low, high, max_ticks)
        axis = _axis(low, high, max(step, 1.0) if is_count else step, chart.x_unit)
        if sum(label_width(words) for _, words in axis.ticks) <= room:
            break
    return axis


def x_words(chart: Chart, x: float) -> str:
    """Returns a position on the x axis as text: the label of the tick there, or the quantity."""
    for at, words in chart.x_ticks:
        if abs(at - x) < _MIN_RANGE:
            return words
    return quantity(x, chart.x_unit)


def _given_axis(
    chart: Chart, points: Sequence[float], room: float, label_width: Callable[[str], float]
) -> Axis:
    """Returns the axis with the ticks of the chart. If they do not fit, every second is omitted."""
    values = [*points, *(at for at, _ in chart.x_ticks)]
    low, high = min(values), max(values)
    if high - low < _MIN_RANGE:
        low, high = low - 0.5, high + 0.5
    ticks = chart.x_ticks
    while len(ticks) > 1 and sum(label_width(words) for _, words in ticks) > room:
        ticks = ticks[::2]
    return Axis(low, high, ticks)


def y_axis(chart: Chart, max_ticks: int) -> Axis:
    """Returns the y axis, from zero or the lowest negative value to the highest value.

    Both ends are ticks. If the chart has bands, and all values are above half of the highest value,
    the axis starts at a tick below all values. The reason is that a band of a few percent would be
    invisible on an axis from zero.

    max_ticks: the maximum number of intervals between ticks, approximately.
    """
    values = [y for line in chart.lines for _, y in drawable(line.points)]
    for band in chart.bands:
        values += [edge for edge in (band.low, band.high) if abs(edge) <= MAX_VALUE]
    low, high = min([0.0, *values]), max([0.0, *values])
    if chart.bands and 2 * (lowest := min(values, default=0.0)) > high:
        low = lowest
    if high - low < _MIN_RANGE:
        low, high = 0.0, 1.0
    step = _step(low, high, max_ticks)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return _axis(low, high, step, chart.y_unit)


def y_words(chart: Chart, axis: Axis) -> str:
    """Returns the label of the y axis, with a note if the axis does not start at zero."""
    return f"{chart.y_label}, not from zero" if axis.low > 0 else chart.y_label


def _axis(low: float, high: float, step: float, unit: str) -> Axis:
    # Without the tolerance, rounding errors could remove the first or the last tick.
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    values = [number * step for number in range(first, last + 1)]
    return Axis(low, high, tuple(zip(values, _texts(values, step, unit), strict=True)))


def _step(low: float, high: float, max_ticks: int) -> float:
    """Returns the smallest round distance of ticks that gives at most `max_ticks` intervals."""
    raw = (high - low) / max(max_ticks, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(digit * power for digit in _STEPS if digit * power >= raw * (1 - 1e-9))


def _texts(values: Sequence[float], step: float, unit: str) -> list[str]:
    """Returns the labels of ticks, all with the same unit prefix and the same number of decimals.

    values: the values of the ticks.
    step: the distance between two ticks; it determines the number of decimals.
    """
    largest = max((abs(value) for value in values), default=0.0)
    scale, name = prefixed(largest, unit)
    name = f" {name}" if name else ""
    if largest / scale >= 1e9 or 0 < step / scale < 1e-6:
        return [f"{value / scale:g}{name}" for value in values]
    digits = next(n for n in range(8) if _is_whole(step / scale * 10**n) or n == 7)
    return [f"{value / scale:,.{digits}f}{name}" if value else "0" for value in values]


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6 * max(value, 1.0)
