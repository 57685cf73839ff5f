"""The faults of the simulated hosts."""

import pytest

from rigs.fleet import agreement, faults, page
from rigs.fleet.comparison import Comparison, labels_of
from rigs.fleet.faults import FAULTS, Change, Fault
from rigs.fleet.page import Line
from tests.alerts import rules

LINES = (Line("gauge", 1.0, 0.0), Line("counter_total", 5.0, 2.0), Line("other", 3.0, 0.0))
FAULT = Fault(
    "name",
    "SSDTest",
    "critical",
    (Change("gauge", 0), Change("counter_total", rate=3), Change("new", 1)),
    begin=10,
    end=20,
)


def values(seconds: float) -> dict[str, float]:
    return {
        line.series: page.value(line, 0, 0) + added
        for line, added in faults.altered(LINES, FAULT, seconds)
    }


def test_before_a_fault_the_page_is_healthy() -> None:
    assert {"gauge": 1, "counter_total": 5, "other": 3} == values(9)


def test_during_a_fault_series_change_and_new_ones_exist() -> None:
    assert {"gauge": 0, "counter_total": 5 + 4 * 3, "other": 3, "new": 1} == values(14)


def test_after_a_fault_counters_keep_their_increase() -> None:
    assert {"gauge": 1, "counter_total": 5 + 10 * 3, "other": 3} == values(99)


def test_a_silent_host_answers_again_at_the_end_of_the_fault() -> None:
    fault = FAULT._replace(silent=12)
    assert [True, False, False, True] == [fault.answers(at) for at in (11, 12, 19, 20)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_names_an_alert_with_its_severity(fault: Fault) -> None:
    assert fault.severity in [each.severity for each in rules.alerts() if each.name == fault.alert]


def test_changes_name_series_of_the_page_or_metrics_that_a_healthy_host_lacks() -> None:
    known = {line.series for line in page.lines()}
    changed = {change.series for fault in FAULTS for change in fault.changes}
    assert {'ssd_md_degraded_disks{device="md0"}'} == changed - known


def test_two_clusters_have_equally_named_hosts_and_only_one_fails() -> None:
    hosts = faults.hosts()
    names = [target.instance for target in hosts]
    assert 2 * len(set(names)) == len(names)
    assert {"east"} == {target.cluster for target, fault in hosts.items() if fault}


def test_a_fault_without_alert_is_reported_for_each_engine() -> None:
    comparison = Comparison(("one", "other"), 10)
    firing = [
        labels_of(agreement.expected(target, fault))
        for target, fault in faults.hosts().items()
        if fault
    ]
    comparison.add(0, firing, firing[1:])
    (line,) = agreement.missing(comparison)
    assert line.startswith(f"other: {FAULTS[0].alert} (critical) did not fire")
