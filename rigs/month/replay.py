"""Evaluates the rules on a month of samples with `promtool test rules`.

promtool evaluates the alerts of alerts/ and the recorded series that they use, unchanged, with
`for` and keep_firing_for, in a database of its own, faster than real time and without network.

Differences from production: scrapes and evaluations happen every minute instead of every 15 and 30
seconds; every four minutes for slowly changing metrics (health, probes, links), and every two
minutes for the load of a faulty drive. promtool has one interval for all groups, so there are
several replays, each with the groups that its alerts use.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import yaml

from tests.alerts import rules

#: Additional rules record which alerts fired or were pending, and when first and last, because
#: promtool loads at most 10,000 samples for one query at the end.
_FIRST, _LAST = "month:alerts:first", "month:alerts:last"
_TIMES = "month:alerts:times"

#: Maximum number of drives per replay. Two cores share the faulty drives. More than 14 exceed the
#: limit of promtool of 10,000 samples per query: a week of probes of one drive has 672.
DRIVES_AT_ONCE = 5

_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Replay:
    """Groups that are evaluated together with a common interval, in this order."""

    name: str
    seconds: int
    groups: tuple[str, ...]


_THRESHOLDS = (
    *("ssd-thresholds-io", "ssd-thresholds-host", "ssd-thresholds-health"),
    *("ssd-thresholds-links-and-probes", "ssd-overrides"),
)
_OF_LOAD = (
    *_THRESHOLDS,
    *("ssd-identity", "ssd-memory", "ssd-io", "ssd-io-alerts"),
    *("ssd-cpu-alerts", "ssd-self-alerts"),
)

#: Replays of the healthy host and of faulty ones.
LOAD = Replay("load", 60, _OF_LOAD)
LOAD_OF_FAULTY = Replay("load-of-faulty", 120, _OF_LOAD)
HEALTH = Replay(
    "health",
    240,
    (
        *_THRESHOLDS,
        *("ssd-identity", "ssd-growth", "ssd-probes", "ssd-smart-alerts", "ssd-wear-alerts"),
        "ssd-log-page-alerts",
        *("ssd-topology-alerts", "ssd-probe-alerts", "ssd-slc-alerts"),
        "ssd-io-trend-alerts",
    ),
)
#: The longest one first.
REPLAYS = (LOAD, HEALTH, LOAD_OF_FAULTY)


@dataclass(frozen=True, slots=True)
class Fired:
    """An alert that fired or was pending: host, first and last time, and total duration.

    Times are seconds since the start of the month.
    """

    alert: str
    severity: str
    host: str
    device: str
    first: float
    last: float
    lasted: float


class ReplayFailed(Exception):
    """promtool failed."""


@dataclass(frozen=True, slots=True)
class Named:
    """Series that the rules of a replay read, with bucket bounds of histograms."""

    metrics: frozenset[str] = field(default_factory=frozenset)
    bounds: frozenset[str] = field(default_factory=frozenset)


def groups(replay: Replay) -> list[dict[str, Any]]:
    """The groups of alerts/, without rules that only dashboards or other replays use."""
    known = {
        group["name"]: group
        for path in rules.RULE_FILES
        for group in yaml.safe_load(path.read_text())["groups"]
    }
    found = [known[name] for name in replay.groups]
    asked = _asked([rule for group in found for rule in group["rules"]])
    if "ssd-self-alerts" in replay.groups:
        # SSDThresholdsMissing counts them.
        every = (rule.get("record", "") for group in found for rule in group["rules"])
        asked |= {name for name in every if name.startswith("ssd:threshold:")}
    return [
        group | {"rules": [each for each in group["rules"] if each.get("record", "") in asked]}
        for group in found
    ]


def _asked(its_rules: Iterable[dict[str, Any]]) -> set[str]:
    """Recorded series that the alerts read, directly or indirectly; "" stands for alerts."""
    exprs: dict[str, set[str]] = {}
    for rule in its_rules:
        exprs.setdefault(rule.get("record", ""), set()).update(rules.recorded(rule["expr"]))
    asked, new = {""}, {""}
    while new:
        new = {name for each in new for name in exprs.get(each, ())} - asked
        asked |= new
    return asked


def named(replay: Replay) -> Named:
    """Series that the rules of a replay read; other series of a page are not kept."""
    exprs = [rule["expr"] for group in groups(replay) for rule in group["rules"]]
    metrics = {name for expr in exprs for name in rules.metrics(expr)}
    bounds = {bound for expr in exprs for bound in re.findall(r'\ble="([^"]+)"', expr)}
    return Named(frozenset(metrics), frozenset(bounds))


def run(
    replay: Replay,
    series: Iterable[Path],
    seconds: float,
    story: Path,
    is_over: Event,
) -> list[Fired]:
    """All alerts that fired or were pending within `end` seconds.

    series: files of `Series.write` with one series per line, of at most DRIVES_AT_ONCE drives.
    story: path of the file for promtool; the rules are written beside it. is_over: returns True if
    the result is no longer needed.

    Raises:
        ReplayFailed: promtool reported an unexpected error.
    """
    if is_over.is_set():
        return []
    end = int(seconds // replay.seconds * replay.seconds)
    _write(story, replay, series, end)
    with subprocess.Popen(
        ["promtool", "test", "rules", str(story)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as promtool:
        told = None
        while told is None:
            try:
                told, _ = promtool.communicate(timeout=_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                if is_over.is_set():
                    promtool.kill()
    found = dict(_told(told))
    if promtool.returncode and (", err: " in told or not found):
        raise ReplayFailed(
            f"promtool test rules {story}: exit status {promtool.returncode}: {told[:2000]}"
        )
    first, last, times = (dict(_vector(found.get(name, ""))) for name in (_FIRST, _LAST, _TIMES))
    return list(_fired(first, last, times, replay.seconds))


def _write(story: Path, replay: Replay, series: Iterable[Path], end: int) -> None:
    """Writes a promtool test that expects no alerts, so that promtool reports those that fired."""
    its_rules = story.with_suffix(".rules.json")
    its_groups = [*groups(replay), _notes(replay)]
    its_rules.write_text(json.dumps({"groups": its_groups}))
    head = {
        "rule_files": [its_rules.name],
        "evaluation_interval": f"{replay.seconds}s",
        "group_eval_order": [group["name"] for group in its_groups],
    }
    test = {
        "interval": f"{replay.seconds}s",
        "promql_expr_test": [
            {"expr": expr, "eval_time": f"{end}s", "exp_samples": []}
            for expr in (_FIRST, _LAST, _TIMES)
        ],
    }
    # JSON is valid YAML. It is written line by line, because a month has 100 MB.
    with story.open("w") as out:
        out.write(f'{json.dumps(head)[:-1]}, "tests": [{json.dumps(test)[:-1]}, "input_series": [')
        between = ""
        for path in series:
            for line in path.read_text().splitlines():
                out.write(f"{between}\n{line}")
                between = ","
        out.write("]}]}\n")


def _notes(replay: Replay) -> dict[str, Any]:
    """A group of rules that record when each alert fired or was pending."""
    now = "timestamp(ALERTS)"
    first, last, times = (
        f"last_over_time({name}[{2 * replay.seconds}s])" for name in (_FIRST, _LAST, _TIMES)
    )
    return {
        "name": "month",
        "rules": [
            {"record": _FIRST, "expr": f"{first} or {now}"},
            {"record": _LAST, "expr": f"{now} or {last}"},
            {"record": _TIMES, "expr": f"({times} + ALERTS) or {times} or ALERTS"},
        ],
    }


def _told(text: str) -> Iterator[tuple[str, str]]:
    """Parses query and result from the error output of promtool."""
    for found in re.finditer(r'expr: (".*"), time: .*\n\s*exp: ?.*\n\s*got: ?(.*)', text):
        yield json.loads(found[1]), found[2]


_Labels = tuple[tuple[str, str], ...]


def _vector(text: str) -> Iterator[tuple[_Labels, float]]:
    for labels, value in re.findall(r"\{([^}]*)\} ([-+.\dE]+)", text):
        found = re.findall(r'(\w+)="([^"]*)"', labels)
        yield tuple(pair for pair in found if pair[0] != "__name__"), float(value)


def _fired(
    first: Mapping[_Labels, float],
    last: Mapping[_Labels, float],
    times: Mapping[_Labels, float],
    seconds: float,
) -> Iterator[Fired]:
    for key, began in first.items():
        labels = dict(key)
        yield Fired(
            labels["alertname"],
            labels["severity"] if labels["alertstate"] == "firing" else "pending",
            labels.get("instance", ""),
            labels.get("device", ""),
            began,
            last[key],
            times[key] * seconds,
        )
