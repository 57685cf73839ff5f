"""Prometheus's own rule engine over a month of samples, as fast as it goes: `promtool test rules`.

It evaluates the alerts of alerts/ and what they rest on, unchanged, recorded series upon recorded
series, with `for` and keep_firing_for, in a time series database of its own, and nothing has to
listen or to wait.

What is not as in production: a target is scraped, and rules evaluated, once a minute and not every
15 and 30 seconds; what speaks of slow things (health, probes, links) once in four minutes, and what
an ill drive does with its work once in two. promtool takes one interval for all groups, so they are
evaluated in several replays, each with the groups that its alerts rest on.
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

#: What fired or was pending, when first and when last: rules of our own behind the others, for
#: promtool loads no more than 10,000 samples to answer one query at the end.
_FIRST, _LAST = "month:alerts:first", "month:alerts:last"
_TIMES = "month:alerts:times"

#: Two cores share the ill ones; more than 14 would be too many for promtool, which loads 10,000
#: samples a query at most: a week of a drive's probes is 672.
DRIVES_AT_ONCE = 5

_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Replay:
    """Groups that are evaluated together, every so many seconds, in this order."""

    name: str
    seconds: int
    groups: tuple[str, ...]


_OF_LOAD = (
    *("ssd-thresholds", "ssd-identity", "ssd-io", "ssd-io-alerts"),
    *("ssd-cpu-alerts", "ssd-self-alerts"),
)

#: Of the healthy host, and of ill ones.
LOAD = Replay("load", 60, _OF_LOAD)
LOAD_OF_ILL = Replay("load-of-ill", 120, _OF_LOAD)
HEALTH = Replay(
    "health",
    240,
    (
        *("ssd-thresholds", "ssd-identity", "ssd-growth", "ssd-probes", "ssd-smart-alerts"),
        *("ssd-topology-alerts", "ssd-probe-alerts", "ssd-slc-alerts"),
    ),
)
#: The longest first.
REPLAYS = (LOAD, HEALTH, LOAD_OF_ILL)


@dataclass(frozen=True, slots=True)
class Fired:
    """An alert that fired, or was pending: of whom, when first and last, and for how long in all.

    Times are seconds from the month's begin.
    """

    alert: str
    severity: str
    host: str
    device: str
    first: float
    last: float
    lasted: float


class ReplayFailed(Exception):
    """promtool did not do what it was asked to."""


@dataclass(frozen=True, slots=True)
class Named:
    """Which series a replay's rules ask for; of a histogram the upper bounds too."""

    metrics: frozenset[str] = field(default_factory=frozenset)
    bounds: frozenset[str] = field(default_factory=frozenset)


def groups(replay: Replay) -> list[dict[str, Any]]:
    """The groups as alerts/ has them, without what they record for dashboards or others alone."""
    known = {
        group["name"]: group
        for path in rules.RULE_FILES
        for group in yaml.safe_load(path.read_text())["groups"]
    }
    found = [known[name] for name in replay.groups]
    asked = _asked([rule for group in found for rule in group["rules"]])
    return [
        group | {"rules": [each for each in group["rules"] if each.get("record", "") in asked]}
        for group in found
    ]


def _asked(its_rules: Iterable[dict[str, Any]]) -> set[str]:
    """What the alerts rest on, one recorded series on another; and "" for themselves."""
    exprs: dict[str, set[str]] = {}
    for rule in its_rules:
        exprs.setdefault(rule.get("record", ""), set()).update(rules.recorded(rule["expr"]))
    asked, new = {""}, {""}
    while new:
        new = {name for each in new for name in exprs.get(each, ())} - asked
        asked |= new
    return asked


def named(replay: Replay) -> Named:
    """What the rules of a replay ask for; the rest of a page need not be kept."""
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
    """Everything that fired or was pending within so many seconds.

    series: files with one series a line, as `Series.write` leaves them; of no more than
    DRIVES_AT_ONCE drives. story: the file to write for promtool, with the rules beside it. is_over:
    nobody wants to know any more.

    Raises:
        ReplayFailed: promtool found fault with something else than what fired.
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
    """A story for promtool that expects nothing to fire, and so is told what did."""
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
    # JSON is YAML; written line by line, for a month has a hundred megabytes.
    with story.open("w") as out:
        out.write(f'{json.dumps(head)[:-1]}, "tests": [{json.dumps(test)[:-1]}, "input_series": [')
        between = ""
        for path in series:
            for line in path.read_text().splitlines():
                out.write(f"{between}\n{line}")
                between = ","
        out.write("]}]}\n")


def _notes(replay: Replay) -> dict[str, Any]:
    """A group that notes when each alert fired or was pending."""
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
    """Each query with what came of it, out of promtool's complaint that it was not nothing."""
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
