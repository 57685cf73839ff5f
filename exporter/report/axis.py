"""What an axis shows: its range, and round numbers along it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from exporter.report.content import Chart
from exporter.report.formatting import MOST, prefixed

Point = tuple[float, float]

#: Ranges narrower than this are noise of arithmetic: a nanosecond is a thousand times as much.
_LEAST = 1e-12

#: What steps between ticks may begin with.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values; ticks: where it is labelled, and with what."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def share(self, value: float) -> float:
        """Where on the axis a value is: 0 at the low end, 1 at the high one."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def measured(points: Iterable[Point]) -> list[Point]:
    """The points that can be drawn."""
    return [(x, y) for x, y in points if abs(x) <= MOST and abs(y) <= MOST]


def x_axis(chart: Chart, room: float, taken: Callable[[str], float]) -> Axis | None:
    """As far as lines and marks reach, from zero where they begin near it; None for an empty one.

    room: for the words of ticks, of which there are as many as fit; taken: what each takes of it.
    What is counted, such as rounds, has ticks at whole numbers only and half of one on each side.
    """
    points = [x for line in chart.lines for x, _ in measured(line.points)]
    if not points:
        return None
    values = [*points, *(mark.at for mark in chart.marks if abs(mark.at) <= MOST)]
    low, high = min(values), max(values)
    is_count = not chart.x_unit and all(value == round(value) for value in points)
    if is_count and high - low < 50:
        low, high = math.floor(low) - 0.5, math.ceil(high) + 0.5
    elif 0 < low < high / 10:
        low = 0.0
    if high - low < max(abs(low), abs(high)) * 1e-9 or high - low < _LEAST:
        half = max(abs(low), abs(high)) / 20
        low, high = (low - half, high + half) if half >= _LEAST else (-0.5, 0.5)
    for most_ticks in range(10, 0, -1):
        step = _step(low, high, most_ticks)
        axis = _axis(low, high, max(step, 1.0) if is_count else step, chart.x_unit)
        if sum(taken(words) for _, words in axis.ticks) <= room:
            break
    return axis


def y_axis(chart: Chart, most_ticks: int) -> Axis:
    """From zero, or below where a value is, to a tick above the highest line or band.

    Where bands are what values are judged by, and zero is far below, it begins at a tick below
    them all: windows of a tenth would be a hair's breadth.
    """
    values = [y for line in chart.lines for _, y in measured(line.points)]
    for band in chart.bands:
        values += [edge for edge in (band.low, band.high) if abs(edge) <= MOST]
    low, high = min([0.0, *values]), max([0.0, *values])
    if chart.bands and 2 * (least := min(values, default=0.0)) > high:
        low = least
    if high - low < _LEAST:
        low, high = 0.0, 1.0
    step = _step(low, high, most_ticks)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return _axis(low, high, step, chart.y_unit)


def y_words(chart: Chart, axis: Axis) -> str:
    """The label of the y axis; a reader takes the bottom for zero unless told."""
    return f"{chart.y_label}, not from zero" if axis.low > 0 else chart.y_label


def _axis(low: float, high: float, step: float, unit: str) -> Axis:
    # The last tick is not lost for a bit of rounding.
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    values = [number * step for number in range(first, last + 1)]
    return Axis(low, high, tuple(zip(values, _texts(values, step, unit), strict=True)))


def _step(low: float, high: float, most_ticks: int) -> float:
    """The smallest round step that makes no more ticks than that, ends apart."""
    raw = (high - low) / max(most_ticks, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(each * power for each in _STEPS if each * power >= raw * (1 - 1e-9))


def _texts(values: Sequence[float], step: float, unit: str) -> list[str]:
    """All with the same prefix and as many digits as the step needs, so that they compare."""
    largest = max((abs(value) for value in values), default=0.0)
    scale, name = prefixed(largest, unit)
    name = f" {name}" if name else ""
    if largest / scale >= 1e9 or 0 < step / scale < 1e-6:
        return [f"{value / scale:g}{name}" for value in values]
    digits = next(n for n in range(8) if _is_whole(step / scale * 10**n) or n == 7)
    return [f"{value / scale:,.{digits}f}{name}" if value else "0" for value in values]


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6 * max(value, 1.0)
