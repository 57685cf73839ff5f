"""Defines the result codes of self-tests, and parses the result of the last completed self-test.

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
ATA_PASSED = {0: True, **dict.fromkeys(range(3, 9), False)}

#: True (passed) or False (failed), keyed by the self-test result (NVMe base specification). The
#: results 1 to 4, 8 and 9 mean aborted; 15 means that the entry is not used.
NVME_PASSED = {0: True, 5: False, 6: False, 7: False}

#: True (passed) or False (failed), keyed by the self-test result (SPC, Self-Test Results log page).
#: The results 1 and 2 mean aborted; 15 means in progress.
SCSI_PASSED = {0: True, **dict.fromkeys(range(3, 8), False)}

#: smartctl's text for each self-test execution status of ACS (smartmontools, ataprint).
ATA_RESULTS = {
    "Completed without error": 0,
    "Aborted by host": 1,
    "Interrupted (host reset)": 2,
    "Fatal or unknown error": 3,
    "Completed: unknown failure": 4,
    "Completed: electrical failure": 5,
    "Completed: servo/seek failure": 6,
    "Completed: read failure": 7,
    "Completed: handling damage??": 8,
    "Self-test routine in progress": 15,
}

#: smartctl's text for each self-test result of NVMe (smartmontools, nvmeprint). An entry with the
#: result 15 is not used, and smartctl does not print it.
NVME_RESULTS = {
    "Completed without error": 0,
    "Aborted: Self-test command": 1,
    "Aborted: Controller Reset": 2,
    "Aborted: Namespace removed": 3,
    "Aborted: Format NVM command": 4,
    "Fatal or unknown test error": 5,
    "Completed: unknown failed segment": 6,
    "Completed: failed segments": 7,
    "Aborted: unknown reason": 8,
    "Aborted: sanitize operation": 9,
}

#: smartctl's text for each self-test result of SPC (smartmontools, scsiprint). A text that begins
#: with another text stands before it.
SCSI_RESULTS = {
    "Completed, segment failed": 4,
    "Completed": 0,
    "Aborted (by user command)": 1,
    "Aborted (device reset ?)": 2,
    "Unknown error, incomplete": 3,
    "Failed in first segment": 5,
    "Failed in second segment": 6,
    "Failed in segment": 7,
    "Self test in progress ...": 15,
}

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
            passed = None if status is None else ATA_PASSED.get(status >> 4)
            if passed is not None:
                return SelfTest(passed, _ata_seconds(fields, row))
    return None


def nvme_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of an NVMe drive (log page 6); None without one."""
    for row in fields.rows("nvme_self_test_log", "table"):
        passed = _passed(NVME_PASSED, row, "self_test_result")
        if passed is not None:
            return SelfTest(passed, _seconds(row.integer("power_on_hours", maximum=1 << 64)))
    return None


def scsi_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of a SCSI drive (log page 10h); None without one."""
    for number in range(_SCSI_LOG_ENTRIES):
        entry = f"scsi_self_test_{number}"
        passed = _passed(SCSI_PASSED, fields, entry, "result")
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
