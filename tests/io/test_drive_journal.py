"""The lines of the log about drives: disappeared, returned, replaced, failing, verdicts."""

import logging
from dataclasses import replace

import pytest

from exporter.drives.health import (
    DriveHealth,
    Endurance,
    EnduranceSource,
    RejectedValue,
    RejectionKind,
)
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.drive_journal import DriveJournal
from exporter.io.verdict import Verdict

WARNING, INFO = logging.WARNING, logging.INFO
BOTH = {"sda": "F900 S1", "sdb": "F900 S2"}


def watched(*, healthy: bool | None) -> list[WatchedDrive]:
    return [WatchedDrive("sda", "S1", "/dev/sda", health=DriveHealth(healthy=healthy))]


@pytest.fixture
def journal() -> DriveJournal:
    journal = DriveJournal()
    assert [] == journal.observe(0.0, BOTH, [], {})
    return journal


def test_a_drive_disappears_and_returns(journal: DriveJournal) -> None:
    one = {"sda": "F900 S1"}
    assert [(WARNING, "drive sdb (F900 S2) has disappeared")] == journal.observe(1.0, one, [], {})
    assert [] == journal.observe(2.0, one, [], {})
    assert [(INFO, "drive sdb (F900 S2) has returned")] == journal.observe(3.0, BOTH, [], {})


def test_a_drive_is_replaced(journal: DriveJournal) -> None:
    expected = [(WARNING, "drive sdb was replaced: F900 S2 by F900 S3")]
    assert expected == journal.observe(1.0, {**BOTH, "sdb": "F900 S3"}, [], {})


def test_a_drive_is_pulled_and_replaced(journal: DriveJournal) -> None:
    journal.observe(1.0, {"sda": "F900 S1"}, [], {})
    expected = [(WARNING, "drive sdb was replaced: F900 S2 by F900 S3")]
    assert expected == journal.observe(2.0, {**BOTH, "sdb": "F900 S3"}, [], {})


def test_a_drive_is_added(journal: DriveJournal) -> None:
    expected = [(INFO, "drive sdc (F900 S9) was added")]
    assert expected == journal.observe(1.0, {**BOTH, "sdc": "F900 S9"}, [], {})


def test_a_drive_predicts_its_failure_once(journal: DriveJournal) -> None:
    expected = [(WARNING, "drive sda (serial S1) predicts its own failure: replace it")]
    assert [] == journal.observe(1.0, BOTH, watched(healthy=True), {})
    assert expected == journal.observe(2.0, BOTH, watched(healthy=False), {})
    assert [] == journal.observe(3.0, BOTH, watched(healthy=False), {})
    assert [] == journal.observe(4.0, BOTH, watched(healthy=None), {})
    ((level, _),) = journal.observe(5.0, BOTH, watched(healthy=True), {})
    assert level == INFO


def test_a_failing_drive_is_reported_once_if_its_name_changes(journal: DriveJournal) -> None:
    failing = DriveHealth(healthy=False)
    for label in ("sda", "sdb"):
        drive = WatchedDrive(label, "S1", f"/dev/{label}", health=failing, key="F900 S1")
        lines = journal.observe(1.0, BOTH, [drive], {})
        assert (label == "sda") == bool(lines)


def test_a_drive_that_is_only_too_hot_does_not_predict_its_failure(journal: DriveJournal) -> None:
    """smartctl reports it as failing."""
    warnings = {"temperature": True, "spare": False}
    hot = DriveHealth(healthy=False, critical_warnings=warnings)
    worn = DriveHealth(healthy=False, critical_warnings={**warnings, "spare": True})
    drives = [WatchedDrive("sda", "S1", "/dev/sda", health=health) for health in (hot, worn)]
    assert [] == journal.observe(1.0, BOTH, drives[:1], {})
    assert 1 == len(journal.observe(2.0, BOTH, drives[1:], {}))


def test_a_worn_out_drive_is_logged_as_such_and_a_warning_without_a_meaning_is_not(
    journal: DriveJournal,
) -> None:
    worn = DriveHealth(
        healthy=False,
        critical_warnings={"reliability": True},
        endurance=Endurance(1.0, EnduranceSource.NVME_LOG),
        spare_ratio=1.0,
        media_errors=0,
    )
    region = DriveHealth(healthy=False, critical_warnings={"persistent_memory": True})
    drives = [WatchedDrive("sda", "S1", "/dev/sda", health=health) for health in (region, worn)]
    expected = (
        "drive sda (serial S1) is worn out: its rated endurance is used up (100 % used): spare "
        "100 %, no media errors. Replace it in the next weeks"
    )
    assert [] == journal.observe(1.0, BOTH, drives[:1], {})
    assert [(WARNING, expected)] == journal.observe(2.0, BOTH, drives[1:], {})
    # It gets worse: it has media errors, which wear does not explain.
    failing = replace(worn, media_errors=9)
    expected = "drive sda (serial S1) predicts its own failure: replace it"
    drives = [WatchedDrive("sda", "S1", "/dev/sda", health=failing)]
    assert [(WARNING, expected)] == journal.observe(3.0, BOTH, drives, {})


INVALID = RejectedValue(
    "available",
    0.0,
    "NVMe log page 02h",
    "the SMART log is invalid: all its bits are 1",
    RejectionKind.LOG_INVALID,
)
FELL = RejectedValue(
    "media_errors_total", 0.0, "media_errors", "it was 9 before", RejectionKind.FELL
)
OTHER = RejectedValue("host_read_bytes_total", 1.0, "242", "the other counter contradicts it")


def unused(*values: RejectedValue, up: bool = True) -> list[WatchedDrive]:
    health = DriveHealth(rejected=values)
    return [WatchedDrive("sda", "S1", "/dev/sda", up=up, health=health)]


def test_an_invalid_log_is_logged_once_and_when_it_is_valid_again(journal: DriveJournal) -> None:
    text = (
        "drive sda (serial S1): the SMART log is invalid: all its bits are 1. No value of it is "
        "used"
    )
    assert [(WARNING, text)] == journal.observe(1.0, BOTH, unused(INVALID), {})
    assert [] == journal.observe(2.0, BOTH, unused(INVALID), {})
    assert [] == journal.observe(3.0, BOTH, unused(up=False), {})
    text = "drive sda (serial S1): all values of its SMART log are used again"
    assert [(INFO, text)] == journal.observe(4.0, BOTH, unused(), {})
    assert [] == journal.observe(5.0, BOTH, unused(), {})


def test_a_value_that_is_not_used_is_logged_with_its_reason(journal: DriveJournal) -> None:
    text = "drive sda (serial S1): media_errors_total 0 is not used: it was 9 before"
    assert [] == journal.observe(1.0, BOTH, unused(OTHER), {})
    assert [(WARNING, text)] == journal.observe(2.0, BOTH, unused(OTHER, FELL), {})
    assert [] == journal.observe(3.0, BOTH, unused(FELL), {})


def test_lines_about_unused_values_are_limited(journal: DriveJournal) -> None:
    lines = [
        text
        for second in range(2, 3600, 2)
        for _, text in journal.observe(
            float(second), BOTH, unused(*([FELL] if second % 4 else [])), {}
        )
    ]
    assert 5 == len(lines)
    assert "reports impossible values repeatedly" in lines[-1]


def test_a_drive_that_flaps_has_five_lines_an_hour(journal: DriveJournal) -> None:
    lines: list[str] = []
    for second in range(2, 3600, 2):
        disks = BOTH if second % 4 else {"sda": "F900 S1"}
        lines += [text for _, text in journal.observe(float(second), disks, [], {})]
    assert 5 == len(lines)
    assert "check its cable and slot" in lines[-1]
    # Another drive is not affected, and neither is this one after an hour without a change.
    assert 1 == len(journal.observe(3601.0, {"sdb": "F900 S2"}, [], {}))
    assert 2 == len(journal.observe(9000.0, {"sda": "F900 S1"}, [], {}))


def test_a_verdict_that_lasts_is_logged_once_and_when_it_ends(journal: DriveJournal) -> None:
    lines = [
        journal.observe(float(second), BOTH, [], {"sda": verdict})
        for second, verdict in (
            (0, Verdict.NONE),
            (30, Verdict.DEVICE),
            (300, Verdict.DEVICE),
            (330, Verdict.DEVICE),
            (360, Verdict.DEVICE),
            (390, Verdict.NONE),
            (690, Verdict.NONE),
        )
    ]
    assert [
        [],
        [],
        [],
        [(WARNING, "drive sda: bottleneck device for 5 minutes")],
        [],
        [],
        [(INFO, "drive sda is no longer a bottleneck")],
    ] == lines


def test_a_verdict_of_a_minute_is_not_logged(journal: DriveJournal) -> None:
    for second in range(0, 3600, 60):
        verdict = Verdict.DEVICE if second % 300 == 0 else Verdict.NONE
        assert [] == journal.observe(float(second), BOTH, [], {"sda": verdict})
