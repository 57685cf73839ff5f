"""Rules are valid, use existing metrics and labels, and read thresholds from thresholds.yml."""

import json
import re
from collections import Counter

import pytest

from exporter import __version__
from tests.alerts import rules
from tests.alerts.catalogue import CATALOGUE, KNOWN, LABELS, NOT_YET, TARGET_LABELS
from tests.alerts.rules import Alert, Recording
from tests.end_to_end.programs import need
from tests.processes import run_program

ALERTS = rules.alerts()
RECORDINGS = rules.recordings()
RULES: list[Alert | Recording] = [*ALERTS, *RECORDINGS]
RECORDED = {rule.name for rule in RECORDINGS}
THRESHOLDS = {name for name in RECORDED if name.startswith("ssd:threshold:")}

#: Series that a site may record: other thresholds for some drives.
OVERRIDES = {name for rule in RULES for name in rules.recorded(rule.expr) if ":override:" in name}

#: Labels that rules add; the last is one of vmalert.
OWN_LABELS = {"op", "severity", "alertname", "alertstate", "__name__", "alertgroup"}

#: Metrics that no alert may use, with the reason.
NEVER = {
    "ssd_smart_error_log_entries_total": "unsupported commands also create entries",
    "ssd_smart_exit_bit": "error_log_entries stays 1 permanently",
    "ssd_cpu_iowait_max_ratio": "iowait is idle time",
    "ssd_ata_attribute_raw": "the meaning is specific to the manufacturer",
    "ssd_disk_io_now": "many in flight are normal on an SSD",
}


def names(rule: Alert | Recording) -> str:
    return rule.name


@pytest.mark.real
def test_promtool_accepts_the_rules() -> None:
    need("promtool")
    done = run_program(["promtool", "check", "rules", "--lint-fatal", *map(str, rules.RULE_FILES)])
    assert (0, "") == (done.returncode, done.stderr)


def test_alert_names_are_unique() -> None:
    assert [] == [name for name, n in Counter(map(names, ALERTS)).items() if n > 1]


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_every_metric_exists(rule: Alert | Recording) -> None:
    assert set() == rules.metrics(rule.expr) - set(KNOWN)


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_every_recorded_series_is_recorded(rule: Alert | Recording) -> None:
    assert set() == rules.recorded(rule.expr) - RECORDED - OVERRIDES


def test_an_override_is_of_an_existing_threshold_and_a_wrong_name_is_reported() -> None:
    thresholds = {name.replace(":override:", ":threshold:") for name in OVERRIDES}
    assert set() == thresholds - THRESHOLDS
    (missing,) = (alert for alert in ALERTS if alert.name == "SSDThresholdsMissing")
    (known,) = re.findall(r'!~"(ssd:override:[^"]+)"', missing.expr)
    assert all(re.fullmatch(known, name) for name in OVERRIDES)
    assert not re.fullmatch(known, "ssd:override:another")


def test_the_example_overrides_only_what_can_be_overridden() -> None:
    document = rules.story(rules.EXAMPLES / "overrides.yml")
    recorded = {rule["record"] for group in document["groups"] for rule in group["rules"]}
    assert recorded <= OVERRIDES


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_every_label_exists(rule: Alert | Recording) -> None:
    for metric, label in rules.matchers(rule.expr):
        known = {*KNOWN[metric], *TARGET_LABELS} if metric in KNOWN else LABELS
        assert label in known, f"{metric} has no label {label}"
    assert set() == rules.grouping(rule.expr) - LABELS - OWN_LABELS


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_every_query_and_label_in_an_annotation_exists(alert: Alert) -> None:
    text = " ".join(alert.annotations.values())
    assert set() == set(re.findall(r"\$?(?:labels|\.Labels)\.(\w+)", text)) - LABELS - OWN_LABELS
    for query in re.findall(r'printf "([^"]*)"', text):
        assert set() == rules.metrics(query) - set(KNOWN) - {"ssd_device_info"}
        assert set() == rules.recorded(query) - RECORDED
        for metric, label in rules.matchers(query):
            known = {*KNOWN[metric], *TARGET_LABELS} if metric in KNOWN else LABELS
            assert label in known, f"{metric} has no label {label}"


def test_planned_metrics_are_not_in_the_catalogue() -> None:
    assert set() == set(NOT_YET) & set(CATALOGUE), "remove it from NOT_YET"


def test_planned_metrics_are_used_by_a_rule() -> None:
    named = {metric for rule in RULES for metric in rules.metrics(rule.expr)}
    assert set() == set(NOT_YET) - named


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_thresholds_are_not_written_in_expressions(alert: Alert) -> None:
    """0 and 1 are states, not thresholds; `le` selects a bucket."""
    compared = re.findall(r"(?:==|!=|[<>]=?)\s*(?:bool\s*)?(-?[\d.]+)", alert.expr)
    assert set() == {number for number in compared if float(number) not in (0, 1)}


def test_every_threshold_is_used() -> None:
    used = {name for rule in RULES for name in rules.recorded(rule.expr)}
    assert set() == THRESHOLDS - used


def test_a_missing_threshold_is_reported_by_the_number_of_thresholds() -> None:
    (missing,) = (alert for alert in ALERTS if alert.name == "SSDThresholdsMissing")
    assert f"- {len(THRESHOLDS)} != 0" in missing.expr


def test_the_rules_record_the_version_of_the_exporter() -> None:
    labels = [
        rule["labels"]
        for group in rules.groups()
        for rule in group["rules"]
        if rule.get("record") == "ssd:rules:version"
    ]
    assert [{"version": __version__}] == labels


def test_every_threshold_is_a_number() -> None:
    wrong = [
        rule.name
        for rule in RECORDINGS
        if rule.name in THRESHOLDS and not re.fullmatch(r"vector\([\d.]+\)", rule.expr)
    ]
    assert [] == wrong


def test_recorded_names_follow_level_metric_operations() -> None:
    pattern = r"(ssd|instance|instance_device|instance_device_op|instance_device_serial):\w+:\w+"
    assert [] == [name for name in RECORDED if not re.fullmatch(pattern, name)]


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_an_alert_has_all_fields(alert: Alert) -> None:
    assert re.fullmatch(r"SSD([A-Z][A-Za-z]*)+", alert.name)
    assert alert.severity in {"critical", "warning", "info"}
    assert {"summary", "description", "dashboard_url", "runbook_url"} == set(alert.annotations)
    assert alert.annotations["runbook_url"].endswith(f"/{alert.name}.md")
    assert "\n" not in alert.annotations["summary"].strip()


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_a_summary_is_one_sentence_and_a_description_contains_a_command(alert: Alert) -> None:
    assert not re.search(r"[.;] |\.$", re.sub(r"\{\{.*?\}\}", "", alert.annotations["summary"]))
    assert re.search(r"`[^`]+`", alert.annotations["description"])


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_the_address_of_a_dashboard_exists(alert: Alert) -> None:
    found = re.search(r"/d/ssd-([a-z-]+)", alert.annotations["dashboard_url"])
    assert found
    variables = set(re.findall(r"var-(\w+)=", alert.annotations["dashboard_url"]))
    document = json.loads((rules.ROOT / "dashboards" / f"{found[1]}.json").read_text())
    assert variables <= {each["name"] for each in document["templating"]["list"]}


def test_a_group_has_at_most_20_rules() -> None:
    """The default limit of Mimir."""
    sizes = {group["name"]: len(group["rules"]) for group in rules.groups()}
    assert {} == {name: size for name, size in sizes.items() if size > 20}


def test_the_directory_of_the_rules_contains_rules_only() -> None:
    """So that rule_files can be a pattern."""
    for path in rules.ALERTS.glob("*.y*ml"):
        assert {"groups"} == rules.story(path).keys(), path


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_a_join_includes_the_cluster(rule: Alert | Recording) -> None:
    """Clusters may use the same names of hosts. `ignoring` and `without` include it."""
    texts = [rule.expr, *(rule.annotations.values() if isinstance(rule, Alert) else ())]
    for text in texts:
        for labels in re.findall(r"\b(?:on|by) \(([^)]*)\)", text):
            assert "cluster" in labels or labels == "__name__", labels


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_a_query_of_an_annotation_selects_the_cluster(alert: Alert) -> None:
    for query in re.findall(r'printf "([^"]*%q[^"]*)"', " ".join(alert.annotations.values())):
        for selector in re.findall(r"\{([^}]*)\}", query):
            assert selector.startswith("cluster=%q,instance=%q"), query


#: Alerts about the server that evaluates the rules.
OF_THE_SERVER = {"SSDExporterAbsent", "SSDThresholdsMissing", "SSDRulesLoadedTwice"}


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_annotations_name_the_host(alert: Alert) -> None:
    """Except alerts about the Prometheus server itself."""
    if alert.name not in OF_THE_SERVER:
        for key in ("summary", "description"):
            assert "{{ $labels.instance }}" in alert.annotations[key]


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_annotations_of_drive_alerts_name_model_and_serial(alert: Alert) -> None:
    if "group_left" in alert.expr:
        assert "$labels.model" in alert.annotations["description"]
        assert "$labels.serial" in alert.annotations["description"]


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_no_alert_uses_a_meaningless_metric(alert: Alert) -> None:
    assert set() == rules.metrics(alert.expr) & set(NEVER)
    assert 'severity="correctable"' not in alert.expr


#: All alerts that page. Adding one is a deliberate decision.
PAGES = {
    "SSDDatabaseFilesystemErrors",
    "SSDFailingHostSilent",
    "SSDZFSPoolDegraded",
    "SSDDiskStalled",
    "SSDDiskSaturatedSevere",
    "SSDDriveLost",
    "SSDDriveOffline",
    "SSDDriveFailing",
    "SSDFilesystemReadonly",
    "SSDFirmwareFailureNear",
    "SSDMediaErrorsRepeated",
    "SSDRaidDegraded",
    "SSDSpareExhausted",
    "SSDTemperatureCritical",
    "SSDWearoutSoon",
}


def test_only_the_listed_alerts_page() -> None:
    assert PAGES == {alert.name for alert in ALERTS if alert.severity == "critical"}
