"""docs/ for large fleets: examples are valid, and numbers are correct."""

import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from exporter.config.settings import Settings
from exporter.families.disk_families import READ_AWAIT
from exporter.families.probe_families import LATENCY
from tests.alerts import rules
from tests.end_to_end.programs import need
from tests.hosts.host import FOLDERS, Host
from tests.processes import run_program
from tests.stack.pages import DOCS, PAGES, configurations, fenced, rows

EXPRESSIONS = [rule.expr for rule in rules.alerts()] + [r.expr for r in rules.recordings()]
EXAMPLES = [(page, number) for page in PAGES for number in range(len(fenced(page, "yaml")))]


@pytest.mark.real
@pytest.mark.parametrize(("page", "number"), EXAMPLES)
def test_promtool_accepts_every_example(page: str, number: int, tmp_path: Path) -> None:
    need("promtool")
    (tmp_path / "rules").mkdir()
    for path in rules.RULE_FILES:
        shutil.copy(path, tmp_path / "rules")
    config = tmp_path / "prometheus.yml"
    config.write_text(fenced(page, "yaml")[number])
    done = run_program(["promtool", "check", "config", str(config)])
    assert 0 == done.returncode, done.stdout + done.stderr


def test_thresholds_are_never_duplicated_by_federation_or_remote_write() -> None:
    """scalar() of two threshold series is NaN, and no alert fires."""
    thresholds = {rule.name for rule in rules.recordings() if rule.name.startswith("ssd:")}
    assert thresholds
    for config in configurations("scale.md"):
        if "rule_files" not in config:
            continue
        for remote in config.get("remote_write", ()):
            (rule,) = remote["write_relabel_configs"]
            assert "keep" == rule["action"]
            assert [] == [name for name in thresholds if re.fullmatch(rule["regex"], name)]
    (federation,) = [c for c in configurations("scale.md") if "federate" in str(c)]
    assert "rule_files" not in federation
    matches = " ".join(federation["scrape_configs"][0]["params"]["match[]"])
    patterns = re.findall(r'"([^"]+)"', matches)
    assert [] == [name for name in thresholds for p in patterns if re.fullmatch(p, name)]


def test_all_recorded_series_are_sent_and_federated() -> None:
    recorded = {rule.name for rule in rules.recordings() if not rule.name.startswith("ssd:")}
    sending = [c for c in configurations("scale.md") if "rule_files" in c and "remote_write" in c]
    regexes = [c["remote_write"][0]["write_relabel_configs"][0]["regex"] for c in sending]
    regexes += [
        re.findall(r'"([^"]+)"', match)[0]
        for c in configurations("scale.md")
        for match in c["scrape_configs"][0].get("params", {}).get("match[]", ())[:1]
    ]
    assert 2 == len(regexes)
    for regex in regexes:
        assert set() == {name for name in recorded if not re.fullmatch(regex, name)}


class Cut(Host):
    """A test host with changed settings."""

    change: Any

    def _settings(self) -> Settings:
        changed: Settings = self.change(super()._settings())
        return changed


@cache
def series(host: str, section: str = "", key: str = "", value: object = None) -> tuple[int, int]:
    """Number of series with and without device label, with one changed setting."""

    def change(settings: Settings) -> Settings:
        if not section:
            return settings
        if section == "collector":
            return replace(settings, collector={**settings.collector, key: value is True})
        own: Any = replace(getattr(settings, section), **{key: value})
        changes: dict[str, Any] = {section: own}
        return replace(settings, **changes)

    kind = type("Cut", (Cut,), {"change": staticmethod(change)})
    with TemporaryDirectory() as place:
        page = kind(FOLDERS / host, Path(place)).play().page()
    # One of the drives is too hot: a healthy drive has no series with the cause of a failure.
    ignored = ("#", "ssd_smart_failure_cause")
    lines = [line for line in page.splitlines() if not line.startswith(ignored)]
    of_drives = sum('device="' in line for line in lines)
    return of_drives, len(lines) - of_drives


NVME, SATA, DRIVES = "smart-nvme", "smart-sata", 2


def less(host: str, section: str, key: str, value: object) -> tuple[float, float]:
    """Series that a setting saves per drive and per host; negative if it adds series."""
    (drives, hosts), (cut_drives, cut_hosts) = series(host), series(host, section, key, value)
    return (drives - cut_drives) / DRIVES, hosts - cut_hosts


COLLECTORS = rows("cardinality.md", "collector | series per drive")


@pytest.mark.parametrize(("name", "drive", "host"), [row[:3] for row in COLLECTORS])
def test_series_per_collector_match_the_documentation(name: str, drive: str, host: str) -> None:
    if name.startswith("all"):
        drives, hosts = series(NVME)
        assert (float(drive), float(host)) == (drives / DRIVES, hosts)
        return
    collector = re.findall("`(.*)`", name)[0]
    machine = SATA if "SATA" in name else NVME
    assert (float(drive), float(host)) == less(machine, "collector", collector, value=False)


ADDING = rows("cardinality.md", "setting | series per drive")


@pytest.mark.parametrize(("setting", "drive", "host"), ADDING)
def test_series_per_setting_match_the_documentation(setting: str, drive: str, host: str) -> None:
    section, _, key = re.findall("`(.*)`", setting)[0].partition(".")
    drives, hosts = less(SATA if "SATA" in setting else NVME, section, key, value=True)
    assert (float(drive), float(host)) == (-drives, -hosts)


def test_documented_sums_are_correct() -> None:
    text = (DOCS / "cardinality.md").read_text()
    drives, hosts = series(NVME)
    assert f"{1000 * (4 * drives // DRIVES + hosts):,} series" in text
    raw, _ = less(SATA, "smart", "raw_attributes", value=False)
    assert f"| `smart.raw_attributes = false` | {raw} per SATA drive |" in text
    assert 20 == len(LATENCY.edges) + 3


def test_no_alert_uses_a_metric_that_the_documentation_drops() -> None:
    used = {metric for expr in EXPRESSIONS for metric in rules.metrics(expr)}
    first, second = configurations("cardinality.md")
    for rule in first["scrape_configs"][0]["metric_relabel_configs"]:
        assert [] == [name for name in used if re.fullmatch(rule["regex"], name)]
    (rule,) = second["scrape_configs"][0]["metric_relabel_configs"]
    edges = [*map(str, READ_AWAIT.edges), "+Inf"]
    left = [
        edge
        for edge in edges
        if not re.fullmatch(rule["regex"], f"ssd_disk_read_await_seconds_bucket;{edge}")
    ]
    assert ["0.05"] == left
    asked = {
        edge
        for expr in EXPRESSIONS
        for edge in re.findall(r'await_seconds_bucket\{le="([^"]+)"', expr)
    }
    assert {"0.05"} == asked


@pytest.mark.real
def test_documented_node_exporter_flags_exist() -> None:
    need("prometheus-node-exporter")
    (example,) = fenced("beside-node-exporter.md", "sh")
    argv = [*example.split(), "--version"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_links_have_existing_targets(page: str) -> None:
    text = (DOCS / page).read_text()
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [] == [target for target in targets if not (DOCS / target).exists()]
