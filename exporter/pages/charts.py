"""Draws the curves of the last five minutes, the strip of verdicts, and bars, as SVG text. Pure.

The script draws the same shapes (page.js: `area`, `strip`). A chart is 300 units wide. Each sample
has one unit, and the newest sample is at the right edge.
"""

import math
from collections.abc import Iterator, Sequence

from exporter.io.recent_activity import SAMPLES, verdicts
from exporter.io.verdict import Verdict

#: Minimum peak of a throughput chart, in bytes per second. With a smaller one, an idle drive would
#: look busy.
MIN_PEAK = 10e6

#: The awaits of a chart reach from 1/8 to 8 times the limit for slow requests, on a log scale.
_OCTAVES = 3
_LEAST_RATIO = 1e-9


def throughput_heights(column: Sequence[float], peak: float, half: float) -> Iterator[float]:
    """Yields the height of each sample, 0 to `half`. peak: the rate that has the full height."""
    scale = half / max(peak, MIN_PEAK)
    return (value * scale for value in column)


def await_heights(column: Sequence[float], limit: float, half: float) -> Iterator[float]:
    """Yields the height of each sample, 0 to `half`. An await equal to `limit` has half of it."""
    scale = half / (2 * _OCTAVES)
    for value in column:
        if value <= 0:
            yield 0.0
        else:
            octaves = math.log2(max(value / limit, _LEAST_RATIO)) + _OCTAVES
            yield min(max(octaves * scale, 0.0), half)


def ratio_heights(column: Sequence[float], height: float) -> Iterator[float]:
    """Yields the height of each sample of a ratio from 0 to 1; 0 if it is unknown."""
    return (0.0 if value != value else min(value, 1.0) * height for value in column)  # noqa: PLR0124


def area(heights: Iterator[float], samples: int, base: float, sign: int = -1) -> str:
    """Returns the path of a filled curve that starts and ends on the base line.

    samples: the number of heights. The last one is at x = 299.
    sign: -1 draws upwards, 1 downwards.
    """
    x = SAMPLES - samples
    parts = [f"M{x} {base:g}"]
    before, skipped = None, None
    for height in heights:
        y = f"{base + sign * height:.1f}".removesuffix(".0")
        if y == before:
            skipped = x
        else:
            if skipped is not None:
                parts.append(f"{skipped} {before}")
            parts.append(f"{x} {y}")
            before, skipped = y, None
        x += 1
    if skipped is not None:
        parts.append(f"{skipped} {before}")
    return "L".join((parts[0], " ".join((*parts[1:], f"{SAMPLES - 1} {base:g}")))) + "Z"


def strip(statuses: bytes, sampled: int) -> str:
    """Returns the SVG rectangles of a strip that shows the verdict (the bottleneck) of each sample.

    statuses: one status byte for each sample; empty for a drive without I/O.
    sampled: the number of samples since the start.
    """
    begin = SAMPLES - sampled
    if not statuses:
        return rectangle(Verdict.NONE, begin, sampled) if sampled else ""
    parts = []
    current, start = None, begin
    for x, verdict in enumerate(verdicts(statuses), SAMPLES - len(statuses)):
        if verdict is not current:
            if current is not None:
                parts.append(rectangle(current, start, x - start))
            current, start = verdict, x
    if current is not None:
        parts.append(rectangle(current, start, SAMPLES - start))
    return "".join(parts)


def rectangle(verdict: Verdict, x: int, width: int) -> str:
    """Returns the SVG rectangle for one part of the strip: a time with the same bottleneck."""
    return f'<rect class="k-{verdict.value}" x="{x}" width="{width}" height="10"/>'


def seconds_by_verdict(statuses: bytes, interval_seconds: float) -> dict[Verdict, float]:
    """Returns the duration of each bottleneck in seconds, longest first."""
    counts: dict[Verdict, float] = {}
    for verdict in verdicts(statuses):
        if verdict is not Verdict.NONE:
            counts[verdict] = counts.get(verdict, 0.0) + interval_seconds
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def bar(ratio: float, level: str = "", tick: float | None = None) -> str:
    """Returns a horizontal bar. ratio, tick: 0 to 1. level: the class of its colour."""
    width = min(max(ratio, 0.0), 1.0) * 100
    mark = "" if tick is None else f'<path class="l" d="M{100 * min(tick, 1.0):g} -2V8"/>'
    return (
        f'<svg class="bar {level}" viewBox="0 0 100 6" preserveAspectRatio="none"'
        ' aria-hidden="true" overflow="visible"><rect class="t" width="100" height="6"/>'
        f'<rect class="f" width="{width:.1f}" height="6"/>{mark}</svg>'
    )


def gridline(y: float, text: str) -> str:
    """Returns a horizontal line with its value to the left of the chart."""
    return (
        f'<line class="gl" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="e" x="-8" y="{y + 4:.1f}">{text}</text>'
    )


def base_line(y: float) -> str:
    """Returns the line below a chart."""
    return f'<line class="ax" x1="0" x2="100%" y1="{y}" y2="{y}"/>'


def curve(points: Sequence[tuple[float, float]]) -> str:
    """Returns a line through the points."""
    return f'<polyline class="ln" points="{positions(points)}"/>'


def positions(points: Sequence[tuple[float, float]]) -> str:
    """Returns the coordinates of points as SVG writes them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def stretched(shapes: str, height: int) -> str:
    """Returns an SVG element of 1000 units that is stretched to the width of the page."""
    return (
        f'<svg viewBox="0 0 1000 {height}" width="100%" height="{height}"'
        f' preserveAspectRatio="none">{shapes}</svg>'
    )
