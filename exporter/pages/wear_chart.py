"""Draws the wear of a drive over a year, and the estimate of its end. Pure."""

import calendar
import time
from collections.abc import Callable, Sequence

from exporter.pages.charts import base_line, curve, gridline, positions, stretched
from exporter.pages.page_texts import day, days, whole_percent

_DAY = 86400.0
#: The chart begins this time before now, and ends this time after it, in seconds. An estimate that
#: is later than the end is shown as text only.
_PAST_SECONDS, _MOST_FUTURE_SECONDS = 365 * _DAY, 365 * _DAY

_TOP, _BOTTOM, _HEIGHT = 24.0, 214.0, 240
_WIDTH = 1000.0


def wear_chart(
    points: Sequence[tuple[float, float]],
    used_ratio: float,
    bounds: tuple[float, float, float] | None,
    now: float,
) -> str:
    """Returns the chart as SVG; empty if the points cover less than a day.

    points: pairs of Unix time and used ratio, in the order of time.
    used_ratio: the current wear.
    bounds: the earliest, the most likely and the latest time until the endurance is used up, in
        seconds; None if there is no estimate.
    now: the Unix time of the page.
    """
    begin = max(now - _PAST_SECONDS, points[0][0]) if points else now
    if now - begin < _DAY:
        return ""
    future = 0.0 if bounds is None else min(bounds[2] * 1.1, _MOST_FUTURE_SECONDS)
    end = now + future
    shown_ratios = [used_ratio, *(ratio for _, ratio in points)]
    lowest = min(shown_ratios)
    # A drive reports up to 255 %, and its counter may have been larger in the past.
    highest = max(1.0 if bounds is not None else min(1.0, used_ratio + 0.05), *shown_ratios)
    floor = max(0.0, lowest - 0.15 * max(highest - lowest, 0.02))

    def x(at: float) -> float:
        return _WIDTH * (at - begin) / (end - begin)

    def y(ratio: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (ratio - floor) / (highest - floor)

    today = (x(now), y(used_ratio))
    line = curve([*((x(max(at, begin)), y(ratio)) for at, ratio in points), today])
    lines = "".join(gridline(y(ratio), f"{ratio * 100:g} %") for ratio in _ticks(floor, highest))
    names = "".join(
        _month(name, x(at) / 10, number) for number, (at, name) in enumerate(months(begin, end))
    )
    share = x(now) / 10
    fan = estimate = ""
    label = f"Wear rose from {whole_percent(points[0][1])} % to {whole_percent(used_ratio)} %."
    if bounds is not None and used_ratio < 1:
        low, mid, high = (now + each for each in bounds)
        shown = [min(x(each), _WIDTH) for each in (low, mid, high)]
        heights = [_reached(each, now, end, used_ratio, y) for each in (low, mid, high)]
        first, likely, last = zip(shown, heights, strict=True)
        outline = positions([today, first, (shown[2], y(1.0)), last])
        fan = (
            f'<polygon class="fan" points="{outline}"/>'
            f'<polyline class="wl ds" points="{positions([today, likely])}"/>'
        )
        text = f"used up {days(low, high)}, most likely {day(mid)}"
        estimate = (
            f'<text class="tx e opt" x="100%" y="{_TOP - 9}">{text}</text>'
            f'<text class="tx e nar" x="100%" y="{_TOP - 9}">{days(low, high)}</text>'
        )
        label += f" At this load it is {text}."
    return (
        f'<svg class="fig" width="100%" height="{_HEIGHT}" role="img" aria-label="{label}">'
        f"{lines}{base_line(_BOTTOM)}{names}{stretched(fan + line, _HEIGHT)}"
        f'<line class="ax" x1="{share:.2f}%" x2="{share:.2f}%" y1="{y(used_ratio) + 7:.1f}"'
        f' y2="{_BOTTOM}"/><circle class="wf" cx="{share:.2f}%" cy="{y(used_ratio):.1f}" r="3.5"/>'
        f"{_today(used_ratio, share, y(used_ratio))}{estimate}</svg>"
    )


def _reached(
    at: float, now: float, end: float, used_ratio: float, y: Callable[[float], float]
) -> float:
    """Returns the height at which a line to 100 % at the time `at` leaves the chart."""
    share = min(1.0, (end - now) / (at - now)) if at > now else 1.0
    return y(used_ratio + (1 - used_ratio) * share)


def _today(used_ratio: float, share: float, height: float) -> str:
    text = f"{whole_percent(used_ratio)} % today"
    if share > 85:
        return f'<text class="tx e" x="{share:.2f}%" dx="-8" y="{height + 18:.1f}">{text}</text>'
    return f'<text class="tx" x="{share:.2f}%" dx="8" y="{height + 16:.1f}">{text}</text>'


def _ticks(floor: float, highest: float) -> list[float]:
    """Returns three to six round ratios between the ends."""
    for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        first, last = int(floor / step) + 1, int(highest / step + 1e-6)
        if last - first < 6:
            return [round(number * step, 4) for number in range(first, last + 1)]
    return [highest]


def months(begin: float, end: float) -> list[tuple[float, str]]:
    """Returns the first days of at most twelve months between two times, and their names."""
    year, month = time.gmtime(begin)[:2]
    found: list[float] = []
    while len(found) < 36:
        month += 1
        if month > 12:
            year, month = year + 1, 1
        at = float(calendar.timegm((year, month, 1, 0, 0, 0)))
        if at >= end:
            break
        found.append(at)
    chosen = found[:: max(1, -(-len(found) // 10))]
    return [(at, _name(at, is_first=not number)) for number, at in enumerate(chosen)]


def _name(at: float, *, is_first: bool) -> str:
    moment = time.gmtime(at + _DAY)
    return time.strftime("%b %Y" if moment.tm_mon == 1 or is_first else "%b", moment)


def _month(name: str, share: float, number: int) -> str:
    names = "c" if not number % 3 else "c opt"
    return f'<text class="{names}" x="{share:.1f}%" y="{_BOTTOM + 16}">{name}</text>'
