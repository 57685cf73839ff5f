"""Draws the charts of a drive with their axes: throughput, await, verdict. Pure.

Reads and writes have two tones of one colour, which also differ without colours and in print.
"""

from collections.abc import Sequence

from exporter.io.drive_now import DriveNow
from exporter.io.recent_activity import SAMPLES
from exporter.pages import charts, judgement
from exporter.pages.page_texts import duration, escaped, megabytes, milliseconds
from exporter.pages.views import HostView

_HALF = charts.HEIGHT / 2


def throughput_chart(name: str, now: DriveNow, view: HostView, number: int) -> str:
    """Returns the chart of the bytes per second: reads above the middle, writes below it.

    name: the name of the drive. number: makes the ids of the elements unique.
    """
    top = charts.top_rate(now.peak_bytes)
    scale = f"{top / 1e6:g}"
    samples = len(now.statuses)

    def curve(column: str, values: Sequence[float], sign: int) -> str:
        heights = charts.throughput_heights(values, top, _HALF)
        shape = charts.area(heights, samples, _HALF, sign) if samples else "M0 50L299 50Z"
        return f'<path id="{column}{number}" class="{column}" d="{shape}"/>'

    shapes = (
        f"{curve('a', now.read_column, -1)}{curve('b', now.written_column, 1)}"
        '<path class="ax" d="M0 50H299"/>'
    )
    ticks = f"{_tick(0, scale)}{_tick(50, '0')}{_tick(100, scale)}"
    label = (
        f"Throughput of {escaped(name)}: reads now {megabytes(now.read_bytes)} MB/s, writes"
        f" {megabytes(now.written_bytes)} MB/s; highest {megabytes(now.peak_bytes)} MB/s"
    )
    return _plot("tp", label, ticks, shapes, view)


def await_chart(name: str, now: DriveNow, view: HostView, number: int) -> str:
    """Returns the chart of the await on a log scale. A band shows what is usual."""
    low, high = decades = charts.await_decades(now.read_limit, now.write_limit)
    count = high - low
    ticks = "".join(
        _tick(100 - 100 * each / count, f"{10.0 ** (low + 3 + each):g}")
        for each in range(count + 1)
    )
    lines = "".join(f"M0 {100 - 100 * each / count:g}H299" for each in range(1, count + 1))
    shapes = (
        f'{band(now, decades)}<path class="gl" d="{lines}"/>{await_curves(now, decades, number)}'
    )
    label = (
        f"Await of {escaped(name)} in milliseconds: reads now {milliseconds(now.read_await)},"
        f" writes {milliseconds(now.write_await)}, highest {milliseconds(now.peak_await or None)};"
        f" slow from {milliseconds(now.read_limit)} for reads and"
        f" {milliseconds(now.write_limit)} for writes"
    )
    return _plot("aw", label, ticks, shapes, view)


def band(now: DriveNow, decades: tuple[int, int]) -> str:
    """Returns the area of the awaits that do not count as slow; paler where only one of both is."""
    lower, upper = sorted((now.read_limit, now.write_limit))
    y, y2 = charts.await_y(lower, decades), charts.await_y(upper, decades)
    both = f'<path class="bd" d="M0 {y:.1f}H299V100H0z"/>'
    return both if lower == upper else f'{both}<path class="bd b2" d="M0 {y2:.1f}H299V{y:.1f}H0z"/>'


def await_curves(now: DriveNow, decades: tuple[int, int], number: int, digits: int = 1) -> str:
    """Returns the curves of reads and writes, and the marks where a value is above the scale.

    digits: the decimals of the heights.
    """
    columns = (now.write_await_column, now.read_await_column)
    curves = "".join(
        f'<path id="{key}{number}" class="{key}" d="{charts.line(column, decades, digits)}"/>'
        for key, column in zip("wr", columns, strict=True)
    )
    marks = charts.cuts(columns, decades) if len(now.statuses) else "M0 0"
    return f'{curves}<path id="x{number}" class="cut" d="{marks}"/>'


def verdict_strip(now: DriveNow, view: HostView, number: int, *, with_key: bool = True) -> str:
    """Returns the strip with the bottlenecks of the last five minutes, and its legend."""
    lasted = charts.seconds_by_verdict(now.statuses, view.now.interval_seconds)
    words = [f"{judgement.LABELS[v]} {seconds:.0f} s" for v, seconds in lasted.items()]
    label = ", ".join(words) or "no bottleneck"
    samples = charts.span(view.now.window)
    svg = (
        f'<svg class="st" id="s{number}" viewBox="{SAMPLES - samples} 0 {samples} 10"'
        f' preserveAspectRatio="none" role="img" aria-label="Verdict: {label}">'
        f"{charts.strip(now.statuses, view.now.window)}</svg>"
    )
    if not with_key:
        return svg
    marks = [
        f'<span><em class="k-{verdict.value}"></em>{text}</span>'
        for verdict, text in zip(lasted, words, strict=True)
    ]
    shown = "".join(marks) or "<span>no bottleneck</span>"
    return f'{svg}{time_axis(view)}<div class="key" id="k{number}">{shown}</div>'


def time_axis(view: HostView) -> str:
    """Returns the texts below the charts, from the oldest sample to now."""
    samples = charts.span(view.now.window)
    seconds = samples * view.now.interval_seconds
    parts = charts.time_parts(samples) if view.now.interval_seconds == 1 else 1
    unit, scale = ("min", 60) if seconds % parts == 0 and not seconds / parts % 60 else ("s", 1)
    texts = "".join(
        f'<text class="{"c" if each else ""}" x="{100 * each / parts:g}%" y="12">'
        f"−{seconds * (1 - each / parts) / scale:g}{'' if each else f' {unit}'}</text>"
        for each in range(parts)
    )
    now = '<text x="100%" y="12" class="e">now</text>'
    return f'<svg class="tk" aria-hidden="true">{texts}{now}</svg>'


def window_words(view: HostView) -> str:
    """Returns the time that the charts show, such as ``last five minutes``."""
    if view.now.window >= SAMPLES and view.now.interval_seconds == 1:
        return "last five minutes"
    return f"last {duration(view.now.window * view.now.interval_seconds)}"


def inner_box(view: HostView) -> str:
    """Returns the start of the SVG element that is stretched to the size of its chart."""
    samples = charts.span(view.now.window)
    return (
        f'<svg class="ch" viewBox="{SAMPLES - samples} 0 {samples - 1} 100"'
        ' preserveAspectRatio="none"'
    )


def _plot(names: str, label: str, ticks: str, shapes: str, view: HostView) -> str:
    samples = charts.span(view.now.window)
    parts = charts.time_parts(samples)
    lines = "".join(
        f"M{SAMPLES - samples + samples * each // parts} 0V100" for each in range(1, parts)
    )
    return (
        f'<svg class="pt {names}" role="img" aria-label="{label}">{ticks}{inner_box(view)}>'
        f'<path class="gl" d="{lines}"/>{shapes}</svg></svg>'
    )


def _tick(percent: float, text: str) -> str:
    return f'<text class="e" x="-8" y="{percent:.4g}%" dy=".35em">{text}</text>'
