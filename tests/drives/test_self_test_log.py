"""An entry of a self-test log is valid if its codes are defined and the drive was powered then."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveReport, SelfTest
from exporter.drives.self_test_log import ATA_PASSED, NVME_PASSED, SCSI_PASSED
from exporter.drives.smart_report import parse_report
from exporter.drives.smartctl_text.text_report import parse_text
from tests.drives import reports
from tests.drives.reports import Report
from tests.drives.smartctl_printing import printed

AGE_HOURS = 8760


def nvme_log(*entries: Report | None, age: int | None = AGE_HOURS, version: str = "1.4") -> Report:
    report = reports.nvme()
    log = report["nvme_smart_health_information_log"]
    log["power_on_hours"] = age
    report["power_on_time"] = {"hours": age}
    report["nvme_version"] = {"string": version}
    report["nvme_self_test_log"] = {"table": list(entries)}
    return report


def ata_log(*entries: Report, age: int | None = AGE_HOURS, log: str = "extended") -> Report:
    report = reports.ata()
    report["power_on_time"] = {"hours": age}
    for row in report["ata_smart_attributes"]["table"]:
        if row["id"] == 9:
            row["raw"] = {"value": age, "string": str(age)}
    report["ata_smart_self_test_log"] = {log: {"table": list(entries)}}
    return report


def scsi_log(*entries: Report, age: int | None = AGE_HOURS) -> Report:
    report = {key: each for key, each in reports.scsi().items() if "self_test" not in key}
    report["power_on_time"] = {"hours": age}
    return report | {f"scsi_self_test_{number}": each for number, each in enumerate(entries)}


def nvme_entry(code: int, result: int, hours: int) -> Report:
    return {**reports.nvme_test(result, hours), "self_test_code": {"value": code, "string": "x"}}


def ata_entry(kind: int, status: int, hours: int) -> Report:
    return {**reports.ata_test(status, hours), "type": {"value": kind, "string": "x"}}


def scsi_entry(code: int, result: int, hours: int) -> Report:
    return {**reports.scsi_test(result, hours), "code": {"value": code, "string": "x"}}


class Log(NamedTuple):
    """A protocol: how its log and an entry are made, and its codes.

    shift: the position of the result in its value. codes, results: the defined ones.
    """

    log: Callable[..., Report]
    entry: Callable[[int, int, int], Report]
    shift: int
    codes: frozenset[int]
    results: frozenset[int]
    passed: dict[int, bool]


LOGS = (
    Log(nvme_log, nvme_entry, 0, frozenset({1, 2, 14}), frozenset({*range(10), 15}), NVME_PASSED),
    Log(
        ata_log,
        ata_entry,
        4,
        frozenset({*range(5), *range(0x40, 0x7F), *range(0x81, 0x85), *range(0x90, 0x100)}),
        frozenset({*range(9), 15}),
        ATA_PASSED,
    ),
    Log(
        scsi_log,
        scsi_entry,
        0,
        frozenset({0, 1, 2, 4, 5, 6}),
        frozenset({*range(8), 15}),
        SCSI_PASSED,
    ),
)
EACH = pytest.mark.parametrize("log", LOGS, ids=["nvme", "ata", "scsi"])


def is_visible(report: DriveReport) -> bool:
    return bool(report.faults or report.health.rejected)


@EACH
def test_every_entry_is_the_result_or_ignored_or_rejected_by_its_codes(log: Log) -> None:
    for code in range(256 if log.shift else 16):
        for result in range(16):
            entry = log.entry(code, result << log.shift, 100)
            found = parse_report(log.log(entry))
            is_valid = code in log.codes and result in log.results
            if is_valid or (result == 15 and log.log is nvme_log):
                passed = log.passed.get(result)
                expected = None if passed is None else SelfTest(passed, 360_000.0)
                assert (expected, False) == (found.health.self_test, is_visible(found)), entry
            else:
                assert (None, True) == (found.health.self_test, is_visible(found)), entry


@EACH
@pytest.mark.parametrize(
    ("hours", "age", "is_valid"),
    [
        (AGE_HOURS, AGE_HOURS, True),
        (AGE_HOURS + 1, AGE_HOURS, True),
        (AGE_HOURS + 2, AGE_HOURS, False),
        (21_900, None, True),
        (0x5555, 21_900, True),
        (65_535, 65_533, False),
    ],
)
def test_a_test_ended_while_the_drive_was_powered(
    log: Log, hours: int, age: int | None, is_valid: bool
) -> None:
    found = parse_report(log.log(log.entry(1, 5 << log.shift, hours), age=age))
    assert is_valid is (found.health.self_test is not None)
    assert is_valid is not is_visible(found)


@pytest.mark.parametrize("age", [None, (1 << 128) - 1, AGE_HOURS])
@pytest.mark.parametrize("hours", [0x5555555555555555, (1 << 64) - 1, 876_601])
def test_hours_beyond_the_life_of_any_drive_are_rejected(hours: int, age: int | None) -> None:
    found = parse_report(nvme_log(nvme_entry(1, 7, hours), age=age))
    assert (None, True) == (found.health.self_test, is_visible(found))


@pytest.mark.parametrize("byte", [0x11, 0x22, 0x44, 0x55, 0x66, 0xAA, 0xFF, 0x00])
def test_an_entry_of_equal_bytes_is_never_a_result(byte: int) -> None:
    hours = byte * 0x0101
    for report in (
        nvme_log(nvme_entry(byte >> 4, byte & 15, byte * 0x0101010101010101), age=None),
        ata_log(ata_entry(byte, byte, hours), age=None),
        scsi_log(scsi_entry(byte >> 5, byte & 15, hours), age=None),
        ata_log(ata_entry(byte, byte, hours), age=70_000, log="standard"),
    ):
        assert parse_report(report).health.self_test is None, report


@EACH
def test_entries_after_one_that_is_not_valid_are_not_used(log: Log) -> None:
    valid, bad = log.entry(1, 0, 50), log.entry(3 if log.shift == 0 else 7, 0, 60)
    found = parse_report(log.log(bad, valid))
    assert (None, True) == (found.health.self_test, is_visible(found))
    found = parse_report(log.log(log.entry(1, 1 << log.shift, 70), bad, valid))
    assert (None, True) == (found.health.self_test, is_visible(found))
    found = parse_report(log.log(valid, bad))
    assert SelfTest(passed=True, completed_power_on_seconds=180_000.0) == found.health.self_test


@pytest.mark.parametrize("log", [LOGS[0], LOGS[2]], ids=["nvme", "scsi"])
def test_entries_are_in_order(log: Log) -> None:
    found = parse_report(log.log(log.entry(1, 1, 70), log.entry(1, 7, 700)))
    assert (None, True) == (found.health.self_test, is_visible(found))


def test_a_host_initiated_refresh_is_no_test_and_ends_no_log() -> None:
    table = (nvme_entry(3, 0, 90), nvme_entry(1, 7, 80))
    found = parse_report(nvme_log(*table, version="2.1"))
    assert SelfTest(passed=False, completed_power_on_seconds=288_000.0) == found.health.self_test
    assert not is_visible(found)
    assert parse_report(nvme_log(*table, version="2.0")).health.self_test is None


def test_a_rejected_result_names_its_entry_and_the_reason() -> None:
    found = parse_report(nvme_log(None, None, nvme_entry(3, 7, 0x5555555555555555)))
    assert [("self_test_passed", 0.0, "nvme_self_test_log, entry 3")] == [
        (each.metric, each.value, each.rule) for each in found.health.rejected
    ]
    assert "the test code 3 is not defined" == found.health.rejected[0].reason
    faults = parse_report(nvme_log(nvme_entry(1, 12, 5))).faults
    expected = "nvme_self_test_log.1: 'entry' is not usable: the result code 12 is not defined"
    assert (expected,) == faults


def test_the_standard_log_is_used_if_the_extended_log_is_not_valid() -> None:
    report = ata_log(ata_entry(0x55, 0x55, 0x5555), age=30_000)
    report["ata_smart_self_test_log"]["standard"] = {"table": [ata_entry(1, 0, 100)]}
    found = parse_report(report)
    assert SelfTest(passed=True, completed_power_on_seconds=360_000.0) == found.health.self_test
    assert is_visible(found)


@EACH
def test_the_text_is_validated_as_the_json(log: Log) -> None:
    for report in (
        log.log(log.entry(1, 5 << log.shift, 100)),
        log.log(log.entry(1, 5 << log.shift, AGE_HOURS + 2)),
    ):
        for entry in report.get("nvme_self_test_log", {}).get("table", ()):
            entry["self_test_code"]["string"] = "Short"
        text = parse_text(printed(report))
        assert text is not None
        assert parse_report(report).health.self_test == parse_report(text).health.self_test


@pytest.mark.parametrize(
    ("log", "old", "new"),
    [
        (LOGS[0], "Short", "Unknown (0x3)"),
        (LOGS[0], "Short", "Refresh"),
        (LOGS[1], "Short offline", "Reserved (0x30)"),
        (LOGS[2], "Background short", "Reserved(3)"),
    ],
)
def test_a_reserved_code_of_the_text_is_rejected(log: Log, old: str, new: str) -> None:
    report = log.log(log.entry(1, 5 << log.shift, 100))
    text = printed(report)
    assert "  x  " in text or old in text
    found = parse_text(text.replace(old, new).replace("  x  ", f"  {new}  "))
    assert found is not None
    judged = parse_report(found)
    assert (None, True) == (judged.health.self_test, is_visible(judged))


BYTES = st.integers(0, 255)


@given(st.lists(st.binary(min_size=28, max_size=28), max_size=20), st.integers(0, 100_000))
def test_random_memory_is_never_a_test_in_the_future(rows: list[bytes], age: int) -> None:
    """The tail of the log is memory of the bridge."""
    table = [
        nvme_entry(row[0] >> 4, row[0] & 15, int.from_bytes(row[4:12], "little")) for row in rows
    ]
    found = parse_report(nvme_log(*table, age=age)).health.self_test
    assert found is None or (found.completed_power_on_seconds or 0) <= (age + 1) * 3600
