"""The example configurations are valid, load all rules, and route critical alerts to the pager."""

import re
import subprocess

import pytest
import yaml

from tests.alerts import rules
from tests.end_to_end.programs import need

ALERTMANAGER = rules.EXAMPLES / "alertmanager.yml"
PROMETHEUS = rules.EXAMPLES / "prometheus.yml"
NAMES = [alert.name for alert in rules.alerts()]


def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.mark.real
def test_promtool_accepts_the_configuration() -> None:
    need("promtool")
    run("promtool", "check", "config", str(PROMETHEUS))


@pytest.mark.real
def test_amtool_accepts_the_configuration() -> None:
    need("amtool")
    run("amtool", "check-config", str(ALERTMANAGER))


@pytest.mark.real
@pytest.mark.parametrize(
    ("severity", "receiver"), [("critical", "pager"), ("warning", "ticket"), ("info", "none")]
)
def test_only_critical_alerts_go_to_the_pager(severity: str, receiver: str) -> None:
    need("amtool")
    routed = run(
        "amtool",
        "config",
        "routes",
        "test",
        f"--config.file={ALERTMANAGER}",
        f"severity={severity}",
    )
    assert receiver == routed.strip()


def test_all_rule_files_are_loaded() -> None:
    (pattern,) = yaml.safe_load(PROMETHEUS.read_text())["rule_files"]
    loaded = {path.resolve() for path in rules.EXAMPLES.glob(pattern)}
    assert set(rules.RULE_FILES) == loaded


def test_every_inhibition_refers_to_existing_alerts() -> None:
    for rule in yaml.safe_load(ALERTMANAGER.read_text())["inhibit_rules"]:
        for side in ("source_matchers", "target_matchers"):
            for pattern in re.findall(r'alertname!?=~?"([^"]*)"', " ".join(rule[side])):
                assert [name for name in NAMES if re.fullmatch(pattern, name)], pattern


def test_a_lost_drive_does_not_silence_its_successor() -> None:
    """Both have the same device name and differ in the serial number."""
    for rule in yaml.safe_load(ALERTMANAGER.read_text())["inhibit_rules"]:
        if "SSDDriveLost" in " ".join(rule["source_matchers"]):
            assert "serial" in rule["equal"]
