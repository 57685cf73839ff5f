"""Parses the health of a SCSI or SAS drive from log pages of the SPC and SBC standards."""

from exporter.drives import self_test_log
from exporter.drives.drive_link import sas_link_errors
from exporter.drives.fields import Fields, celsius, counter_sum, power_on_seconds, smart_passed
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    RejectedValue,
    UnitSource,
    WrittenBytes,
)

_ERRORS = "scsi_error_counter_log"
_OPERATIONS = ("read", "write", "verify")

#: The counters of corrected errors in this log (SPC), keyed by how the drive corrected them. The
#: total is not read: some drives report 0 while the parts count.
_CORRECTIONS = {
    "ecc_fast": "errors_corrected_by_eccfast",
    "ecc_delayed": "errors_corrected_by_eccdelayed",
    "retry": "errors_corrected_by_rereads_rewrites",
}

#: The resolution of the byte counters, in bytes. smartctl prints gigabytes (10^9 bytes) with three
#: decimals.
_PROCESSED_STEP_BYTES = 10**6

#: The first version of smartctl whose JSON contains the number of grown defects.
_ELEMENTS_SINCE = (7, 2)

#: The largest value of the percentage used endurance indicator. It means 255 % or more (SBC).
_MAX_PERCENT_USED = 255


def scsi_health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    """Returns the health values of a SCSI drive. `fields` is the smartctl report.

    The result has no power cycles, because the report contains only start-stop cycles, which are
    not the same. The interface errors are the link errors of a SAS drive. The counter of
    non-medium errors is not used for them, because it includes other errors.
    """
    return DriveHealth(
        healthy=smart_passed(fields),
        endurance=_endurance(fields, identity),
        temperatures=_temperatures(fields),
        temperature_warning_celsius=_trip_celsius(fields),
        host_read=_processed(fields, "read"),
        host_written=_processed(fields, "write"),
        media_errors=counter_sum(
            fields,
            *((_ERRORS, kind, "total_uncorrected_errors") for kind in _OPERATIONS),
        ),
        corrected_errors=_corrected_errors(fields),
        reallocated_sectors=_grown_defects(fields),
        pending_sectors=_pending_defects(fields),
        interface_errors=sas_link_errors(fields),
        power_on_seconds=power_on_seconds(fields),
        self_test=self_test_log.scsi_self_test(fields),
    )


def _grown_defects(fields: Fields) -> int | None:
    """Returns the number of elements in the grown defect list; None if it is unknown.

    The JSON of smartctl 7.0 and 7.1 contains the length of the list in bytes (scsiprint.cpp). An
    element has 8 bytes, and 4 bytes in the format "short block", which only shows if the length is
    not a multiple of 8. The text has the number of elements in all versions.
    """
    number = fields.integer("scsi_grown_defect_list")
    if not number or fields.get("json_format_version") is None:
        return number
    version = [fields.integer("smartctl", "version", part) for part in (0, 1)]
    major, minor = version
    if major is not None and minor is not None:
        if (major, minor) >= _ELEMENTS_SINCE:
            return number
        for element_bytes in (8, 4):
            if number % element_bytes == 0:
                return number // element_bytes
    reason = "it is a length in bytes or a number of elements, which depends on smartctl's version"
    metric, rule = "reallocated_sectors", "scsi_grown_defect_list"
    fields.reject(RejectedValue(metric, float(number), rule, reason))
    return None


def _pending_defects(fields: Fields) -> int | None:
    """Returns the number of pending defects; None if unknown. smartctl 7.3 renamed its key."""
    count = fields.integer("scsi_pending_defects", "count")
    return fields.integer("pending_defects", "count") if count is None else count


def _corrected_errors(fields: Fields) -> dict[str, int]:
    """Returns the number of corrected errors of all operations, keyed by how they were corrected.

    A key is missing if the drive does not report the counter, or if a part of the sum cannot be
    parsed.
    """
    counts = {
        method: counter_sum(fields, *((_ERRORS, kind, key) for kind in _OPERATIONS))
        for method, key in _CORRECTIONS.items()
    }
    return {method: count for method, count in counts.items() if count is not None}


def _endurance(fields: Fields, identity: DriveIdentity) -> Endurance | None:
    """Returns the wear of an SSD: the percentage used endurance indicator (SBC).

    It is in the Solid State Media log page. None for hard disks, and if it is missing.
    """
    key = "scsi_percentage_used_endurance_indicator"
    percent = fields.integer(key, maximum=_MAX_PERCENT_USED)
    if percent is None or identity.rotational:
        return None
    return Endurance(percent / 100, EnduranceSource.SCSI_LOG)


def _temperatures(fields: Fields) -> dict[str, float]:
    reading = (
        celsius(fields, "temperature", "current")
        or celsius(fields, "scsi_temperature", "current")  # smartctl 7.3
        or _environmental(fields)
    )
    return {} if reading is None else {"drive": reading}


def _environmental(fields: Fields) -> float | None:
    """Returns the temperature of the drive in °C; None if unknown.

    It is the first sensor of the Environmental Reporting log page.
    """
    path = ("scsi_environmental_reports", "temperature_1", "current")
    return None if fields.get(*path) == "unknown" else celsius(fields, *path)


def _trip_celsius(fields: Fields) -> float | None:
    """Returns the warning limit of the temperature in °C; None if unknown.

    It is the reference temperature of SPC, which smartctl calls "trip": the highest temperature for
    continuous operation. SCSI drives do not report a critical limit.
    """
    trip = celsius(fields, "temperature", "drive_trip")
    return celsius(fields, "scsi_temperature", "drive_trip") if trip is None else trip


def _processed(fields: Fields, direction: str) -> WrittenBytes | None:
    """Returns the number of bytes that the drive has read or written.

    direction: "read" or "write".

    None if it is missing, or 0, because drives that do not count report 0.
    """
    gigabytes = fields.number(_ERRORS, direction, "gigabytes_processed", maximum=1e12)
    steps = round((gigabytes or 0) * 1000)
    if not steps:
        return None
    return WrittenBytes(steps * _PROCESSED_STEP_BYTES, _PROCESSED_STEP_BYTES, UnitSource.STANDARD)
