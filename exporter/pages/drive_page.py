"""Builds the page of one drive: I/O, wear over a year, probes, cache, identity and SMART. Pure."""

from collections.abc import Iterator

from exporter.io.verdict import Verdict
from exporter.pages.document import document, todo_table
from exporter.pages.drive_charts import window_words
from exporter.pages.drive_history import DriveHistory
from exporter.pages.drive_section import mount_texts, role_text, section
from exporter.pages.event_lanes import event_lanes
from exporter.pages.headline import sentence
from exporter.pages.health_list import link_text
from exporter.pages.history_charts import cache_chart, probe_chart
from exporter.pages.page_texts import capitalized, day, escaped, size, titled
from exporter.pages.past.range_switch import switch
from exporter.pages.smart_table import forecast, smart_section
from exporter.pages.views import DriveView, HostView
from exporter.pages.wear_chart import wear_chart

#: What each method of the wear-out estimate uses (`WearoutMethod`).
_METHODS = {
    "steps": "the dates at which the wear counter rose",
    "fraction": "the growth of the wear counter",
    "lifetime_ratio": "the wear since the first power-on",
    "rated_tbw": "the bytes written and the rated endurance",
}


def drive_page(
    view: HostView,
    drive: DriveView,
    history: DriveHistory,
    assets: str,
    past: str | None = None,
    *,
    has_past: bool = False,
) -> str:
    """Returns the page of one drive.

    assets: the version of the stylesheets and the script.
    past: the charts of an hour, a day or a month, as HTML; None for the live page.
    has_past: True if there are such pages.
    """
    facts = drive.facts
    lines = [facts.model, role_text(facts), facts.mounts[0].mountpoint if facts.mounts else ""]
    known = escaped(" · ".join(filter(None, lines)))
    heading = (
        f'<h1><a href="/">{escaped(view.name)}</a> <span class="m" aria-hidden="true">/</span>'
        f' {escaped(drive.name)}</h1><span class="m">{known}</span>'
    )
    body = "".join(
        (
            todo_table(drive.todos, with_heading=False),
            _now(view, drive, has_past=has_past) if past is None else past,
            _requests(history),
            _wear(view, drive, history),
            _events(view, history),
            _probes(history),
            f'<div class="two">{_cache(history)}{_identity(drive)}</div>',
            smart_section(facts, view.at),
            _log_pages(drive, view.at),
        )
    )
    return document(
        view,
        title=f"{view.name}: {drive.name} – ssd-exporter",
        heading=heading,
        sentence=f"{sentence([drive])} {capitalized(forecast(facts, view.at))}".strip(),
        body=body,
        assets=assets,
        drive=drive.name,
        is_live=past is None,
    )


def _now(view: HostView, drive: DriveView, *, has_past: bool) -> str:
    note = f"{window_words(view)}, one point a second" if drive.now is not None else ""
    if has_past:
        note = f"{switch(drive.name, '')} {note}"
    return titled("nw", "Now", note, section(drive, view, 0))


def _requests(history: DriveHistory) -> str:
    if history.requests is None:
        return ""
    # Imported only if it is used, because the daemon's memory is limited.
    from exporter.pages.request_table import request_section  # noqa: PLC0415

    return request_section(history.requests)


def _wear(view: HostView, drive: DriveView, history: DriveHistory) -> str:
    smart, health = drive.facts.smart, drive.facts.health
    if smart is None or health is None or health.endurance is None:
        return ""
    used = health.endurance.used_ratio
    chart = wear_chart(history.wear, used, smart.wearout_seconds, view.at)
    words = _METHODS.get(smart.wearout_method, "")
    method = f" · estimated from {words}" if words else ""
    return titled("we", "Wear over a year", f"rated endurance used{method}", chart) if chart else ""


def _events(view: HostView, history: DriveHistory) -> str:
    lanes = event_lanes(history.events, view.at)
    note = "each mark is a day · bottlenecks of at least five minutes"
    return titled("ev", "What happened in the last year", note, lanes) if lanes else ""


def _probes(history: DriveHistory) -> str:
    charts = "".join(probe_chart(probe) for probe in history.probes)
    if not charts:
        return ""
    return titled(
        "pr", "Is it still as fast as it was?", "fio probes", f'<div class="two">{charts}</div>'
    )


def _cache(history: DriveHistory) -> str:
    cache = history.cache
    if cache is None:
        return ""
    return titled("ca", "Write cache", f"probe of {day(cache.at)}", cache_chart(cache))


def _log_pages(drive: DriveView, at: float) -> str:
    health = drive.facts.health
    if health is None or health.logs is None:
        return ""
    # Imported only if it is used, because the daemon's memory is limited.
    from exporter.pages.log_page_table import log_section  # noqa: PLC0415

    return log_section(health.logs, at, drive.slow)


def _identity(drive: DriveView) -> str:
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{escaped(text)}</dd></div>"
        for name, text in _identity_rows(drive)
        if text
    )
    return titled("id", "Identity and mounts", "", f'<dl class="kv">{rows}</dl>')


def _identity_rows(drive: DriveView) -> Iterator[tuple[str, str]]:
    facts = drive.facts
    smart = facts.smart
    yield "Model", facts.model
    if smart is not None:
        yield "Family", smart.identity.family or ""
    yield "Serial", facts.serial
    yield "Firmware", facts.firmware
    if smart is not None:
        yield "WWN", smart.identity.wwn or ""
        yield "Address", smart.address
    yield "Capacity", "" if facts.capacity_bytes is None else size(facts.capacity_bytes)
    yield "Link", (link_text(facts) or ("", ""))[0]
    if facts.queue is not None:
        queue = facts.queue
        discard = "discard" if queue.discard else ""
        texts = (queue.scheduler or "", queue.write_cache or "", discard)
        yield "Queue", " · ".join(filter(None, texts))
    yield "Used as", role_text(facts)
    yield from (("Mounted", text) for text in mount_texts(facts))
    yield "Part of", ", ".join(facts.below)
    if drive.verdict is not Verdict.NONE and drive.now is not None:
        yield "Bottleneck", drive.verdict.value
