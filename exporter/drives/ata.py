"""The device statistics log (ACS-3 and later, GP log 04h), page by page.

What an ATA drive counts of errors, failures and reserves.

Device statistics first, where they have it; then vendor attributes. Raw values may be packed:
smartctl unpacks those whose format its database knows, and prints the count first.

An ATA drive's health: the SMART attribute table, device statistics, SCT and the logs (ACS).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.drives import self_test_log
from exporter.drives.ata_count_table import COUNT_RULES, SPARE_RULES, CountRule
from exporter.drives.ata_endurance import ata_endurance
from exporter.drives.fields import Fields, celsius, device_statistic, power_on_seconds, smart_passed
from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity
from exporter.drives.makes import identify_make
from exporter.drives.power_loss import ata_power_loss
from exporter.drives.written_bytes import ata_written

#: General errors: reported uncorrectable errors; transport: interface CRC errors (ACS-4, 9.5).
_STANDARD = {"media_errors": (4, 0x08), "interface_errors": (6, 0x18)}

#: Counters of flash; what turns has none, though smartctl's default names promise them.
_OF_FLASH = frozenset({"program_failures", "erase_failures"})

#: Counts of events have 32 bits at most, all ones meaning "not valid".
_MOST = (1 << 32) - 2

#: "12", "12 (0 3)" (raw16(raw16)), and "3/40", grown and factory bad blocks.
_COUNT_FIRST = re.compile(r"([0-9]{1,15})(?: \(.*\))?")
_LATER_THEN_EARLY = re.compile(r"([0-9]{1,15})/[0-9]{1,15}")
_PAIRED = re.compile(r"Bad_Blk_Ct_Lat/Erl")


@dataclass(frozen=True, slots=True)
class AtaCounts:
    """Whole life counts; spare_ratio 1 is an untouched reserve."""

    media_errors: int | None = None
    reallocated_sectors: int | None = None
    pending_sectors: int | None = None
    program_failures: int | None = None
    erase_failures: int | None = None
    interface_errors: int | None = None
    unsafe_shutdowns: int | None = None
    spare_ratio: float | None = None
    spare_threshold_ratio: float | None = None


def ata_counts(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> AtaCounts:
    make = identify_make(identity)
    rows = {attribute.id: attribute for attribute in attributes}

    def counted(counter: str) -> int | None:
        if counter in _OF_FLASH and identity.rotational:
            return None
        page = _STANDARD.get(counter)
        standard = None if page is None else device_statistic(fields, *page, maximum=_MOST)
        return _by_rules(counter, make, rows) if standard is None else standard

    spare = None if identity.rotational else _spare(identity, make, rows)
    return AtaCounts(
        media_errors=counted("media_errors"),
        reallocated_sectors=counted("reallocated_sectors"),
        pending_sectors=counted("pending_sectors"),
        program_failures=counted("program_failures"),
        erase_failures=counted("erase_failures"),
        interface_errors=counted("interface_errors"),
        unsafe_shutdowns=counted("unsafe_shutdowns"),
        spare_ratio=None if spare is None else _percent(spare.value),
        spare_threshold_ratio=None if spare is None else _percent(spare.threshold),
    )


def event_count(attribute: AtaAttribute) -> int | None:
    """The count in a raw value; None where it is packed in a way that hides it, or not valid."""
    number: int | None = attribute.raw
    if attribute.raw_text:
        first = _COUNT_FIRST.fullmatch(attribute.raw_text)
        if first is None and _PAIRED.fullmatch(attribute.name):
            first = _LATER_THEN_EARLY.fullmatch(attribute.raw_text)
        number = None if first is None else int(first[1])
    return None if number is None or number > _MOST else number


def _by_rules(counter: str, make: str | None, rows: Mapping[int, AtaAttribute]) -> int | None:
    for rule in COUNT_RULES:
        if rule.counter == counter and make not in rule.not_makes:
            for attribute in _named(rule, make, rows):
                if (number := event_count(attribute)) is not None:
                    return number
    return None


def _named(
    rule: CountRule, make: str | None, rows: Mapping[int, AtaAttribute]
) -> Iterator[AtaAttribute]:
    for number in rule.attributes:
        attribute = rows.get(number)
        if attribute is None:
            continue
        is_named = rule.name and re.fullmatch(rule.name, attribute.name)
        if is_named or (make in rule.makes and attribute.name.startswith("Unknown_")):
            yield attribute


def _spare(
    identity: DriveIdentity, make: str | None, rows: Mapping[int, AtaAttribute]
) -> AtaAttribute | None:
    """The first row that tells the reserve.

    Only of drives that somebody knows: 232 is Available_Reservd_Space for want of another name
    on all others, whatever they count there.
    """
    if make is None and not identity.family:
        return None
    for rule in SPARE_RULES:
        for number in rule.attributes:
            attribute = rows.get(number)
            if (
                attribute is not None
                and re.fullmatch(rule.name, attribute.name)
                and _percent(attribute.value) is not None
            ):
                return attribute
    return None


def _percent(value: int | None) -> float | None:
    """A normalized value as a ratio; 0, and what is above 100, is "not supported"."""
    return None if value is None or not 1 <= value <= 100 else value / 100


#: The table has room for 30.
_MOST_ATTRIBUTES = 256

_LARGEST_RAW = (1 << 64) - 1


def ata_health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
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
        self_test=self_test_log.ata_self_test(fields),
        plp_healthy=ata_power_loss(identity, table),
        attributes=table,
    )


def parse_attributes(fields: Fields) -> tuple[AtaAttribute, ...]:
    """The table's rows, one per id: of a second one with the same id nobody knows what it means."""
    found: dict[int, AtaAttribute] = {}
    for row in fields.rows("ata_smart_attributes", "table", maximum=_MOST_ATTRIBUTES):
        attribute = _attribute(row)
        if attribute is not None and attribute.id in found:
            row.fault(("ata_smart_attributes", "table", "id"), attribute.id)
        elif attribute is not None:
            found[attribute.id] = attribute
    return tuple(found.values())


def _attribute(row: Fields) -> AtaAttribute | None:
    number = row.integer("id", minimum=1, maximum=255)
    raw = row.integer("raw", "value", maximum=_LARGEST_RAW)
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
    minutes = fields.integer("temperature", "lifetime_over_limit_minutes", maximum=(1 << 32) - 1)
    return None if minutes is None else float(minutes * 60)


def _error_log_entries(fields: Fields) -> int | None:
    """Errors that the drive has logged in its life; the summary log repeats the extended one."""
    extended = fields.integer("ata_smart_error_log", "extended", "count", maximum=(1 << 32) - 1)
    if extended is not None:
        return extended
    return fields.integer("ata_smart_error_log", "summary", "count", maximum=(1 << 32) - 1)
