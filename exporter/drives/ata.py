"""Parses the health of an ATA drive: attribute table, device statistics, SCT and logs (ACS).

A counter is read from the device statistics if the drive has them, because the standard defines
these. Otherwise it is read from vendor attributes, with the rules of `ata_count_table`. The raw
value of an attribute can hold several packed numbers. smartctl unpacks the formats that its
database lists, and prints the count first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.drives import self_test_log
from exporter.drives.ata_count_table import COUNT_RULES, SPARE_RULES, Counter, CountRule
from exporter.drives.ata_endurance import ata_endurance
from exporter.drives.fields import Fields, celsius, device_statistic, power_on_seconds, smart_passed
from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity
from exporter.drives.makes import identify_make
from exporter.drives.power_loss import ata_power_loss
from exporter.drives.written_bytes import ata_written

#: Page and offset of a counter in the device statistics (ACS-4, 9.5): number of reported
#: uncorrectable errors, and number of interface CRC errors.
_DEVICE_STATISTICS: Mapping[Counter, tuple[int, int]] = {
    "media_errors": (4, 0x08),
    "interface_errors": (6, 0x18),
}

#: Counters that only flash has. smartctl's default names assign them to hard disks as well.
_FLASH_COUNTERS: frozenset[Counter] = frozenset({"program_failures", "erase_failures"})

#: The largest valid event count. Event counters have at most 32 bits, and all ones means "not
#: valid".
_MAX_COUNT = (1 << 32) - 2

#: Limits of the numbers that smartctl prints. A larger number is a fault.
_MAX_32_BITS = (1 << 32) - 1
_MAX_RAW = (1 << 64) - 1

#: Limits the rows of the attribute table that are read. The table of the standard has 30.
_MAX_ATTRIBUTES = 256

#: The count is 12 in "12" and in "12 (0 3)", smartctl's format raw16(raw16).
_COUNT_FIRST = re.compile(r"([0-9]{1,15})(?: \(.*\))?")
#: The count is 3 in "3/40": 3 blocks became bad in use, and 40 were bad when the drive was made.
_LATER_AND_EARLY = re.compile(r"([0-9]{1,15})/[0-9]{1,15}")
_LATER_AND_EARLY_NAME = re.compile(r"Bad_Blk_Ct_Lat/Erl")


@dataclass(frozen=True, slots=True)
class AtaCounts:
    """Lifetime event counters and spare blocks of an ATA drive; None means not reported.

    spare_ratio: the share of reserve blocks that is left; 1 for a new drive.
    spare_threshold_ratio: the drive reports a failure at or below this share.
    """

    media_errors: int | None = None
    reallocated_sectors: int | None = None
    pending_sectors: int | None = None
    program_failures: int | None = None
    erase_failures: int | None = None
    interface_errors: int | None = None
    unsafe_shutdowns: int | None = None
    spare_ratio: float | None = None
    spare_threshold_ratio: float | None = None


def ata_health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    """The health values of an ATA drive in a smartctl report."""
    table = parse_attributes(fields)
    counts = ata_counts(fields, identity, table)
    written = ata_written(fields, identity, table)
    drive_celsius = celsius(fields, "temperature", "current")
    return DriveHealth(
        healthy=smart_passed(fields),
        endurance=ata_endurance(fields, identity, table),
        spare_ratio=counts.spare_ratio,
        spare_threshold_ratio=counts.spare_threshold_ratio,
        temperatures={} if drive_celsius is None else {"drive": drive_celsius},
        # smartctl reads both limits from SCT, or from page 5 of the device statistics.
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
        self_test=self_test_log.ata_self_test(fields),
        plp_healthy=ata_power_loss(identity, table),
        attributes=table,
    )


def parse_attributes(fields: Fields) -> tuple[AtaAttribute, ...]:
    """The rows of the attribute table. If an id is repeated, the first row is used.

    Each further row with the same id adds a fault.
    """
    attributes: dict[int, AtaAttribute] = {}
    for row in fields.rows("ata_smart_attributes", "table", maximum=_MAX_ATTRIBUTES):
        attribute = _attribute(row)
        if attribute is not None and attribute.id in attributes:
            row.fault(("ata_smart_attributes", "table", "id"), attribute.id)
        elif attribute is not None:
            attributes[attribute.id] = attribute
    return tuple(attributes.values())


def ata_counts(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> AtaCounts:
    """The event counters and spare blocks of an ATA drive. A hard disk has no spare_ratio."""
    make = identify_make(identity)
    rows = {attribute.id: attribute for attribute in attributes}

    def count(counter: Counter) -> int | None:
        if counter in _FLASH_COUNTERS and identity.rotational:
            return None
        location = _DEVICE_STATISTICS.get(counter)
        if location is not None:
            standard = device_statistic(fields, *location, maximum=_MAX_COUNT)
            if standard is not None:
                return standard
        return _count_by_rules(counter, make, rows)

    spare = None if identity.rotational else _spare(identity, make, rows)
    return AtaCounts(
        media_errors=count("media_errors"),
        reallocated_sectors=count("reallocated_sectors"),
        pending_sectors=count("pending_sectors"),
        program_failures=count("program_failures"),
        erase_failures=count("erase_failures"),
        interface_errors=count("interface_errors"),
        unsafe_shutdowns=count("unsafe_shutdowns"),
        spare_ratio=None if spare is None else _ratio(spare.value),
        spare_threshold_ratio=None if spare is None else _ratio(spare.threshold),
    )


def event_count(attribute: AtaAttribute) -> int | None:
    """The count in a raw value. None if it is not valid, or packed in an unknown format."""
    number: int | None = attribute.raw
    if attribute.raw_text:
        match = _COUNT_FIRST.fullmatch(attribute.raw_text)
        if match is None and _LATER_AND_EARLY_NAME.fullmatch(attribute.name):
            match = _LATER_AND_EARLY.fullmatch(attribute.raw_text)
        number = None if match is None else int(match[1])
    return None if number is None or number > _MAX_COUNT else number


def _count_by_rules(
    counter: Counter, make: str | None, rows: Mapping[int, AtaAttribute]
) -> int | None:
    for rule in COUNT_RULES:
        if rule.counter == counter and make not in rule.not_makes:
            for attribute in _matching_rows(rule, make, rows):
                if (number := event_count(attribute)) is not None:
                    return number
    return None


def _matching_rows(
    rule: CountRule, make: str | None, rows: Mapping[int, AtaAttribute]
) -> Iterator[AtaAttribute]:
    for number in rule.attributes:
        attribute = rows.get(number)
        if attribute is None:
            continue
        has_name = rule.name and re.fullmatch(rule.name, attribute.name)
        if has_name or (make in rule.makes and attribute.name.startswith("Unknown_")):
            yield attribute


def _spare(
    identity: DriveIdentity, make: str | None, rows: Mapping[int, AtaAttribute]
) -> AtaAttribute | None:
    """The first attribute that a spare rule matches; None if there is none.

    The rules apply only if the make is known or smartctl's database lists the drive. For every
    other drive smartctl names attribute 232 Available_Reservd_Space, even if it has another
    meaning.
    """
    if make is None and not identity.family:
        return None
    for rule in SPARE_RULES:
        for number in rule.attributes:
            attribute = rows.get(number)
            if (
                attribute is not None
                and re.fullmatch(rule.name, attribute.name)
                and _ratio(attribute.value) is not None
            ):
                return attribute
    return None


def _ratio(value: int | None) -> float | None:
    """A normalized value as a ratio. None for 0 and above 100, which mean "not supported"."""
    return None if value is None or not 1 <= value <= 100 else value / 100


def _attribute(row: Fields) -> AtaAttribute | None:
    number = row.integer("id", minimum=1, maximum=255)
    raw = row.integer("raw", "value", maximum=_MAX_RAW)
    if number is None or raw is None:
        return None
    return AtaAttribute(
        id=number,
        name=row.text("name") or "Unknown_Attribute",
        raw=raw,
        raw_text=row.text("raw", "string") or "",
        value=row.integer("value", maximum=255),
        worst=row.integer("worst", maximum=255),
        threshold=row.integer("thresh", maximum=255),
        failed=row.text("when_failed") or "",
        prefailure=row.flag("flags", "prefailure") or False,
    )


def _over_temperature_seconds(fields: Fields) -> float | None:
    minutes = fields.integer("temperature", "lifetime_over_limit_minutes", maximum=_MAX_32_BITS)
    return None if minutes is None else float(minutes * 60)


def _error_log_entries(fields: Fields) -> int | None:
    """The lifetime number of logged errors. Both logs hold the same count."""
    for log in ("extended", "summary"):
        count = fields.integer("ata_smart_error_log", log, "count", maximum=_MAX_32_BITS)
        if count is not None:
            return count
    return None
