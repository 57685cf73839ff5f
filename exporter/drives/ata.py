"""An ATA drive's health: the SMART attribute table, device statistics, SCT and the logs (ACS)."""

from exporter.drives import self_test
from exporter.drives.ata_counts import ata_counts
from exporter.drives.endurance import ata_endurance
from exporter.drives.fields import Fields
from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity
from exporter.drives.power_loss import ata_power_loss
from exporter.drives.readings import celsius, healthy, power_on_seconds
from exporter.drives.written import ata_written

#: The table has room for 30.
_MOST_ATTRIBUTES = 256

_LARGEST_RAW = (1 << 64) - 1


def health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    table = attributes(fields)
    counts = ata_counts(fields, identity, table)
    written = ata_written(fields, identity, table)
    drive_celsius = celsius(fields, "temperature", "current")
    return DriveHealth(
        healthy=healthy(fields),
        endurance=ata_endurance(fields, identity, table),
        spare_ratio=counts.spare_ratio,
        spare_threshold_ratio=counts.spare_threshold_ratio,
        temperatures={} if drive_celsius is None else {"drive": drive_celsius},
        # SCT status and temperature history, and page 5 of the device statistics.
        temperature_warning_celsius=celsius(fields, "temperature", "op_limit_max"),
        temperature_critical_celsius=celsius(fields, "temperature", "limit_max"),
        over_temperature_warning_seconds=_over_temperature_seconds(fields),
        host_read=written.host_read,
        host_written=written.host_written,
        nand_written=written.nand_written,
        media_errors=counts.media_errors,
        reallocated_sectors=counts.reallocated_sectors,
        pending_sectors=counts.pending_sectors,
        program_failures=counts.program_failures,
        erase_failures=counts.erase_failures,
        interface_errors=counts.interface_errors,
        error_log_entries=_error_log_entries(fields),
        power_on_seconds=power_on_seconds(fields),
        power_cycles=fields.integer("power_cycle_count"),
        unsafe_shutdowns=counts.unsafe_shutdowns,
        self_test=self_test.ata(fields),
        plp_healthy=ata_power_loss(identity, table),
        attributes=table,
    )


def attributes(fields: Fields) -> tuple[AtaAttribute, ...]:
    """The table's rows, one per id: of a second one with the same id nobody knows what it means."""
    found: dict[int, AtaAttribute] = {}
    for row in fields.rows("ata_smart_attributes", "table", most=_MOST_ATTRIBUTES):
        attribute = _attribute(row)
        if attribute is not None and attribute.id in found:
            row.fault(("ata_smart_attributes", "table", "id"), attribute.id)
        elif attribute is not None:
            found[attribute.id] = attribute
    return tuple(found.values())


def _attribute(row: Fields) -> AtaAttribute | None:
    number = row.integer("id", least=1, most=255)
    raw = row.integer("raw", "value", most=_LARGEST_RAW)
    if number is None or raw is None:
        return None
    return AtaAttribute(
        id=number,
        name=row.text("name") or "Unknown_Attribute",
        raw=raw,
        raw_text=row.text("raw", "string") or "",
        value=row.integer("value", most=255),
        worst=row.integer("worst", most=255),
        threshold=row.integer("thresh", most=255),
        failed=row.text("when_failed") or "",
        prefailure=row.flag("flags", "prefailure") or False,
    )


def _over_temperature_seconds(fields: Fields) -> float | None:
    minutes = fields.integer("temperature", "lifetime_over_limit_minutes", most=(1 << 32) - 1)
    return None if minutes is None else float(minutes * 60)


def _error_log_entries(fields: Fields) -> int | None:
    """Errors that the drive has logged in its life; the summary log repeats the extended one."""
    extended = fields.integer("ata_smart_error_log", "extended", "count", most=(1 << 32) - 1)
    if extended is not None:
        return extended
    return fields.integer("ata_smart_error_log", "summary", "count", most=(1 << 32) - 1)
