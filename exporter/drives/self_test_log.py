"""The last self-test that ended with a verdict, from each protocol's self-test log.

Entries stand newest first. One that was aborted or interrupted says nothing of the drive, and one
in progress nothing yet: the entry before it counts.
"""

from collections.abc import Mapping

from exporter.drives.fields import Fields
from exporter.drives.health import SelfTest

#: The upper half of the status byte (ACS, self-test execution status): 1 and 2 are aborted and
#: interrupted, 15 is in progress. smartctl prints `passed` true for one in progress, and none for
#: 3, a fatal error that kept the test from completing: hence not `passed`, but the status itself.
_ATA = {0: True, **dict.fromkeys(range(3, 9), False)}

#: NVMe base specification, self-test result: 1 to 4, 8 and 9 are aborted, 15 is unused.
_NVME = {0: True, 5: False, 6: False, 7: False}

#: SPC, self-test results log page: 1 and 2 are aborted, 15 is in progress.
_SCSI = {0: True, **dict.fromkeys(range(3, 8), False)}

_SCSI_LOG_ENTRIES = 20

#: Drives count on from 0 after this many hours: the timestamp of ATA's log has 16 bits.
_ATA_HOURS_WRAP = 1 << 16

#: SPC: this many hours or more.
_SCSI_HOURS_MOST = (1 << 16) - 1


def ata_self_test(fields: Fields) -> SelfTest | None:
    """From the extended log, or the standard one, which has 21 entries."""
    for log in ("extended", "standard"):
        for row in fields.rows("ata_smart_self_test_log", log, "table"):
            status = row.integer("status", "value", maximum=255)
            passed = None if status is None else _ATA.get(status >> 4)
            if passed is not None:
                return SelfTest(passed, _ata_seconds(fields, row))
    return None


def nvme_self_test(fields: Fields) -> SelfTest | None:
    """From log page 6, whose entries smartctl prints by their index: unused ones are null."""
    for row in fields.rows("nvme_self_test_log", "table"):
        passed = _verdict(_NVME, row, "self_test_result")
        if passed is not None:
            return SelfTest(passed, _seconds(row.integer("power_on_hours", maximum=1 << 64)))
    return None


def scsi_self_test(fields: Fields) -> SelfTest | None:
    """From log page 0x10, whose entries smartctl prints as scsi_self_test_0 to _19."""
    for number in range(_SCSI_LOG_ENTRIES):
        entry = f"scsi_self_test_{number}"
        passed = _verdict(_SCSI, fields, entry, "result")
        if passed is not None:
            hours = fields.integer(entry, "power_on_time", "hours", maximum=_SCSI_HOURS_MOST)
            return SelfTest(passed, _seconds(None if hours == _SCSI_HOURS_MOST else hours))
    return None


def _verdict(verdicts: Mapping[int, bool], fields: Fields, *path: str) -> bool | None:
    result = fields.integer(*path, "value", maximum=255)
    return None if result is None else verdicts.get(result)


def _ata_seconds(fields: Fields, row: Fields) -> float | None:
    hours = row.integer("lifetime_hours", maximum=_ATA_HOURS_WRAP - 1)
    if hours is None:
        return None
    age_hours = fields.integer("power_on_time", "hours", maximum=1 << 64) or 0
    wraps = max(0, (age_hours - hours) // _ATA_HOURS_WRAP)
    return _seconds(hours + wraps * _ATA_HOURS_WRAP)


def _seconds(hours: int | None) -> float | None:
    return None if hours is None else float(hours * 3600)
