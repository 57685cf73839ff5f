"""Panels turn orange where an alert warns and red where it pages."""

import re

import pytest
import yaml

from tests.dashboards.documents import DIRECTORY, every_panel

RULES = yaml.safe_load((DIRECTORY.parent / "alerts" / "thresholds.yml").read_text(encoding="utf-8"))


def alerts(name: str) -> float:
    """Value of the recording rule ssd:threshold:name."""
    rules = (rule for group in RULES["groups"] for rule in group["rules"])
    (found,) = (r["expr"] for r in rules if r["record"] == f"ssd:threshold:{name}")
    return float(re.fullmatch(r"vector\((\S+)\)", found)[1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("where", "orange", "red"),
    [
        (
            "fleet.json: Highest wear",
            "endurance_used_warning_ratio",
            "endurance_used_critical_ratio",
        ),
        ("drive.json: Wear", "endurance_used_warning_ratio", "endurance_used_critical_ratio"),
        ("host-io.json: Saturated", "disk_saturated_ratio", None),
        ("host-io.json: Stalled", None, "disk_stalled_seconds"),
        (
            "host-io.json: Await: mean of reads, writes and flushes",
            "disk_await_seconds",
            "disk_severe_await_seconds",
        ),
        ("host-io.json: Softirq CPU", "softirq_max_ratio", None),
        (
            "host-io.json: I/O pressure: share of time with waits",
            "mysql_io_stalled_ratio",
            "mysql_io_stalled_severe_ratio",
        ),
        ("mysql.json: Flush await", "disk_flush_await_seconds", None),
        (
            "probes.json: fsync probe p99",
            "fsync_probe_seconds",
            "fsync_probe_severe_seconds",
        ),
        ("drive.json: Reallocated in the previous 7 days", "reallocated_per_week", None),
    ],
)
def test_rising_values_change_colour_at_alert_thresholds(
    where: str, orange: str | None, red: str | None
) -> None:
    expected = [
        (None if name is None else alerts(name), colour)
        for name, colour in ((orange, "orange"), (red, "red"))
        if name is not None
    ]
    assert expected == [step for step in steps(where) if step[1] in {"orange", "red"}]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("host-io.json: Falloff", [("falloff_ratio", "green")]),
        (
            "fleet.json: Wear-out in",
            [("wearout_critical_seconds", "orange"), ("wearout_warning_seconds", "green")],
        ),
    ],
)
def test_falling_values_change_colour_at_alert_thresholds(
    where: str, expected: list[tuple[str, str]]
) -> None:
    good = "transparent" if where.startswith("fleet") else "green"
    wanted = [(alerts(name), good if "green" == colour else colour) for name, colour in expected]
    assert wanted == steps(where)[2:]


def steps(where: str) -> list[tuple[float | None, str]]:
    """Threshold steps of a panel, by file name and title."""
    (panel,) = (panel for panel in every_panel() if panel.where == where)
    return [(step["value"], step["color"]) for step in panel.defaults["thresholds"]["steps"]]
