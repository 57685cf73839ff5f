"""Builds the table of all SMART values of a drive, each with its metric and meaning. Pure."""

from collections.abc import Iterator

from exporter.drives.assessment.failure_cause import FailureCause, failure_cause
from exporter.drives.health import DriveHealth
from exporter.pages.health_list import smart_note
from exporter.pages.page_texts import day, duration, escaped, size, titled, whole_percent
from exporter.pages.views import DriveFacts
from exporter.smart.drive_problems import wear_percent

#: The counters: field, name, metric, and what it means.
_COUNTS = (
    (
        *("media_errors", "Uncorrectable errors", "media_errors_total"),
        "Data that the drive could not read back. A new one is a reason to replace the drive.",
    ),
    (
        *("reallocated_sectors", "Reallocated sectors", "reallocated_sectors_total"),
        "Defective sectors that spare ones replace. A few are usual, fast growth is not.",
    ),
    (
        *("pending_sectors", "Pending sectors", "pending_sectors"),
        "Sectors that cannot be read now.",
    ),
    (
        *("program_failures", "Program failures", "program_failures_total"),
        "Flash cells that could not be written. The drive used others.",
    ),
    (
        *("erase_failures", "Erase failures", "erase_failures_total"),
        "Flash blocks that could not be erased. The drive used others.",
    ),
    (
        *("interface_errors", "Link errors", "interface_errors_total"),
        "Transfer errors of the cable or the backplane, not of the flash.",
    ),
    (
        *("error_log_entries", "Error log entries", "error_log_entries_total"),
        "Errors of any kind that the drive has logged. Many are harmless commands.",
    ),
    (
        *("power_cycles", "Power cycles", "power_cycles_total"),
        "How often the drive was switched on.",
    ),
    (
        *("unsafe_shutdowns", "Unsafe shutdowns", "unsafe_shutdowns_total"),
        "Power losses without notice. They risk data in a volatile write cache.",
    ),
)

_BYTES = (
    ("host_written", "Written by the host", "host_written_bytes_total", "Since it was made."),
    (
        *("nand_written", "Written to flash", "nand_written_bytes_total"),
        "More than the host wrote, because the drive moves data itself.",
    ),
    ("host_read", "Read by the host", "host_read_bytes_total", "Reading hardly wears a drive."),
)

_STATES = {"now": "failing now", "past": "failed in the past"}

#: The values with a judgement: field, name, metric, texts for True and False, meaning, and level
#: of False.
_FLAGS = (
    (
        *("healthy", "Overall", "healthy", "passed", "FAILING"),
        *("The drive's own judgement. Most drives that fail never report it.", "crit"),
    ),
    (
        *("plp_healthy", "Power-loss protection", "plp_healthy", "passed", "FAILED"),
        *("The drive's own check of its power-loss protection.", "crit"),
    ),
)


def smart_section(facts: DriveFacts, at: float) -> str:
    """Returns the section with the table, or with the reason why there is no table."""
    smart, health, note = facts.smart, facts.health, smart_note(facts)
    rows = "" if health is None or health.unreadable else "".join(_rows(health, facts))
    last = smart.last_success_unix_time if smart is not None else None
    age = f"read {duration(at - last)} ago · " if last is not None and at > last else ""
    about = f"{age}values that the drive does not report are left out"
    if not rows:
        lead = f'<p class="lead">SMART: {escaped(note or "no values")}</p>'
        return titled("sm", "SMART values", about, lead)
    warning = f'<p class="lead">SMART: {escaped(note)}</p>' if note else ""
    table = f"{table_head()}{rows}</tbody></table>"
    assert health is not None
    body = f"{warning}{table}{_attributes(health)}{_messages(health)}"
    return titled("sm", "SMART values", about, body)


def _rows(health: DriveHealth, facts: DriveFacts) -> Iterator[str]:
    for field, name, metric, good, bad, meaning, level in _FLAGS:
        flag = getattr(health, field)
        if flag is not None:
            figure = (good if flag else bad, "")
            yield table_row(name, figure, metric, meaning, level="" if flag else level)
    yield from _wear_rows(health, facts)
    for name, celsius in health.temperatures.items():
        words = "Temperature" if name == "drive" else f"Temperature, sensor {name}"
        limit = health.temperature_warning_celsius if name == "drive" else None
        meaning = "" if limit is None else f"Its warning limit is {limit:.0f} °C."
        yield table_row(words, (f"{celsius:.0f}", "°C"), "temperature_celsius", meaning)
    for field, name, metric, meaning in _COUNTS:
        number = getattr(health, field)
        if number is not None:
            yield table_row(name, (f"{number:,}", ""), metric, meaning)
    for field, name, metric, meaning in _BYTES:
        counted = getattr(health, field)
        if counted is not None:
            yield table_row(name, _split(size(counted.bytes)), metric, meaning)
    yield from _time_rows(health)
    yield from _self_test_row(health)
    for name, is_set in health.critical_warnings.items():
        if is_set:
            words = f"Critical warning: {name.replace('_', ' ')}"
            yield table_row(
                words, ("set", ""), "critical_warning", "The drive reports it.", level="crit"
            )


def _time_rows(health: DriveHealth) -> Iterator[str]:
    seconds = health.power_on_seconds
    if seconds is not None:
        hours = f"{seconds / 3600:,.0f} hours."
        yield table_row("Powered on", _split(duration(seconds)), "power_on_seconds_total", hours)
    seconds = health.over_temperature_warning_seconds
    if seconds is not None:
        meaning = "Time above the warning temperature, in the drive's life."
        figure = _split(duration(seconds))
        yield table_row("Too hot", figure, "over_temperature_seconds_total", meaning)


def _self_test_row(health: DriveHealth) -> Iterator[str]:
    test = health.self_test
    if test is None:
        return
    meaning = ""
    if test.completed_power_on_seconds is not None and health.power_on_seconds is not None:
        seconds = max(health.power_on_seconds - test.completed_power_on_seconds, 0.0)
        meaning = f"Ended {duration(seconds)} of power-on time ago."
    figure = ("passed" if test.passed else "FAILED", "")
    level = "" if test.passed else "warn"
    yield table_row("Last self-test", figure, "self_test_passed", meaning, level=level)


def _wear_rows(health: DriveHealth, facts: DriveFacts) -> Iterator[str]:
    smart = facts.smart
    if health.endurance is not None:
        figure = (wear_percent(health.endurance), "%")
        meaning = f"Of what it is rated for. Source: {health.endurance.source.value}."
        level = "warn" if health.endurance.used_ratio >= 0.8 else ""
        yield table_row("Endurance used", figure, "endurance_used_ratio", meaning, level=level)
    if smart is not None and smart.wearout_seconds is not None:
        low, mid, high = smart.wearout_seconds
        meaning = f"At this load: no sooner than {duration(low)}, no later than {duration(high)}."
        yield table_row("Used up in", _split(duration(mid)), "wearout_eta_seconds", meaning)
    if health.spare_ratio is not None:
        limit = health.spare_threshold_ratio
        meaning = "" if limit is None else f"The drive warns below {whole_percent(limit)} %."
        figure = (whole_percent(health.spare_ratio), "%")
        yield table_row("Spare blocks left", figure, "spare_ratio", meaning)


def table_head() -> str:
    """Returns the beginning of a table of values, up to its first row."""
    return (
        '<table class="sm"><thead><tr><th scope="col">Value</th><th scope="col" class="r">Now</th>'
        '<th scope="col" class="p1">Metric</th><th scope="col">What it means</th></tr></thead>'
        "<tbody>"
    )


def _split(text: str) -> tuple[str, str]:
    number, _, unit = text.partition(" ")
    return number, unit


def table_row(
    name: str, figure: tuple[str, str], metric: str, meaning: str, *, level: str = ""
) -> str:
    """Returns a row of a table of values.

    figure: the number and its unit. metric: the name without `ssd_smart_`. level: "warn" or "crit".
    """
    text, unit = figure
    return (
        f'<tr><th scope="row">{escaped(name)}</th><td class="r {level}"><b>{escaped(text)}</b>'
        f" <i>{escaped(unit)}</i></td>"
        f'<td class="p1"><code>ssd_smart_{metric}</code></td><td>{escaped(meaning)}</td></tr>'
    )


def _attributes(health: DriveHealth) -> str:
    if not health.attributes:
        return ""

    def number(value: int | None) -> str:
        return "–" if value is None else str(value)

    rows = "".join(
        f'<tr><th scope="row">{row.id} {escaped(row.name)}</th><td class="r">'
        f"<b>{escaped(row.raw_text or str(row.raw))}</b></td>"
        f'<td class="r">{number(row.value)}</td><td class="r">{number(row.worst)}</td>'
        f'<td class="r">{number(row.threshold)}</td>'
        f"<td>{_STATES.get(row.failed, '')}</td></tr>"
        for row in health.attributes
    )
    return (
        f'<details id="attributes"><summary><b>{len(health.attributes)} ATA attributes</b>'
        '<span class="m">as the drive reports them</span></summary><table class="sm at"><thead><tr>'
        '<th scope="col">Attribute</th><th scope="col" class="r">Raw</th>'
        '<th scope="col" class="r">Value</th><th scope="col" class="r">Worst</th>'
        '<th scope="col" class="r">Limit</th><th scope="col">State</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></details>"
    )


def _messages(health: DriveHealth) -> str:
    if not health.messages:
        return ""
    lines = "".join(f"<li>{escaped(text)}</li>" for text in health.messages[:10])
    return f'<div class="h"><h3>Messages of smartctl</h3></div><ul class="s m">{lines}</ul>'


def forecast(facts: DriveFacts, at: float) -> str:
    """Returns a sentence about the wear and its estimate; empty if the wear is unknown."""
    smart, health = facts.smart, facts.health
    if smart is None or health is None or health.endurance is None:
        return ""
    text = f"{wear_percent(health.endurance)} % of its rated endurance is used"
    if smart.wearout_seconds is None or failure_cause(health) is FailureCause.FAILING:
        # The end of the rated endurance says nothing about a drive that reports its failure.
        return f"{text}."
    low, _, high = smart.wearout_seconds
    if high >= 3649 * 86400.0:
        return f"{text}, and at this load it lasts for more than {duration(low)}."
    return f"{text}. At this load it is used up between {day(at + low)} and {day(at + high)}."
