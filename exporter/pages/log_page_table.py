"""Builds the section about the log pages of an NVMe drive: values, and its own latency. Pure."""

from collections.abc import Iterator

from exporter.drives.nvme_logs.drive_latency import OPERATIONS, DriveLatency
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.drives.nvme_logs.slow_place import SlowPlace, SlowPlaces
from exporter.pages.page_texts import clock, counted, duration, escaped, milliseconds, titled
from exporter.pages.smart_table import table_head, table_row

#: The numbers: field of `NvmeLogValues`, name, metric, and what it means.
_NUMBERS = (
    (
        *("capacitor_health_percent", "Capacitor", "capacitor_health_ratio"),
        "100 % is the least for a new drive, 1 % the least for a safe loss of power.",
    ),
    (
        *("thermal_throttling_events", "Throttled", "thermal_throttling_events_total"),
        "How often heat made the drive reduce its speed.",
    ),
    (
        "thermal_management_2_transitions",
        "Throttled heavily",
        "thermal_throttling_events_total",
        "The same at the upper limit of its thermal management.",
    ),
    (
        *("end_to_end_detected_errors", "Corrupted inside", "end_to_end_errors_total"),
        "Blocks that changed inside the drive, corrected ones included.",
    ),
    (
        *("pcie_correctable_errors", "PCIe errors", "pcie_errors_total"),
        "Corrected by a repeated transfer. Only fast growth matters.",
    ),
    (
        *("incomplete_shutdowns", "Incomplete shutdowns", "incomplete_shutdowns_total"),
        "The drive could not save all data. Acknowledged writes may be lost.",
    ),
    (
        *("unaligned_writes", "Unaligned writes", "unaligned_writes_total"),
        "The drive must read and rewrite its own unit for each. Counted since it was powered on.",
    ),
    (
        *("system_area_used_percent", "System area used", "system_area_used_ratio"),
        "Of the endurance of the area for firmware and tables.",
    ),
    (
        *("media_dies_offline", "Dies offline", "offline_dies"),
        "Flash dies that the drive no longer uses.",
    ),
)

_OPERATION_NAMES = {"read": "reads", "write": "writes", "deallocate": "discards"}


def log_section(logs: ParsedLogs | None, at: float, slow: SlowPlaces | None = None) -> str:
    """Returns the section; empty if the drive has no such pages.

    at: the current Unix time, in seconds.
    slow: where slow requests of the drive spent their time; None if unknown.
    """
    if logs is None:
        return ""
    rows = "".join((*_value_rows(logs.values), *_latency_rows(logs.latency), *_missing_rows(logs)))
    if not rows and logs.latency is None:
        return ""
    age = f"read {duration(max(at - logs.at, 0.0))} ago · " if logs.at is not None else ""
    about = f"{age}log pages that data-centre drives have"
    lead = ""
    if logs.latency is not None:
        text = latency_sentence(logs.latency, at)
        if slow is not None:
            text = f"{text} {slow_sentence(slow)}"
        lead = f'<p class="lead">{escaped(text)}</p>'
    table = f"{table_head()}{rows}</tbody></table>" if rows else ""
    return titled("lo", "Inside the drive", about, f"{lead}{table}")


def latency_sentence(latency: DriveLatency, at: float) -> str:
    """Returns whether slow requests were slow inside the drive, as text for people.

    at: the current Unix time, in seconds.
    """
    if not latency.enabled or not latency.active:
        return "The drive can measure its own latency, but its monitor is off."
    least = _ms(latency.active[0].min_seconds)
    count = sum(
        bucket.commands(operation).count for bucket in latency.active for operation in OPERATIONS
    )
    during = duration(max(latency.active_seconds, 300.0))
    if not count:
        return (
            f"In the last {during} no request took {least} or longer inside the drive. Requests"
            " that were slower in this time waited outside of it: in a queue, the link or the host."
        )
    slowest = max(
        (each for operation in OPERATIONS if (each := latency.slowest(operation)) is not None),
        key=lambda each: each.latency_seconds or 0.0,
        default=None,
    )
    text = (
        f"In the last {during} {counted(count, 'request')} took {least} or longer inside the drive"
    )
    if slowest is None or slowest.latency_seconds is None:
        return f"{text}."
    when = ""
    if slowest.has_wall_clock and slowest.at_seconds is not None and slowest.at_seconds <= at:
        when = f" at {clock(slowest.at_seconds)}"
    return f"{text}, the slowest {_ms(slowest.latency_seconds)}{when}."


def slow_sentence(slow: SlowPlaces) -> str:
    """Returns whether slow requests were slow inside the drive or outside of it, as sentences."""
    period = f"From {clock(slow.from_at)} to {clock(slow.until_at)}"
    least = _ms(slow.least_seconds)
    return " ".join(
        f"{period} {counted(each.count, each.op)} took {least} or longer inside the drive."
        if each.place is SlowPlace.INSIDE
        else f"{period} {each.op}s took up to {_ms(each.await_seconds)} (mean of a second), and"
        f" none took {least} or longer inside the drive: most of this time passed outside of it, in"
        " a queue, the link or the host."
        for each in slow.requests
    )


def _ms(seconds: float) -> str:
    return f"{milliseconds(seconds)} ms"


def _value_rows(values: NvmeLogValues) -> Iterator[str]:
    level = values.thermal_throttling_level
    if level:
        meaning = "It is too hot and reduces its own speed."
        figure = (f"level {level}", "")
        yield table_row("Throttles now", figure, "thermal_throttling_level", meaning, level="warn")
    for field, name, metric, meaning in _NUMBERS:
        number = getattr(values, field)
        if number is not None:
            unit = "%" if field.endswith("_percent") else ""
            yield table_row(name, (f"{number:,}", unit), metric, meaning)


def _latency_rows(latency: DriveLatency | None) -> Iterator[str]:
    for bucket in latency.active if latency is not None else ():
        for operation in OPERATIONS:
            commands = bucket.commands(operation)
            if not commands.count:
                continue
            least = _ms(bucket.min_seconds)
            slowest = commands.latency_seconds if commands.is_worst else None
            meaning = "" if slowest is None else f"The slowest took {_ms(slowest)}."
            name = f"{_OPERATION_NAMES[operation].capitalize()} of {least} or longer"
            if bucket.max_seconds is not None:
                name = f"{name}, up to {_ms(bucket.max_seconds)}"
            yield table_row(name, (f"{commands.count:,}", ""), "slow_requests_total", meaning)


def _missing_rows(logs: ParsedLogs) -> Iterator[str]:
    for number, reason in logs.missing.items():
        name = f"Log page {number:02X}h"
        yield table_row(name, ("missing", ""), "log_missing", f"{reason}.")
