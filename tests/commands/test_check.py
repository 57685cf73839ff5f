"""The output and the exit status of `ssd-exporter check`."""

import dataclasses
import io
import json
import os
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands import check
from exporter.commands.check_table import WIDTH, cut, printable, short_names
from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import (
    AtaAttribute,
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    Protocol,
    RejectedValue,
    RejectionKind,
    SelfTest,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.drives.watched_drive import WatchedDrive
from exporter.runtime.printable import PrintableStream
from exporter.smart.drive_problems import Answers, CheckThresholds, Status, problems, span
from tests.fakes import Terminal

DAY = 86_400.0

GOOD = DriveHealth(
    healthy=True,
    endurance=Endurance(0.04, EnduranceSource.NVME_LOG),
    spare_ratio=1.0,
    spare_threshold_ratio=0.1,
    temperatures={"drive": 38.0},
    media_errors=0,
)


class Latin1(io.StringIO):
    """A stream that takes no other characters than Latin-1's."""

    encoding = "latin-1"


def logs(**values: int) -> ParsedLogs:
    return ParsedLogs(NvmeLogValues(**values))


def drive(
    health: DriveHealth | None = GOOD, label: str = "nvme0n1", **changes: Any
) -> WatchedDrive:
    """One that answers."""
    values = {
        "label": label,
        "serial": f"FW9-{label}",
        "address": f"/dev/{label}",
        "identity": DriveIdentity(Protocol.NVME, "Flashworks F900 480GB", firmware="FW0102"),
        "up": health is not None,
        "health": health,
        "last_success_unix_time": None if health is None else 1.8e9,
        "polls": {"success": 1} if health is not None else {"no_answer": 1},
    }
    return WatchedDrive(**{**values, **changes})


VIRTUAL = drive(
    None,
    "vda",
    identity=DriveIdentity(),
    serial="",
    message="a virtual disk has no SMART",
    polls={},
    is_known=False,
)


def printed(
    drives: Sequence[WatchedDrive],
    out: io.StringIO | None = None,
    COLUMNS: str = "",  # noqa: N803 - the environment variable
    **answers: Any,
) -> tuple[int, str]:
    out = out or io.StringIO()
    given = Answers(tuple(drives), **answers)
    with patch.dict(os.environ, {"COLUMNS": COLUMNS}):
        status = check.run(given, as_json=False, out=out)
    return status, out.getvalue()


def summary(drives: Sequence[WatchedDrive], **answers: Any) -> str:
    return printed(drives, **answers)[1].partition("\n")[0]


def found(health: DriveHealth | None = GOOD, **changes: Any) -> list[tuple[Status, str]]:
    judged = problems(drive(health, **changes), CheckThresholds())
    return [(p.status, p.text) for p in judged]


def changed(**changes: Any) -> DriveHealth:
    return dataclasses.replace(GOOD, **changes)


def worn(used_ratio: float, source: EnduranceSource = EnduranceSource.ATA_DEVSTAT) -> DriveHealth:
    return changed(endurance=Endurance(used_ratio, source))


def test_used_up_spare_blocks_are_reported_once() -> None:
    """The drive reports them by a bit of its critical warning, too."""
    bits = {"spare": True, "read_only": True}
    health = changed(healthy=False, critical_warnings=bits, spare_ratio=0.04)
    texts = [each.text for each in problems(drive(health), CheckThresholds())]
    assert ["it is read-only", "4 % of its spare blocks are left; its limit is 10 %"] == texts


def test_good_drives_are_ok_in_one_line() -> None:
    assert "SSD OK - 1 drive" == summary([drive()])
    drives = [drive(label=name) for name in ("sda", "sdb", "sdc", "sdd")]
    assert "SSD OK - 4 drives" == summary(drives)
    assert 0 == printed(drives)[0]


def test_the_worst_drive_and_its_worst_problem_are_in_the_first_line() -> None:
    drives = [
        drive(label="nvme0n1"),
        drive(changed(temperatures={"drive": 90.0}), "nvme2n1"),
        drive(changed(spare_ratio=0.05), "nvme1n1"),
    ]
    status, text = printed(drives)
    expected = (
        "SSD CRITICAL - nvme1n1 Flashworks F900 480GB: 5 % of its spare blocks are left;"
        " its limit is 10 % (1 more problem)"
    )
    assert (2, expected) == (status, text.partition("\n")[0])


TABLED = [
    drive(
        changed(
            reallocated_sectors=3,
            interface_errors=7,
            program_failures=0,
            power_on_seconds=36_822 * 3600.0,
            host_written=WrittenBytes(41_200_000_000_000, 512_000, UnitSource.STANDARD),
        ),
        identity=DriveIdentity(
            Protocol.NVME, "Flashworks F900 480GB", firmware="FW1", capacity_bytes=480_103_981_056
        ),
        wearout_seconds=(900 * DAY, 1200 * DAY, 3650 * DAY),
        mountpoints=("/", "/var/lib/mysql"),
    ),
    VIRTUAL,
    drive(worn(0.85), "bus/0:megaraid,3", wearout_missing="no wear history yet"),
]


def test_the_table() -> None:
    expected = """\
SSD WARNING - bus/0:megaraid,3 Flashworks F900 480GB: 85 % of its rated endurance is used

DRIVE             MODEL                    SIZE  HEALTH    WEAR  SPARE  TEMP  HOURS  WRITTEN  MEDIA  WORN OUT IN
bus/0:megaraid,3  Flashworks F900 480GB       -  WARNING   85 %  100 %  38 C      -        -      0            -
    warning: 85 % of its rated endurance is used
    serial FW9-bus/0:megaraid,3, firmware FW0102, /dev/bus/0:megaraid,3
    no wear-out date: no wear history yet
vda               -                           -  no SMART     -      -     -      -        -      -            -
    a virtual disk has no SMART
nvme0n1           Flashworks F900 480GB  480 GB  ok         4 %  100 %  38 C  36822  41.2 TB      0  2-10+ years
    other errors (lifetime): 7 interface errors
    3 reallocated, mounted at / /var/lib/mysql
"""  # noqa: E501 - as it is printed
    assert (1, expected) == printed(TABLED)


def test_a_narrow_terminal_has_fewer_columns_and_the_values_below_each_drive() -> None:
    expected = """\
SSD WARNING - bus/0:megaraid,3 Flashworks F900 480GB: 85 % of its rated endurance is used

DRIVE          MODEL              SIZE  HEALTH    WEAR  TEMP  HOURS  WORN OUT IN
bus/0:..aid,3  Flashwo.. 480GB       -  WARNING   85 %  38 C      -            -
    warning: 85 % of its rated endurance is used
    serial FW9-bus/0:megaraid,3, firmware FW0102, /dev/bus/0:megaraid,3
    100 % spare
    no wear-out date: no wear history yet
vda            -                     -  no SMART     -     -      -            -
    a virtual disk has no SMART
nvme0n1        Flashwo.. 480GB  480 GB  ok         4 %  38 C  36822  2-10+ years
    other errors (lifetime): 7 interface errors
    100 % spare, 41.2 TB written, 3 reallocated, mounted at / /var/lib/mysql
"""
    assert (1, expected) == printed(TABLED, COLUMNS="80")
    expected = """\
SSD WARNING - bus/0:megaraid,3 Flashworks F900 480GB: 85 % of its rated endurance is used

DRIVE          HEALTH    WEAR  WORN OUT IN
bus/0:..aid,3  WARNING   85 %            -
    warning: 85 % of its rated endurance is
        used
    serial FW9-bus/0:megaraid,3, firmware
        FW0102, /dev/bus/0:megaraid,3
    Flashworks F900 480GB, 100 % spare, 38 C
    no wear-out date: no wear history yet
vda            no SMART     -            -
    a virtual disk has no SMART
nvme0n1        ok         4 %  2-10+ years
    other errors (lifetime): 7 interface
        errors
    Flashworks F900 480GB, 480 GB, 100 %
        spare, 38 C, 36822 hours on, 41.2 TB
        written, 3 reallocated, mounted at /
        /var/lib/mysql
"""
    assert (1, expected) == printed(TABLED, COLUMNS="50")


def test_of_many_mountpoints_the_first_are_named() -> None:
    places = tuple(f"/var/lib/pods/{number}" for number in range(300))
    text = printed([drive(mountpoints=places)])[1]
    assert "/var/lib/pods/3 and 296 more" in text
    assert "/var/lib/pods/4" not in text


def test_a_host_without_smart_on_any_drive_is_unknown_with_the_reason() -> None:
    expected = "SSD UNKNOWN - 1 drive, none with SMART: vda: a virtual disk has no SMART"
    assert (3, expected) == (printed([VIRTUAL])[0], summary([VIRTUAL]))
    assert (3, "SSD UNKNOWN - no drives found\n") == printed([])


def test_a_drive_without_smart_is_counted_and_does_not_change_the_status() -> None:
    assert "SSD OK - 2 drives, 1 without SMART" == summary([VIRTUAL, drive()])
    assert 0 == printed([VIRTUAL, drive()])[0]


def test_a_drive_that_answers_without_health_has_no_smart() -> None:
    why = "a SATA drive that answers as plain SCSI"
    assert [(Status.UNKNOWN, why)] == found(DriveHealth(unreadable=why))


def test_a_sleeping_drive_is_ok() -> None:
    status, text = printed([drive(DriveHealth(power_mode="standby_z"))])
    assert 0 == status
    assert " asleep " in text


def test_a_drive_that_was_not_polled_yet_is_unknown() -> None:
    assert [(Status.UNKNOWN, "it has not been polled yet")] == found(None, polls={}, is_known=False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"is_missing": True},
            "it is missing; if it was removed: ssd-exporter forget FW9-nvme0n1",
        ),
        (
            {"is_stuck": True},
            "it does not answer SMART commands: smartctl hangs in the kernel and cannot be ended",
        ),
        (
            {"last_success_unix_time": 1.8e9, "message": "no answer within 30 s"},
            "it no longer answers SMART commands: no answer within 30 s",
        ),
        (
            {"up": False, "polls": {"timed_out": 1}, "is_known": True},
            "it does not answer SMART commands",
        ),
    ],
    ids=["missing", "stuck", "silent of late", "silent from the first"],
)
def test_a_missing_drive_is_critical_and_one_that_does_not_answer_a_warning(
    changes: dict[str, Any], words: str
) -> None:
    status = Status.CRITICAL if "is_missing" in changes else Status.WARNING
    assert [(status, words)] == found(None, **changes)


def test_a_drive_behind_a_controller_that_does_not_answer_is_critical() -> None:
    """The kernel does not list it, so nothing else would report that it is gone."""
    said = found(None, label="bus/0:megaraid,3", polls={"no_answer": 1}, message="No such device")
    assert [(Status.CRITICAL, "it does not answer SMART commands: No such device")] == said


@pytest.mark.parametrize("result", ["no_answer", "killed", "unreadable", "timed_out"])
def test_a_known_drive_is_reported_at_the_first_failed_poll(result: str) -> None:
    said = found(None, polls={result: 1}, message="No such device")
    assert [(Status.WARNING, "it does not answer SMART commands: No such device")] == said


@pytest.mark.parametrize("result", ["no_answer", "killed", "unreadable", "timed_out"])
def test_an_address_where_no_drive_has_ever_answered_is_no_failure(result: str) -> None:
    said = found(None, polls={result: 1}, message="No such device", is_known=False)
    assert [(Status.UNKNOWN, "no drive has ever answered here: No such device")] == said


def test_a_drive_that_was_due_and_not_polled_in_time_is_reported() -> None:
    said = found(None, polls={}, message="not within 40 s")
    assert [(Status.WARNING, "it does not answer SMART commands: not within 40 s")] == said


def test_missing_rights_of_smartctl_are_no_drive_failure() -> None:
    said = found(None, was_reached=False, polls={"refused": 2}, last_success_unix_time=1.8e9)
    assert [Status.UNKNOWN] == [status for status, _ in said]


REFUSED = drive(None, "sdb", was_reached=False, message="Permission denied", polls={"refused": 1})


def test_a_host_with_an_unpolled_drive_is_unknown_with_the_count() -> None:
    expected = "SSD UNKNOWN - 3 drives, 1 not polled: sdb: Permission denied"
    status, text = printed([drive(), REFUSED, VIRTUAL])
    assert (3, expected) == (status, text.partition("\n")[0])
    assert " not polled " in text.partition("\n")[2]


def test_a_problem_outranks_unpolled_drives_which_are_counted() -> None:
    expected = (
        "SSD WARNING - nvme0n1 Flashworks F900 480GB: 85 % of its rated endurance is used"
        " (1 drive not polled)"
    )
    assert expected == summary([drive(worn(0.85)), REFUSED])


def test_a_failed_scan_is_shown_and_at_least_a_warning() -> None:
    why = "scanning for drives failed: it took too long"
    status, text = printed([drive()], problem=why)
    assert (1, f"SSD WARNING - {why}") == (status, text.partition("\n")[0])
    status, text = printed([drive(changed(spare_ratio=0.05))], problem=why)
    assert 2 == status
    assert "(1 more problem)" in text.partition("\n")[0]
    assert f"    warning: {why}\n" in text


INVALID = DriveHealth(
    unreadable="the SMART log is invalid: all its bits are 1",
    rejected=(
        RejectedValue(
            "available",
            0.0,
            "NVMe log page 02h",
            "the SMART log is invalid: all its bits are 1",
            RejectionKind.LOG_INVALID,
        ),
    ),
)


def test_a_drive_with_an_invalid_log_makes_the_host_unknown() -> None:
    """Unlike a drive without SMART: its health was known, and is not any more."""
    status, text = printed([drive(), drive(INVALID, "nvme1n1")])
    assert (3, "SSD UNKNOWN - 2 drives: nvme1n1: the SMART log is invalid: all its bits are 1") == (
        status,
        text.partition("\n")[0],
    )
    assert 1 == text.partition("\n\n")[2].count("the SMART log is invalid")
    assert 1 == printed([drive(worn(0.85)), drive(INVALID, "nvme1n1")])[0]


def test_other_values_of_a_drive_with_an_invalid_log_are_judged() -> None:
    statement = "the SMART log is invalid: all its bits are 1"
    partly = changed(rejected=INVALID.rejected)
    assert [(Status.UNKNOWN, statement)] == found(partly)
    worst, other = found(dataclasses.replace(partly, spare_ratio=0.05))
    assert (Status.CRITICAL, Status.UNKNOWN) == (worst[0], other[0])


def test_a_worn_out_drive_is_a_warning_and_a_dead_one_is_critical() -> None:
    bits: dict[str, Any] = {"healthy": False, "critical_warnings": {"reliability": True}}
    text = "its rated endurance is used up (100 % used): spare 100 %, no media errors"
    used_up = dataclasses.replace(worn(1.0), **bits)
    assert [(Status.WARNING, text)] == found(used_up)
    (problem,) = problems(drive(used_up), CheckThresholds())
    assert "in the next weeks" in problem.action
    dead = (Status.CRITICAL, "it reports degraded reliability")
    assert [dead] == found(changed(**bits))


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("Wear_Leveling_Count", Status.WARNING),
        ("Temperature_Celsius", Status.WARNING),
        ("Reallocated_Sector_Ct", Status.CRITICAL),
        ("Available_Reservd_Space", Status.CRITICAL),
    ],
)
def test_a_failed_attribute_is_as_severe_as_its_meaning(name: str, status: Status) -> None:
    row = AtaAttribute(177, name, 0, failed="now", prefailure=True)
    assert [status] == [each for each, _ in found(changed(attributes=(row,)))]


@pytest.mark.parametrize(
    ("health", "status"),
    [
        (GOOD, None),
        (worn(0.79), None),
        (worn(0.80), Status.WARNING),
        (worn(0.89), Status.WARNING),
        # A worn-out drive whose spare is full is a ticket, as in the alerts.
        (worn(0.90), Status.WARNING),
        (worn(2.55), Status.WARNING),
        (worn(0.99, EnduranceSource.NAME_GUESS), Status.WARNING),
        (changed(spare_ratio=0.20), None),
        (changed(spare_ratio=0.19), Status.WARNING),
        (changed(spare_ratio=0.10), Status.CRITICAL),
        (changed(spare_threshold_ratio=0.99), None),
        (changed(spare_threshold_ratio=1.0), None),
        (changed(temperatures={"drive": 69.0}), None),
        (changed(temperatures={"drive": 70.0}), Status.WARNING),
        (changed(temperatures={"1": 99.0}), None),
        (changed(temperatures={"drive": 76.0}, temperature_warning_celsius=77.0), None),
        (changed(temperatures={"drive": 77.0}, temperature_warning_celsius=77.0), Status.WARNING),
        (changed(temperatures={"drive": 84.0}, temperature_critical_celsius=85.0), None),
        (changed(temperatures={"drive": 85.0}, temperature_critical_celsius=85.0), Status.CRITICAL),
        (changed(media_errors=1), Status.WARNING),
        (changed(pending_sectors=1), None),
        (changed(pending_sectors=2), Status.WARNING),
        (changed(reallocated_sectors=500, error_log_entries=9, interface_errors=9), None),
        (changed(healthy=False), Status.CRITICAL),
        (changed(logs=logs(capacitor_health_percent=20)), None),
        (changed(logs=logs(capacitor_health_percent=19)), Status.WARNING),
        (changed(logs=logs(capacitor_health_percent=0), plp_healthy=False), Status.WARNING),
        (changed(logs=logs(thermal_throttling_level=0)), None),
        (changed(logs=logs(thermal_throttling_level=1)), Status.WARNING),
        (changed(logs=logs(thermal_throttling_percent=30)), Status.WARNING),
        (changed(logs=ParsedLogs(missing={0xC0: "refused: NVMe status 0x109"})), None),
        (changed(healthy=False, critical_warnings={"temperature": True}), Status.WARNING),
        (changed(healthy=False, critical_warnings={"spare": True}), Status.CRITICAL),
        (changed(healthy=False, critical_warnings={"read_only": True}), Status.CRITICAL),
        (changed(healthy=False, critical_warnings={"persistent_memory": True}), None),
        (changed(healthy=False, critical_warnings={"reserved_6": True}), None),
        (changed(plp_healthy=False), Status.WARNING),
        (changed(plp_healthy=True), None),
        (changed(self_test=SelfTest(passed=False)), Status.WARNING),
        (changed(exit_status=0b0100_0000), None),
        (changed(attributes=(AtaAttribute(5, "Realloc", 9, failed="past"),)), None),
        (changed(attributes=(AtaAttribute(5, "Realloc", 9, failed="now"),)), Status.WARNING),
        (
            changed(attributes=(AtaAttribute(5, "Realloc", 9, failed="now", prefailure=True),)),
            Status.CRITICAL,
        ),
    ],
)
def test_each_limit_at_both_sides(health: DriveHealth, status: Status | None) -> None:
    assert ([] if status is None else [status]) == [each for each, _ in found(health)]


@pytest.mark.parametrize(
    ("low_days", "status"),
    [(90, None), (89.9, Status.WARNING), (30, Status.WARNING), (29.9, Status.CRITICAL)],
)
def test_the_low_bound_of_the_wear_out_counts(low_days: float, status: Status | None) -> None:
    said = found(wearout_seconds=(low_days * DAY, 200 * DAY, 400 * DAY))
    assert ([] if status is None else [status]) == [each for each, _ in said]


@pytest.mark.parametrize(
    ("hours_left", "status", "ending"),
    [
        (None, Status.WARNING, "update it"),
        (61 * 24, Status.WARNING, "update it (61 days left)"),
        (7 * 24, Status.WARNING, "update it (7 days left)"),
        (6 * 24, Status.CRITICAL, "update it (6 days left)"),
        (1, Status.CRITICAL, "update it (1 hour left)"),
        (0, Status.CRITICAL, "update it (the time is over)"),
    ],
)
def test_a_firmware_defect_is_named_with_what_to_do(
    hours_left: float | None, status: Status, ending: str
) -> None:
    issue = FirmwareIssue("hangs", "update it", hours_left, "a bulletin")
    expected = [(status, f"firmware defect hangs: {ending}")]
    assert expected == found(firmware_issues=(issue,))


def test_thresholds_are_settings() -> None:
    lenient = CheckThresholds(media_errors=5, endurance_critical_ratio=0.95)
    assert () == problems(drive(changed(media_errors=4)), lenient)
    assert Status.WARNING == problems(drive(worn(0.92)), lenient)[0].status


def test_problems_and_drives_are_sorted_worst_first_then_by_name() -> None:
    sick = changed(self_test=SelfTest(passed=False), healthy=False)
    assert [Status.CRITICAL, Status.WARNING] == [status for status, _ in found(sick)]
    names = ("nvme10n1", "nvme2n1", "sdaa", "sdb")
    drives = [VIRTUAL, *(drive(label=name) for name in names), drive(sick, "sdz")]
    result = check.report(Answers(tuple(drives)), CheckThresholds())
    expected = ["sdz", "vda", "nvme2n1", "nvme10n1", "sdb", "sdaa"]
    assert expected == [row.drive.label for row in result.rows]


def test_drives_of_one_name_are_both_shown() -> None:
    both = Answers((drive(serial="A1"), drive(worn(0.95), serial="A2")))
    rows = check.report(both, CheckThresholds()).rows
    assert ["A2", "A1"] == [row.drive.serial for row in rows]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 3600, "0-1 hours"),
        (3600, 3600, "1 hour"),
        (12 * DAY, 40 * DAY, "12-40 days"),
        (5 * DAY, 900 * DAY, "0-2 years"),
        (3650 * DAY, 3650 * DAY, "10+ years"),
        (2200 * DAY, 3650 * DAY, "6-10+ years"),
    ],
)
def test_a_span_has_one_unit(low: float, high: float, words: str) -> None:
    assert words == span(low, high)


def test_colours_are_for_terminals_without_no_color() -> None:
    def shown(out: io.StringIO, **environment: str) -> str:
        sick = Answers((drive(changed(spare_ratio=0.05)),))
        with patch.dict(os.environ, environment, clear=True):
            check.run(sick, as_json=False, out=out)
        return out.getvalue()

    assert "\x1b[31mSSD CRITICAL\x1b[0m" in shown(Terminal())
    assert "\x1b[31mcritical: \x1b[0m5 %" in shown(Terminal(), NO_COLOR="")
    assert "\x1b" not in shown(Terminal(), NO_COLOR="1")
    assert "\x1b" not in shown(io.StringIO())


def test_colours_reach_a_terminal_through_the_stream_that_escapes_other_texts() -> None:
    terminal = Terminal()
    out: Any = PrintableStream(terminal)
    sick = drive(changed(spare_ratio=0.05))
    check.run(Answers((sick,)), as_json=False, out=out)
    assert "\x1b[31mSSD CRITICAL\x1b[0m" in terminal.getvalue()


def test_colours_are_all_that_a_terminal_adds() -> None:
    drives = [VIRTUAL, drive(worn(0.85), "sda"), drive(changed(healthy=False), "sdb")]
    _, coloured = printed(drives, Terminal())
    for code in ("31", "32", "33", "2", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert printed(drives)[1] == coloured


def test_json_has_stable_keys_and_null_for_unknown_values() -> None:
    out = io.StringIO()
    drives = [VIRTUAL, drive(worn(0.95), wearout_seconds=(1.0, 2.0, 3.0), wearout_method="steps")]
    status = check.run(Answers(tuple(drives)), as_json=True, out=out)
    result = json.loads(out.getvalue())
    assert (2, 2, "critical") == (status, result["status"], result["state"])
    assert {"status", "state", "summary", "problem", "drives"} == set(result)
    sick, virtual = result["drives"]
    assert sick.keys() == virtual.keys()
    expected = {
        "device": "nvme0n1",
        "serial": "FW9-nvme0n1",
        "address": "/dev/nvme0n1",
        "model": "Flashworks F900 480GB",
        "family": None,
        "firmware": "FW0102",
        "status": 2,
        "state": "critical",
        "up": True,
        "missing": False,
        "last_success_timestamp_seconds": 1.8e9,
        "healthy": True,
        "power_mode": None,
        "endurance_used_ratio": 0.95,
        "endurance_source": "ata_devstat",
        "spare_ratio": 1.0,
        "spare_threshold_ratio": 0.1,
        "temperature_celsius": 38.0,
        "media_errors": 0,
        "reallocated_sectors": None,
        "pending_sectors": None,
        "program_failures": None,
        "erase_failures": None,
        "interface_errors": None,
        "power_on_seconds": None,
        "capacity_bytes": None,
        "host_written_bytes": None,
        "mountpoints": [],
        "wearout_seconds": {"low": 1.0, "mid": 2.0, "high": 3.0},
        "wearout_method": "steps",
        "wearout_missing_reason": None,
        "firmware_issues": [],
        "block_devices": [],
        "messages": [],
        "problems": [
            {
                "state": "critical",
                "text": "its rated endurance is used up in 0 hours at this load",
            },
            {"state": "warning", "text": "95 % of its rated endurance is used"},
        ],
    }
    assert expected == sick
    assert (None, "unknown", None) == (virtual["serial"], virtual["state"], virtual["healthy"])


def test_a_drive_name_is_printed_without_escape_sequences_and_bars() -> None:
    """A drive says of itself what it likes; Nagios takes what follows a bar for figures."""
    rogue = drive(
        worn(0.95), identity=DriveIdentity(model="\x1b[2J\nF900 | x=1"), serial="\x07\x1b]0;x\x07"
    )
    text = printed([rogue])[1]
    assert not set("\x1b\x07|") & set(text)
    assert "\\x1b[2J\\nF900 / x=1" in text


def test_characters_that_the_encoding_lacks_are_escaped() -> None:
    model = DriveIdentity(model="Größe 高速")
    assert "Größe \\u9ad8\\u901f" in printed([drive(identity=model)], Latin1())[1]


def test_a_model_is_cut_in_the_middle() -> None:
    assert "Flashw..480GB" == cut("Flashworks S500 Enterprise 480GB", 13)
    assert "F900" == cut("F900", 4)


texts = st.text(max_size=300)
drives_of_any_kind = st.lists(
    st.builds(
        WatchedDrive,
        label=texts,
        serial=texts,
        address=texts,
        identity=st.builds(DriveIdentity, model=st.none() | texts, firmware=st.none() | texts),
        up=st.booleans(),
        was_reached=st.booleans(),
        health=st.none()
        | st.builds(
            DriveHealth,
            healthy=st.none() | st.booleans(),
            endurance=st.none()
            | st.builds(Endurance, st.floats(0, 2.55), st.sampled_from(EnduranceSource)),
            spare_ratio=st.none() | st.floats(0, 1),
            spare_threshold_ratio=st.none() | st.floats(0, 1),
            temperatures=st.dictionaries(st.just("drive"), st.floats(-99, 999)),
            critical_warnings=st.dictionaries(texts, st.booleans(), max_size=2),
            media_errors=st.none() | st.integers(0, 1 << 128),
            interface_errors=st.none() | st.integers(0, 1 << 128),
            power_mode=st.none() | texts,
            messages=st.lists(texts, max_size=2).map(tuple),
            unreadable=texts,
        ),
        last_success_unix_time=st.none() | st.just(1.8e9),
        message=texts,
        wearout_seconds=st.none() | st.just((0.0, 1e6, 1e8)),
        wearout_missing=texts,
        mountpoints=st.lists(texts, max_size=6).map(tuple),
        is_stuck=st.booleans(),
        is_missing=st.booleans(),
        is_known=st.booleans(),
    ),
    max_size=3,
)


@given(drives_of_any_kind, texts, st.none() | st.integers(40, 200))
def test_any_drives_fit_the_width_and_one_line_of_summary(
    drives: list[WatchedDrive], problem: str, width: int | None
) -> None:
    columns = "" if width is None else str(width)
    status, text = printed(drives, COLUMNS=columns, problem=problem)
    assert not any(each.is_missing for each in drives) or status == Status.CRITICAL
    assert not any(each.is_lost for each in drives) or status in (Status.WARNING, Status.CRITICAL)
    assert not problem or status in (Status.WARNING, Status.CRITICAL)
    assert status in (0, 1, 2, 3)
    first, *rest = text.split("\n")
    assert first.startswith(f"SSD {Status(status).name} - ")
    assert all(len(line) <= (width or WIDTH) for line in rest)
    assert printable(text.replace("\n", "")) == text.replace("\n", "")


@given(drives_of_any_kind)
def test_any_drives_are_json(drives: list[WatchedDrive]) -> None:
    out = io.StringIO()
    status = check.run(Answers(tuple(drives)), as_json=True, out=out)
    result = json.loads(out.getvalue())
    assert (status, len(drives)) == (result["status"], len(result["drives"]))


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["hgst-hus7260040a.json", "hgst-hus7261040a.json"], ["..0040a.json", "..1040a.json"]),
        (["hgst-hus7260040a.long.json", "hgst-hus7261040a.long.json"], ["..0040a.lo..", None]),
        (["hgst-hus726-0.json", "hgst-hus726-1.json"], ["..726-0.json", None]),
        (["sda", "sda"], ["sda", "sda"]),
    ],
)
def test_long_names_with_one_beginning_and_end_are_told_apart(
    names: list[str], shown: list[str | None]
) -> None:
    found = short_names(names, 12)
    assert len(set(found)) == len(set(names))
    assert [
        one if two is not None else None for one, two in zip(found, shown, strict=True)
    ] == shown
    assert all(len(each) <= 12 for each in found)


@given(st.lists(st.text("ab-.", max_size=40), max_size=6), st.integers(8, 24))
def test_no_short_name_is_wider_than_its_column(names: list[str], width: int) -> None:
    assert all(len(each) <= width for each in short_names(names, width))
