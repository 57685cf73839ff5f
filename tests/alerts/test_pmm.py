"""The alert templates of PMM are those of the critical alerts, and have the format that PMM reads.

PMM itself was not run. The checks are those of percona/saas, pkg/alert/template.go, and of
percona/pmm, managed/services/management/alerting/service.go.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.alerts import pmm, rules
from tests.end_to_end.programs import need
from tests.processes import run_program

TEMPLATES = yaml.safe_load(pmm.FILE.read_text())["templates"]
ALERTS = {alert.name: alert for alert in rules.alerts()}

#: All fields but `tiers` and `params`, which the templates do not use.
FIELDS = {"name", "version", "summary", "expr", "for", "severity", "labels", "annotations"}


def test_the_file_is_up_to_date() -> None:
    assert pmm.text() == pmm.FILE.read_text(), "run `make pmm`"


def test_every_critical_alert_has_a_template_or_is_left_out() -> None:
    critical = {name for name, alert in ALERTS.items() if alert.severity == "critical"}
    assert critical == pmm.TITLES.keys() | pmm.LEFT_OUT


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda each: each["name"])
def test_a_template_has_the_fields_of_the_format(template: dict[str, object]) -> None:
    assert FIELDS == template.keys()
    assert 1 == template["version"]
    assert re.fullmatch(r"ssd_[a-z_]+", str(template["name"]))
    assert template["summary"]
    assert re.fullmatch(r"\d+[smh]", str(template["for"]))
    assert "critical" == template["severity"]
    # PMM replaces parameters between these brackets.
    assert not re.search(r"\[\[|\]\]", str(template["expr"]))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda each: each["name"])
def test_the_texts_use_only_labels(template: dict[str, dict[str, str]]) -> None:
    for text in template["annotations"].values():
        for action in re.findall(r"\{\{(.*?)\}\}", text):
            assert re.fullmatch(r" \$labels\.\w+ ", action)


@pytest.mark.real
def test_promtool_accepts_the_expressions(tmp_path: Path) -> None:
    need("promtool")
    group = [{"alert": each["name"], "expr": each["expr"]} for each in TEMPLATES]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "templates", "rules": group}]}))
    done = run_program(["promtool", "check", "rules", str(file)])
    assert 0 == done.returncode, done.stderr


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda each: each["name"])
def test_an_expression_reads_nothing_that_alert_rules_record(template: dict[str, str]) -> None:
    """PMM's vmalert starts only without alert rules, so there is no series ALERTS."""
    read = {template["expr"], *(each.expr for each in rules.recordings() if _reads(template, each))}
    assert not [expr for expr in read if "ALERTS{" in expr]


def _reads(template: dict[str, str], recording: rules.Recording) -> bool:
    return recording.name in rules.recorded(template["expr"])
