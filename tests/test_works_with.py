"""docs/works-with.md states the version of each other system that a document names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "works-with.md"
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "alerts").glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("container", "dashboards", "packaging")),
]

#: Systems of others that people combine with the exporter. A name that is new in the documents
#: belongs here.
SYSTEMS = (
    *("Prometheus", "Thanos", "Mimir", "Cortex", "VictoriaMetrics", "Alertmanager", "Grafana"),
    *("OpenTelemetry", "Alloy", "PMM", "Loki", "PagerDuty", "Opsgenie"),
    *("Nagios", "Icinga", "Checkmk", "Zabbix", "Terraform", "Ansible"),
    *("Kubernetes", "OpenShift", "Docker", "podman", "Debian", "Ubuntu", "RHEL", "Alpine", "ARM"),
    *("smartctl", "nvme-cli", "fio", "node_exporter", "smartctl_exporter", "mysqld_exporter"),
    *("MySQL", "MariaDB", "Percona", "bash", "zsh", "fish", "GitHub"),
)

#: Named only as the work of others: the name in a pattern of a control group.
NOT_COMBINED = {"Percona"}


def rows() -> dict[str, list[str]]:
    """The other columns of each system of the page: version, date, and what was run."""
    found: dict[str, list[str]] = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| system"):
            names, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            found |= {name.strip(): rest for name in names.split(",")}
    return found


def named() -> set[str]:
    text = "\n".join(path.read_text() for path in DOCUMENTS if path != PAGE)
    return {name for name in SYSTEMS if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}


def test_the_page_has_every_system_that_a_document_names() -> None:
    assert set() == named() - rows().keys() - NOT_COMBINED


@pytest.mark.parametrize("system", rows())
def test_a_row_has_a_version_and_a_time_or_says_that_it_was_not_run(system: str) -> None:
    version, when, _ = rows()[system]
    if version == "not run":
        assert not when
    else:
        assert re.search(r"\d", version)
        assert re.search(r"each change|\d{4}-\d\d-\d\d", when)


@pytest.mark.parametrize("system", [name for name, row in rows().items() if row[0] == "not run"])
def test_no_document_says_that_a_system_works_that_was_not_run(system: str) -> None:
    claims = [
        f"{path.name}: {line}"
        for path in DOCUMENTS
        for line in path.read_text().splitlines()
        if re.search(rf"(tested|run|works) with {re.escape(system)}\b", line)
        and not re.search(r"\bnot\b", line)
    ]
    assert not claims
