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
