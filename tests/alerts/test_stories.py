"""Each alert fires in a story that calls for it, and stays silent in one near it."""

import subprocess
from pathlib import Path

import pytest

from tests.alerts import rules
from tests.alerts.rules import Expectation
from tests.end_to_end.programs import need

EXPECTATIONS = rules.expectations()
NAMES = [alert.name for alert in rules.alerts()]
FIRING = [each for each in EXPECTATIONS if each.alerts]


@pytest.mark.real
@pytest.mark.parametrize("path", rules.STORIES, ids=lambda path: path.stem)
def test_the_stories_go_as_they_are_told(path: Path) -> None:
    need("promtool")
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_story_in_which_it_fires(name: str) -> None:
    assert [each for each in FIRING if each.alert == name]


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_has_a_story_in_which_it_never_fires(name: str) -> None:
    told = {each.story for each in EXPECTATIONS if each.alert == name}
    fires = {each.story for each in FIRING if each.alert == name}
    assert told - fires


def test_stories_name_no_alert_that_is_none() -> None:
    assert set() == {each.alert for each in EXPECTATIONS} - set(NAMES)


def test_no_two_stories_of_a_file_have_one_name() -> None:
    for path in rules.STORIES:
        told = [test["name"] for test in rules.story(path)["tests"]]
        assert sorted(set(told)) == sorted(told)


@pytest.mark.parametrize("expected", FIRING, ids=lambda each: f"{each.alert}-{each.story}")
def test_texts_are_whole(expected: Expectation) -> None:
    """As they arrive: no gap where a label is missing, no action that was not carried out."""
    for alert in expected.alerts:
        for text in alert["exp_annotations"].values():
            assert not [bad for bad in ("<no value>", "NaN", "%!", "{{", "}}", "  ") if bad in text]


@pytest.mark.parametrize("path", rules.STORIES, ids=lambda path: path.stem)
def test_groups_are_evaluated_in_order(path: Path) -> None:
    """promtool takes them in any order else, and thresholds may come after the alerts."""
    document = rules.story(path)
    files = [path.parent / name for name in document["rule_files"]]
    groups = [group["name"] for file in files for group in rules.story(file)["groups"]]
    assert groups == document["group_eval_order"]
