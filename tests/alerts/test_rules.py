"""Rules are valid, name what exists, and keep their thresholds in one place."""

import re
import subprocess
from collections import Counter

import pytest

from tests.alerts import rules
from tests.alerts.catalogue import CATALOGUE, KNOWN, LABELS, NOT_YET
from tests.alerts.rules import Alert, Recording
from tests.end_to_end.programs import need

ALERTS = rules.alerts()
RECORDINGS = rules.recordings()
RULES: list[Alert | Recording] = [*ALERTS, *RECORDINGS]
RECORDED = {rule.name for rule in RECORDINGS}
THRESHOLDS = {name for name in RECORDED if name.startswith("ssd:threshold:")}

#: Labels that rules give themselves.
OWN_LABELS = {"op", "severity"}

#: Families that no alert may name: they say nothing of the kind, or nothing alone.
NEVER = {
    "ssd_smart_error_log_entries_total": "commands that a drive does not know make entries too",
    "ssd_smart_exit_bit": "error_log_entries stays 1 for ever",
    "ssd_cpu_iowait_max_ratio": "iowait is idle time under another name",
    "ssd_ata_attribute_raw": "the maker alone knows its meaning",
    "ssd_disk_io_now": "many in flight are normal on an SSD",
}


def names(rule: Alert | Recording) -> str:
    return rule.name


@pytest.mark.real
def test_promtool_finds_no_fault_in_the_rules() -> None:
    need("promtool")
    done = subprocess.run(
        ["promtool", "check", "rules", "--lint-fatal", *map(str, rules.RULE_FILES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)


def test_no_two_alerts_have_one_name() -> None:
    assert [] == [name for name, n in Counter(map(names, ALERTS)).items() if n > 1]


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_every_metric_exists(rule: Alert | Recording) -> None:
    assert set() == rules.metrics(rule.expr) - set(KNOWN)


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_every_recorded_series_is_recorded(rule: Alert | Recording) -> None:
    assert set() == rules.recorded(rule.expr) - RECORDED


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_every_label_exists(rule: Alert | Recording) -> None:
    for metric, label in rules.matchers(rule.expr):
        known = {*KNOWN[metric], "instance", "job"} if metric in KNOWN else LABELS
        assert label in known, f"{metric} has no label {label}"
    assert set() == rules.grouping(rule.expr) - LABELS


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_every_query_and_label_in_a_text_exists(alert: Alert) -> None:
    text = " ".join(alert.annotations.values())
    assert set() == set(re.findall(r"\$?(?:labels|\.Labels)\.(\w+)", text)) - LABELS - OWN_LABELS
    for query in re.findall(r'printf "([^"]*)"', text):
        assert set() == rules.metrics(query) - set(KNOWN) - {"ssd_device_info"}
        assert set() == rules.recorded(query) - RECORDED
        for metric, label in rules.matchers(query):
            known = {*KNOWN[metric], "instance", "job"} if metric in KNOWN else LABELS
            assert label in known, f"{metric} has no label {label}"


def test_what_is_not_in_the_catalogue_yet_is_not_in_it() -> None:
    assert set() == set(NOT_YET) & set(CATALOGUE), "take it off NOT_YET"


def test_what_is_not_in_the_catalogue_yet_is_named_by_some_rule() -> None:
    named = {metric for rule in RULES for metric in rules.metrics(rule.expr)}
    assert set() == set(NOT_YET) - named


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_thresholds_stand_in_their_own_file(alert: Alert) -> None:
    """0 and 1 are no thresholds but states; `le` picks a bucket."""
    compared = re.findall(r"(?:==|!=|[<>]=?)\s*(?:bool\s*)?(-?[\d.]+)", alert.expr)
    assert set() == {number for number in compared if float(number) not in (0, 1)}


def test_every_threshold_is_used() -> None:
    used = {name for rule in RULES for name in rules.recorded(rule.expr)}
    assert set() == THRESHOLDS - used


def test_every_threshold_is_a_number() -> None:
    wrong = [
        rule.name
        for rule in RECORDINGS
        if rule.name in THRESHOLDS and not re.fullmatch(r"vector\([\d.]+\)", rule.expr)
    ]
    assert [] == wrong


def test_recorded_names_say_level_metric_operations() -> None:
    pattern = r"(ssd|instance|instance_device|instance_device_op|instance_device_serial):\w+:\w+"
    assert [] == [name for name in RECORDED if not re.fullmatch(pattern, name)]


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_an_alert_is_whole(alert: Alert) -> None:
    assert re.fullmatch(r"SSD([A-Z][A-Za-z]*)+", alert.name)
    assert alert.severity in {"critical", "warning", "info"}
    assert {"summary", "description", "runbook_url"} == set(alert.annotations)
    assert alert.annotations["runbook_url"].endswith(f"/{alert.name}")
    assert "\n" not in alert.annotations["summary"].strip()


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_an_alert_says_which_host(alert: Alert) -> None:
    """But for those about this Prometheus itself."""
    if not alert.expr.startswith("absent("):
        for key in ("summary", "description"):
            assert "{{ $labels.instance }}" in alert.annotations[key]


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_an_alert_about_a_drive_names_model_and_serial(alert: Alert) -> None:
    if "group_left" in alert.expr:
        assert "$labels.model" in alert.annotations["description"]
        assert "$labels.serial" in alert.annotations["description"]


@pytest.mark.parametrize("alert", ALERTS, ids=names)
def test_no_alert_rests_on_what_proves_nothing(alert: Alert) -> None:
    assert set() == rules.metrics(alert.expr) & set(NEVER)
    assert 'severity="correctable"' not in alert.expr


#: What the project pages for, and nothing else: a new page is a decision.
PAGES = {
    "SSDDiskStalled",
    "SSDDiskSaturatedSevere",
    "SSDDriveLost",
    "SSDDriveOffline",
    "SSDDriveFailing",
    "SSDFilesystemReadonly",
    "SSDFirmwareTimeBomb",
    "SSDMediaErrorsRepeated",
    "SSDPowerLossProtectionFailed",
    "SSDRaidDegraded",
    "SSDSpareExhausted",
    "SSDTemperatureCritical",
    "SSDWearCritical",
    "SSDWearoutSoon",
}


def test_these_alerts_page_and_no_others() -> None:
    assert PAGES == {alert.name for alert in ALERTS if alert.severity == "critical"}
