"""Every fault of a drive, from the kernel's files to the notification, and its resolution.

Each scene has its own host. All scenes run at the same time, once for all tests, in two and a half
minutes. `alerting_shortened` describes how an hour becomes a minute.

Rules that need days, or faults that files cannot simulate, are tested by promtool only
(tests/alerts): the date of wear-out, medians of a week and more, errors on two days, saturation
during a whole day, and smartctl in uninterruptible sleep (SSDCommandStuck).
"""

import re
from collections.abc import Iterator

import pytest

from tests.alerts import rules
from tests.end_to_end.alerting_scenes import SCENES
from tests.end_to_end.alerting_stage import Act, Scene, Stage, perform, stage
from tests.end_to_end.programs import need

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

#: Timeout of the scenes, in seconds. The longest scene takes two minutes.
LONGEST_SECONDS = 400.0

#: The faults that the project promises to detect, and the scene that tests each.
FAULTS = {
    "disk saturated": "saturated",
    "disk stalled": "stalled",
    "softirq-bound CPU": "softirq",
    "wear step": "wear",
    "drive lost": "lost",
    "hung smartctl": "hung",
    "media error": "media",
    "reallocated growth": "reallocated",
    "over-temperature": "heat",
    "link down-shift": "link",
    "cliff": "cliff",
    "filesystem read-only": "readonly",
    "probe stale": "probe",
    "exporter down": "down",
    "stalled over saturated over latency": "worse-and-worse",
    "failing drive that hangs": "failing",
    "failing host that becomes silent": "down-and-hot",
}

#: Warnings of the exporter that a fault causes: the lines of the journal about a drive.
LOGGED = re.compile(
    r" does not answer: | has disappeared| was replaced: | predicts its own failure"
)

ALERTS = {alert.name: alert for alert in rules.alerts()}

every_scene = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    need("prometheus", "prometheus-alertmanager", "fio")
    with stage(tmp_path_factory.mktemp("alerting"), SCENES) as found:
        perform(found.acts, LONGEST_SECONDS)
        yield found


def act_of(played: Stage, name: str) -> Act:
    return next(act for act in played.acts if act.scene.name == name)


def test_every_fault_has_a_scene() -> None:
    assert sorted(FAULTS.values()) == sorted(scene.name for scene in SCENES)


@every_scene
def test_exactly_the_expected_alerts_fire_once_and_resolve(played: Stage, scene: Scene) -> None:
    act = act_of(played, scene.name)
    state = (
        f"events: {act.events}, waiting for: {act.waits_for!r}, the counters did not advance for"
        f" {act.host.counters.stood_still_seconds:.1f} s, the exporter logged:"
        f" {act.daemon.complaints}"
    )
    assert "" == act.waits_for, state
    expected, events = list(scene.events), list(act.events)
    if not scene.is_ordered:
        expected.sort(key=lambda event: event.alert)
        events.sort(key=lambda event: event.alert)
    assert expected == events, state


@every_scene
def test_a_notification_names_host_drive_severity_and_runbook(played: Stage, scene: Scene) -> None:
    act = act_of(played, scene.name)
    model, serial = act.drive
    for notice in act.notices:
        severity = ALERTS[notice.alert].severity
        expected = {"instance": scene.name, "job": "ssd", "severity": severity}
        text = notice.annotations["description"]
        if "device" in notice.labels:
            expected |= {"model": model, "serial": serial}
            assert f"{model}, serial {serial}, {notice.labels['device']} on {scene.name}: " in text
        assert expected == {name: notice.labels.get(name) for name in expected}
        assert ("pager" if severity == "critical" else "ticket") == notice.receiver
        assert scene.name in notice.annotations["summary"]
        # Without the setting ssd:setting:runbooks, the template yields this address.
        _, _, runbook = ALERTS[notice.alert].annotations["runbook_url"].partition("{{ else }}")
        assert runbook.replace("{{ end }}", "") == notice.annotations["runbook_url"]
        grouped = ("alertname",) if severity == "critical" else ("device", "serial")
        by = {"instance", *grouped} & notice.labels.keys()
        if "SSDWear" not in notice.alert:
            assert {name: notice.labels[name] for name in by} == notice.group
    assert scene.says in act.notices[0].annotations["description"]


def test_only_the_worst_alert_of_a_degrading_disk_is_sent(played: Stage) -> None:
    """Saturated inhibits latency, severe inhibits saturated, and stalled inhibits all of them."""
    held = act_of(played, "worse-and-worse").inhibited
    assert {"SSDWriteLatencyHigh", "SSDIOPressureHigh", "SSDDiskSaturated"} <= held.keys()
    assert {"SSDDiskStalled"} == held["SSDDiskSaturatedSevere"]
    assert "SSDDiskStalled" in held["SSDDiskSaturated"]


def test_a_failing_drive_inhibits_only_what_asks_for_its_replacement(played: Stage) -> None:
    """It does not inhibit SSDDiskStalled, which the scene expects as an event."""
    assert {"SSDMediaErrors": {"SSDDriveFailing"}} == act_of(played, "failing").inhibited


def test_a_silent_host_inhibits_only_the_ticket_about_its_exporter(played: Stage) -> None:
    held = act_of(played, "down-and-hot").inhibited
    assert {"SSDExporterDown": {"SSDFailingHostSilent"}} == held


def test_no_rule_fails_and_no_program_logs_an_error(played: Stage) -> None:
    """Even while drives are lost and replaced, when a join may find two matches instead of one."""
    assert 0 == played.prometheus.counts("prometheus_rule_evaluation_failures_total")
    assert 0 < played.prometheus.counts("prometheus_rule_evaluations_total")
    assert [] == played.prometheus.complaints
    assert [] == played.manager.complaints
    complaints = {act.scene.name: act.daemon.complaints for act in played.acts}
    (of_probe,) = [each for each in complaints.pop("probe") if not LOGGED.search(each)]
    assert "probe fsync of nvme1n1: fio: no report, with exit status 1" in of_probe
    assert any("predicts its own failure" in line for line in complaints["failing"])
    assert not any("predicts its own failure" in line for line in complaints["heat"])
    # No drive wears by 88 % within seconds: the value is used when further polls confirm it.
    (of_wear,) = [each for each in complaints.pop("wear") if not LOGGED.search(each)]
    assert "endurance_used_ratio 0.91 is not used: it has grown from" in of_wear
    others = {
        name: [line for line in lines if not LOGGED.search(line)]
        for name, lines in complaints.items()
    }
    assert {} == {name: lines for name, lines in others.items() if lines}
