"""Builds the screen of `top`: header, table, details, health, help and footer. Pure."""

import textwrap
from collections.abc import Iterator, Sequence

from exporter.io.services import ServiceRate
from exporter.report.formatting import columns, quantity
from exporter.top import table
from exporter.top.frame import DaemonDrive, DriveLine, Frame
from exporter.top.spans import (
    Line,
    Span,
    Style,
    compact,
    fitted,
    joined,
    line,
    milliseconds,
    percent,
)
from exporter.top.sparkline import sparkline, verdict_strip
from exporter.top.view import View

#: The columns of the health view. The last two are the awaits at low load in milliseconds.
_HEALTH = (
    *(("SIZE", 8), ("TEMP", 6), ("WEAR", 6), ("SPARE", 7), ("ERRORS", 8)),
    *(("R BASE", 8), ("W BASE", 8)),
)

_HELP = (
    "s        next order: verdict, busy, MB/s, requests, await, name",
    "v        only drives with a bottleneck",
    "/        filter by name, role or model; Enter keeps it, Esc clears it",
    "up down  select a drive (also j, k, page up, page down)",
    "d Enter  details: five minutes of throughput, await and verdict of a drive",
    "h        health: temperature, wear, spare, errors (from a running daemon)",
    "p Space  pause",
    "q        quit",
    "",
    "R ms, W ms, FL ms: mean time of the reads, writes and flushes that completed.",
    "QD: mean requests in flight. BUSY: time with a request. A drive that is",
    "100 % busy can have capacity left; the verdict says whether it has.",
    "×BASE: await as a multiple of the await at low load.",
    "Verdicts: D device, S softirq of a CPU, T throttled volume, W write cache,",
    "H heat, L link, ? unknown, · no bottleneck.",
)


def screen(frame: Frame, view: View, width: int, height: int) -> list[Line]:
    """Returns `height` lines. The first line is the header, the last line is the footer."""
    shown = view.shown(frame.drives)
    position = view.position(shown)
    notes = _notes(frame, width)
    if view.has_help:
        body = [line(f" {text}") for text in _HELP]
    elif view.has_health:
        body = health(shown, width)
    else:
        selected = shown[position] if shown else None
        below = [] if selected is None else _below(selected, frame, view, width)
        rows = max(height - len(below) - len(notes) - 3, 1)
        first = min(max(position - rows + 1, 0), max(len(shown) - rows, 0))
        body = [table.heading(width)]
        body += [
            table.row(drive, width, is_selected=first + index == position)
            for index, drive in enumerate(shown[first : first + rows])
        ]
        if not shown:
            body.append(line(Span(_nothing(frame), Style.QUIET)))
        body += below
    body = [*body, *notes][: max(height - 2, 0)]
    blank = [line("")] * max(height - 2 - len(body), 0)
    top, bottom = header(frame, view, width), footer(view, len(shown), len(frame.drives))
    return [top, *body, *blank, bottom][:height]


def report(frame: Frame, width: int) -> list[Line]:
    """Returns the output of `--once`: the table, and a line for each drive with I/O."""
    view = View()
    shown = view.shown(frame.drives)
    lines = [header(frame, view, width), table.heading(width)]
    lines += [table.row(drive, width, is_selected=False) for drive in shown]
    if not shown:
        lines.append(line(_nothing(frame)))
    for drive in shown:
        if drive.services or drive.now.saturated_seconds or drive.now.stalled_seconds:
            lines += summary(drive, frame, width, with_chart=False)
    return [*lines, *_notes(frame, width)]


def header(frame: Frame, view: View, width: int) -> Line:
    """Returns the line with the host, the time and the pressure."""
    softirq = None
    if frame.softirq_ratio is not None and frame.hottest_cpu is not None:
        softirq = f"softirq cpu{frame.hottest_cpu} {percent(frame.softirq_ratio)}"
    parts = [
        "PAUSED" if view.is_paused else "",
        f"io some {percent(frame.some_ratio)}" if frame.some_ratio is not None else "",
        f"full {percent(frame.full_ratio)}" if frame.full_ratio is not None else "",
        softirq or "",
        f"iowait {percent(frame.iowait_ratio)}" if frame.iowait_ratio is not None else "",
    ]
    text = "  ".join(part for part in (frame.clock, *parts) if part)
    host = fitted(frame.host, 20).rstrip()
    for name in ("ssd-exporter top", "top"):
        if columns(whole := f"{name}  {host}  {text}") <= width:
            return line(Span(f"{name}  {host}  ", Style.BOLD), whole[len(f"{name}  {host}  ") :])
    return line(Span(f"{host}  ", Style.BOLD), text)


def footer(view: View, shown: int, drives: int) -> Line:
    """Returns the line with the keys."""
    if view.is_typing:
        return line(Span(f"filter: {view.filter}_", Style.BOLD), "  Enter keeps, Esc clears")
    chosen = f"[s]ort: {view.order.value}"
    limits = [f"{shown} of {drives}"] if shown != drives else []
    limits += [f"filter: {view.filter}"] if view.filter else []
    keys = "[v]erdicts only [d]etail [h]ealth [p]ause [/]filter [?] [q]uit"
    return line(Span(f"{chosen} {keys}", Style.QUIET), *(f"  {text}" for text in limits))


def health(drives: Sequence[DriveLine], width: int) -> list[Line]:
    """Returns the lines of the health view."""
    left = max(width - 11 - sum(size for _, size in _HEALTH), 10)
    text = f" {'DEVICE':9}{fitted('MODEL', left)}"
    lines = [line(Span(text + "".join(f"{n:>{size}}" for n, size in _HEALTH), Style.BOLD))]
    for drive in drives:
        known = drive.known
        size = "-" if drive.capacity_bytes is None else quantity(drive.capacity_bytes, "B")
        values = (
            size.replace(" ", ""),
            table.temperature(drive),
            table.wear(drive),
            percent(known.spare_ratio).replace(" ", ""),
            compact(known.media_errors),
            milliseconds(known.read_baseline_seconds),
            milliseconds(known.write_baseline_seconds),
        )
        cells = "".join(
            f"{value:>{size}}" for value, (_, size) in zip(values, _HEALTH, strict=True)
        )
        model = fitted(drive.model or "-", left - 1)
        lines.append(line(f" {fitted(drive.device, 8)} {model} {cells}"))
    return lines


def summary(drive: DriveLine, frame: Frame, width: int, *, with_chart: bool = True) -> list[Line]:
    """Returns two lines: the last five minutes of a drive, and its services."""
    known = drive.known
    parts = [_saturated(drive, frame)]
    if drive.slowdown is not None:
        parts.insert(
            0, f"{'' if with_chart else 'await '}{table.slowdown(drive.slowdown)} baseline"
        )
    if known.temperature_celsius is not None:
        parts.append(f"{known.temperature_celsius:.0f} °C")
    if known.used_ratio is not None:
        parts.append(f"{percent(known.used_ratio)} worn")
    begin = f" {drive.device} {f'await {sparkline(_awaits(drive), 20)} ' if with_chart else ''}"
    lines = [line(begin, joined(parts, width - columns(begin), " · "))]
    if drive.services:
        texts = [_service(rate) for rate in drive.services]
        begin = f" {drive.device} I/O of "
        lines.append(line(begin, joined(texts, width - columns(begin), " · ")))
    return lines


def detail(drive: DriveLine, frame: Frame, width: int) -> list[Line]:
    """Returns the lines with the details of one drive."""
    size = "" if drive.capacity_bytes is None else quantity(drive.capacity_bytes, "B")
    about = (drive.model or "model unknown", size, *drive.roles, *drive.mountpoints[:3])
    io, known = drive.now, drive.known
    chart = max(width - 48, 10)

    def curve(name: str, now: str, values: Sequence[float], largest: str) -> Line:
        return line(f" {name:8}{now:>22} {sparkline(values, chart)} max {largest}")

    rows = [
        line(Span(f" {drive.device}  ", Style.BOLD), " · ".join(filter(None, about))),
        *(
            curve(
                name,
                f"{compact(rate / 1e6)} MB/s {compact(count):>5}/s",
                values,
                f"{compact(max(values, default=0) / 1e6)} MB/s",
            )
            for name, rate, count, values in (
                ("read", io.read_bytes, io.reads, io.read_column),
                ("write", io.written_bytes, io.writes, io.written_column),
            )
        ),
        *(
            curve(name, _await(now, base), values, f"{milliseconds(max(values, default=0))} ms")
            for name, now, base, values in (
                ("r await", io.read_await, known.read_baseline_seconds, io.read_await_column),
                ("w await", io.write_await, known.write_baseline_seconds, io.write_await_column),
            )
        ),
        line(
            f" {'verdict':8}{table.verdict_text(io.verdict):>22} ",
            Span(verdict_strip(io.statuses, chart), Style.VERDICT),
        ),
        line(
            f" {'now':8}queue {compact(io.queue_depth)} · busy {percent(io.busy_ratio)} · "
            f"flush {milliseconds(io.flush_await)} ms · {_saturated(drive, frame)}"
        ),
    ]
    if drive.services:
        texts = [_service(rate) for rate in drive.services]
        rows.append(line(f" {'services':9}", joined(texts, width - 10, " · ")))
    facts, slowest = " · ".join(_facts(known)), _slowest_inside(known)
    return [
        *rows,
        *([line(f" {'health':9}{facts}")] if facts else []),
        *([line(f" {'inside':9}slowest request in the drive: {slowest}")] if slowest else []),
        *([line(f" {'slow':9}{' · '.join(places)}")] if (places := _slow_places(known)) else []),
    ]


def _facts(known: DaemonDrive) -> Iterator[str]:
    """Yields what the daemon knows about the health of a drive."""
    if known.temperature_celsius is not None:
        yield f"{known.temperature_celsius:.0f} °C"
    if known.used_ratio is not None:
        yield f"{percent(known.used_ratio)} worn"
    if known.spare_ratio is not None:
        yield f"spare {percent(known.spare_ratio)}"
    if known.media_errors is not None:
        yield f"media errors {known.media_errors:.0f}"


def _slowest_inside(known: DaemonDrive) -> str:
    both = (
        ("read", known.read_slowest_inside_seconds),
        ("write", known.write_slowest_inside_seconds),
    )
    return ", ".join(f"{name} {milliseconds(seconds)} ms" for name, seconds in both if seconds)


def _slow_places(known: DaemonDrive) -> list[str]:
    """Returns whether slow requests were slow inside the drive, as far as it is known."""
    both = ("reads", known.read_slow_inside), ("writes", known.write_slow_inside)
    return [
        f"{name} {'inside' if is_inside else 'outside of'} the drive"
        for name, is_inside in both
        if is_inside is not None
    ]


def _below(drive: DriveLine, frame: Frame, view: View, width: int) -> list[Line]:
    lines = detail(drive, frame, width) if view.has_detail else summary(drive, frame, width)
    return [line(""), *lines]


def _notes(frame: Frame, width: int) -> list[Line]:
    texts = (textwrap.wrap(note, max(width - 2, 10)) for note in frame.notes)
    return [line(Span(f" {text}", Style.WARNING)) for wrapped in texts for text in wrapped]


def _nothing(frame: Frame) -> str:
    if frame.drives:
        return f" none of {len(frame.drives)} drives has a bottleneck or matches the filter"
    return " no drive; partitions, loop and RAM devices are excluded (disk.device_include)"


def _saturated(drive: DriveLine, frame: Frame) -> str:
    seconds = f"{drive.now.saturated_seconds:.0f} s saturated"
    if drive.now.stalled_seconds:
        seconds += f", {drive.now.stalled_seconds:.0f} s stalled"
    return f"{seconds} of {frame.observed_seconds:.0f}"


def _await(now: float | None, baseline: float | None) -> str:
    text = f"{milliseconds(now)} ms"
    return f"{text} {table.slowdown(now / baseline)} base" if now and baseline else text


def _awaits(drive: DriveLine) -> list[float]:
    columns = drive.now.read_await_column, drive.now.write_await_column
    return list(map(max, *columns))


def _service(rate: ServiceRate) -> str:
    requests = compact(rate.reads + rate.writes)
    return f"{rate.service} {compact(rate.bytes / 1e6)} MB/s {requests}/s"
