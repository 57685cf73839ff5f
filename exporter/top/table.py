"""Builds the table of drives, for terminals of 80 to 200 columns. Pure.

A terminal of 80 columns shows the numbers of the last interval. A wider terminal also shows, in
this order: longer names, the await as a multiple of its baseline, temperature and wear, the
throughput of five minutes, and the busiest services.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.io.services import ServiceRate
from exporter.io.verdict import Verdict
from exporter.top.frame import DriveLine
from exporter.top.spans import Line, Span, Style, compact, fitted, line, milliseconds, percent
from exporter.top.sparkline import sparkline

#: The verdicts in seven characters.
_SHORT = {
    Verdict.CPU_SOFTIRQ: "SOFTIRQ",
    Verdict.WRITE_CACHE: "W CACHE",
    Verdict.THROTTLED: "THROTTL",
}

_BYTES_PER_MB = 1e6

#: From this share of the time on a drive counts as fully busy and is highlighted.
_BUSY_RATIO = 0.9

_NUMBERS = (
    ("R MB/s", 7),
    ("W MB/s", 7),
    ("R/s", 5),
    ("W/s", 5),
    ("R ms", 6),
    ("W ms", 6),
    ("FL ms", 6),
    ("QD", 5),
    ("BUSY", 5),
)
_MORE = (("×BASE", 6), ("TEMP", 5), ("WEAR", 5))


@dataclass(frozen=True, slots=True)
class Widths:
    """The widths of the parts of a row, in columns; 0 means that the part is not shown."""

    device: int
    role: int
    verdict: int
    more: bool
    chart: int
    services: int


def widths(width: int) -> Widths:
    """Returns the widths of the parts for a terminal of this width."""
    numbers = 1 + sum(size for _, size in _NUMBERS)
    if width < 96:
        # Of the 28 columns at 80, the device keeps 9 and the verdict 8.
        return Widths(9, max(width - numbers - 17, 0), 8, more=False, chart=0, services=0)
    left = width - numbers - 12
    device = 12 if width >= 110 else 9
    more = width >= 110
    left -= device + (sum(size for _, size in _MORE) if more else 0)
    role = min(max(left, 10), 16)
    left -= role
    services = min(left - 12, 48) if width >= 140 else 0
    chart = left - services - 1 if left >= 10 else 0
    return Widths(device, role, 12, more=more, chart=chart, services=services)


def heading(width: int) -> Line:
    """Returns the names of the columns."""
    w = widths(width)
    text = f" {'DEVICE':{w.device}}{fitted('ROLE', w.role)}{'VERDICT':{w.verdict}}"
    text += "".join(f"{name:>{size}}" for name, size in (*_NUMBERS, *(_MORE if w.more else ())))
    text += f" {fitted('MB/s 5 MIN', w.chart)}" if w.chart else ""
    text += f" {fitted('BUSIEST SERVICES', w.services - 1)}" if w.services else ""
    return line(Span(text, Style.BOLD))


def row(drive: DriveLine, width: int, *, is_selected: bool) -> Line:
    """Returns the line of a drive."""
    w = widths(width)
    style = Style.BOLD if is_selected else Style.PLAIN
    now = drive.now
    idle = not (now.reads or now.writes or now.queue_depth)
    numbers = (
        compact(now.read_bytes / _BYTES_PER_MB),
        compact(now.written_bytes / _BYTES_PER_MB),
        compact(now.reads),
        compact(now.writes),
        milliseconds(now.read_await),
        milliseconds(now.write_await),
        milliseconds(now.flush_await),
        compact(now.queue_depth),
    )
    busy = f"{now.busy_ratio * 100:.0f}%"
    is_busy = now.busy_ratio >= _BUSY_RATIO
    cells = "".join(
        f" {text:>{size - 1}}" for text, (_, size) in zip(numbers, _NUMBERS, strict=False)
    )
    parts: list[str | Span] = [
        Span(f"{'›' if is_selected else ' '}{fitted(drive.device, w.device - 1)} ", style),
        f"{fitted(role_of(drive), w.role - 1)} " if w.role else "",
        Span(f"{fitted(verdict_text(now.verdict, w.verdict - 1), w.verdict)}", Style.VERDICT)
        if now.verdict is not Verdict.NONE
        else fitted("-", w.verdict),
        Span(cells, Style.QUIET if idle else Style.PLAIN),
        Span(f"{busy:>{_NUMBERS[-1][1]}}", Style.WARNING if is_busy else Style.PLAIN),
    ]
    if w.more:
        more = (slowdown(drive.slowdown), temperature(drive), wear(drive))
        parts += [f"{text:>{size}}" for text, (_, size) in zip(more, _MORE, strict=True)]
    if w.chart:
        parts.append(f" {sparkline(throughput(drive), w.chart)}")
    if w.services:
        parts.append(f" {fitted(services_text(drive.services, 3), w.services - 1)}")
    return line(*parts)


def role_of(drive: DriveLine) -> str:
    """Returns the roles of the drive. Without a role, its first mountpoint; without both, "-"."""
    return ", ".join(drive.roles) or next(iter(drive.mountpoints), "-")


def verdict_text(verdict: Verdict, width: int = 11) -> str:
    """Returns the verdict (the bottleneck) in capitals, shortened if it is longer than `width`."""
    if verdict is Verdict.NONE:
        return "-"
    text = verdict.word.upper()
    return text if len(text) <= width else _SHORT.get(verdict, text)


def services_text(services: Sequence[ServiceRate], count: int) -> str:
    """Returns the services with the most I/O and their bytes per second."""
    texts = [f"{rate.service} {compact(rate.bytes / _BYTES_PER_MB)} MB/s" for rate in services]
    return ", ".join(texts[:count])


def throughput(drive: DriveLine) -> list[float]:
    """Returns the bytes per second, read and written, of each sample."""
    now = drive.now
    return [r + w for r, w in zip(now.read_column, now.written_column, strict=True)]


def slowdown(ratio: float | None) -> str:
    """Returns the multiple of the baseline as text; "-" for None."""
    if ratio is None:
        return "-"
    return f"{compact(ratio)}×" if ratio >= 0.95 else "<1×"


def temperature(drive: DriveLine) -> str:
    """Returns the temperature with its unit; "-" if unknown."""
    celsius = drive.known.temperature_celsius
    return "-" if celsius is None else f"{celsius:.0f}°C"


def wear(drive: DriveLine) -> str:
    """Returns the used share of the rated endurance as text; "-" if unknown."""
    return percent(drive.known.used_ratio).replace(" ", "")
