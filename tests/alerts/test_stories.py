"""Each alert fires in one story and does not fire in a similar one."""

from pathlib import Path

import pytest

from tests.alerts import rules
from tests.alerts.rules import Expectation

EXPECTATIONS = rules.expectations()
NAMES = [alert.name for alert in rules.alerts()]
FIRING = [each for each in EXPECTATIONS if each.alerts]


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_fires_in_a_story(name: str) -> None:
    assert [each for each in FIRING if each.alert == name]


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_story_without_it(name: str) -> None:
    checked = {each.story for each in EXPECTATIONS if each.alert == name}
    firing = {each.story for each in FIRING if each.alert == name}
    assert checked - firing


def test_stories_refer_to_existing_alerts() -> None:
    assert set() == {each.alert for each in EXPECTATIONS} - set(NAMES)


def test_story_names_are_unique_within_a_file() -> None:
    for path in rules.STORIES:
        names = [test["name"] for test in rules.story(path)["tests"]]
        assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("expected", FIRING, ids=lambda each: f"{each.alert}-{each.story}")
def test_rendered_annotations_are_complete(expected: Expectation) -> None:
    """Rendered texts contain no missing labels and no unevaluated template actions."""
    for alert in expected.alerts:
        for text in alert["exp_annotations"].values():
            assert not [bad for bad in ("<no value>", "NaN", "%!", "{{", "}}", "  ") if bad in text]


@pytest.mark.parametrize("path", rules.STORIES, ids=lambda path: path.stem)
def test_groups_are_evaluated_in_order(path: Path) -> None:
    """Without an explicit order promtool may evaluate thresholds after the alerts."""
    document = rules.story(path)
    files = [path.parent / name for name in document["rule_files"]]
    groups = [group["name"] for file in files for group in rules.story(file)["groups"]]
    assert groups == document["group_eval_order"]
