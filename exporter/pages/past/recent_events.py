"""Builds the list of the last events for the first page, and the words for an event. Pure."""

import time

from exporter.history.history_events import STARTED, HistoryEvent
from exporter.io.drive_events import EventKind
from exporter.io.verdict import Verdict
from exporter.pages import judgement
from exporter.pages.drive_section import link_to
from exporter.pages.event_lanes import LANES
from exporter.pages.page_texts import clock, day, duration, escaped, milliseconds, titled
from exporter.pages.past.time_range import day_and_clock, range_around
from exporter.pages.views import RecentEvents


def recent_section(recent: RecentEvents, now: float) -> str:
    """Returns the last events of the host; empty if nothing but starts has happened.

    now: the Unix time of the page.
    """
    problem = f'<p class="lead">{escaped(recent.problem)}</p>' if recent.problem else ""
    if not problem and all(event.kind == STARTED for event in recent.newest):
        return ""
    rows = "".join(
        f'<tr><th scope="row">{event_time(event, now, is_open=event in recent.lasting)}</th>'
        f"<td>{drive_link(event)}</td>"
        f'<td class="key">{event_cell(event, is_open=event in recent.lasting)}</td></tr>'
        for event in recent.newest
    )
    head = (
        '<thead class="sr"><tr><th scope="col">Time</th><th scope="col">Drive</th>'
        '<th scope="col">What happened</th></tr></thead>'
    )
    table = f'<table class="sm re">{head}<tbody>{rows}</tbody></table>' if rows else ""
    note = 'newest first · <a href="/events">all events</a>'
    return titled("re", "What happened", note, problem + table)


def event_time(event: HistoryEvent, now: float, *, is_open: bool, with_day: bool = True) -> str:
    """Returns the time of an event as HTML, with a link to the charts around it.

    now: the Unix time of the page.
    is_open: True for a bottleneck that lasts until now.
    with_day: True to name the day of an event that is not of today.
    """
    is_today = not with_day or day(event.at) == day(now)
    if event.is_bottleneck:
        end = "now" if is_open else "?" if event.end is None else clock(event.end)[:5]
        text = f"{clock(event.at)[:5] if is_today else day_and_clock(event.at)} – {end}"
    else:
        text = clock(event.at) if is_today else day_and_clock(event.at)
    if event.name:
        around = range_around("hour", event.at, now)
        text = f'<a href="{link_to(event.name)}{around.query}">{text}</a>'
    utc = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(event.at))
    return f'<time datetime="{utc}">{text}</time>'


def drive_link(event: HistoryEvent) -> str:
    """Returns the name of the drive of an event, with a link; empty for one of the exporter."""
    return f'<a href="{link_to(event.name)}">{escaped(event.name)}</a>' if event.name else ""


def event_cell(event: HistoryEvent, *, is_open: bool) -> str:
    """Returns what happened as HTML, with the colour of a bottleneck."""
    what = escaped(event_words(event))
    if event.is_bottleneck and event.end is None and not is_open:
        what += ' <span class="m">(its end is not recorded)</span>'
    return f'<em class="k-{escaped(event.kind)}"></em>{what}' if event.is_bottleneck else what


def event_words(event: HistoryEvent) -> str:
    """Returns what happened, such as ``Bottleneck: device, for 3 min``."""
    if event.kind == STARTED:
        return "The exporter was started"
    if event.is_bottleneck:
        worst = f", worst await {milliseconds(event.worst)} ms" if event.worst else ""
        label = judgement.LABELS[Verdict(event.kind)]
        return f"Bottleneck: {label}, for {duration(event.number)}{worst}"
    try:
        name = LANES[EventKind(event.kind)][0]
    except ValueError:
        name = event.kind
    return name if event.number <= 1 else f"{name}: {event.number:,.0f}"
