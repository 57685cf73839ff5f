"""From smartctl's JSON to what it means."""

from collections.abc import Mapping
from dataclasses import replace

from exporter.drives import ata, drive_link, nvme, scsi, smartctl_messages
from exporter.drives.drive_identity import identify
from exporter.drives.drive_link import ReportedLink
from exporter.drives.fields import Fields, Json
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    DriveReport,
    Protocol,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.smartctl_messages import unreadable_reason


def parse_report(report: Json) -> DriveReport:
    """Who the drive is, how it fares, and which fields were not understood.

    Takes what `json.loads` made of the output of smartctl 7.0 or later, whatever it is: what is no
    object is a fault and nothing else. A drive that `-n standby` left asleep has a power mode and
    no more: its exit status is then the one that `-n` was given, and no bit field.
    """
    if not isinstance(report, Mapping):
        return DriveReport(
            DriveIdentity(), DriveHealth(), (f"the report is no object: {type(report).__name__}",)
        )
    fields = Fields(report)
    identity = identify(fields)
    mode = smartctl_messages.parse_sleep_mode(fields)
    health = _awake(fields, identity) if mode is None else DriveHealth(power_mode=mode)
    return DriveReport(identity, health, tuple(dict.fromkeys(fields.faults)))


def _awake(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    health = _logs(fields, identity)
    status = smartctl_messages.parse_exit_status(fields)
    said = smartctl_messages.parse_messages(fields)
    its_link = drive_link.parse_link(fields)
    return replace(
        health,
        host_read=_possible(health.host_read, health, its_link),
        host_written=_possible(health.host_written, health, its_link),
        power_mode=smartctl_messages.parse_power_mode(fields),
        link_bytes_per_second=its_link.bytes_per_second,
        link_max_bytes_per_second=its_link.max_bytes_per_second,
        exit_status=status,
        messages=said,
        unreadable=unreadable_reason(fields, identity, health, status, said),
    )


def _possible(
    counted: WrittenBytes | None, health: DriveHealth, its_link: ReportedLink
) -> WrittenBytes | None:
    """None where no link carries so much in the drive's life: the unit is not the one believed."""
    if counted is None or counted.source is UnitSource.STANDARD:
        return counted
    fastest, seconds = its_link.max_bytes_per_second, health.power_on_seconds
    if fastest is not None and seconds is not None:
        # Hours are counted when they are over.
        return counted if counted.bytes <= fastest * (seconds + 3600) else None
    return counted


def _logs(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    if identity.protocol is Protocol.NVME:
        return nvme.nvme_health(fields)
    if identity.protocol is Protocol.ATA:
        return ata.ata_health(fields, identity)
    if identity.protocol is Protocol.SCSI:
        return scsi.scsi_health(fields, identity)
    return DriveHealth()
