"""Finds values that are impossible for the age, the capacity and the link of the drive. Pure.

The values are checked after they are read, in the same way for all protocols. A value outside its
bounds is not used. The other values are used.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from exporter.drives.assessment.log_judgement import MAX_BYTES_PER_SECOND, MAX_SSD_HOURS
from exporter.drives.drive_link import ReportedLink
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Protocol,
    RejectedValue,
    RejectionKind,
    WrittenBytes,
)

_HOUR = 3600.0

#: The longest power-on time of a hard disk, in hours: 40 years.
_MAX_DISK_HOURS = 40 * 8766

#: The most events that a drive can have counted: a number for its youth, and one for each second of
#: its power-on time. A drive that fails reports some 1,000 media errors per second for a day. Two
#: of 6,756 SATA SSDs log 4 errors per second.
_EVENTS, _EVENTS_PER_SECOND = 100_000_000, 10
#: The same for power cycles and losses of power. Some drives count no time if they are on for less
#: than an hour: one has 6,112 power cycles in 0 hours.
_CYCLES, _CYCLES_PER_SECOND = 10_000, 0.5

#: The largest number of times that flash can be written, in multiples of the capacity. The most
#: durable, 3D XPoint, is rated for 100 writes per day for 5 years (P5800X), which is 182,500.
_MAX_CAPACITIES = 1_000_000

_COUNTS: dict[str, tuple[str, float, float]] = {
    "power_cycles": ("power_cycles_total", _CYCLES, _CYCLES_PER_SECOND),
    "unsafe_shutdowns": ("unsafe_shutdowns_total", _CYCLES, _CYCLES_PER_SECOND),
    "media_errors": ("media_errors_total", _EVENTS, _EVENTS_PER_SECOND),
    "error_log_entries": ("error_log_entries_total", _EVENTS, _EVENTS_PER_SECOND),
}
#: Times that are a part of the power-on time.
_TIMES = {
    "controller_busy_seconds": "controller_busy_seconds_total",
    "over_temperature_warning_seconds": "over_temperature_seconds_total",
    "over_temperature_critical_seconds": "over_temperature_seconds_total",
}


def bounded(health: DriveHealth, identity: DriveIdentity, link: ReportedLink) -> DriveHealth:
    """Returns the health. Impossible values are removed and listed in its `rejected`."""
    judged = _without_impossible_age(health, identity)
    found = dict(_impossible(judged, identity, link))
    if not found:
        return judged
    absent: dict[str, Any] = dict.fromkeys(found)
    return replace(judged, rejected=(*judged.rejected, *found.values()), **absent)


def _without_impossible_age(health: DriveHealth, identity: DriveIdentity) -> DriveHealth:
    """Returns the health without a power-on time that is longer than any drive exists."""
    most = (_MAX_DISK_HOURS if identity.rotational else MAX_SSD_HOURS) * _HOUR
    seconds = health.power_on_seconds
    if seconds is None or seconds <= most:
        return health
    reason = f"no such drive is older than {most / _HOUR / 8766:.0f} years"
    rejected = _rejected("power_on_seconds_total", seconds, "power-on time", reason)
    return replace(health, power_on_seconds=None, rejected=(*health.rejected, rejected))


def _impossible(
    health: DriveHealth, identity: DriveIdentity, link: ReportedLink
) -> Iterator[tuple[str, RejectedValue]]:
    """Yields the field and the record of each value that is impossible."""
    for field, count, reason in _impossible_bytes(health, identity, link):
        yield field, _rejected(f"{field}_bytes_total", float(count.bytes), count.rule, reason)
    seconds = health.power_on_seconds
    for field, (metric, least, per_second) in _COUNTS.items():
        number = getattr(health, field)
        if number is not None and seconds is not None and number > least + per_second * seconds:
            reason = "it is more than a drive can count in the power-on time"
            yield field, _rejected(metric, float(number), field, reason)
    for field, metric in _TIMES.items():
        part = getattr(health, field)
        # Drives count only complete hours of power-on time.
        if part is not None and seconds is not None and part > seconds + _HOUR:
            yield field, _rejected(metric, part, field, "it is longer than the power-on time")


def _impossible_bytes(
    health: DriveHealth, identity: DriveIdentity, link: ReportedLink
) -> Iterator[tuple[str, WrittenBytes, str]]:
    """Yields each count of bytes that is too large: its field, the count, the reason.

    A count is too large if the link cannot transfer that many bytes in the power-on time. The
    assumed unit of an ATA counter is then wrong. A count on which two counters of the drive agree
    is used, because some drives do not count their power-on time correctly.
    """
    seconds, capacity = health.power_on_seconds, identity.capacity_bytes
    is_ata = identity.protocol is Protocol.ATA
    rate = link.max_bytes_per_second if is_ata else MAX_BYTES_PER_SECOND
    for field in ("host_read", "host_written"):
        count: WrittenBytes | None = getattr(health, field)
        if count is None or count.is_confirmed or seconds is None or rate is None:
            continue
        # The drive counts only complete hours, so one hour is added for the current one.
        if count.bytes > rate * (seconds + _HOUR):
            yield field, count, "it is more than the link can transfer in the power-on time"
    nand = health.nand_written
    # A drive that counts no hours has a wrong power-on time, and not a wrong count.
    if nand is not None and seconds and nand.bytes > MAX_BYTES_PER_SECOND * seconds:
        yield "nand_written", nand, "it is more than flash can write in the power-on time"
    written = health.host_written
    if is_ata or identity.rotational or written is None or not capacity:
        return
    used = health.endurance.used_ratio if health.endurance is not None else 1.0
    if written.bytes > capacity * _MAX_CAPACITIES * (used + 0.01):
        yield "host_written", written, "it is too large for the capacity and the wear"


def _rejected(metric: str, value: float, rule: str, reason: str) -> RejectedValue:
    return RejectedValue(metric, value, rule, reason, RejectionKind.IMPOSSIBLE)
