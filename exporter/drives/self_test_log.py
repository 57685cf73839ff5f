"""Defines the codes of self-tests, and parses the result of the last completed self-test.

The log has one format per protocol. smartctl prints the newest entry first. The entries of aborted,
interrupted and running tests are ignored, because they contain no result.

Some bridges return a log whose last part is random data. So each entry is checked: its codes must
be defined in the standard, and its time must not exceed the power-on time of the drive. The first
entry that is not valid ends the log.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from exporter.drives.fields import Fields, counter
from exporter.drives.health import RejectedValue, SelfTest

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

#: The self-test codes of NVMe: short, extended and vendor specific. The code 3 is a host-initiated
#: refresh since NVMe 2.1, which is no test, and reserved before.
_NVME_CODES = frozenset({1, 2, 14})
_NVME_REFRESH, _FIRST_WITH_REFRESH = 3, (2, 1)
#: The result of an entry of the NVMe log that is not used.
_NVME_UNUSED = 15
#: The number of entries in the self-test log (NVMe base specification).
_NVME_LOG_ENTRIES = 20

#: The self-test functions of SMART EXECUTE OFF-LINE IMMEDIATE (ACS-4, 7.48.5): off-line and captive
#: routines, and those of the vendor.
_ATA_TYPES = frozenset({*range(5), *range(0x40, 0x7F), *range(0x81, 0x85), *range(0x90, 0x100)})

#: The self-test codes of SEND DIAGNOSTIC (SPC) without the reserved ones.
_SCSI_CODES = frozenset({0, 1, 2, 4, 5, 6})

#: The number of entries in the Self-Test Results log page (SPC).
_SCSI_LOG_ENTRIES = 20

#: The timestamps of the ATA log and of the SCSI log have 16 bits. That of the ATA log starts again
#: at 0 after this many hours.
_WRAP_HOURS = 1 << 16

#: The largest timestamp of the SCSI log. It means this many hours or more (SPC).
_MAX_SCSI_HOURS = (1 << 16) - 1

#: The timestamp of a valid entry exceeds the power-on time of the drive at most by this many hours,
#: because the drive may round them differently.
_MAX_AHEAD_HOURS = 1

#: The longest valid power-on time in hours, of an entry and of a drive: 100 years.
_MAX_HOURS = 876_600


_Path: TypeAlias = tuple[str | int, ...]


class _Entry(NamedTuple):
    """An entry of the log.

    number: the position in the log, from 1.
    passed: True or False for a completed test; None for every other one.
    hours: the power-on time of the drive at the end of the test, in hours; None if unknown.
    reason: why the entry is not valid; empty if it is valid.
    """

    number: int
    passed: bool | None
    hours: int | None
    reason: str


def ata_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of an ATA drive; None if there is none.

    The extended log is searched first, and then the standard log.
    """
    age_hours = _age_hours(fields)
    for log in ("extended", "standard"):
        entries = _ata_entries(fields, log, age_hours)
        found = _last(fields, f"ata_smart_self_test_log.{log}", entries)
        if found is not None:
            return found
    return None


def nvme_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of an NVMe drive (log page 6); None without one."""
    return _last(fields, "nvme_self_test_log", _nvme_entries(fields, _age_hours(fields)))


def scsi_self_test(fields: Fields) -> SelfTest | None:
    """Returns the last completed self-test of a SCSI drive (log page 10h); None without one."""
    found = _last(fields, "scsi_self_test", _scsi_entries(fields, _age_hours(fields)))
    if found is None or found.completed_power_on_seconds != _MAX_SCSI_HOURS * 3600:
        return found
    return SelfTest(found.passed)


def why_not_valid(hours: int, age_hours: int | None, *, has_16_bits: bool) -> str:
    """Returns why the timestamp of an entry is not valid; empty if it may be valid.

    hours: the power-on time of the drive at the end of the test, in hours.
    age_hours: the power-on time of the drive now; None if unknown.
    has_16_bits: True for the timestamps of the ATA and the SCSI log. They restart at 0 after 65,535
        hours. On an older drive, each of them may be valid.
    """
    if age_hours is None or age_hours > _MAX_HOURS:
        return f"{hours} h is no power-on time" if hours > _MAX_HOURS else ""
    if hours <= age_hours + _MAX_AHEAD_HOURS or (has_16_bits and age_hours >= _WRAP_HOURS):
        return ""
    return f"it ended at {hours} h, and the power-on time of the drive is {age_hours} h"


def _last(fields: Fields, log: str, entries: Iterable[_Entry]) -> SelfTest | None:
    """Returns the newest result. None if there is none before the first entry that is not valid."""
    for number, passed, hours, reason in entries:
        if reason and passed is None:
            fields.fault((log, number), "entry", reason)
        elif reason:
            rule = f"{log}, entry {number}"
            fields.reject(RejectedValue("self_test_passed", float(passed or 0), rule, reason))
        elif passed is not None:
            return SelfTest(passed, None if hours is None else float(hours * 3600))
        if reason:
            break
    return None


def _ata_entries(fields: Fields, log: str, age_hours: int | None) -> Iterator[_Entry]:
    for number, row in enumerate(fields.rows("ata_smart_self_test_log", log, "table"), start=1):
        numbers = _numbers(
            row, ("status", "value"), ("type", "value"), ("lifetime_hours",), _WRAP_HOURS - 1
        )
        if numbers is None:
            return
        status, kind, hours = numbers
        if status is None or (status == 0 and kind == 0 and hours == 0):
            continue  # smartctl omits an entry of zeros, too
        is_filler = status == kind and hours == status * 0x101
        reason = _why_code(kind, _ATA_TYPES) or _why_result(status >> 4, ATA_RESULTS)
        if hours is not None:
            reason = reason or why_not_valid(hours, age_hours, has_16_bits=True)
        yield _Entry(
            number,
            ATA_PASSED.get(status >> 4),
            _unwrapped(hours, age_hours),
            _why_filler(status) if is_filler else reason,
        )


def _nvme_entries(fields: Fields, age_hours: int | None) -> Iterator[_Entry]:
    newer_hours: int | None = None
    # smartctl prints null for an entry that is not used.
    table = list(fields.rows("nvme_self_test_log", "table", maximum=_NVME_LOG_ENTRIES))
    for number in range(_NVME_LOG_ENTRIES if table else 0):
        entry = ("nvme_self_test_log", "table", number)
        numbers = _numbers(
            fields,
            (*entry, "self_test_result", "value"),
            (*entry, "self_test_code", "value"),
            (*entry, "power_on_hours"),
            1 << 64,
        )
        if numbers is None:
            return
        result, code, hours = numbers
        if result is None or result == _NVME_UNUSED:
            continue
        if code == _NVME_REFRESH and _nvme_version(fields) >= _FIRST_WITH_REFRESH:
            continue
        reason = _why_code(code, _NVME_CODES) or _why_result(result, NVME_RESULTS)
        if hours is not None:
            reason = reason or why_not_valid(hours, age_hours, has_16_bits=False)
            reason = reason or _why_order(hours, newer_hours)
            newer_hours = hours
        yield _Entry(number + 1, NVME_PASSED.get(result), hours, reason)


def _scsi_entries(fields: Fields, age_hours: int | None) -> Iterator[_Entry]:
    newer_hours: int | None = None
    for number in range(_SCSI_LOG_ENTRIES):
        entry = f"scsi_self_test_{number}"
        numbers = _numbers(
            fields,
            (entry, "result", "value"),
            (entry, "code", "value"),
            (entry, "power_on_time", "hours"),
            _MAX_SCSI_HOURS,
        )
        if numbers is None:
            return
        result, code, hours = numbers
        if result is None or (result == 0 and code == 0 and hours == 0):
            continue
        reason = _why_code(code, _SCSI_CODES) or _why_result(result, SCSI_RESULTS)
        if hours is not None:
            reason = reason or why_not_valid(hours, age_hours, has_16_bits=True)
            reason = reason or _why_order(hours, newer_hours)
            newer_hours = hours
            # The byte has the code in bits 5 to 7, the result in bits 0 to 3, and a reserved bit.
            if code is not None and any(
                hours == byte * 0x101 for byte in (code << 5 | result, code << 5 | 0x10 | result)
            ):
                reason = _why_filler(hours & 0xFF)
        yield _Entry(number + 1, SCSI_PASSED.get(result), hours, reason)


def _numbers(
    fields: Fields, result: _Path, code: _Path, hours: _Path, max_hours: int
) -> tuple[int | None, int | None, int | None] | None:
    """Returns the result or status, the code and the hours of an entry; None for each missing one.

    None instead of all three if one of them is a fault: the entry is not valid then.
    """
    paths = ((result, 255), (code, 255), (hours, max_hours))
    numbers = [fields.integer(*path, maximum=maximum) for path, maximum in paths]
    if any(
        number is None and fields.get(*path) is not None
        for number, (path, _) in zip(numbers, paths, strict=True)
    ):
        return None
    return numbers[0], numbers[1], numbers[2]


def _why_code(code: int | None, codes: frozenset[int]) -> str:
    return "" if code is None or code in codes else f"the test code {code} is not defined"


def _why_result(result: int, results: Mapping[str, int]) -> str:
    return "" if result in results.values() else f"the result code {result} is not defined"


def _why_filler(byte: int) -> str:
    return f"all bytes are 0x{byte:02x}"


def _why_order(hours: int, newer_hours: int | None) -> str:
    """Returns why an entry is not valid after a newer one. The ATA log is not checked.

    91 of 6,756 captured SATA SSDs have an ATA log in another order.
    """
    if newer_hours is None or hours <= newer_hours + _MAX_AHEAD_HOURS:
        return ""
    return f"it ended at {hours} h, after the entry before it, which is newer"


def _nvme_version(fields: Fields) -> tuple[int, int]:
    text = fields.get("nvme_version", "string")
    match = re.match(r"([0-9]{1,5})\.([0-9]{1,3})", text) if isinstance(text, str) else None
    return (0, 0) if match is None else (int(match[1]), int(match[2]))


def _age_hours(fields: Fields) -> int | None:
    hours = counter(fields, "nvme_smart_health_information_log", "power_on_hours")
    general = fields.integer("power_on_time", "hours", maximum=1 << 64)
    return general if hours is None else hours


def _unwrapped(hours: int | None, age_hours: int | None) -> int | None:
    """Returns the power-on time of an ATA drive at the end of a test, in hours; None if unknown.

    The timestamp has only 16 bits. If the power-on time of the drive is now above 65,536 hours,
    several times fit the timestamp. The result is then the latest of them that is not in the
    future.
    """
    if hours is None or age_hours is None:
        return hours
    return hours + max(0, (age_hours - hours) // _WRAP_HOURS) * _WRAP_HOURS
