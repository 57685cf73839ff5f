"""Parses the health of an ATA drive from its attributes, device statistics, SCT and logs (ACS).

The ATA standard defines the device statistics, but not the meaning of attributes. So a counter is
read from the device statistics if they contain it. Otherwise it is read from an attribute, with the
rules of `ata_count_table`. The raw value of an attribute can contain several numbers. If smartctl's
database lists the format, smartctl prints the numbers separately, with the count first.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from exporter.drives import self_test_log
from exporter.drives.ata_count_table import COUNT_RULES, COUNTERS, SPARE_RULES, Counter, CountRule
from exporter.drives.ata_endurance import ata_endurance
from exporter.drives.fields import Fields, celsius, device_statistic, power_on_seconds, smart_passed
from exporter.drives.health import AtaAttribute, DriveHealth, DriveIdentity, RejectedValue
from exporter.drives.makes import identify_makes
from exporter.drives.power_loss import ata_power_loss
from exporter.drives.written_bytes import ata_written

#: The page and offset of each counter in the device statistics (ACS-4, 9.5). The counters are the
#: number of reported uncorrectable errors and the number of interface CRC errors.
DEVICE_STATISTICS: Mapping[Counter, tuple[int, int]] = {
    "media_errors": (4, 0x08),
    "interface_errors": (6, 0x18),
}

#: The counters that only flash drives have. smartctl's default names of attributes contain them for
#: hard disks too, so they are not read from hard disks.
_FLASH_COUNTERS: frozenset[Counter] = frozenset({"program_failures", "erase_failures"})

#: The largest valid event count. Event counters have at most 32 bits, and the value with all bits
#: set means "not valid".
_MAX_COUNT = (1 << 32) - 2

#: The largest valid values of the fields that have 32 bits, and of raw values. A larger number
#: in the report is recorded as a fault.
_MAX_32_BITS = (1 << 32) - 1
_MAX_RAW = (1 << 64) - 1

#: The largest plausible counts. A drive has at most some 100,000 erase blocks. With ten million
#: sectors that cannot be read, 5 GB of the data are lost.
_MAX_PLAUSIBLE: Mapping[Counter, int] = {
    "program_failures": 100_000,
    "erase_failures": 100_000,
    "reallocated_sectors": 10_000_000,
    "pending_sectors": 10_000_000,
}
#: The counts whose metric is a gauge, which has no suffix `_total`.
_GAUGES: frozenset[Counter] = frozenset({"reallocated_sectors", "pending_sectors"})
#: The program and the erase failures. Toshiba's KSG60 and THNSNK report 100 (%) in both.
_FAILURE_ATTRIBUTES = (181, 182)

#: The attribute that contains the temperature in its lowest byte.
_TEMPERATURE = 194
#: The range of plausible temperatures of this attribute, in °C, and the largest difference to
#: smartctl's temperature. Intel's attribute 194 is up to 11 °C higher.
_MIN_CELSIUS, _MAX_CELSIUS, _MAX_CELSIUS_DIFFERENCE = 10.0, 85.0, 15.0
#: The highest temperature of drives without a sensor (OCZ Vertex 2 always reports 1). An SSD in use
#: is not colder.
_BROKEN_SENSOR_CELSIUS = 2.0

#: The largest number of attributes that are read. The table of the standard has 30.
_MAX_ATTRIBUTES = 256

#: Matches a raw value whose first number is the count: 12 in "12", and 12 in "12 (0 3)", which is
#: smartctl's format raw16(raw16).
_COUNT_FIRST = re.compile(r"([0-9]{1,15})(?: \((?:[A-Z][A-Za-z/]* )*[0-9][0-9 ]*\))?", re.ASCII)
#: Matches "3/40": 3 blocks became bad in use, and 40 were bad when the drive was made. The count
#: is 3.
_LATER_AND_EARLY = re.compile(r"([0-9]{1,15})/[0-9]{1,15}")
_LATER_AND_EARLY_NAME = re.compile(r"Bad_Blk_Ct_Lat/Erl")


def ata_health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    """Returns the health values of an ATA drive. `fields` is the smartctl report."""
    table = parse_attributes(fields)
    counts = ata_counts(fields, identity, table)
    written = ata_written(fields, identity, table)
    drive_celsius = _drive_celsius(fields, identity, table)
    return replace(
        counts,
        healthy=smart_passed(fields),
        endurance=ata_endurance(fields, identity, table),
        temperatures={} if drive_celsius is None else {"drive": drive_celsius},
        # smartctl reads both limits from SCT, or from page 5 of the device statistics.
        temperature_warning_celsius=celsius(fields, "temperature", "op_limit_max"),
        temperature_critical_celsius=celsius(fields, "temperature", "limit_max"),
        over_temperature_warning_seconds=_over_temperature_seconds(fields),
        host_read=written.host_read,
        host_written=written.host_written,
        nand_written=written.nand_written,
        error_log_entries=_error_log_entries(fields),
        power_on_seconds=power_on_seconds(fields),
        power_cycles=fields.integer("power_cycle_count"),
        self_test=self_test_log.ata_self_test(fields),
        plp_healthy=ata_power_loss(identity, table),
        attributes=table,
    )


def parse_attributes(fields: Fields) -> tuple[AtaAttribute, ...]:
    """Returns the rows of the attribute table, in the order of the report.

    If several rows have the same id, only the first one is returned. Each of the others is recorded
    as a fault, which is a field that cannot be used. The result is empty if the report has no
    table.
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
) -> DriveHealth:
    """Returns only the event counters and spare blocks of an ATA drive.

    The counters count events over the whole life of the drive. Counts that are not plausible are
    recorded as rejected in `fields`.

    attributes: the result of `parse_attributes`.

    For hard disks `spare_ratio`, `program_failures` and `erase_failures` are None.
    """
    makes = identify_makes(identity, [attribute.id for attribute in attributes])
    rows = {attribute.id: attribute for attribute in attributes}

    def count(counter: Counter) -> int | None:
        number = read(counter)
        reason = "" if number is None else _why_implausible(counter, number, rows)
        if not reason:
            return number
        metric = f"{counter}_total" if counter not in _GAUGES else counter
        fields.reject(RejectedValue(metric, float(number or 0), "attribute", reason))
        return None

    def read(counter: Counter) -> int | None:
        if counter in _FLASH_COUNTERS and identity.rotational:
            return None
        location = DEVICE_STATISTICS.get(counter)
        if location is not None:
            standard = device_statistic(fields, *location, maximum=_MAX_COUNT)
            if standard is not None:
                return standard
        attribute = count_attribute(counter, makes, rows)
        return None if attribute is None else event_count(attribute)

    spare = None if identity.rotational else spare_attribute(identity, rows)
    counts: dict[str, Any] = {counter: count(counter) for counter in COUNTERS}
    return DriveHealth(
        **counts,
        spare_ratio=None if spare is None else _ratio(spare.value),
        spare_threshold_ratio=None if spare is None else _ratio(spare.threshold),
    )


def event_count(attribute: AtaAttribute) -> int | None:
    """Returns the event count that the raw value of an attribute contains.

    None means that the count is not valid, or that the format of the raw value is unknown.
    """
    number: int | None = attribute.raw
    if attribute.raw_text:
        match = _COUNT_FIRST.fullmatch(attribute.raw_text)
        if match is None and _LATER_AND_EARLY_NAME.fullmatch(attribute.name):
            match = _LATER_AND_EARLY.fullmatch(attribute.raw_text)
        number = None if match is None else int(match[1])
    return None if number is None or number > _MAX_COUNT else number


def _why_implausible(counter: Counter, number: int, rows: Mapping[int, AtaAttribute]) -> str:
    """Returns the reason why a count is not plausible. Empty if it is plausible."""
    if number > _MAX_PLAUSIBLE.get(counter, number):
        return "it is larger than the number of blocks or sectors that a drive can lose"
    percents = [rows.get(attribute) for attribute in _FAILURE_ATTRIBUTES]
    are_percents = all(row is not None and row.raw == row.value == 100 for row in percents)
    if number == 100 and are_percents:
        return "all counts of failures are 100, so they are percentages"
    return ""


def _drive_celsius(
    fields: Fields, identity: DriveIdentity, attributes: Sequence[AtaAttribute]
) -> float | None:
    """Returns the temperature of the drive in °C; None if unknown.

    smartctl's field comes from SCT, the device statistics or attribute 194 or 190. If attribute 194
    of an SSD contains another plausible temperature, it is used: some firmware has random values in
    SCT.
    """
    reported = celsius(fields, "temperature", "current")
    if identity.rotational:
        return reported
    sensor = next((row for row in attributes if row.id == _TEMPERATURE), None)
    low_byte = None if sensor is None else float(sensor.raw & 0xFF)
    if low_byte is None or not _MIN_CELSIUS <= low_byte <= _MAX_CELSIUS:
        return None if reported is not None and reported <= _BROKEN_SENSOR_CELSIUS else reported
    if reported is None:
        return None if fields.get("temperature", "current") is None else low_byte
    is_contradicted = abs(reported - low_byte) > _MAX_CELSIUS_DIFFERENCE
    return low_byte if is_contradicted else reported


def count_attribute(
    counter: Counter, makes: Sequence[str], rows: Mapping[int, AtaAttribute]
) -> AtaAttribute | None:
    """Returns the attribute from which a counter is read; None if no attribute contains the count.

    makes: the makes of the drive. rows: the attributes of the drive, keyed by id.
    """
    for rule in COUNT_RULES:
        if rule.counter == counter and set(makes).isdisjoint(rule.not_makes):
            for attribute in _matching_rows(rule, makes, rows):
                if event_count(attribute) is not None:
                    return attribute
    return None


def _matching_rows(
    rule: CountRule, makes: Sequence[str], rows: Mapping[int, AtaAttribute]
) -> Iterator[AtaAttribute]:
    is_listed = not set(makes).isdisjoint(rule.makes)
    for number in rule.attributes:
        attribute = rows.get(number)
        if attribute is None:
            continue
        has_name = rule.name and re.fullmatch(rule.name, attribute.name)
        if has_name or (is_listed and attribute.name.startswith("Unknown_")):
            yield attribute


def spare_attribute(
    identity: DriveIdentity, rows: Mapping[int, AtaAttribute]
) -> AtaAttribute | None:
    """Returns the first attribute that a row of `SPARE_RULES` matches; None if no row matches.

    None also if the model is unknown and smartctl's database does not list the drive. For such a
    drive smartctl uses default names: it names attribute 232 Available_Reservd_Space, even if the
    attribute has another meaning.
    """
    if not identity.family and not identify_makes(identity):
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
    """Returns a normalized value in percent as a ratio, 0.01 to 1.

    None for 0 and for values above 100, because they mean "not supported".
    """
    return None if value is None or not 1 <= value <= 100 else value / 100


def _attribute(row: Fields) -> AtaAttribute | None:
    number = row.integer("id", minimum=1, maximum=255)
    raw = row.integer("raw", "value", maximum=_MAX_RAW)
    if number is None or raw is None:
        return None
    return AtaAttribute(
        id=number,
        # All drives use the same names and flags. Interned, each takes memory once.
        name=sys.intern(row.text("name") or "Unknown_Attribute"),
        raw=raw,
        raw_text=row.text("raw", "string") or "",
        value=row.integer("value", maximum=255),
        worst=row.integer("worst", maximum=255),
        threshold=row.integer("thresh", maximum=255),
        failed=row.text("when_failed") or "",
        prefailure=row.flag("flags", "prefailure") or False,
        flags=sys.intern(row.text("flags", "string") or ""),
    )


def _over_temperature_seconds(fields: Fields) -> float | None:
    minutes = fields.integer("temperature", "lifetime_over_limit_minutes", maximum=_MAX_32_BITS)
    return None if minutes is None else float(minutes * 60)


def _error_log_entries(fields: Fields) -> int | None:
    """Returns the number of errors that the drive has logged since it was made; None if unknown.

    The count is read from the extended or the summary error log. Both contain the same count.
    """
    for log in ("extended", "summary"):
        count = fields.integer("ata_smart_error_log", log, "count", maximum=_MAX_32_BITS)
        if count is not None:
            return count
    return None
