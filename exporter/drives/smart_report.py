"""Parses a SMART report, which is the JSON output of smartctl for one drive."""

from collections.abc import Mapping
from dataclasses import replace

from exporter.drives.ata import ata_health
from exporter.drives.drive_identity import identify
from exporter.drives.drive_link import ReportedLink, parse_link
from exporter.drives.fields import Fields, Json
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    DriveReport,
    Protocol,
    RejectedValue,
)
from exporter.drives.nvme import nvme_health
from exporter.drives.scsi import scsi_health
from exporter.drives.smartctl_messages import (
    parse_exit_status,
    parse_messages,
    parse_power_mode,
    parse_sleep_mode,
    unreadable_reason,
)


def parse_report(report: Json) -> DriveReport:
    """Returns the identity and health of the drive, and the fields that could not be parsed.

    report: the parsed JSON output of smartctl 7.0 or later. It may contain invalid values. If it is
        not a JSON object, the result is empty except for one fault.

    With `-n standby`, smartctl does not read a sleeping drive. The result then contains only the
    identity and the power mode. smartctl's exit status is an argument of `-n` in this case, and not
    the usual bit field, so the exit status in the result is 0.
    """
    if not isinstance(report, Mapping):
        return DriveReport(
            DriveIdentity(),
            DriveHealth(),
            (f"the report is not a JSON object but {type(report).__name__}",),
        )
    fields = Fields(report)
    identity = identify(fields)
    sleep_mode = parse_sleep_mode(fields)
    is_asleep = sleep_mode is not None
    health = DriveHealth(power_mode=sleep_mode) if is_asleep else _health(fields, identity)
    return DriveReport(identity, health, tuple(dict.fromkeys(fields.faults)))


def _health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    health = _protocol_health(fields, identity)
    exit_status = parse_exit_status(fields)
    messages = parse_messages(fields)
    link = parse_link(fields)
    implausible = _implausible_counts(health, identity, link)
    return replace(
        health,
        host_read=None if "host_read" in implausible else health.host_read,
        host_written=None if "host_written" in implausible else health.host_written,
        rejected=(*fields.rejected, *implausible.values()),
        power_mode=parse_power_mode(fields),
        link_bytes_per_second=link.bytes_per_second,
        link_max_bytes_per_second=link.max_bytes_per_second,
        exit_status=exit_status,
        messages=messages,
        unreadable=unreadable_reason(fields, identity, health, exit_status, messages),
    )


def _protocol_health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    if identity.protocol is Protocol.NVME:
        return nvme_health(fields)
    if identity.protocol is Protocol.ATA:
        return ata_health(fields, identity)
    if identity.protocol is Protocol.SCSI:
        return scsi_health(fields, identity)
    return DriveHealth()


def _implausible_counts(
    health: DriveHealth, identity: DriveIdentity, link: ReportedLink
) -> dict[str, RejectedValue]:
    """Returns the counts of bytes that are not plausible, keyed by the field of `health`.

    A count is not plausible if the link cannot transfer that many bytes in the power-on time of the
    drive. The assumed unit of the count is then wrong. A count on which two counters of the drive
    agree is plausible, because some drives do not count their power-on time correctly. Only ATA
    drives are checked: the other protocols define the unit.
    """
    max_rate, seconds = link.max_bytes_per_second, health.power_on_seconds
    if identity.protocol is not Protocol.ATA or max_rate is None or seconds is None:
        return {}
    # The drive counts only complete hours, so one hour is added for the current one.
    limit = max_rate * (seconds + 3600)
    reason = "it is more than the link can transfer in the power-on time"
    return {
        name: RejectedValue(f"{name}_bytes_total", float(count.bytes), count.rule, reason)
        for name, count in (("host_read", health.host_read), ("host_written", health.host_written))
        if count is not None and not count.is_confirmed and count.bytes > limit
    }
