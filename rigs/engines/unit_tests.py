"""Runs the stories with the unit tests of Prometheus or VictoriaMetrics.

Both programs read the same format. They compare alerts only at single times, so the stories are
asked for their firing alerts with queries whose results are not expected, and are then printed.
"""

import json
import os
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigs.engines import needed_rules, stories
from rigs.engines.samples import Scrapes, grows, is_time, sampled, segments
from rigs.engines.stories import Check, Labels, Story, StoryFile
from stack.programs import StackError

#: In the output for an unexpected sample: its labels, and its value.
_SAMPLE = re.compile(r"\{([^{}]*alertname=[^{}]*)\} ([-+.\dE]+)")
#: The value of a sample is the number of its story, and the time with this number of digits.
_DIGITS = 9
#: Labels of ALERTS that the alert does not have in a notification. vmalert adds `alertgroup`.
_ADDED = ("alertname", "__name__", "alertstate", "alertgroup")
_TIMEOUT_SECONDS = 3600.0
#: vmalert finds the result of a rule only in later groups, and for five minutes.
_LOOKBACK_SECONDS = 300

#: An expression that selects alerts, and its time in seconds since the start of a story.
Query = tuple[str, int]
Asked = Callable[[Story], Iterable[Query]]
#: A page: name of the story, name and labels of the alert.
Page = tuple[str, str, Labels]


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that evaluates rules.

    command: its arguments before the file of a unit test.
    queries: the key of the queries in that file.
    start: the Unix time at which a story begins.
    is_late: a rule does not see the results of earlier rules of its group in the same evaluation.
    """

    name: str
    command: tuple[str, ...]
    queries: str
    start: int
    is_late: bool


def prometheus(name: str, promtool: str) -> Engine:
    """Returns a Prometheus with this promtool."""
    return Engine(name, (promtool, "test", "rules"), "promql_expr_test", 0, is_late=False)


def victoriametrics(name: str, tool: str) -> Engine:
    """Returns a VictoriaMetrics with this vmalert-tool, whose clock begins on 2000-01-01."""
    argv = (tool, "unittest", "--files")
    return Engine(name, argv, "metricsql_expr_test", 946_684_800, is_late=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """A check of a story that failed.

    fired: how many alerts of this name fired at each probed time.
    """

    story: str
    check: Check
    fired: tuple[int, ...]

    def __str__(self) -> str:
        expected, seconds = len(self.check.alerts), self.check.at
        return (
            f"{self.story}: {self.check.alert} at {seconds} s: "
            f"{expected} expected, {', '.join(map(str, self.fired))} fired"
        )


def differences(engine: Engine, file: StoryFile, scrapes: Scrapes | None) -> list[Difference]:
    """Returns the checks of a file of stories that fail, each with the rules that it needs.

    scrapes: None for the samples of the stories, which stand on the evaluations.

    Raises:
        StackError: the program cannot evaluate the file.
    """

    def asked(story: Story) -> Iterator[Query]:
        for check in story.checks:
            yield from ((_firing(check.alert), at) for at in file.probed(check, scrapes))

    failed: list[Difference] = []
    with tempfile.TemporaryDirectory() as place:
        for alone in needed_rules.one_by_one(file, Path(place)):
            found = defaultdict(set)
            for _, at, name, labels in _fired(_printed(engine, alone, scrapes, asked)):
                found[at, name].add(labels)
            (story,) = alone.stories
            for check in story.checks:
                times = file.probed(check, scrapes)
                seen = [frozenset(found[at, check.alert]) for at in times]
                if check.alerts not in seen:
                    failed.append(Difference(story.name, check, tuple(map(len, seen))))
    return failed


def pages(engine: Engine, file: StoryFile, scrapes: Scrapes | None) -> set[Page]:
    """Returns the critical alerts that fire at any time of the stories, and not only at a check.

    Raises:
        StackError: the program cannot evaluate the file.
    """

    def asked(story: Story) -> Iterator[Query]:
        last = max(check.at for check in story.checks) // file.evaluation + 1
        end = last * file.evaluation
        yield f'max_over_time(ALERTS{{alertstate="firing",severity="critical"}}[{end}s])', end

    return {
        (file.stories[number - 1].name, name, labels)
        for number, _, name, labels in _fired(_printed(engine, file, scrapes, asked))
    }


def _printed(engine: Engine, file: StoryFile, scrapes: Scrapes | None, asked: Asked) -> str:
    with tempfile.TemporaryDirectory() as place:
        test = Path(place) / "test.yml"
        test.write_text(json.dumps(_document(engine, file, scrapes, asked, Path(place))))
        done = subprocess.run(
            [*engine.command, str(test)],
            env=os.environ | {"GOGC": "800"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    is_evaluated = done.returncode == 0 or "got:" in done.stdout
    if not is_evaluated or ", err: " in done.stdout:
        raise StackError(f"{engine.name} cannot evaluate {file.name}: {done.stdout[-500:]}")
    return done.stdout


def _document(
    engine: Engine, file: StoryFile, scrapes: Scrapes | None, asked: Asked, place: Path
) -> dict[str, Any]:
    is_split = engine.is_late and file.evaluation >= _LOOKBACK_SECONDS
    written, names = [], []
    for number, path in enumerate(file.rule_files):
        groups = stories.rule_groups(path, is_split=is_split)
        names += [group["name"] for group in groups if group["name"] not in names]
        # Two files may have the same name in different directories.
        rules = place / f"{number}-{path.name}"
        rules.write_text(json.dumps({"groups": groups}))
        written.append(str(rules))
    return {
        "rule_files": written,
        "evaluation_interval": f"{file.evaluation}s",
        "group_eval_order": names,
        "tests": [
            _test(engine, story, number, scrapes, asked)
            for number, story in enumerate(file.stories, start=1)
        ],
    }


def _test(
    engine: Engine, story: Story, number: int, scrapes: Scrapes | None, asked: Asked
) -> dict[str, Any]:
    at_samples = scrapes or Scrapes(story.interval, 0)
    return {
        "name": story.name,
        "interval": f"{at_samples.tick}s",
        "input_series": [
            {"series": name, "values": _values(engine, story, name, values, at_samples)}
            for name, values in story.series
        ],
        engine.queries: [
            {
                "expr": f"{expression} * {number}{at:0{_DIGITS}}",
                "eval_time": f"{at}s",
                "exp_samples": [],
            }
            for expression, at in sorted(set(asked(story)))
        ],
    }


def _firing(name: str) -> str:
    return f'ALERTS{{alertstate="firing",alertname="{name}"}}'


def _values(engine: Engine, story: Story, name: str, values: str, scrapes: Scrapes) -> str:
    parts = segments(values, engine.start if is_time(name) else 0)
    return sampled(parts, story.interval, scrapes, is_linear=grows(name))


def _fired(printed: str) -> Iterator[tuple[int, int, str, Labels]]:
    """Yields the firing alerts: number of the story, seconds, name and labels."""
    for labels, value in printed_alerts(printed):
        number, at = divmod(round(value), 10**_DIGITS)
        pairs = frozenset(pair for pair in labels.items() if pair[0] not in _ADDED)
        yield number, at, labels["alertname"], pairs


def printed_alerts(printed: str) -> Iterator[tuple[dict[str, str], float]]:
    """Yields the labels and the value of each unexpected sample of ALERTS in the output."""
    for inside, value in _SAMPLE.findall(printed):
        yield dict(re.findall(r'(\w+)="([^"]*)"', inside)), float(value)
