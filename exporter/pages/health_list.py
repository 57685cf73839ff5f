"""Builds the list of a drive's health: wear, spare, temperature, errors, link, bytes. Pure."""

from collections.abc import Iterator

from exporter.drives.assessment.failure_cause import (
    FailureCause,
    failure_cause,
    worn_out_text,
)
from exporter.drives.health import DriveHealth, RejectionKind
from exporter.pages import charts
from exporter.pages.page_texts import day, days, duration, escaped, size, speed, whole_percent
from exporter.pages.views import DriveFacts, DriveView
from exporter.smart.drive_problems import CheckThresholds, wear_percent

_THRESHOLDS = CheckThresholds()

#: Estimates from this time on, in seconds, are shown as "more than 10 years".
_LONG_SECONDS = 3649 * 86400.0


#: The largest number of values that are not used and that the list names.
_MOST_UNUSED = 3


def health_list(drive: DriveView, at: float) -> str:
    """Returns the list of wear, spare, temperature, errors, link and written bytes as HTML.

    at: the Unix time of the page. With 0, the list contains no dates of the estimate.
    """
    facts, health = drive.facts, drive.facts.health
    rows = []
    if note := smart_note(facts):
        rows.append(_row("SMART", escaped(note), ""))
    if health is not None and not health.unreadable:
        rows += _health_rows(facts, health, at)
    if (link := link_text(facts)) is not None:
        rows.append(_row("Link", escaped(link[0]), link[1]))
    if health is not None and health.host_written is not None:
        text = size(health.host_written.bytes)
        if health.power_on_seconds:
            text += f" in {duration(health.power_on_seconds)}"
        rows.append(_row("Written", text, ""))
    return f'<dl class="hl">{"".join(rows)}</dl>' if rows else ""


def smart_note(facts: DriveFacts) -> str:
    """Returns why SMART data is missing, or that the drive sleeps; else empty."""
    smart, health = facts.smart, facts.health
    if smart is None:
        return "see the drives behind it" if facts.has_drives_behind else "not available"
    if health is not None and (why := health.unreadable or health.invalid_log):
        return f"not available: {why}"
    if health is not None and (health.power_mode or "").startswith(("standby", "sleep")):
        return "asleep, not woken"
    if health is None:
        return smart.message or "not read yet"
    return "" if smart.up else f"no answer{f': {smart.message}' if smart.message else ''}"


def link_text(facts: DriveFacts) -> tuple[str, str] | None:
    """Returns the speed of the link and its severity as a CSS class; None if unknown."""
    now, most = facts.link_bytes_per_second, facts.link_max_bytes_per_second
    if now is None:
        return None
    kind = {"nvme": "PCIe ", "sata": "SATA ", "sas": "SAS ", "usb": "USB "}.get(facts.transport, "")
    if most is None:
        return f"{kind}{speed(now)}", ""
    if now < 0.99 * most:
        return f"{kind}{speed(now)} of {speed(most)}", "warn"
    return f"{kind}{speed(now)}, full speed", ""


def _health_rows(facts: DriveFacts, health: DriveHealth, at: float) -> Iterator[str]:
    yield from _reported_rows(health)
    smart = facts.smart
    if health.endurance is not None:
        used = health.endurance.used_ratio
        level = _level(is_critical=False, is_warning=used >= _THRESHOLDS.endurance_warning_ratio)
        note = ""
        if at and smart is not None and smart.wearout_seconds is not None:
            note = wearout_text(smart.wearout_seconds, at)
        yield _bar_row(
            *("Wear", charts.bar(used, level, 0.8), (wear_percent(health.endurance), "% used")),
            *(level, note),
        )
    if health.spare_ratio is not None:
        limit = health.spare_threshold_ratio
        spare = health.spare_ratio
        level = _level(
            limit is not None and limit < 1 and spare <= limit,
            limit is not None
            and limit < 1
            and (spare - limit) / (1 - limit) <= _THRESHOLDS.spare_margin_ratio,
        )
        note = "" if limit is None else f"drive warns below {whole_percent(limit)} %"
        yield _bar_row(
            "Spare", charts.bar(spare, level, limit), (whole_percent(spare), "% left"), level, note
        )
    celsius = health.temperatures.get("drive")
    if celsius is not None:
        warning, critical = health.temperature_warning_celsius, health.temperature_critical_celsius
        limit = warning or critical or _THRESHOLDS.temperature_celsius
        level = _level(critical is not None and celsius >= critical, celsius >= limit)
        bar = charts.bar(celsius / limit, level, 1.0)
        yield _bar_row("Heat", bar, (f"{celsius:.0f}", "°C"), level, f"limit {limit:.0f} °C")
    yield from _error_row(health)


def _reported_rows(health: DriveHealth) -> Iterator[str]:
    """Yields what the drive reports about itself, and which of its values are not used."""
    cause = failure_cause(health)
    if cause is FailureCause.FAILING:
        yield _row("Health", "the drive reports that it is failing", "crit")
    elif cause is FailureCause.WORN_OUT:
        yield _row("Health", escaped(worn_out_text(health)), "warn")
    elif cause is FailureCause.TEMPERATURE:
        yield _row("Health", "the drive reports a temperature outside its limits", "warn")
    elif cause is FailureCause.NO_FAILURE:
        yield _row("Health", "the drive reports a warning that does not concern its data", "")
    unused = [
        f"{each.metric.removesuffix('_total').replace('_', ' ')}: {each.reason}"
        for each in health.rejected
        if each.kind not in (RejectionKind.CONTRADICTED, RejectionKind.LOG_INVALID)
    ]
    if unused:
        more = f" (and {len(unused) - _MOST_UNUSED} more)" if len(unused) > _MOST_UNUSED else ""
        yield _row("Not used", escaped("; ".join(unused[:_MOST_UNUSED]) + more), "warn")


def wearout_text(seconds: tuple[float, float, float], at: float) -> str:
    """Returns the estimate of the time until the endurance is used up, as text."""
    low, _, high = seconds
    if low >= _LONG_SECONDS:
        return "used up in more than 10 years"
    if high >= _LONG_SECONDS:
        return f"used up after {day(at + low)}"
    return f"used up {days(at + low, at + high)}"


def _error_row(health: DriveHealth) -> Iterator[str]:
    known = (
        (health.media_errors, "uncorrectable", True),
        (health.pending_sectors, "unreadable sectors", True),
        (health.reallocated_sectors, "reallocated", False),
        (health.interface_errors, "link errors", False),
    )
    if all(number is None for number, _, _ in known):
        return
    parts = [
        f'<b class="{"warn" if is_bad else ""}">{number}</b> {text}'
        for number, text, is_bad in known
        if number
    ]
    yield _row("Errors", ", ".join(parts) or "none", "")


def _level(is_critical: bool, is_warning: bool) -> str:
    return "crit" if is_critical else "warn" if is_warning else ""


def _row(name: str, html: str, level: str) -> str:
    return f'<div><dt>{name}</dt><dd class="w {level}">{html}</dd></div>'


def _bar_row(name: str, bar: str, figure: tuple[str, str], level: str, note: str) -> str:
    shown = f'<dd class="note">{escaped(note)}</dd>' if note else ""
    text, unit = figure
    return (
        f'<div class="{level}"><dt>{name}</dt><dd>{bar}</dd>'
        f'<dd><b class="{level}">{text}</b> <i>{unit}</i></dd>{shown}</div>'
    )
