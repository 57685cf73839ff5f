"""Builds the parts that all pages share: head, symbols, heading, list of tasks, footer. Pure."""

import time
import zlib
from collections.abc import Iterable, Iterator, Sequence

from exporter.pages import charts, live_texts
from exporter.pages.drive_section import LEVELS, WORDS, link_to, symbol
from exporter.pages.page_texts import clock, escaped, titled
from exporter.pages.views import HostView, Todo

_SYMBOLS = """<svg class="sr" aria-hidden="true" width="0" height="0"><defs>
<symbol id="crit" viewBox="0 0 12 12"><path d="M6 0l6 6-6 6-6-6z"/></symbol>
<symbol id="warn" viewBox="0 0 12 12"><path d="M6 .8L12 11.2H0z"/></symbol>
<symbol id="ok" viewBox="0 0 12 12"><path d="M4.4 10.2L.7 6.5l1.4-1.4 2.3 2.3L9.9 1.9l1.4 1.4z"/>
</symbol><symbol id="unk" viewBox="0 0 12 12"><path d="M1 5h10v2H1z"/></symbol>
<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse"><path class="h0"
 d="M0 0h4v4H0z"/><path class="h1" d="M0 0h2v4H0z"/></pattern></defs></svg>"""


def document(
    view: HostView,
    *,
    title: str,
    heading: str,
    sentence: str,
    body: str,
    assets: str,
    drive: str,
    is_live: bool = True,
) -> str:
    """Returns a whole page.

    title: the text of the title, not escaped.
    heading, body: HTML.
    sentence: says whether anything is wrong; not escaped.
    assets: the version in the addresses of the stylesheet and the script.
    drive: the name of the drive of a drive's page; else empty.
    is_live: False for a page of the past. It has no script.
    """
    more = (
        f'<script src="/page.js?v={assets}" defer></script>'
        if is_live
        else f'<link rel="stylesheet" href="/past.css?v={assets}">'
    )
    utc = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(view.at))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escaped(title)}</title>"
        f'<link rel="stylesheet" href="/page.css?v={assets}">{more}</head>'
        f'<body data-drive="{escaped(drive)}"><a class="sr skip" href="#main">Skip to the content'
        f"</a>{_SYMBOLS}"
        '<header class="top"><span class="brand"><svg class="logo" viewBox="0 0 24 16"'
        ' aria-hidden="true"><path d="M1 2.5h22v11H1zM4 8h4l2-3 3 6 2-3h5"/></svg>'
        "ssd-exporter</span>"
        f'{heading}<div class="live">'
        '<span class="ns">reload for newer values</span>'
        '<span class="dot" hidden>live</span>'
        f'<span>as of <time class="clk" datetime="{utc}">{clock(view.at)}</time></span>'
        "</div></header>"
        f'<main id="main"><p class="say" role="status">{escaped(sentence)}</p>'
        f'<div id="page" data-state="{state_of(view)}">{body}</div></main>{_footer(view)}'
        "</body></html>\n"
    )


def state_of(view: HostView) -> int:
    """Returns a number that changes when the page changes. Live values do not change the number."""
    state = (
        [
            (
                *(drive.name, drive.status, drive.verdict, len(drive.todos)),
                len(live_texts.service_rows(drive.services)),
                drive.now and charts.await_decades(drive.now.read_limit, drive.now.write_limit),
            )
            for drive in view.drives
        ],
        charts.span(view.now.window),
        [(todo.drive, todo.lead) for todo in view.todos if not todo.drive],
        view.recent and (view.recent.problem, [each.key for each in view.recent.newest]),
    )
    return zlib.crc32(repr(state).encode("utf-8", "backslashreplace"))


def todo_table(todos: Sequence[Todo], *, with_heading: bool = True) -> str:
    """Returns the list of tasks for the operator as HTML; empty if there are none."""
    if not todos:
        return ""
    rows = "".join(_todo_row(todo) for todo in todos)
    table = (
        '<table class="todo"><thead class="sr"><tr><th scope="col">Severity</th>'
        '<th scope="col">Drive</th><th scope="col">What</th><th scope="col">What to do</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )
    if not with_heading:
        return table
    note = "health as judged by <code>ssd-exporter check</code>, and the bottlenecks now"
    return titled("td", "What to do", note, table)


def linked(items: Iterable[tuple[str, str]]) -> str:
    """Returns links, separated by dots. items: pairs of address and text."""
    return " · ".join(f'<a href="{escaped(href)}">{escaped(text)}</a>' for href, text in items)


def _todo_row(todo: Todo) -> str:
    level = LEVELS[todo.status]
    name = (
        f'<a href="{link_to(todo.drive)}">{escaped(todo.drive)}</a>' if todo.drive else "exporter"
    )
    return (
        f'<tr><td class="sev {level}">{symbol(todo.status)}{WORDS[todo.status]}</td>'
        f'<th scope="row">{name}</th><td class="w"><b>{escaped(todo.lead)}</b>'
        f' {escaped(todo.text)}</td><td class="do">{_with_code(todo.action)}</td></tr>'
    )


def _with_code(text: str) -> str:
    """Returns the text with the parts in backquotes as code."""
    parts = text.split("`")
    return "".join(
        f"<code>{escaped(part)}</code>" if index % 2 else escaped(part)
        for index, part in enumerate(parts)
    )


def _footer(view: HostView) -> str:
    *states, version = view.states or ("ssd-exporter",)
    links = linked(
        (
            ("/", "Overview"),
            *view.links,
            ("/metrics", "Metrics"),
            ("/-/healthy", "Healthy"),
            ("/-/ready", "Ready"),
        )
    )
    return (
        f'<footer id="foot">{"".join(_spans(states))}<nav class="r" aria-label="Endpoints">'
        f"{links} · {escaped(version)}</nav></footer>"
    )


def _spans(texts: Iterable[str]) -> Iterator[str]:
    return (f"<span>{escaped(text)}</span>" for text in texts)
