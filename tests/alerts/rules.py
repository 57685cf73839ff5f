"""Reads the rule files and stories."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "alerts"
RUNBOOKS = ALERTS / "runbooks"
RULE_FILES = tuple(sorted(ALERTS.glob("*.yml")))
EXAMPLES = ALERTS / "examples"
STORIES = tuple(sorted((Path(__file__).parent / "stories").glob("*.yml")))


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert rule; `duration` is its `for`."""

    name: str
    expr: str
    duration: str
    severity: str
    annotations: dict[str, str]
    file: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule."""

    name: str
    expr: str
    file: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """One check of a story: the expected alerts at a time; empty if none may fire."""

    story: str
    alert: str
    alerts: tuple[dict[str, Any], ...]


def groups() -> list[dict[str, Any]]:
    """All groups of the rule files."""
    return [group for path in RULE_FILES for group in yaml.safe_load(path.read_text())["groups"]]


def _rules() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in RULE_FILES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            for rule in group["rules"]:
                yield path.name, rule


def alerts() -> list[Alert]:
    return [
        Alert(
            rule["alert"],
            rule["expr"],
            rule.get("for", ""),
            rule["labels"]["severity"],
            rule["annotations"],
            file,
        )
        for file, rule in _rules()
        if "alert" in rule
    ]


def recordings() -> list[Recording]:
    return [
        Recording(rule["record"], rule["expr"], file) for file, rule in _rules() if "record" in rule
    ]


def story(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document


def expectations() -> list[Expectation]:
    return [
        Expectation(test["name"], check["alertname"], tuple(check["exp_alerts"]))
        for path in STORIES
        for test in story(path)["tests"]
        for check in test["alert_rule_test"]
    ]


def metrics(expr: str) -> set[str]:
    """Names of scraped metrics in an expression, without recorded series."""
    bare = re.sub(r'"[^"]*"', '""', expr)
    words = re.findall(r"(?<![\w:])(?:up|(?:ssd|node|process)_\w+)(?![\w:(])", bare)
    return {word for word in words if not word.endswith("_")}


def recorded(expr: str) -> set[str]:
    """Names of recorded series in an expression."""
    return set(re.findall(r"[a-z_]+:\w+:\w+", re.sub(r'"[^"]*"', '""', expr)))


def matchers(expr: str) -> list[tuple[str, str]]:
    """Pairs of metric and label, one for every label matcher."""
    found = re.findall(r"([a-z_][\w:]*)\{([^}]*)\}", expr)
    return [
        (metric, label)
        for metric, inside in found
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", re.sub(r'"[^"]*"|%q', "", inside))
    ]


def grouping(expr: str) -> set[str]:
    """Labels in by, without, on, ignoring, group_left and group_right."""
    clauses = re.findall(r"\b(?:by|without|on|ignoring|group_left|group_right) \(([^)]*)\)", expr)
    return {label.strip() for clause in clauses for label in clause.split(",") if label.strip()}
