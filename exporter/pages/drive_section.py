"""Builds the section of one drive: identity, the last five minutes, and health. Pure."""

from collections.abc import Iterator
from urllib.parse import quote

from exporter.io.drive_now import DriveNow
from exporter.io.services import ServiceRate
from exporter.io.verdict import Verdict
from exporter.pages import charts, judgement
from exporter.pages.drive_charts import (
    await_chart,
    throughput_chart,
    time_axis,
    verdict_strip,
)
from exporter.pages.health_list import health_list
from exporter.pages.live_texts import drive_texts, service_rows, slow_keys
from exporter.pages.page_texts import (
    counted,
    day,
    duration,
    escaped,
    milliseconds,
    whole_percent,
)
from exporter.pages.views import DriveFacts, DriveView, HostView
from exporter.smart.drive_problems import Status

LEVELS = {Status.CRITICAL: "crit", Status.WARNING: "warn", Status.OK: "ok", Status.UNKNOWN: "unk"}
WORDS = {
    Status.CRITICAL: "Critical",
    Status.WARNING: "Warning",
    Status.OK: "Fine",
    Status.UNKNOWN: "No SMART data",
}

_ROLES = {
    "mysql-data": "MySQL data",
    "mysql-redo": "MySQL redo log",
    "mysql-undo": "MySQL undo log",
    "mysql-doublewrite": "MySQL doublewrite",
    "mysql-binlog": "MySQL binary log",
    "mysql-relaylog": "MySQL relay log",
    "mysql-tmp": "MySQL temporary files",
}


def section(drive: DriveView, view: HostView, number: int) -> str:
    """Returns the section of a drive. number: makes the ids of the elements unique."""
    if drive.now is None:
        return _without_io(drive, number)
    fine = " fine" if drive.status is Status.OK and drive.verdict is Verdict.NONE else ""
    return (
        f'<div class="cq"><section class="drive v-{drive.verdict.value}{fine}" id="d{number}"'
        f' aria-labelledby="t{number}">{_identity(drive, view, number)}'
        f"{_five_minutes(drive, drive.now, view, number)}{health_list(drive, view.at)}"
        "</section></div>\n"
    )


def link_to(name: str) -> str:
    """Returns the path of a drive's page."""
    return f"/drive/{quote(name, safe='')}"


def symbol(status: Status) -> str:
    """Returns the symbol of a severity. The caller adds the severity as a word."""
    level = LEVELS[status]
    return f'<svg class="g {level}" aria-hidden="true"><use href="#{level}"/></svg>'


def role_text(facts: DriveFacts) -> str:
    """Returns the use of the drive, such as ``MySQL data and redo log``; empty if unknown."""
    names = [_ROLES.get(role, role) for role in facts.roles]
    first, *rest = names or [""]
    rest = [name.removeprefix("MySQL ") if first.startswith("MySQL ") else name for name in rest]
    if len(rest) > 2:
        rest = [*rest[:2], "more"]
    return f"{', '.join([first, *rest[:-1]])} and {rest[-1]}" if rest else first


def mount_texts(facts: DriveFacts) -> Iterator[str]:
    """Yields a text for each filesystem on the drive: ``/var/lib/mysql · ext4 · 61 % full``."""
    for each in facts.mounts:
        full = "" if each.used_ratio is None else f" · {whole_percent(each.used_ratio)} % full"
        state = " · failed" if each.failed else " · read-only" if each.readonly else ""
        yield f"{each.mountpoint} · {each.fstype}{full}{state}"


def badge(verdict: Verdict) -> str:
    """Returns the coloured label of a bottleneck."""
    if verdict is Verdict.NONE:
        return '<span class="v none">No bottleneck</span>'
    return f'<span class="v">Bottleneck: {judgement.LABELS[verdict]}</span>'


def _identity(drive: DriveView, view: HostView, number: int) -> str:
    facts = drive.facts
    role = role_text(facts)
    window = duration(view.now.window * view.now.interval_seconds) if view.now.window else "time"
    lines = [_name(drive, number)]
    if role:
        lines.append(f"<p>{escaped(role)}</p>")
    lines.append(f"<p>{badge(drive.verdict)}</p>")
    lines.append(f'<p class="s why">{escaped(judgement.why(drive, window))}</p>')
    if facts.model:
        lines.append(f'<p class="s">{escaped(facts.model)}</p>')
    lines += [f'<p class="s">{escaped(text)}</p>' for text in list(mount_texts(facts))[:2]]
    if len(facts.mounts) > 2:
        more = counted(len(facts.mounts) - 2, "more filesystem")
        lines.append(f'<p class="s">and {more}</p>')
    return f'<div class="id">{"".join(lines)}</div>'


def _name(drive: DriveView, number: int) -> str:
    return (
        f'<h3 id="t{number}">{symbol(drive.status)}<span class="sr">{WORDS[drive.status]}: </span>'
        f'<a href="{link_to(drive.name)}">{escaped(drive.name)}</a></h3>'
    )


def _without_io(drive: DriveView, number: int) -> str:
    facts = drive.facts
    smart = facts.smart
    if facts.is_missing:
        state = "Missing"
        last = smart.last_success_unix_time if smart else None
        if last is not None:
            state += f" since {day(last)}"
        known = [facts.model, f"serial {facts.serial}" if facts.serial else ""]
        text = ", ".join(filter(None, known)) or "Nothing is known about it"
        detail = "The kernel does not list it any more."
    else:
        state = "Behind a controller" if facts.below else "No I/O statistics"
        text = facts.model
        below = ", ".join(facts.below)
        detail = f"It is part of {below}." if below else ""
    health = "" if facts.is_missing else health_list(drive, 0.0)
    return (
        f'<div class="cq"><section class="drive gone" id="d{number}" aria-labelledby="t{number}">'
        f'<div class="id">{_name(drive, number)}<p class="s">{escaped(state)}</p></div>'
        f'<p>{escaped(text)}. <span class="m">{escaped(detail)}</span></p>{health}'
        "</section></div>\n"
    )


def _five_minutes(drive: DriveView, now: DriveNow, view: HostView, number: int) -> str:
    name, key = escaped(drive.name), f"d{number}"
    texts = drive_texts(key, now)
    slow = set(slow_keys(key, now))

    def cell(field: str = "", unit: str = "", unit_field: str = "") -> str:
        if not field:
            return "<td></td>"
        key_of = f"{key}:{field}"
        over = (
            ' class="x over"' if key_of in slow else ' class="x"' if field in ("rx", "wx") else ""
        )
        shown = texts.get(f"{key}:{unit_field}", unit)
        mark = f' data-k="{key}:{unit_field}"' if unit_field else ""
        return f'<td{over}><b data-k="{key_of}">{texts[key_of]}</b> <i{mark}>{shown}</i></td>'

    def rows(what: str, *fields: tuple[str, tuple[str, ...], tuple[str, ...]]) -> str:
        lines = "".join(
            f'<tr><th scope="row"><em class="k{row}"></em>{row}</th>{cell(*one)}{cell(*two)}</tr>'
            for row, one, two in fields
        )
        return f'<table class="n" aria-label="{what} of {name} now">{lines}</table>'

    def value(field: str, unit: str) -> str:
        return f'<span data-k="{key}:{field}">{texts[f"{key}:{field}"]}</span> {unit}'

    window = view.now.window * view.now.interval_seconds
    parts = [
        '<div class="pl">',
        _caption("Throughput, MB/s", f"highest {value('pk', 'MB/s')}"),
        throughput_chart(drive.name, now, view, number),
        rows(
            "Throughput and use",
            ("read", ("rb", "MB/s"), ("ro", "", "ru")),
            ("write", ("wb", "MB/s"), ("wo", "", "wu")),
            ("busy", ("bz", "%"), ("qd", "queued")),
        ),
        f'<div class="axis">{time_axis(view)}</div></div><div class="pl">',
        _caption("Await, ms, log scale", f"highest {value('pa', 'ms')}", _usual(now)),
        await_chart(drive.name, now, view, number),
        rows(
            "Await and multiple of the baseline",
            ("read", ("ra", "ms"), ("rx", "× base")),
            ("write", ("wa", "ms"), ("wx", "× base")),
            ("flush", ("fl", "ms"), ()),
        ),
        f'<div class="axis vd">{verdict_strip(now, view, number)}</div>',
        f'<p class="s sum">saturated {value("sa", "s")}, stalled {value("st", "s")},',
        f" of {window:.0f} s</p></div>",
        f'<p class="rd" id="q{number}"></p>',
        services(drive.services, number),
    ]
    return f'<div class="now">{"".join(parts)}</div>'


def _caption(name: str, *notes: str) -> str:
    spans = "".join(f"<span>{note}</span>" for note in notes)
    return f'<div class="cap"><b>{name}</b>{spans}</div>'


def services(rates: tuple[ServiceRate, ...], number: int) -> str:
    """Returns the table of the services that cause the I/O; empty if unknown."""
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td><b>{read}</b> <i>MB/s</i></td>'
        f"<td><b>{written}</b> <i>MB/s</i></td>"
        f'<td class="sh">{charts.bar(share / 100)}</td></tr>'
        for name, read, written, share in service_rows(rates)
    )
    if not rows:
        return ""
    return (
        '<table class="who"><thead><tr><th scope="col">Services that cause this I/O, last 10 s</th>'
        '<th scope="col">read</th><th scope="col">written</th>'
        f'<th scope="col" class="sh">share</th></tr></thead><tbody id="u{number}">{rows}</tbody>'
        "</table>"
    )


def _usual(now: DriveNow) -> str:
    """Returns what the band of the await chart shows."""
    if now.read_limit == now.write_limit:
        limits = f"{milliseconds(now.read_limit)} ms"
    else:
        limits = f"{milliseconds(now.read_limit)} ms read, {milliseconds(now.write_limit)} ms write"
    is_learned = now.read_base is not None or now.write_base is not None
    return f"band: {'usual' if is_learned else 'baseline not learned yet'}, below {limits}"
