"""Parses a SMART report, which is the JSON output of smartctl for one drive."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from exporter.drives.assessment.log_judgement import log_judgement, unusable, without
from exporter.drives.assessment.value_bounds import bounded
from exporter.drives.ata import ata_health
from exporter.drives.drive_identity import identify
from exporter.drives.drive_link import parse_link
from exporter.drives.fields import Fields, Json
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    DriveReport,
    Protocol,
    RejectionKind,
)
from exporter.drives.nvme import THERMAL_MANAGEMENT, nvme_health
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY
from exporter.drives.scsi import scsi_health
from exporter.drives.smartctl_messages import (
    parse_exit_status,
    parse_messages,
    parse_power_mode,
    parse_sleep_mode,
    unreadable_reason,
)


def parse_report(report: Json, previous: DriveHealth | None = None) -> DriveReport:
    """Returns the identity and health of the drive, and the fields that could not be parsed.

    report: the parsed JSON output of smartctl 7.0 or later. It may contain invalid values. If it is
        not a JSON object, the result is empty except for one fault.
    previous: the health in the previous report of the drive, which saves time.

    With `-n standby`, smartctl does not read a sleeping drive. The result then contains only the
    identity and the power mode. The exit status in the result is 0, because smartctl then ends with
    the status that its option `-n` sets, and not with the usual bit field.
    """
    if not isinstance(report, Mapping):
        return DriveReport(
            DriveIdentity(),
            DriveHealth(),
            (f"the report is not a JSON object but {type(report).__name__}",),
        )
    fields = Fields(report)
    identity = identify(fields)
    judgement = log_judgement(fields, identity)
    if judgement.hidden:
        fields = Fields(without(report, judgement.hidden))
    for rejected in judgement.rejected:
        fields.reject(rejected)
    sleep_mode = parse_sleep_mode(fields)
    is_asleep = sleep_mode is not None
    health = (
        DriveHealth(power_mode=sleep_mode) if is_asleep else _health(fields, identity, previous)
    )
    return DriveReport(identity, health, tuple(dict.fromkeys(fields.faults)))


def _health(fields: Fields, identity: DriveIdentity, previous: DriveHealth | None) -> DriveHealth:
    exit_status = parse_exit_status(fields)
    messages = parse_messages(fields)
    link = parse_link(fields)
    common: dict[str, Any] = {
        "power_mode": parse_power_mode(fields),
        "link_bytes_per_second": link.bytes_per_second,
        "link_max_bytes_per_second": link.max_bytes_per_second,
        "exit_status": exit_status,
        "messages": messages,
        "sense_code": _sense_code(fields),
    }
    health = _protocol_health(fields, identity, previous, common)
    unreadable = unreadable_reason(fields, identity, health, exit_status, messages)
    # Reading the values may have rejected some. Most reports need no copy.
    if unreadable or fields.rejected:
        health = replace(health, unreadable=unreadable, rejected=fields.rejected)
    invalid = next((r for r in fields.rejected if r.kind is RejectionKind.LOG_INVALID), None)
    if invalid is not None and (health.unreadable or identity.protocol is Protocol.NVME):
        # All values of an NVMe drive are from one log, or from logs that the same fault damages.
        return unusable(health, invalid, ())
    return bounded(health, identity, link)


def _sense_code(fields: Fields) -> tuple[int, int] | None:
    """Returns the additional sense code and its qualifier of an informational exception of SCSI."""
    code = fields.integer("smart_status", "scsi", "asc", maximum=255)
    qualifier = fields.integer("smart_status", "scsi", "ascq", maximum=255)
    return None if code is None or qualifier is None else (code, qualifier)


def _protocol_health(
    fields: Fields,
    identity: DriveIdentity,
    previous: DriveHealth | None,
    common: dict[str, Any],
) -> DriveHealth:
    """Returns the health values. common: those of all protocols, keyed by their field."""
    if identity.protocol is Protocol.NVME:
        if fields.get(LOGS_KEY) is None and fields.get(*THERMAL_MANAGEMENT) is None:
            return nvme_health(fields, common)
        # Imported only if it is used, because the daemon's memory is limited.
        from exporter.drives.nvme_logs.log_health import log_health  # noqa: PLC0415

        more = log_health(fields.report, None if previous is None else previous.logs)
        return nvme_health(fields, {**common, **more})
    if identity.protocol is Protocol.ATA:
        return replace(ata_health(fields, identity), **common)
    if identity.protocol is Protocol.SCSI:
        return replace(scsi_health(fields, identity), **common)
    return DriveHealth(**common)
