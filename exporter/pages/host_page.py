"""Builds the page of the host: figures of the host, tasks, and drives. Pure."""

from collections.abc import Iterator

from exporter.io.recent_activity import SAMPLES
from exporter.pages import charts, many_drives
from exporter.pages.document import document, todo_table
from exporter.pages.drive_charts import window_words
from exporter.pages.drive_section import section
from exporter.pages.live_texts import host_texts
from exporter.pages.page_texts import duration, escaped, titled
from exporter.pages.views import HostNow, HostView

#: Up to this number of drives, each has its own section. More are shown as cells and tables.
MOST_SECTIONS = 8

#: The largest number of lines of what to do. A host with 200 failing drives has one cause.
_MOST_TODOS = 30


def host_page(view: HostView, assets: str) -> str:
    """Returns the page ``/`` as HTML. assets: the version of the stylesheet and the script."""
    limited = [todo for todo in view.todos if todo.drive]
    wrong = f"{limited[0].drive}: {limited[0].lead.rstrip('.')} – " if limited else ""
    facts = " · ".join(view.facts)
    hidden = len(view.todos) - _MOST_TODOS
    more = f'<p class="s m">and {hidden} more</p>' if hidden > 0 else ""
    todos = f"{todo_table(view.todos[:_MOST_TODOS])}{more}"
    body = f"{host_strip(view.now)}{todos}{_events(view)}{_drives(view)}"
    return document(
        view,
        title=f"{view.name}: {wrong}ssd-exporter",
        heading=f'<h1>{escaped(view.name)}</h1><span class="m">{escaped(facts)}</span>',
        sentence=view.sentence,
        body=body,
        assets=assets,
        drive="",
    )


def host_strip(now: HostNow) -> str:
    """Returns the three figures of the host with their curves."""
    texts = host_texts(now)
    samples = charts.span(now.window)
    rates = [rate for rate in now.transferred if rate == rate]  # noqa: PLR0124  NaN: no sample
    peak = charts.top_rate(max(rates, default=0.0))
    box = f"{SAMPLES - samples} 0 {samples - 1} 28"

    def text(key: str) -> str:
        return f'<span data-k="{key}">{texts[key]}</span>'

    def part(name: str, key: str, unit: str, heights: Iterator[float], note: str) -> str:
        column = key.replace(":", "")
        shape = charts.area(heights, now.window, 28.0) if now.window else "M0 28L299 28Z"
        return (
            f'<div><dt>{name}</dt><dd><b data-k="{key}">{texts[key]}</b> <i>{unit}</i></dd>'
            f'<dd class="pic"><svg class="ch" viewBox="{box}" preserveAspectRatio="none"'
            f' aria-hidden="true"><path id="{column}" d="{shape}"/>'
            f'<path class="ax" d="M0 27.5H299"/></svg></dd><dd class="s">{note}</dd></div>'
        )

    parts = [
        part(
            "All drives",
            "h:mb",
            "MB/s",
            charts.throughput_heights(now.transferred, peak, 28.0),
            f"{text('h:rq')} requests a second",
        ),
        part(
            "Do tasks wait for I/O?",
            "h:some",
            text("h:of"),
            charts.ratio_heights(now.waiting, 28.0),
            text("h:full"),
        ),
        part(
            "Do interrupts fill a CPU?",
            "h:irq",
            text("h:cpu"),
            charts.ratio_heights(now.softirq, 28.0),
            "",
        ),
    ]
    window = duration(now.window * now.interval_seconds)
    return f'<dl class="host" aria-label="Host, last {window}">{"".join(parts)}</dl>'


def _events(view: HostView) -> str:
    if view.recent is None:
        return ""
    # Imported only if it is used, because the daemon's memory is limited.
    from exporter.pages.past.recent_events import recent_section  # noqa: PLC0415

    return recent_section(view.recent, view.at)


def _drives(view: HostView) -> str:
    drives = view.drives
    if not drives:
        return '<p class="lead">No drive is monitored.</p>'
    if len(drives) > MOST_SECTIONS:
        return many_drives.overview(view)
    sections = "".join(section(drive, view, n) for n, drive in enumerate(drives))
    heading = "Drives" if len(drives) > 1 else "Drive"
    note = f"problems first · {window_words(view)}, one point a second"
    return titled("dr", heading, note, f'<div class="drives">{sections}</div>')
