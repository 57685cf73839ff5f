"""Each alert has a runbook, and each runbook an alert."""

import re
from pathlib import Path

import pytest

from tests.alerts import rules

ALERTS = rules.alerts()
PAGES = sorted(rules.RUNBOOKS.glob("*.md"))
HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]


def test_every_alert_has_a_runbook_and_vice_versa() -> None:
    expected = {alert.name for alert in ALERTS} | {"replacing-a-drive"}
    assert expected == {page.stem for page in PAGES}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_a_runbook_has_four_headings_and_commands(alert: rules.Alert) -> None:
    text = (rules.RUNBOOKS / f"{alert.name}.md").read_text()
    assert text.startswith(f"# {alert.name}\n")
    assert HEADINGS == re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert all(part.strip() for part in re.split(r"^## .+$", text, flags=re.MULTILINE))
    diagnosis = text.partition("## Diagnosis")[2].partition("## Mitigation")[0]
    assert re.search(r"```sh\n.+\n```", diagnosis, re.DOTALL)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_a_runbook_names_severity_and_rule_file(alert: rules.Alert) -> None:
    head = (rules.RUNBOOKS / f"{alert.name}.md").read_text().partition("## ")[0]
    assert f"Severity {alert.severity}" in head
    assert f"[{alert.file}](../{alert.file})" in head


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_have_existing_targets(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
