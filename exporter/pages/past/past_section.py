"""Builds the part of a drive's page that shows an hour, a day or a month. Pure."""

from collections.abc import Callable, Sequence

from exporter.history.history_events import HistoryEvent
from exporter.io.drive_now import DriveNow
from exporter.pages import judgement
from exporter.pages.document import linked
from exporter.pages.drive_section import link_to
from exporter.pages.page_texts import (
    NO_VALUE,
    day,
    duration,
    escaped,
    megabytes,
    milliseconds,
    size,
    titled,
)
from exporter.pages.past.event_list import event_table
from exporter.pages.past.past_charts import (
    past_await,
    past_axis,
    past_strip,
    past_throughput,
    verdict_seconds,
)
from exporter.pages.past.past_reader import Past, PastPoint
from exporter.pages.past.range_switch import switch
from exporter.pages.past.time_range import TimeRange, day_and_clock, zone
from exporter.pages.views import DriveView, HostView

#: What a point is, for each kind.
_POINTS = {"hour": "a minute", "day": "five minutes", "month": "three hours"}

_AWAIT_CAPTION = (
    '<div class="cap"><b>Await, ms, log scale</b><span>lines: median of the seconds with requests'
    "</span><span>thin line: the worst second</span></div>"
)


def past_sections(
    view: HostView, drive: DriveView, past: Past, is_open: Callable[[HistoryEvent], bool]
) -> str:
    """Returns the charts of a time, and the list of events in it."""
    shown = past.shown
    name = escaped(drive.name)
    problem = f'<p class="lead">{escaped(past.problem)}</p>' if past.problem else ""
    charts = _charts(drive, past) if past.points else ""
    heading = f"Last {shown.kind.word}" if shown.is_latest else _span_words(shown)
    span = f"{_span_words(shown)} · " if shown.is_latest else ""
    note = (
        f"{switch(drive.name, shown.kind.word)} {_moves(drive.name, shown, view.at)} {span}"
        f"one point is {_POINTS[shown.kind.word]} · times are {escaped(zone(shown.end))}"
    )
    missing = _missing_words(past)
    body = f'{problem}<div class="cq"><section class="past" aria-label="{name}">{charts}</section>'
    first = titled("nw", heading, note, f"{body}</div>{missing}")
    table = event_table(past.events, view.at, is_open, with_drive=False)
    text = table or '<p class="lead">Nothing is recorded for this time.</p>'
    return first + titled("el", "Events in this time", linked((("/events", "all drives"),)), text)


def _charts(drive: DriveView, past: Past) -> str:
    now = drive.now or DriveNow()
    points = [each for each in past.points if each is not None]
    lasted = verdict_seconds(past.points)
    marks = "".join(
        f'<span><em class="k-{verdict.value}"></em>{judgement.LABELS[verdict]} {duration(seconds)}'
        "</span>"
        for verdict, seconds in lasted
    )
    return "".join(
        (
            '<div class="now"><div class="pl">',
            '<div class="cap"><b>Throughput, MB/s</b><span>mean of each point</span></div>',
            past_throughput(drive.name, past),
            _table("Throughput", ("mean", "total"), _rates(points)),
            f'<div class="axis">{past_axis(past)}</div></div><div class="pl">',
            _AWAIT_CAPTION,
            past_await(drive.name, past, now),
            _table("Await", ("median", "worst"), _awaits(points)),
            f'<div class="axis vd">{past_strip(past)}{past_axis(past)}',
            f'<div class="key">{marks or "<span>no bottleneck</span>"}</div></div></div></div>',
        )
    )


def _rates(points: Sequence[PastPoint]) -> list[tuple[str, str, str]]:
    seconds = sum(each.seconds for each in points)
    rows = []
    for row, name in (("read", "read_bytes"), ("write", "written_bytes")):
        total = sum(each.seconds * getattr(each.io, name) for each in points)
        mean = f"<b>{megabytes(total / seconds)}</b> <i>MB/s</i>" if seconds else NO_VALUE
        number, unit = size(total).split(" ")
        rows.append((row, mean, f"<b>{number}</b> <i>{unit}</i>" if seconds else NO_VALUE))
    return rows


def _awaits(points: Sequence[PastPoint]) -> list[tuple[str, str, str]]:
    rows = []
    for row in ("read", "write"):
        medians = sorted(filter(None, (getattr(each.io, f"{row}_await") for each in points)))
        middle = medians[len(medians) // 2] if medians else None
        longest = max((getattr(each.io, f"{row}_worst") for each in points), default=0.0)
        rows.append((row, _shown(middle), _shown(longest or None)))
    return rows


def _shown(seconds: float | None) -> str:
    return f"<b>{milliseconds(seconds)}</b> <i>ms</i>"


def _table(what: str, heads: tuple[str, str], rows: list[tuple[str, str, str]]) -> str:
    lines = "".join(
        f'<tr><th scope="row"><em class="k{row}"></em>{row}</th><td>{one}</td><td>{two}</td></tr>'
        for row, one, two in rows
    )
    columns = "".join(f'<th scope="col">{text}</th>' for text in heads)
    return (
        f'<table class="n" aria-label="{what} in this time"><thead><tr><td></td>{columns}</tr>'
        f"</thead><tbody>{lines}</tbody></table>"
    )


def _moves(name: str, shown: TimeRange, now: float) -> str:
    seconds = shown.kind.seconds
    links = [
        (f"{link_to(name)}{moved.query}", text)
        for text, moved in (
            ("earlier", shown.moved(-seconds, now)),
            ("later", shown.moved(seconds, now)),
        )
        if moved is not None
    ]
    return f'<nav class="sw" aria-label="Move the time">{linked(links)}</nav>'


def _span_words(shown: TimeRange) -> str:
    if shown.kind.has_hours:
        return f"{day(shown.begin)} – {day(shown.end - 1)}"
    return f"{day_and_clock(shown.begin)} – {day_and_clock(shown.end)}"


def _missing_words(past: Past) -> str:
    missing = sum(1 for each in past.points if each is None)
    if not missing:
        return ""
    share = "all" if missing == len(past.points) else f"{100 * missing / len(past.points):.0f} %"
    return (
        f'<p class="s m">Grey columns: nothing was recorded in {share} of this time, because the'
        " exporter or the drive was not there, the time is older than the history, or a part of its"
        " file is damaged.</p>"
    )
