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
    UnitSource,
    WrittenBytes,
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
    return replace(
        health,
        host_read=_if_plausible(health.host_read, health, link),
        host_written=_if_plausible(health.host_written, health, link),
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


def _if_plausible(
    counted: WrittenBytes | None, health: DriveHealth, link: ReportedLink
) -> WrittenBytes | None:
    """Returns the count of bytes, or None if it is not plausible.

    It is not plausible if the link cannot transfer that many bytes in the power-on time of the
    drive. The assumed unit of the count is then wrong. A count whose unit a standard defines is
    always returned.
    """
    if counted is None or counted.source is UnitSource.STANDARD:
        return counted
    max_rate, seconds = link.max_bytes_per_second, health.power_on_seconds
    if max_rate is not None and seconds is not None:
        # The drive counts only complete hours, so one hour is added for the current one.
        return counted if counted.bytes <= max_rate * (seconds + 3600) else None
    return counted
