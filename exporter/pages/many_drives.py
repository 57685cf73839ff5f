"""Shows the drives of a host with more than eight drives: a cell per drive, and tables. Pure."""

from collections.abc import Iterator, Sequence

from exporter.drives.health import Endurance
from exporter.io.drive_now import DriveNow
from exporter.io.verdict import Verdict
from exporter.pages import charts, drive_charts, judgement
from exporter.pages.drive_section import LEVELS, WORDS, link_to, symbol
from exporter.pages.live_texts import drive_texts, factor, slow_keys
from exporter.pages.page_texts import escaped, titled
from exporter.pages.views import DriveFacts, DriveView, HostView
from exporter.smart.drive_labels import natural_order
from exporter.smart.drive_problems import Status, wear_percent

#: Rows that need attention have curves, up to this number.
MOST_CURVES = 12

_LABELS = judgement.LABELS | {Verdict.NONE: "none"}


def overview(view: HostView) -> str:
    """Returns the cells of all drives, the drives that need attention, and the healthy drives."""
    attention = [drive for drive in view.drives if _is_shown(drive)]
    healthy = [drive for drive in view.drives if not _is_shown(drive)]
    parts = [_cells(view)]
    if attention:
        rows = "".join(
            _row(drive, view, number, with_curves=number < MOST_CURVES)
            for number, drive in enumerate(attention)
        )
        keys = '<em class="kr"></em>read · <em class="kw"></em>write · log scale, band: usual'
        window = drive_charts.window_words(view)
        note = f"{len(attention)} of {len(view.drives)} · {window} · {keys}"
        table = _table("Drives that need attention", rows)
        parts.append(titled("at", "Need attention", note, table))
    if healthy:
        rows = "".join(
            _row(drive, view, number, with_curves=False)
            for number, drive in enumerate(healthy, len(attention))
        )
        parts.append(
            f'<details id="rest"><summary>{"".join(_summary(healthy))}</summary>'
            f"{_table('Healthy drives', rows)}</details>"
        )
    return "".join(parts)


def numbered(view: HostView) -> list[DriveView]:
    """Returns the drives in the order of the rows. The keys d0, d1, … have the same order."""
    return [
        *(drive for drive in view.drives if _is_shown(drive)),
        *(drive for drive in view.drives if not _is_shown(drive)),
    ]


def with_curves(view: HostView) -> int:
    """Returns the number of rows with curves. They are the first rows."""
    return min(sum(_is_shown(drive) for drive in view.drives), MOST_CURVES)


def cell_heights(view: HostView) -> list[int]:
    """Returns the heights of the cells, 0 to 24: the busy ratio of each drive."""
    return [
        0 if drive.now is None else round(24 * min(drive.now.busy_ratio, 1.0))
        for drive in _by_name(view.drives)
    ]


def _is_shown(drive: DriveView) -> bool:
    return judgement.needs_attention(drive) or drive.verdict is not Verdict.NONE


def _by_name(drives: Sequence[DriveView]) -> list[DriveView]:
    return sorted(drives, key=lambda drive: natural_order(drive.name))


def _cells(view: HostView) -> str:
    heights = cell_heights(view)
    items = "".join(
        _cell(drive, height) for drive, height in zip(_by_name(view.drives), heights, strict=True)
    )
    note = "by name · fill: busy now · ◆ critical ▲ warning"
    return titled("al", "All drives", note, f'<ol class="cells">{items}</ol>')


def _cell(drive: DriveView, height: int) -> str:
    level = LEVELS[drive.status]
    state = drive.todos[0].lead.rstrip(".") if drive.todos else WORDS[drive.status].lower()
    name = escaped(drive.name)
    is_bad = judgement.needs_attention(drive)
    classes = f"{level if is_bad else ''}{' mis' if drive.facts.is_missing else ''}".strip()
    if is_bad:
        picture = (
            '<svg viewBox="-6 -6 24 24" aria-hidden="true">'
            f'<use href="#{level}" width="12" height="12"/></svg>'
        )
    else:
        picture = (
            '<svg viewBox="0 0 24 24" aria-hidden="true">'
            f'<path d="M0 {24 - height}h24v{height}H0z"/></svg>'
        )
    return (
        f'<li><a class="{classes}" href="{link_to(drive.name)}" title="{name}"'
        f' aria-label="{name}: {escaped(state)}">{picture}</a></li>'
    )


def _table(label: str, rows: str) -> str:
    columns = (
        ("Drive", ""),
        ("Bottleneck", ""),
        ("Mount", "p2"),
        ("Read<br>MB/s", "r p1"),
        ("Write<br>MB/s", "r p1"),
        ("Read<br>ms", "r p2"),
        ("Write<br>ms", "r p2"),
        ("Await<br>× base", "r"),
        ("Await and verdict", "p1 sp"),
        ("Busy<br>%", "r p3"),
        ("Heat<br>°C", "r p3"),
        ("Wear<br>% used", "r"),
    )
    head = "".join(
        f'<th scope="col" class="{names}">{text}</th>' if names else f'<th scope="col">{text}</th>'
        for text, names in columns
    )
    return (
        f'<table class="tb" aria-label="{label}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(drive: DriveView, view: HostView, number: int, *, with_curves: bool) -> str:
    facts, now = drive.facts, drive.now or DriveNow()
    key = f"d{number}"
    texts = drive_texts(key, now) if drive.now is not None else {}
    slow = set(slow_keys(key, now))

    def cell(field: str, names: str) -> str:
        name = f"{key}:{field}"
        over = " over" if name in slow else ""
        return f'<td class="{names}{over}"><b data-k="{name}">{texts.get(name, "–")}</b></td>'

    state = "missing" if facts.is_missing else "–" if drive.now is None else _LABELS[drive.verdict]
    is_limited = drive.verdict is not Verdict.NONE
    bottleneck = f'<span class="{"v" if is_limited else "m"}">{state}</span>'
    mount = facts.mounts[0].mountpoint if facts.mounts else ""
    picture = _curves(drive.name, now, view, number) if with_curves and drive.now else ""
    return (
        f'<tr class="v-{drive.verdict.value}"><th scope="row">{symbol(drive.status)}'
        f'<span class="sr">{WORDS[drive.status]}: </span>'
        f'<a href="{link_to(drive.name)}">{escaped(drive.name)}</a></th>'
        f'<td>{bottleneck}</td><td class="m p2 mt">{escaped(mount)}</td>'
        f"{cell('rb', 'r p1')}{cell('wb', 'r p1')}{cell('ra', 'r p2')}{cell('wa', 'r p2')}"
        f'{cell("x", "r x")}<td class="sp p1">{picture}</td>{cell("bz", "r p3")}'
        f"{_heat_cell(facts)}{_wear_cell(facts)}</tr>\n"
    )


def _curves(name: str, now: DriveNow, view: HostView, number: int) -> str:
    decades = charts.await_decades(now.read_limit, now.write_limit)
    # A whole unit of height is a third of a pixel here.
    curves = drive_charts.await_curves(now, decades, number, digits=0)
    return (
        f'{drive_charts.inner_box(view)} role="img"'
        f' aria-label="Await of {escaped(name)}, {drive_charts.window_words(view)}">'
        f"{drive_charts.band(now, decades)}{curves}</svg>"
        f"{drive_charts.verdict_strip(now, view, number, with_key=False)}"
    )


def _heat_cell(facts: DriveFacts) -> str:
    celsius = _celsius(facts)
    limit = (facts.health.temperature_warning_celsius if facts.health else None) or 70.0
    level = " warn" if celsius is not None and celsius >= limit else ""
    return f'<td class="r p3{level}"><b>{"–" if celsius is None else f"{celsius:.0f}"}</b></td>'


def _wear_cell(facts: DriveFacts) -> str:
    worn = _endurance(facts)
    if worn is None:
        return '<td class="r"><b>–</b></td>'
    used = worn.used_ratio
    level = "crit" if used >= 0.9 else "warn" if used >= 0.8 else ""
    return f'<td class="r {level}">{charts.bar(used, level)}<b>{wear_percent(worn)}</b></td>'


def _celsius(facts: DriveFacts) -> float | None:
    return None if facts.health is None else facts.health.temperatures.get("drive")


def _endurance(facts: DriveFacts) -> Endurance | None:
    return None if facts.health is None else facts.health.endurance


def _summary(drives: Sequence[DriveView]) -> Iterator[str]:
    without = sum(drive.status is Status.UNKNOWN for drive in drives)
    healthy = len(drives) - without
    names = f"{healthy} healthy drive{'' if healthy == 1 else 's'}"
    if without:
        names += f", {without} without SMART data" if healthy else ""
        names = names if healthy else f"{without} drives without SMART data"
    yield f"<b>{names}</b>"
    yield '<span class="m">no bottleneck</span>'
    worn = [(w.used_ratio, d.name, wear_percent(w)) for d in drives if (w := _endurance(d.facts))]
    if worn:
        _, name, percent = max(worn, key=lambda each: each[:2])
        yield f'<span class="m">most worn {escaped(name)}, {percent} %</span>'
    warm = [(celsius, d.name) for d in drives if (celsius := _celsius(d.facts)) is not None]
    if warm:
        celsius, name = max(warm)
        yield f'<span class="m">warmest {escaped(name)}, {celsius:.0f} °C</span>'
    slow = [(f, d.name) for d in drives if d.now and (f := d.now.worst_factor) is not None]
    if slow:
        most, name = max(slow)
        yield f'<span class="m">slowest {escaped(name)}, {factor(most)} × base</span>'
