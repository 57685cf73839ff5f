"""Builds the section of one drive: identity, the last five minutes, and health. Pure."""

from collections.abc import Iterator
from urllib.parse import quote

from exporter.io.drive_now import DriveNow
from exporter.io.services import ServiceRate
from exporter.io.verdict import Verdict
from exporter.pages import charts, judgement
from exporter.pages.health_list import health_list
from exporter.pages.live_texts import drive_texts, service_rows, slow_keys
from exporter.pages.page_texts import (
    counted,
    day,
    duration,
    escaped,
    megabytes,
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

_HALF = 24.0


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
    samples = len(now.statuses)
    grid = '<path class="gl" d="M60 0V48M120 0V48M180 0V48M240 0V48"/>'
    chart = '<svg class="ch" viewBox="0 0 299 48" preserveAspectRatio="none" role="img"'

    def curve(column: str, heights: Iterator[float], sign: int) -> str:
        shape = charts.area(heights, samples, _HALF, sign) if samples else "M0 24L299 24Z"
        return f'<path id="{column}{number}" d="{shape}"/>'

    def cell(field: str, unit: str, unit_field: str = "") -> str:
        key_of = f"{key}:{field}"
        over = (
            ' class="x over"' if key_of in slow else ' class="x"' if field in ("rx", "wx") else ""
        )
        shown = texts.get(f"{key}:{unit_field}", unit)
        mark = f' data-k="{key}:{unit_field}"' if unit_field else ""
        return f'<td{over}><b data-k="{key_of}">{texts[key_of]}</b> <i{mark}>{shown}</i></td>'

    def rows(what: str, *fields: tuple[tuple[str, str, str], tuple[str, str, str]]) -> str:
        lines = "".join(
            f'<tr><th scope="row">{row}</th>{cell(*one)}{cell(*two)}</tr>'
            for row, (one, two) in zip(("read", "write"), fields, strict=True)
        )
        return f'<table class="n" aria-label="{what} of {name} now">{lines}</table>'

    peak = max(now.peak_bytes, charts.MIN_PEAK)
    throughput = (
        f'{chart} aria-label="Throughput of {name}: reads now {megabytes(now.read_bytes)} MB/s,'
        f' writes {megabytes(now.written_bytes)} MB/s">{grid}'
        f"{curve('a', charts.throughput_heights(now.read_column, peak, _HALF), -1)}"
        f"{curve('b', charts.throughput_heights(now.written_column, peak, _HALF), 1)}"
        '<path class="ax" d="M0 24H299"/></svg>'
    )
    awaits = (
        f'{chart} aria-label="Await of {name} against its limit for slow requests: reads'
        f' {milliseconds(now.read_await)} ms, writes {milliseconds(now.write_await)} ms">'
        f'<path class="bd" d="M0 12h299v24H0z"/>{grid}'
        f"{curve('r', charts.await_heights(now.read_await_column, now.read_limit, _HALF), -1)}"
        f"{curve('w', charts.await_heights(now.write_await_column, now.write_limit, _HALF), 1)}"
        f'<g class="hot" clip-path="url(#over)"><use href="#r{number}"/>'
        f'<use href="#w{number}"/></g><path class="ax" d="M0 24H299"/></svg>'
    )
    shown_peak = f'peak <span data-k="{key}:pk">{texts[f"{key}:pk"]}</span> MB/s'
    parts = [
        _caption("Throughput", shown_peak),
        throughput,
        rows(
            "Throughput",
            (("rb", "MB/s", ""), ("ro", "", "ru")),
            (("wb", "MB/s", ""), ("wo", "", "wu")),
        ),
        _caption("Await", _usual(now)),
        awaits,
        rows(
            "Await and multiple of the baseline",
            (("ra", "ms", ""), ("rx", "× base", "")),
            (("wa", "ms", ""), ("wx", "× base", "")),
        ),
        _caption("Verdict"),
        verdict_strip(now, view, number),
        _AXIS if view.now.interval_seconds == 1 else "",
        _facts(texts, key, view),
        services(drive.services, number),
    ]
    return f'<div class="now">{"".join(parts)}</div>'


_AXIS = (
    '<svg class="tk" aria-hidden="true"><text y="12">−5 min</text>'
    '<text x="20%" y="12" class="c">−4</text><text x="40%" y="12" class="c">−3</text>'
    '<text x="60%" y="12" class="c">−2</text><text x="80%" y="12" class="c">−1</text>'
    '<text x="100%" y="12" class="e">now</text></svg>'
)


def _caption(name: str, note: str = "") -> str:
    return f'<div class="cap"><b>{name}</b><span>{note}</span></div><div class="cap p1"></div>'


def verdict_strip(now: DriveNow, view: HostView, number: int, *, with_key: bool = True) -> str:
    """Returns the strip with the bottlenecks of the last five minutes, and its legend."""
    lasted = charts.seconds_by_verdict(now.statuses, view.now.interval_seconds)
    words = [f"{judgement.LABELS[v]} {seconds:.0f} s" for v, seconds in lasted.items()]
    label = ", ".join(words) or "no bottleneck"
    svg = (
        f'<svg class="st" id="s{number}" viewBox="0 0 300 10" preserveAspectRatio="none" role="img"'
        f' aria-label="Verdict: {label}">{charts.strip(now.statuses, view.now.window)}</svg>'
    )
    if not with_key:
        return svg
    marks = [
        f'<span><em class="k-{verdict.value}"></em>{text}</span>'
        for verdict, text in zip(lasted, words, strict=True)
    ]
    shown = "".join(marks) or "<span>no bottleneck</span>"
    return f'{svg}<div class="key" id="k{number}">{shown}</div>'


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
    if now.read_limit == now.write_limit:
        limits = f"{milliseconds(now.read_limit)} ms"
    else:
        limits = f"{milliseconds(now.read_limit)} ms read, {milliseconds(now.write_limit)} ms write"
    return f"band: usual, at most {limits}"


def _facts(texts: dict[str, str], key: str, view: HostView) -> str:
    window = view.now.window * view.now.interval_seconds
    rows = (
        ("Busy", "bz", "%"),
        ("Queue depth", "qd", ""),
        ("Flush await", "fl", "ms"),
        ("Worst second", "ws", "ms"),
        ("Saturated", "sa", f"s of {window:.0f}"),
        ("Stalled", "st", "s"),
    )
    cells = "".join(
        f'<div><dt>{name}</dt><dd><b data-k="{key}:{field}">{texts[f"{key}:{field}"]}</b>'
        f"{f' <i>{unit}</i>' if unit else ''}</dd></div>"
        for name, field, unit in rows
    )
    return f'<dl class="facts">{cells}</dl>'
