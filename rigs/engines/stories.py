"""Reads the stories of the alerts: their series, and which alerts fire at which times."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rigs.engines.samples import Scrapes
from tests.alerts import rules

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

#: Files whose stories are about the scrapes themselves, and are not run with others.
ABOUT_SCRAPES = ("scrape-interval", "self-copies")

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Check:
    """The expected alerts of one name at one time of a story.

    at: seconds since the start of the story.
    alerts: the labels of each alert; empty if none may fire.
    """

    alert: str
    at: int
    alerts: frozenset[Labels]


@dataclass(frozen=True, slots=True)
class Story:
    """One test of a file of stories.

    interval: seconds between two samples of a series.
    series: pairs of a name with labels, and values in the notation of promtool.
    """

    name: str
    interval: int
    series: tuple[tuple[str, str], ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class StoryFile:
    """A file of stories.

    rule_files: the rule files, in the order of their evaluation.
    evaluation: seconds between two evaluations of all rules.
    """

    name: str
    rule_files: tuple[Path, ...]
    evaluation: int
    stories: tuple[Story, ...]

    def probed(self, check: Check, scrapes: Scrapes | None) -> Sequence[int]:
        """Returns the times at which a check looks at the alerts, in seconds.

        An alert may be late by a scrape and an evaluation.

        scrapes: None for the samples of the story, which stand on the evaluations.
        """
        if scrapes is None:
            return (check.at,)
        late = scrapes.seconds + self.evaluation
        return range(check.at, check.at + late + 1, self.evaluation)


def read(path: Path) -> StoryFile:
    """Returns a file of stories."""
    document = rules.story(path)
    return StoryFile(
        path.stem,
        tuple((path.parent / name).resolve() for name in document["rule_files"]),
        seconds(document["evaluation_interval"]),
        tuple(_story(test) for test in document["tests"]),
    )


def _story(test: Mapping[str, Any]) -> Story:
    return Story(
        test["name"],
        seconds(test["interval"]),
        tuple((each["series"], str(each["values"])) for each in test["input_series"]),
        tuple(
            Check(
                check["alertname"],
                seconds(check["eval_time"]),
                frozenset(frozenset(each["exp_labels"].items()) for each in check["exp_alerts"]),
            )
            for check in test["alert_rule_test"]
        ),
    )


def seconds(text: str) -> int:
    """Returns a duration of Prometheus, such as 1h30m, in seconds."""
    return round(sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)([a-z]+)", text)))


def rule_groups(path: Path, *, is_split: bool) -> list[dict[str, Any]]:
    """Returns the groups of a rule file without annotations, whose texts have measured values.

    is_split: each rule is a group of its own.
    """
    groups: list[dict[str, Any]] = yaml.safe_load(path.read_text())["groups"]
    for group in groups:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    if not is_split:
        return groups
    return [
        {"name": f"{group['name']}-{number}", "rules": [rule]}
        for group in groups
        for number, rule in enumerate(group["rules"])
    ]
