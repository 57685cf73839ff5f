"""The words in which smartctl's self-test logs give a result, and the protocols' codes for them.

From ACS (self-test execution status), the NVMe base specification (self-test result) and SPC
(self-test results log page); the words are smartmontools' (ataprint, nvmeprint, scsiprint).
"""

from collections.abc import Mapping

_ATA = {
    "Completed without error": 0,
    "Aborted by host": 1,
    "Interrupted (host reset)": 2,
    "Fatal or unknown error": 3,
    "Completed: unknown failure": 4,
    "Completed: electrical failure": 5,
    "Completed: servo/seek failure": 6,
    "Completed: read failure": 7,
    "Completed: handling damage": 8,
    "Self-test routine in progress": 15,
}

_NVME = {
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
    "Running": 15,  # pySMART's word for the test that the log's header tells of
}

_SCSI = {
    "Completed, segment failed": 4,
    "Completed": 0,
    "Aborted (by user command)": 1,
    "Aborted (device reset ?)": 2,
    "Unknown error, incomplete": 3,
    "Failed in first segment": 5,
    "Failed in second segment": 6,
    "Failed in segment": 7,
    "Self test in progress": 15,
}

_CODES: Mapping[str, Mapping[str, int]] = {"ATA": _ATA, "NVMe": _NVME, "SCSI": _SCSI}

IN_PROGRESS = 15

#: Stopped from outside: they say nothing of the drive.
_ABORTED: Mapping[str, frozenset[int]] = {
    "ATA": frozenset({1, 2}),
    "NVMe": frozenset({1, 2, 3, 4, 8, 9}),
    "SCSI": frozenset({1, 2}),
}


def code(protocol: str, words: str) -> int | None:
    """The protocol's code for a result; None for words of a smartctl still to come."""
    for known, number in _CODES.get(protocol, {}).items():
        if words.startswith(known):
            return number
    return None


def passed(protocol: str, words: str) -> bool | None:
    """The verdict; None for a test that was stopped from outside, or goes on, and the unknown."""
    number = code(protocol, words)
    if number is None or number == IN_PROGRESS or number in _ABORTED[protocol]:
        return None
    return number == 0
