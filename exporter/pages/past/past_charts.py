"""Draws the last hour, day or month of a drive: throughput, await, verdicts, time axis. Pure.

The shapes are those of the live charts (`charts`), with one unit for each point.
"""

import math
from collections.abc import Iterator, Sequence

from exporter.io.drive_now import DriveNow
from exporter.io.recent_activity import SAMPLES
from exporter.io.verdict import Verdict
from exporter.pages import charts, judgement
from exporter.pages.drive_charts import band
from exporter.pages.page_texts import duration, escaped, megabytes, milliseconds
from exporter.pages.past.past_reader import Past, PastPoint
from exporter.pages.past.time_range import ticks

_HALF = charts.HEIGHT / 2

#: The height of the strip of verdicts, and the smallest height of a mark in it.
_STRIP, _LEAST_MARK = 10.0, 3.0

#: The scale of the await has at most this number of decades more than that of the live chart.
_MORE_DECADES = 2


def past_throughput(name: str, past: Past) -> str:
    """Returns the chart of the bytes per second: reads above the middle, writes below it."""
    reads, writes = (_column(past.points, each) for each in ("read_bytes", "written_bytes"))
    highest = max(*reads, *writes, 0.0)
    top = charts.top_rate(highest)
    count = len(past.points)
    shapes = "".join(
        f'<path class="{key}" d="'
        f'{charts.area(charts.throughput_heights(values, top, _HALF), count, _HALF, sign)}"/>'
        for key, values, sign in (("a", reads, -1), ("b", writes, 1))
    )
    middle = f'<path class="ax" d="M{SAMPLES - count} {_HALF:g}H299"/>'
    scale = f"{top / 1e6:g}"
    marks = f"{_tick(0, scale)}{_tick(50, '0')}{_tick(100, scale)}"
    label = f"Throughput of {escaped(name)}: highest mean {megabytes(highest)} MB/s"
    return _plot("tp", label, marks, shapes + middle, past)


def past_await(name: str, past: Past, now: DriveNow) -> str:
    """Returns the chart of the await on a log scale: the medians, and the worst seconds."""
    names = ("read_await", "write_await", "worst")
    reads, writes, worst = (_column(past.points, each) for each in names)
    low, high = charts.await_decades(now.read_limit, now.write_limit)
    # A longer time has rare and high values. They must not all look the same.
    highest = math.ceil(math.log10(max(*worst, 1e-6)))
    high = min(max(high, highest), high + _MORE_DECADES)
    decades, height = (low, high), high - low
    marks = "".join(
        _tick(100 - 100 * each / height, f"{10.0 ** (low + 3 + each):g}")
        for each in range(height + 1)
    )
    lines = "".join(f"M0 {100 - 100 * each / height:g}H299" for each in range(1, height + 1))
    shapes = "".join(
        (
            band(now, decades),
            f'<path class="gl" d="{lines}"/>',
            f'<path class="wo" d="{charts.line(worst, decades)}"/>',
            f'<path class="w" d="{charts.line(writes, decades)}"/>',
            f'<path class="r" d="{charts.line(reads, decades)}"/>',
            f'<path class="cut" d="{charts.cuts((worst,), decades)}"/>',
        )
    )
    label = (
        f"Await of {escaped(name)} in milliseconds: worst second"
        f" {milliseconds(max(worst, default=0.0) or None)}"
    )
    return _plot("aw", label, marks, shapes, past)


def past_strip(past: Past) -> str:
    """Returns the strip of verdicts. The height of a mark is the share of the time."""
    count = len(past.points)
    parts = list(_strip_parts(past.points, SAMPLES - count))
    words = [f"{judgement.LABELS[v]} {duration(s)}" for v, s in verdict_seconds(past.points)]
    label = ", ".join(words) or "no bottleneck"
    return (
        f'<svg class="st" viewBox="{SAMPLES - count} 0 {count} {_STRIP:g}"'
        f' preserveAspectRatio="none" role="img" aria-label="Verdict: {label}">{"".join(parts)}'
        "</svg>"
    )


def past_axis(past: Past) -> str:
    """Returns the local times below the charts."""
    # A narrow page leaves out every second time of many.
    shown = list(ticks(past.shown))
    texts = "".join(
        f'<text class="{"c opt" if number % 2 and len(shown) > 7 else "c"}"'
        f' x="{100 * place:.2f}%" y="12">{text}</text>'
        for number, (place, text) in enumerate(shown)
    )
    return f'<svg class="tk" aria-hidden="true">{texts}</svg>'


def verdict_seconds(points: Sequence[PastPoint | None]) -> list[tuple[Verdict, float]]:
    """Returns the seconds of each bottleneck, longest first."""
    found: dict[Verdict, float] = {}
    for each in points:
        if each is not None:
            for verdict, seconds in each.io.verdicts.items():
                found[verdict] = found.get(verdict, 0.0) + seconds
    return sorted(found.items(), key=lambda item: -item[1])


def _column(points: Sequence[PastPoint | None], name: str) -> list[float]:
    """Returns a value of each point; 0 where nothing was recorded. name: a field of `IoSummary`."""
    return [0.0 if each is None else getattr(each.io, name) for each in points]


def _strip_parts(points: Sequence[PastPoint | None], begin: int) -> Iterator[str]:
    """Yields rectangles: the ground where samples were taken, and the bottlenecks on it."""
    for start, stop in _runs([each is not None for each in points]):
        yield charts.rectangle(Verdict.NONE, begin + start, stop - start)
    for x, each in enumerate(points, begin):
        if each is None or not each.io.verdicts or each.seconds <= 0:
            continue
        base = _STRIP
        for verdict, seconds in sorted(each.io.verdicts.items(), key=lambda item: -item[1]):
            share = min(seconds / each.seconds, 1.0)
            height = min(max(share * _STRIP, _LEAST_MARK), base)
            base -= height
            yield (
                f'<rect class="k-{verdict.value}" x="{x}" y="{base:.1f}" width="1"'
                f' height="{height:.1f}"/>'
            )


def _runs(values: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yields the begin and the end of each run of true values."""
    begin = None
    for place, value in enumerate((*values, False)):
        if value and begin is None:
            begin = place
        elif not value and begin is not None:
            yield begin, place
            begin = None


def _plot(names: str, label: str, marks: str, shapes: str, past: Past) -> str:
    count = len(past.points)
    left = SAMPLES - count
    lines = "".join(f"M{left + (count - 1) * place:.1f} 0V100" for place, _ in ticks(past.shown))
    missing = "".join(
        f'<rect class="na" x="{left + begin - 0.5:g}" width="{end - begin:g}" height="100"/>'
        for begin, end in _runs([each is None for each in past.points])
    )
    return (
        f'<svg class="pt {names}" role="img" aria-label="{label}">{marks}<svg class="ch"'
        f' viewBox="{left} 0 {count - 1} 100" preserveAspectRatio="none">'
        f'<path class="gl" d="{lines}"/>{shapes}{missing}</svg></svg>'
    )


def _tick(percent: float, text: str) -> str:
    return f'<text class="e" x="-8" y="{percent:.4g}%" dy=".35em">{text}</text>'
