"""Draws the charts of probe rounds and of the write cache of a drive. Pure."""

from exporter.pages.charts import base_line, curve, gridline, stretched
from exporter.pages.drive_history import ProbeRounds
from exporter.pages.page_texts import day, duration, milliseconds, operations, size, speed
from exporter.probe.cliff_result import CliffResult
from exporter.probe.slc_results import SlcResult

_HEIGHT = 130
_TOP, _BOTTOM = 12.0, 104.0

#: The fewest rounds that make a chart.
_LEAST_ROUNDS = 2


def probe_chart(probe: ProbeRounds) -> str:
    """Returns a chart of the rounds with a caption; empty if there are too few rounds."""
    if len(probe.rounds) < _LEAST_ROUNDS:
        return ""
    values = [value for _, value in probe.rounds]
    begin, end = probe.rounds[0][0], probe.rounds[-1][0]
    top = max(values) * 1.15
    if top <= 0 or end <= begin:
        return ""

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * value / top

    points = [(1000 * (at - begin) / (end - begin), y(value)) for at, value in probe.rounds]
    ticks = "".join(
        gridline(y(value), _shown(value, probe.is_latency))
        for value in (max(values), max(values) / 2)
    )
    first, last = _text(values[0], probe.is_latency), _text(values[-1], probe.is_latency)
    words = f"first run {first}, last run {last}"
    return (
        f'<div><div class="cap"><b>{probe.name}</b>'
        f"<span>{'mean latency' if probe.is_latency else 'rate'}, {len(values)} runs</span></div>"
        f'<svg class="fig" width="100%" height="{_HEIGHT}" role="img"'
        f' aria-label="Probe {probe.name}: {words}">{ticks}'
        f"{stretched(curve(points), _HEIGHT)}{base_line(_BOTTOM)}"
        f'<text x="0" y="{_BOTTOM + 16}">{day(begin)}</text>'
        f'<text class="e" x="100%" y="{_BOTTOM + 16}">{day(end)}</text></svg>'
        f'<p class="s m">{words}</p></div>'
    )


def cache_chart(result: SlcResult) -> str:
    """Returns the chart of the write speed over the written bytes, with a caption."""
    cliff = result.cliff
    phases = cliff.phases
    chart = ""
    if phases and cliff.written_bytes > 0:
        top = max(phase.bytes_per_second for phase in phases) * 1.15
        whole = cliff.written_bytes

        def y(value: float) -> float:
            return 178 - 160 * value / top

        points = []
        for number, phase in enumerate(phases):
            after = phases[number + 1].begin_bytes if number + 1 < len(phases) else whole
            height = y(phase.bytes_per_second)
            points += [(1000 * phase.begin_bytes / whole, height), (1000 * after / whole, height)]
        mark = ""
        if cliff.cache_bytes is not None:
            share = 100 * cliff.cache_bytes / whole
            names = "cf e" if share > 45 else "cf"
            shift = -6 if share > 45 else 6
            mark = (
                f'<line class="cl" x1="{share:.1f}%" x2="{share:.1f}%" y1="18" y2="178"/>'
                f'<text class="{names}" x="{share:.1f}%" dx="{shift}" y="15">cache ends at'
                f" {size(cliff.cache_bytes)}</text>"
            )
        ticks = "".join(
            gridline(y(value), f"{value / 1e6:.0f}")
            for value in sorted({phase.bytes_per_second for phase in phases})
        )
        chart = (
            '<div class="cap"><b>MB/s over bytes written</b></div>'
            '<svg class="fig" width="100%" height="200" role="img"'
            f' aria-label="{_cache_text(result)}">{ticks}'
            f"{stretched(curve(points), 200)}{base_line(178)}{mark}"
            f'<text x="0" y="194">0</text><text class="e" x="100%" y="194">{size(whole)}</text>'
            "</svg>"
        )
    return f'{chart}<p class="s m">{_cache_text(result)}</p>'


def _cache_text(result: SlcResult) -> str:
    cliff = result.cliff
    if cliff.result is CliffResult.CLIFF and cliff.cache_bytes is not None:
        text = f"The write cache ends after {size(cliff.cache_bytes)}."
        burst, sustained = cliff.burst_bytes_per_second, cliff.sustained_bytes_per_second
        if burst and sustained:
            text += (
                f" The speed falls from {speed(burst)} to {speed(sustained)},"
                f" {100 * sustained / burst:.0f} %."
            )
    elif cliff.result is CliffResult.DISTURBED:
        text = "The write cache was not measured: other programs began to use the drive."
    elif cliff.cache_min_bytes is not None:
        text = f"The write cache has at least {size(cliff.cache_min_bytes)}: it did not end."
    else:
        text = f"Result of the probe: {cliff.result.value}."
    for seconds, free in sorted(result.recovered_bytes.items()):
        text += f" After {duration(seconds)} without writes, {size(free)} were free again."
    return text


def _shown(value: float, is_latency: bool) -> str:
    return f"{milliseconds(value)} ms" if is_latency else " ".join(operations(value))


def _text(value: float, is_latency: bool) -> str:
    return f"{milliseconds(value)} ms" if is_latency else f"{value:,.0f} /s"
