"""`check`, the page and the alerts report a condition with the same severity."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from exporter.drives.firmware import FirmwareIssue
from exporter.drives.health import AtaAttribute, Endurance, EnduranceSource, SelfTest
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.verdict import Verdict
from exporter.pages import judgement
from exporter.pages.views import DriveFacts
from exporter.smart.drive_problems import CheckThresholds, problems
from tests.alerts import rules
from tests.pages import examples

DAY = 86_400.0
SEVERITIES = {rule.name: rule.severity for rule in rules.alerts()}


def healthy(**changes: Any) -> WatchedDrive:
    return examples.drive("nvme0n1", examples.health(0.03, 36.0, **changes))


def silent(label: str = "nvme0n1", **changes: Any) -> WatchedDrive:
    return examples.drive(label, up=False, polls={"no_answer": 1}, message="no answer", **changes)


def worn(used: float, source: EnduranceSource = EnduranceSource.NVME_LOG) -> WatchedDrive:
    return healthy(endurance=Endurance(used, source))


def lasting(days: float, drive: WatchedDrive) -> WatchedDrive:
    return dataclasses.replace(drive, wearout_seconds=(days * DAY, 99 * DAY, 400 * DAY))


def defect(hours: float | None) -> WatchedDrive:
    issue = FirmwareIssue("hangs", "update it", hours, "a bulletin")
    return dataclasses.replace(healthy(), firmware_issues=(issue,))


def logged(**values: int) -> WatchedDrive:
    return healthy(logs=ParsedLogs(NvmeLogValues(**values)))


FAILED = AtaAttribute(5, "Reallocated_Sector_Ct", 9, failed="now", prefailure=True)

#: A drive with one problem, and the alert about the same condition.
PAIRS: list[tuple[WatchedDrive, str]] = [
    (silent(is_missing=True), "SSDDriveLost"),
    (silent(), "SSDDriveNotAnswering"),
    (silent(is_stuck=True), "SSDDriveNotAnswering"),
    (silent(is_stuck=True), "SSDCommandStuck"),
    # The kernel does not list it: the alerts count it as lost.
    (silent("bus/0:megaraid,3"), "SSDDriveLost"),
    (healthy(healthy=False), "SSDDriveFailing"),
    (healthy(healthy=False, critical_warnings={"read_only": True}), "SSDDriveFailing"),
    (healthy(healthy=False, critical_warnings={"volatile_backup": True}), "SSDDriveFailing"),
    (healthy(healthy=False, attributes=(FAILED,)), "SSDDriveFailing"),
    (healthy(plp_healthy=False), "SSDPowerLossProtectionFailed"),
    (healthy(self_test=SelfTest(passed=False)), "SSDSelfTestFailed"),
    (healthy(media_errors=1), "SSDMediaErrors"),
    (healthy(pending_sectors=2), "SSDPendingSectors"),
    (healthy(temperatures={"drive": 82.0}), "SSDTemperatureHigh"),
    (healthy(temperatures={"drive": 85.0}), "SSDTemperatureCritical"),
    (healthy(spare_ratio=0.1), "SSDSpareExhausted"),
    (worn(0.8), "SSDWearHigh"),
    (worn(0.9), "SSDWearCritical"),
    (lasting(89, healthy()), "SSDWearoutNear"),
    (lasting(29, healthy()), "SSDWearoutSoon"),
    # SSDWearoutSoon excludes both: nothing is known about how their wear goes on.
    (lasting(29, worn(0.5, EnduranceSource.NAME_GUESS)), "SSDWearoutNear"),
    (lasting(29, worn(2.55)), "SSDWearoutNear"),
    (defect(None), "SSDFirmwareIssue"),
    (defect(8 * 24), "SSDFirmwareTimeBomb"),
    (defect(6 * 24), "SSDFirmwareFailureNear"),
    (logged(capacitor_health_percent=19), "SSDCapacitorWeak"),
    (logged(thermal_throttling_level=1), "SSDThermalThrottling"),
]

#: Alerts of smart.yml without a problem of `check`, and why.
HISTORY, OTHER = "it compares values of different times", "it is about another condition"
WITHOUT_PROBLEM = {
    **dict.fromkeys(
        (
            *("SSDMediaErrorsRepeated", "SSDReallocatedGrowing", "SSDFlashFailures"),
            *("SSDInterfaceErrors", "SSDOverTemperatureTime", "SSDPowerLost", "SSDSpareFalling"),
            *("SSDSeveralDrivesDegrading", "SSDPCIeLinkNoisy", "SSDEndToEndErrors"),
        ),
        HISTORY,
    ),
    # `check` does not know whether a drive has a successor or was a volume of a network.
    **dict.fromkeys(("SSDDriveReplaced", "SSDVolumeDetached"), OTHER),
    # Their problems have the status UNKNOWN, which is between OK and WARNING.
    **dict.fromkeys(("SSDSmartLogInvalid", "SSDSmartUnavailable"), OTHER),
    # A drive that reports its wear as a failure: tests/commands/test_check.py has the reports.
    "SSDDriveWornOut": OTHER,
}


@pytest.mark.parametrize(("drive", "alert"), PAIRS, ids=[alert for _, alert in PAIRS])
def test_a_problem_has_the_severity_of_its_alert(drive: WatchedDrive, alert: str) -> None:
    found = problems(drive, CheckThresholds())
    assert SEVERITIES[alert] == found[0].status.name.lower(), found


def test_each_alert_about_a_drive_has_a_pair_or_a_reason() -> None:
    about_drives = {rule.name for rule in rules.alerts() if rule.file == "smart.yml"}
    paired = {alert for _, alert in PAIRS} - {"SSDCommandStuck"}
    assert about_drives == paired | WITHOUT_PROBLEM.keys()
    assert set() == paired & WITHOUT_PROBLEM.keys()


def full(**changes: Any) -> Callable[[bool], str]:
    """Returns the severity of a drive with a bottleneck; the argument: MySQL uses the drive."""
    load = examples.Load(40, 20, 0.3, 0.5, Verdict.DEVICE, ((280, 0),), 9.0)
    now = dataclasses.replace(examples.columns(load, 3, 300), **changes)

    def severity(is_mysql: bool) -> str:
        roles = ("mysql-data",) if is_mysql else ("backup",)
        facts: DriveFacts = examples.facts("nvme0n1", roles=roles)
        return judgement.judged(facts, now, 300.0, has_mysql=True).status.name.lower()

    return severity


STALLED = {"is_stalled": True, "stalled_seconds": 20.0}
BOTTLENECKS = [
    (full(**STALLED), True, "SSDDiskStalled"),
    (full(**STALLED), False, "SSDDiskStalledWithoutMySQL"),
    (full(saturated_seconds=280.0), True, "SSDDiskSaturatedSevere"),
    (full(saturated_seconds=280.0), False, "SSDDiskSaturated"),
    (full(saturated_seconds=40.0), True, "SSDDiskSaturated"),
    (full(verdict=Verdict.UNKNOWN), True, "SSDDriveSlow"),
    (full(verdict=Verdict.CPU_SOFTIRQ), True, "SSDCPUSoftirqBottleneck"),
    (full(verdict=Verdict.WRITE_CACHE), True, "SSDWriteCacheFalloff"),
]


@pytest.mark.parametrize(
    ("severity", "is_mysql", "alert"), BOTTLENECKS, ids=[alert for *_, alert in BOTTLENECKS]
)
def test_a_bottleneck_has_the_severity_of_its_alert(
    severity: Callable[[bool], str], is_mysql: bool, alert: str
) -> None:
    assert SEVERITIES[alert] == severity(is_mysql)


def test_without_a_known_mysql_server_a_stall_pages_as_in_the_alerts() -> None:
    load = examples.Load(40, 20, 0.3, 0.5, Verdict.DEVICE, ((280, 0),), 9.0)
    now = dataclasses.replace(examples.columns(load, 3, 300), **STALLED)  # type: ignore[arg-type]
    drive = judgement.judged(examples.facts("nvme0n1"), now, 300.0, has_mysql=False)
    assert SEVERITIES["SSDDiskStalled"] == drive.status.name.lower()


@pytest.mark.parametrize("verdict", [each for each in Verdict if each is not Verdict.NONE])
def test_a_verdict_has_one_word_in_metric_page_top_and_dashboards(verdict: Verdict) -> None:
    from dashboards.builders.words import VERDICT  # noqa: PLC0415
    from exporter.top.table import verdict_text  # noqa: PLC0415

    word = verdict.value.replace("_", " ")
    assert word == judgement.LABELS[verdict]
    assert word == verdict_text(verdict).lower()
    assert word in {text for _, text, _ in VERDICT.of}
