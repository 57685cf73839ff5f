"""Builds the list of events with their times, and the page `/events`. Pure."""

import time
from collections.abc import Callable, Sequence

from exporter.history.history_events import HistoryEvent
from exporter.pages.document import document
from exporter.pages.page_texts import day, escaped, titled
from exporter.pages.past.past_reader import MAX_SHOWN, PastEvents
from exporter.pages.past.recent_events import drive_link, event_cell, event_time
from exporter.pages.past.time_range import zone
from exporter.pages.views import HostView


def event_table(
    events: Sequence[HistoryEvent],
    now: float,
    is_open: Callable[[HistoryEvent], bool],
    *,
    with_drive: bool,
) -> str:
    """Returns the events as a table, with a line for each day; empty without events.

    now: the Unix time of the page.
    is_open: returns True for a bottleneck that lasts until now.
    with_drive: True for a column with the drive.
    """
    rows, last = [], ""
    columns = 3 if with_drive else 2
    for event in events:
        date = day(event.at)
        if date != last:
            weekday = time.strftime("%A", time.localtime(event.at))
            head = f'<th class="day" colspan="{columns}" scope="rowgroup">{weekday}, {date}</th>'
            rows.append(f"{'</tbody>' if last else ''}<tbody><tr>{head}</tr>")
            last = date
        rows.append(_row(event, now, is_still_open=is_open(event), with_drive=with_drive))
    if not rows:
        return ""
    drive = '<th scope="col">Drive</th>' if with_drive else ""
    head = f'<tr><th scope="col">Time</th>{drive}<th scope="col">What happened</th></tr>'
    return f'<table class="ev"><thead class="sr">{head}</thead>{"".join(rows)}</tbody></table>'


def events_page(
    view: HostView, found: PastEvents, is_open: Callable[[HistoryEvent], bool], assets: str
) -> str:
    """Returns the page `/events`. assets: the version of the stylesheets."""
    table = event_table(found.events, view.at, is_open, with_drive=True)
    if not table and not found.problem:
        table = '<p class="lead">No events are recorded.</p>'
    problem = f'<p class="lead">{escaped(found.problem)}</p>' if found.problem else ""
    older = ""
    if found.has_older:
        older = (
            f'<p class="s"><a href="/events?before={int(found.events[-1].at) - 1}">older</a></p>'
        )
    note = (
        f"newest first, at most {MAX_SHOWN} · times are {escaped(zone(view.at))} · a time opens the"
        " charts around it"
    )
    return document(
        view,
        title=f"{view.name}: events – ssd-exporter",
        heading=(
            f'<h1><a href="/">{escaped(view.name)}</a> <span class="m" aria-hidden="true">/</span>'
            " events</h1>"
        ),
        sentence="What happened, and when",
        body=titled("ev", "Events", note, problem + table + older),
        assets=assets,
        drive="",
        is_live=False,
    )


def _row(event: HistoryEvent, now: float, *, is_still_open: bool, with_drive: bool) -> str:
    drive = f'<th scope="row">{drive_link(event)}</th>' if with_drive else ""
    return (
        f"<tr><td>{event_time(event, now, is_open=is_still_open, with_day=False)}</td>{drive}"
        f'<td class="key">{event_cell(event, is_open=is_still_open)}</td></tr>'
    )
