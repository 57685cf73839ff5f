"""Parses the health of a SCSI or SAS drive from the log pages of SPC and SBC."""

from exporter.drives import self_test_log
from exporter.drives.drive_link import sas_link_errors
from exporter.drives.fields import Fields, celsius, counter_sum, power_on_seconds, smart_passed
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    UnitSource,
    WrittenBytes,
)

_ERRORS = "scsi_error_counter_log"

#: The resolution of the byte counters: smartctl prints gigabytes (10^9 bytes) with three decimals.
_PROCESSED_STEP_BYTES = 10**6

#: The largest value of the field. It means 255 % or more (SBC).
_MAX_PERCENT_USED = 255


def scsi_health(fields: Fields, identity: DriveIdentity) -> DriveHealth:
    """The health values of a SCSI drive in a smartctl report.

    Start-stop cycles are not power cycles, and non-medium errors are not only interface errors,
    so neither counter is used.
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
            *((_ERRORS, kind, "total_uncorrected_errors") for kind in ("read", "write", "verify")),
        ),
        reallocated_sectors=fields.integer("scsi_grown_defect_list"),
        pending_sectors=fields.integer("scsi_pending_defects", "count"),
        interface_errors=sas_link_errors(fields),
        power_on_seconds=power_on_seconds(fields),
        self_test=self_test_log.scsi_self_test(fields),
    )


def _endurance(fields: Fields, identity: DriveIdentity) -> Endurance | None:
    """The percentage used endurance indicator of the Solid State Media log page (SBC)."""
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
    """The first sensor of the Environmental Reporting log page, which is that of the drive."""
    path = ("scsi_environmental_reports", "temperature_1", "current")
    return None if fields.get(*path) == "unknown" else celsius(fields, *path)


def _trip_celsius(fields: Fields) -> float | None:
    """The reference temperature of SPC, which smartctl calls "trip".

    It is the highest temperature for continuous operation, so it is the warning limit. SCSI
    drives report no critical limit.
    """
    trip = celsius(fields, "temperature", "drive_trip")
    return celsius(fields, "scsi_temperature", "drive_trip") if trip is None else trip


def _processed(fields: Fields, direction: str) -> WrittenBytes | None:
    """The total bytes processed. None for 0: drives that do not count report 0."""
    gigabytes = fields.number(_ERRORS, direction, "gigabytes_processed", maximum=1e12)
    steps = round((gigabytes or 0) * 1000)
    if not steps:
        return None
    return WrittenBytes(steps * _PROCESSED_STEP_BYTES, _PROCESSED_STEP_BYTES, UnitSource.STANDARD)
