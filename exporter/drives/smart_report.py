"""Parses a SMART report: smartctl's JSON in, identity and health out."""

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
    """The identity and health of the drive in a smartctl report, and the fields with faults.

    `report` is the parsed JSON output of smartctl 7.0 or later. It is not trusted: a
    value that is not an object yields an empty report with one fault.

    If the drive sleeps and was skipped because of `-n standby`, the report contains only identity
    and power mode. The exit status is then the argument of `-n` and not a bit field, so it is
    omitted.
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
    """The count, or None if the link cannot carry that many bytes in the drive's power-on time.

    None means that the assumed unit is wrong. Counts whose unit a standard defines are not
    checked.
    """
    if counted is None or counted.source is UnitSource.STANDARD:
        return counted
    max_rate, seconds = link.max_bytes_per_second, health.power_on_seconds
    if max_rate is not None and seconds is not None:
        # The drive counts only complete hours, so the current hour is added.
        return counted if counted.bytes <= max_rate * (seconds + 3600) else None
    return counted
