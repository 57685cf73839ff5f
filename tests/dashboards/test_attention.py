"""The table of drives that need attention agrees with the alerts."""

import pytest
import yaml

from tests.dashboards.documents import DIRECTORY

reasons = pytest.importorskip("dashboards.reasons", reason="Grafana's SDK needs Python 3.11")

#: Alerts on drives that have no row in the table, with the reason.
WITHOUT_ROW = {
    "SSDSeveralDrivesDegrading": "each of these drives has its own row",
    "SSDDriveReplaced": "the row of SSDDriveLost contains every missing drive",
    "SSDVolumeDetached": "the row of SSDDriveLost contains every missing drive",
    "SSDPowerLost": "the power supply is the cause; shown on Host I/O and Drive",
    "SSDIOErrors": "needs two conditions in 15 minutes; shown on Drive",
    "SSDIOTimeouts": "a drive that rejects a command counts as well; shown on Drive",
}


def severities(*files: str) -> dict[str, str]:
    """Severity of each alert, by name."""
    documents = (
        yaml.safe_load((DIRECTORY.parent / "alerts" / file).read_text(encoding="utf-8"))
        for file in files
    )
    return {
        rule["alert"]: rule["labels"]["severity"]
        for document in documents
        for group in document["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }


def test_a_reason_is_as_urgent_as_its_alert() -> None:
    words = {
        reasons.MISSING: "critical",
        reasons.CRITICAL: "critical",
        reasons.WARNING: "warning",
        reasons.INFO: "info",
    }
    every = severities("smart.yml", "topology.yml", "io.yml", "self.yml")
    assert {reason.alert: every[reason.alert] for reason in reasons.REASONS} == {
        reason.alert: words[reason.urgency] for reason in reasons.REASONS
    }


def test_every_alert_on_the_state_of_a_drive_has_a_row_or_is_listed() -> None:
    of_drives = {
        name
        for name, severity in severities("smart.yml", "topology.yml").items()
        if severity != "info"
    }
    assert WITHOUT_ROW.keys() == of_drives - {reason.alert for reason in reasons.REASONS}
