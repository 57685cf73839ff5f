"""The comparison of the alerts of two engines."""

from rigs.fleet.comparison import Comparison, labels_of, text

FAILING = labels_of({"alertname": "SSDDriveFailing", "severity": "critical", "instance": "db1"})
TICKET = labels_of({"alertname": "SSDDriveFailing", "severity": "warning", "instance": "db1"})


def comparison() -> Comparison:
    return Comparison(("one", "other"), tolerance=10)


def test_equal_alerts_are_no_difference() -> None:
    found = comparison()
    for at in (0, 30, 60):
        found.add(at, [FAILING], [FAILING])
    found.end()
    assert [] == found.differences
    assert 1 == found.common
    assert 0 == found.longest


def test_an_alert_may_fire_later_on_one_engine_within_the_tolerance() -> None:
    found = comparison()
    found.add(0, [FAILING], [])
    found.add(10, [FAILING], [FAILING])
    found.end()
    assert [] == found.differences
    assert 10 == found.longest


def test_an_alert_that_fires_much_later_on_one_engine_is_a_difference() -> None:
    found = comparison()
    found.add(0, [], [FAILING])
    found.add(11, [FAILING], [FAILING])
    found.end()
    (difference,) = found.differences
    assert ("other", 0, 11) == (difference.engine, difference.begin, difference.end)


def test_an_alert_that_resolves_much_later_on_one_engine_is_a_difference() -> None:
    found = comparison()
    found.add(0, [FAILING], [FAILING])
    found.add(5, [FAILING], [])
    found.add(16, [], [])
    found.end()
    assert ["one"] == [each.engine for each in found.differences]


def test_the_time_for_which_tasks_wait_for_a_cpu_extends_the_tolerance() -> None:
    found = comparison()
    found.add(0, [FAILING], [], waited=100)
    found.add(14, [FAILING], [FAILING], waited=105)
    found.add(20, [FAILING], [], waited=105)
    found.add(36, [FAILING], [FAILING], waited=110)
    found.end()
    assert [(20, 36)] == [(each.begin, each.end) for each in found.differences]


def test_the_tolerance_is_extended_to_three_times_at_most() -> None:
    found = comparison()
    found.add(0, [FAILING], [], waited=0)
    found.add(31, [FAILING], [FAILING], waited=31)
    found.end()
    assert [(0, 31)] == [(each.begin, each.end) for each in found.differences]


def test_an_alert_on_one_engine_at_the_end_is_a_difference() -> None:
    found = comparison()
    found.add(0, [FAILING], [])
    found.end()
    assert ["one"] == [each.engine for each in found.differences]


def test_interruptions_within_the_tolerance_are_not_added_up() -> None:
    found = comparison()
    for at in range(0, 100, 10):
        found.add(at, [FAILING], [FAILING] if at % 20 else [])
    found.add(100, [FAILING], [FAILING])
    found.end()
    assert [] == found.differences


def test_another_severity_is_a_difference_on_both_engines() -> None:
    found = comparison()
    found.add(0, [FAILING], [TICKET])
    found.end()
    assert {"one", "other"} == {each.engine for each in found.differences}
    assert 0 == found.common
    assert {FAILING, TICKET} == found.seen()


def test_the_first_time_of_an_alert_is_found_by_some_of_its_labels() -> None:
    found = comparison()
    found.add(3, [FAILING], [])
    found.add(6, [FAILING], [FAILING])
    wanted = {"alertname": "SSDDriveFailing", "severity": "critical"}
    assert 3 == found.fired("one", wanted)
    assert 6 == found.fired("other", wanted)
    assert found.fired("one", {"severity": "warning"}) is None


def test_an_alert_is_shown_as_in_promql() -> None:
    assert 'SSDDriveFailing{instance="db1", severity="critical"}' == text(FAILING)
