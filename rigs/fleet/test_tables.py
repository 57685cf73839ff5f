"""The tables of `make fleet`, and the rules that it writes."""

from pathlib import Path

import yaml

from rigs.fleet import rule_files, tables
from rigs.fleet.comparison import Comparison, labels_of
from rigs.fleet.cost import Cost, Group, Part
from rigs.fleet.faults import Fault
from tests.alerts import rules

CHEAP = Group("cheap", 30.0, (0.1, 0.4), ((0.2, "one"), (0.1, "two")))
DEAR = Group("dear", 60.0, (9.0,), ((20.0, "three"),))


def cost(engine: str, *parts: Part) -> Cost:
    return Cost(engine, (CHEAP, DEAR), parts, 1000, 3, 1.0)


def test_each_program_has_a_row_and_several_have_a_sum() -> None:
    found = tables.parts(
        [cost("A", Part("a", 0.5, 1024)), cost("B", Part("b", 1, 512), Part("c", 0.25, 512))]
    )
    assert [
        "| A | a | 0.50 | 1.00 GiB |",
        "| B | b | 1.00 | 0.50 GiB |",
        "| B | c | 0.25 | 0.50 GiB |",
        "| B | all | 1.25 | 1.00 GiB |",
    ] == found.splitlines()[2:]


def test_the_most_expensive_group_is_first_and_a_missed_limit_is_shown() -> None:
    first, second = tables.groups([cost("A", Part("a", 1, 1))]).splitlines()[2:]
    assert "| dear | 1 | 60 s | A | 20.00 s | 33.3% | 9.0 s | three 20.00 s | MISSED |" == first
    assert "| cheap | 2 | 30 s | A | 0.30 s | 1.0% | 0.4 s | one 0.20 s | met |" == second


def test_a_group_that_was_not_evaluated_has_no_duration() -> None:
    group = CHEAP._replace(seconds=())
    row = tables.groups([cost("A")._replace(groups=(group,))]).splitlines()[-1]
    assert "| not evaluated |" in row


def test_the_limit_is_met_if_no_group_exceeds_it() -> None:
    assert not cost("A").is_met
    assert cost("A")._replace(groups=(CHEAP,)).is_met


def test_a_fault_has_the_time_of_its_alert_on_each_engine() -> None:
    host = {"instance": "db1"}
    fault = Fault("name", "SSDTest", "critical", (), begin=10)
    found = Comparison(("one", "other"), 10)
    found.add(15, [labels_of({**host, "alertname": "SSDTest", "severity": "critical"})], [])
    row = tables.faults(found, [(host, fault)]).splitlines()[-1]
    assert "| name | SSDTest | critical | after 5 s | NEVER |" == row


def test_the_compared_rules_differ_in_waits_only(tmp_path: Path) -> None:
    rule_files.write_compared(tmp_path / "rules")
    written = {
        group["name"]: group
        for path in (tmp_path / "rules").glob("*.yml")
        for group in yaml.safe_load(path.read_text())["groups"]
    }
    assert {group["name"] for group in rules.groups()} == set(written)
    for group in rules.groups():
        for mine, real in zip(written[group["name"]]["rules"], group["rules"], strict=True):
            assert mine.keys() == real.keys()
            changed = {key for key in mine if mine[key] != real[key]}
            assert changed <= {"for", "keep_firing_for"}


def test_the_measured_rules_have_the_real_waits(tmp_path: Path) -> None:
    rule_files.write_measured(tmp_path / "rules")
    for path in rule_files.paths():
        text = (tmp_path / "rules" / path.name).read_text()
        assert path.read_text().replace("interval: 4m", "interval: 1m") == text
