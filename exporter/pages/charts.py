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

#: The height of the charts of a drive, in units of their own.
HEIGHT = 100.0

#: The scale of the await reaches at least this number of decades below and above the limits for
#: slow requests. A healthy drive has a tenth of its limit, and an ill one thirty times it.
_DECADES = 1.5

#: The smallest limit of a scale, in seconds. The kernel's counters have a resolution of 1 ms.
_LEAST_LIMIT = 1e-6

#: The lengths of the time axis in samples. The first minutes after the start have a shorter axis.
_SPANS = (30, 60, 90, 120, 180, 240, SAMPLES)

#: The number of parts of the time axis for each length.
_PARTS = {30: 3, 60: 3, 90: 3, 120: 4, 180: 3, 240: 4, SAMPLES: 5}


def span(window: int) -> int:
    """Returns the number of samples on the time axis. window: the number that is available."""
    return next((each for each in _SPANS if window <= each), SAMPLES)


def time_parts(samples: int) -> int:
    """Returns the number of equal parts of a time axis of this length."""
    return _PARTS[samples]


def top_rate(peak: float) -> float:
    """Returns the top of a throughput scale: 1, 2 or 5 times a power of ten, at least `peak`."""
    wanted = max(peak, MIN_PEAK)
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((power * each for each in (1, 2, 5) if wanted <= power * each), power * 10)


def throughput_heights(column: Sequence[float], top: float, half: float) -> Iterator[float]:
    """Yields the height of each sample, 0 to `half`. top: the rate that has the full height."""
    scale = half / top
    return (0.0 if value != value else value * scale for value in column)  # noqa: PLR0124  NaN


def await_decades(*limits: float) -> tuple[int, int]:
    """Returns the scale of an await chart: the powers of ten of its lowest and highest value.

    limits: the smallest awaits that count as slow, in seconds.
    """
    return (
        math.floor(math.log10(max(min(limits), _LEAST_LIMIT)) - _DECADES),
        math.ceil(math.log10(max(*limits, _LEAST_LIMIT)) + _DECADES),
    )


def await_y(seconds: float, decades: tuple[int, int]) -> float:
    """Returns the place of an await on its scale: 0 is the top. Other values are at the edges."""
    low, high = decades
    share = (math.log10(seconds) - low) / (high - low)
    return HEIGHT * (1 - min(max(share, 0.0), 1.0))


def line(column: Sequence[float], decades: tuple[int, int], digits: int = 1) -> str:
    """Returns the path of an await curve. It has gaps where no request completed (value 0).

    digits: the decimals of the heights. The script has the values in whole µs, so both round them.
    """
    x = SAMPLES - len(column)
    parts: list[str] = []
    before: str | None = None
    skipped: int | None = None
    length = 0
    for value in (*column, 0.0):
        microseconds = round(value * 1e6)
        if microseconds <= 0:
            if skipped is not None:
                parts.append(f" {skipped} {before}")
            if length == 1:
                parts.append("h.5")  # a single sample would have no length
            before, skipped, length = None, None, 0
        else:
            y = f"{await_y(microseconds / 1e6, decades):.{digits}f}".removesuffix(".0")
            if y == before:
                skipped = x
            else:
                if skipped is not None:
                    parts.append(f" {skipped} {before}")
                parts.append(f"{'M' if before is None else ' '}{x} {y}")
                before, skipped = y, None
            length += 1
        x += 1
    return "".join(parts) or "M0 100"


def cuts(columns: Sequence[Sequence[float]], decades: tuple[int, int]) -> str:
    """Returns the path of the marks at the top of an await chart, where a value is above it."""
    top, first = 10.0 ** decades[1], SAMPLES - max(map(len, columns))
    parts, begin = [], None
    for x, values in enumerate((*zip(*columns, strict=True), (0.0,)), first):
        is_cut = max(values) > top
        if is_cut and begin is None:
            begin = x
        elif not is_cut and begin is not None:
            parts.append(f"M{begin} 0H{x}")
            begin = None
    return "".join(parts) or "M0 0"


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
