"""Parses the result of the last completed self-test from the self-test log of a drive.

The log has one format per protocol. smartctl prints the newest entry first. The entries of aborted,
interrupted and running tests are ignored, because they contain no result.
"""

from collections.abc import Mapping

from exporter.drives.fields import Fields
from exporter.drives.health import SelfTest

#: True (passed) or False (failed), keyed by the self-test execution status, which is in the upper
#: four bits of the status byte (ACS). The statuses 1 and 2 mean aborted and interrupted; 15 means
#: in progress. smartctl's own field `passed` is not used. It is true for a running test, and absent
#: for status 3, which means that a fatal error ended the test.
_ATA_RESULTS = {0: True, **dict.fromkeys(range(3, 9), False)}

#: True (passed) or False (failed), keyed by the self-test result (NVMe base specification). The
#: results 1 to 4, 8 and 9 mean aborted; 15 means that the entry is not used.
_NVME_RESULTS = {0: True, 5: False, 6: False, 7: False}

#: True (passed) or False (failed), keyed by the self-test result (SPC, Self-Test Results log page).
#: The results 1 and 2 mean aborted; 15 means in progress.
_SCSI_RESULTS = {0: True, **dict.fromkeys(range(3, 8), False)}

#: The number of entries in the Self-Test Results log page (SPC).
_SCSI_LOG_ENTRIES = 20

#: The timestamp of the ATA log has 16 bits. It starts again at 0 after this many hours.
_ATA_WRAP_HOURS = 1 << 16

#: The largest timestamp of the SCSI log. It means this many hours or more (SPC).
_MAX_SCSI_HOURS = (1 << 16) - 1


def ata_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of an ATA drive; None if there is none.

    The extended log is searched first, and then the standard log.
    """
    for log in ("extended", "standard"):
        for row in fields.rows("ata_smart_self_test_log", log, "table"):
            status = row.integer("status", "value", maximum=255)
            passed = None if status is None else _ATA_RESULTS.get(status >> 4)
            if passed is not None:
                return SelfTest(passed, _ata_seconds(fields, row))
    return None


def nvme_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of an NVMe drive (log page 6); None without one."""
    for row in fields.rows("nvme_self_test_log", "table"):
        passed = _passed(_NVME_RESULTS, row, "self_test_result")
        if passed is not None:
            return SelfTest(passed, _seconds(row.integer("power_on_hours", maximum=1 << 64)))
    return None


def scsi_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of a SCSI drive (log page 10h); None without one."""
    for number in range(_SCSI_LOG_ENTRIES):
        entry = f"scsi_self_test_{number}"
        passed = _passed(_SCSI_RESULTS, fields, entry, "result")
        if passed is not None:
            hours = fields.integer(entry, "power_on_time", "hours", maximum=_MAX_SCSI_HOURS)
            return SelfTest(passed, _seconds(None if hours == _MAX_SCSI_HOURS else hours))
    return None


def _passed(results: Mapping[int, bool], fields: Fields, *path: str) -> bool | None:
    result = fields.integer(*path, "value", maximum=255)
    return None if result is None else results.get(result)


def _ata_seconds(fields: Fields, row: Fields) -> float | None:
    """Returns the power-on time of the drive at the end of a test, in seconds; None if unknown.

    The timestamp has only 16 bits. If the power-on time of the drive is now above 65,536 hours,
    several times fit the timestamp. The result is then the latest of them that is not in the
    future.
    """
    hours = row.integer("lifetime_hours", maximum=_ATA_WRAP_HOURS - 1)
    if hours is None:
        return None
    age_hours = fields.integer("power_on_time", "hours", maximum=1 << 64) or 0
    wraps = max(0, (age_hours - hours) // _ATA_WRAP_HOURS)
    return _seconds(hours + wraps * _ATA_WRAP_HOURS)


def _seconds(hours: int | None) -> float | None:
    return None if hours is None else float(hours * 3600)
