"""The lines of the log about drives: disappeared, returned, replaced, failing, verdicts."""

import logging

import pytest

from exporter.drive_journal import DriveJournal
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
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
