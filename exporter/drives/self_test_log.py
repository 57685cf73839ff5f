"""Parses the last completed self-test from the self-test log of each protocol.

Entries are sorted newest first. Entries of aborted, interrupted and running tests are skipped,
because they contain no result.
"""

from collections.abc import Mapping

from exporter.drives.fields import Fields
from exporter.drives.health import SelfTest

#: True (passed) or False (failed) by self-test execution status, the upper four bits of the status
#: byte (ACS). 1 and 2 are aborted and interrupted; 15 is in progress. smartctl's own field `passed`
#: is not used: it is true for a running test, and absent for status 3, a fatal error that ended
#: the test.
_ATA_RESULTS = {0: True, **dict.fromkeys(range(3, 9), False)}

#: True (passed) or False (failed) by self-test result (NVMe base specification). 1 to 4, 8 and 9
#: are aborted; 15 is an unused entry.
_NVME_RESULTS = {0: True, 5: False, 6: False, 7: False}

#: True (passed) or False (failed) by self-test result (SPC, Self-Test Results log page). 1 and 2
#: are aborted; 15 is in progress.
_SCSI_RESULTS = {0: True, **dict.fromkeys(range(3, 8), False)}

#: The number of entries in the Self-Test Results log page (SPC).
_SCSI_LOG_ENTRIES = 20

#: The timestamp of the ATA log has 16 bits and wraps to 0 after this many hours.
_ATA_WRAP_HOURS = 1 << 16

#: The largest timestamp of the SCSI log. It means this many hours or more (SPC).
_MAX_SCSI_HOURS = (1 << 16) - 1


def ata_self_test(fields: Fields) -> SelfTest | None:
    """The last self-test of an ATA drive, from the extended log, else from the standard log.

    None if neither log has a completed test.
    """
    for log in ("extended", "standard"):
        for row in fields.rows("ata_smart_self_test_log", log, "table"):
            status = row.integer("status", "value", maximum=255)
            passed = None if status is None else _ATA_RESULTS.get(status >> 4)
            if passed is not None:
                return SelfTest(passed, _ata_seconds(fields, row))
    return None


def nvme_self_test(fields: Fields) -> SelfTest | None:
    """The last self-test of an NVMe drive, from log page 6. None without a completed test."""
    for row in fields.rows("nvme_self_test_log", "table"):
        passed = _passed(_NVME_RESULTS, row, "self_test_result")
        if passed is not None:
            return SelfTest(passed, _seconds(row.integer("power_on_hours", maximum=1 << 64)))
    return None


def scsi_self_test(fields: Fields) -> SelfTest | None:
    """The last self-test of a SCSI drive, from log page 10h. None without a completed test."""
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
    """The drive's power-on time at the end of a test, in seconds.

    The timestamp has 16 bits. If the drive is older than 65,536 hours, the result is the latest
    time before now that fits the timestamp.
    """
    hours = row.integer("lifetime_hours", maximum=_ATA_WRAP_HOURS - 1)
    if hours is None:
        return None
    age_hours = fields.integer("power_on_time", "hours", maximum=1 << 64) or 0
    wraps = max(0, (age_hours - hours) // _ATA_WRAP_HOURS)
    return _seconds(hours + wraps * _ATA_WRAP_HOURS)


def _seconds(hours: int | None) -> float | None:
    return None if hours is None else float(hours * 3600)
