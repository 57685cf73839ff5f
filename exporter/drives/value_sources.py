"""Names the source of each value of a drive's health: the log or attribute, and the formula.

`ssd-exporter read` shows these texts to people who check how a drive is interpreted. The daemon
does not use this module. The records of the wear and of the byte counters contain their own source.
For all other values the source follows from the protocol and the report.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from exporter.drives.ata import DEVICE_STATISTICS, count_attribute, spare_attribute
from exporter.drives.ata_count_table import COUNTERS
from exporter.drives.fields import Fields, Json, device_statistic
from exporter.drives.health import AtaAttribute, DriveHealth, DriveReport, Protocol, WrittenBytes
from exporter.drives.makes import identify_makes


class ValueSource(NamedTuple):
    """The origin of a value.

    source: nvme_log, scsi_log, ata_devstat (device statistics), ata_attribute, ata_log, identify
        (the identify data of the drive), or smartctl (a value that smartctl computes from several
        sources). For the wear and for byte counts, a value of `EnduranceSource` or `UnitSource`.
    rule: the field of smartctl's JSON or the attribute, and the formula, as text for people.
    """

    source: str
    rule: str


_SELF_ASSESSMENT = ValueSource("smartctl", "smart_status.passed")
_MESSAGES = {
    "power_mode": ValueSource("smartctl", "power_mode"),
    "exit_status": ValueSource("smartctl", "exit_status, one bit each"),
    "unreadable": ValueSource("smartctl", "1 if the report contains health values"),
    "failure_cause": ValueSource("smartctl", "the other values explain the reported failure"),
}


def _nvme(rule: str) -> ValueSource:
    """Returns the source of a value in the NVMe SMART / Health Information log."""
    return ValueSource("nvme_log", rule)


_NVME: Mapping[str, ValueSource] = {
    **_MESSAGES,
    "healthy": ValueSource("nvme_log", "smart_status.passed, or critical_warning = 0"),
    "endurance": _nvme("percentage_used / 100"),
    "spare_ratio": _nvme("available_spare / 100"),
    "spare_threshold_ratio": _nvme("available_spare_threshold / 100"),
    "temperatures": _nvme("temperature"),
    "temperature_sensors": _nvme("temperature_sensors"),
    "temperature_warning_celsius": ValueSource(
        "identify", "nvme_composite_temperature_threshold.warning"
    ),
    "temperature_critical_celsius": ValueSource(
        "identify", "nvme_composite_temperature_threshold.critical"
    ),
    "over_temperature_warning_seconds": _nvme("warning_temp_time x 60"),
    "over_temperature_critical_seconds": _nvme("critical_comp_time x 60"),
    "critical_warnings": _nvme("critical_warning, one bit each"),
    "host_read": _nvme("data_units_read x 512,000 B"),
    "host_written": _nvme("data_units_written x 512,000 B"),
    "media_errors": _nvme("media_errors"),
    "error_log_entries": _nvme("num_err_log_entries"),
    "power_on_seconds": _nvme("power_on_hours x 3,600"),
    "power_cycles": _nvme("power_cycles"),
    "unsafe_shutdowns": _nvme("unsafe_shutdowns"),
    "controller_busy_seconds": _nvme("controller_busy_time x 60"),
    "self_test": ValueSource("nvme_log", "self-test log, newest completed test"),
    "plp_healthy": _nvme("critical_warning, bit 4, and the health of the capacitor"),
    "reallocated_sectors": _nvme("log pages: sum of the bad flash blocks"),
    "program_failures": _nvme("log pages: sum of the failed programs"),
    "erase_failures": _nvme("log pages: sum of the failed erases"),
    "interface_errors": _nvme("log pages: CRC errors of the link"),
    "corrected_errors": _nvme("log pages: soft ECC errors and XOR recoveries"),
}

_ATA: Mapping[str, ValueSource] = {
    **_MESSAGES,
    "healthy": _SELF_ASSESSMENT,
    "temperatures": ValueSource("smartctl", "temperature.current"),
    "temperature_warning_celsius": ValueSource("smartctl", "temperature.op_limit_max"),
    "temperature_critical_celsius": ValueSource("smartctl", "temperature.limit_max"),
    "over_temperature_warning_seconds": ValueSource(
        "ata_devstat", "page 5, offset 0x50: minutes x 60"
    ),
    "error_log_entries": ValueSource("ata_log", "error log, count"),
    "power_on_seconds": ValueSource("smartctl", "power_on_time"),
    "power_cycles": ValueSource("smartctl", "power_cycle_count"),
    "self_test": ValueSource("ata_log", "self-test log, newest completed test"),
    "plp_healthy": ValueSource("ata_attribute", "attribute of the capacitor test"),
}

_SCSI: Mapping[str, ValueSource] = {
    **_MESSAGES,
    "healthy": _SELF_ASSESSMENT,
    "endurance": ValueSource("scsi_log", "percentage used endurance indicator / 100"),
    "temperatures": ValueSource("smartctl", "temperature.current, or scsi_environmental_reports"),
    "temperature_warning_celsius": ValueSource("scsi_log", "temperature.drive_trip"),
    "host_read": ValueSource("scsi_log", "error counter log, read: gigabytes_processed x 1 GB"),
    "host_written": ValueSource("scsi_log", "error counter log, write: gigabytes_processed x 1 GB"),
    "media_errors": ValueSource("scsi_log", "error counter log: sum of total_uncorrected_errors"),
    "corrected_errors": ValueSource("scsi_log", "error counter log: sum of errors_corrected_by_*"),
    "reallocated_sectors": ValueSource("scsi_log", "grown defect list, number of elements"),
    "pending_sectors": ValueSource("scsi_log", "pending defects, count"),
    "interface_errors": ValueSource("scsi_log", "scsi_sas_port_*: sum of the errors of all phys"),
    "power_on_seconds": ValueSource("smartctl", "power_on_time"),
    "self_test": ValueSource("scsi_log", "self-test log, newest completed test"),
}

_BY_PROTOCOL = {Protocol.NVME: _NVME, Protocol.ATA: _ATA, Protocol.SCSI: _SCSI}

#: The values that smartctl copies from the device statistics, or else from an attribute: the page
#: and offset, the ids of the attributes, and the formula.
_COPIED: Mapping[str, tuple[tuple[int, int], tuple[int, ...], str]] = {
    "temperatures": ((5, 0x08), (194, 190), ""),
    "power_on_seconds": ((1, 0x10), (9,), "hours x 3,600"),
    "power_cycles": ((1, 0x08), (12,), ""),
}

_BYTES = ("host_read", "host_written", "nand_written")


def value_sources(report: Json, drive: DriveReport) -> dict[str, ValueSource]:
    """Returns the source of each value, keyed by the field of `DriveHealth`.

    The key "temperature_sensors" is for the sensors of `temperatures` other than "drive".

    report: smartctl's JSON. drive: the result of `parse_report` for the report.
    """
    protocol, health = drive.identity.protocol, drive.health
    sources = dict(_BY_PROTOCOL.get(protocol, _MESSAGES) if protocol else _MESSAGES)
    if protocol is Protocol.ATA:
        sources.update(_copied(report, health))
        sources.update(_ata_counters(report, drive))
    if health.endurance is not None:
        known = sources.get("endurance", ValueSource("", ""))
        rule = health.endurance.rule or known.rule
        sources["endurance"] = ValueSource(health.endurance.source.value, rule)
    for field in _BYTES:
        counted: WrittenBytes | None = getattr(health, field)
        if counted is not None:
            known = sources.get(field, ValueSource("", f"in units of {counted.unit_bytes:,} B"))
            sources[field] = ValueSource(counted.source.value, counted.rule or known.rule)
    return sources


def _copied(report: Json, health: DriveHealth) -> Iterator[tuple[str, ValueSource]]:
    """Yields the source of each value that smartctl copies, if it contains the same number."""
    fields = Fields(report)
    hours = None if health.power_on_seconds is None else health.power_on_seconds // 3600
    numbers = {
        "temperatures": health.temperatures.get("drive"),
        "power_on_seconds": hours,
        "power_cycles": health.power_cycles,
    }
    for field, (location, ids, formula) in _COPIED.items():
        if numbers[field] is None:
            continue
        if device_statistic(fields, *location) == numbers[field]:
            yield field, _statistic_source(location, formula)
            continue
        for attribute in health.attributes:
            number = re.match(r"[0-9]{1,15}(?![0-9.,/])", attribute.raw_text or str(attribute.raw))
            if attribute.id in ids and number and int(number[0]) == numbers[field]:
                yield field, _attribute_source(attribute, formula or "raw value")
                break


def _ata_counters(report: Json, drive: DriveReport) -> Iterator[tuple[str, ValueSource]]:
    """Yields the source of each event counter of an ATA drive, and of its spare blocks."""
    fields, health = Fields(report), drive.health
    rows = {attribute.id: attribute for attribute in health.attributes}
    makes = identify_makes(drive.identity, list(rows))
    for counter in COUNTERS:
        number: int | None = getattr(health, counter)
        if number is None:
            continue
        location = DEVICE_STATISTICS.get(counter)
        if location is not None and device_statistic(fields, *location) == number:
            yield counter, _statistic_source(location, "")
            continue
        counted = count_attribute(counter, makes, rows)
        if counted is not None:
            yield counter, _attribute_source(counted, "raw value")
    spare = spare_attribute(drive.identity, rows)
    if health.spare_ratio is not None and spare is not None:
        yield "spare_ratio", _attribute_source(spare, "value / 100")
        yield "spare_threshold_ratio", _attribute_source(spare, "threshold / 100")


def _statistic_source(location: tuple[int, int], formula: str) -> ValueSource:
    page, offset = location
    place = f"page {page}, offset 0x{offset:02x}"
    return ValueSource("ata_devstat", f"{place}: {formula}" if formula else place)


def _attribute_source(attribute: AtaAttribute, formula: str) -> ValueSource:
    return ValueSource("ata_attribute", f"{attribute.id} {attribute.name}: {formula}")
