"""Evaluates the rules on scraped pages with promtool.

A page is valid for a given time, so that tests need not wait for the `for` of alerts.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.alerts import rules
from tests.end_to_end.page import Labels, Page
from tests.processes import run_program

_IDENTITY = {"job": "ssd", "instance": "lab"}

#: Timestamps are shifted to the clock of promtool, which starts at 0.
_NOW = "ssd_sampler_last_sample_timestamp_seconds"
_OF_TIMES = "_timestamp_seconds"
_OF_COUNTERS = ("_total", "_bucket", "_count", "_sum")
_START = "process_start_time_seconds"

#: Families that only the texts of alerts query.
_IN_TEXTS = frozenset({"ssd_service_io_read_bytes_total", "ssd_service_io_written_bytes_total"})

#: In the output of promtool for an unexpected alert.
_DESCRIPTION = re.compile(r'description="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Spell:
    """A page, and the number of minutes for which scrapes return it.

    stopped: prefix of the families whose timestamps do not advance, because the process that
        updates them is stopped; None if there are none.
    earlier, seconds: a page from this number of seconds before. Counters continue to grow as they
        grew since then; without such a page they do not grow.
    """

    page: Page
    minutes: int
    stopped: str | None = None
    earlier: Page | None = None
    seconds: float = 0.0


class Story:
    """A sequence of pages, and the expected alerts at the end of each."""

    def __init__(self, *pages: tuple[Page, int]) -> None:
        self._spells = [Spell(*each) for each in pages]
        self._expectations: list[dict[str, Any]] = []

    def then(self, page: Page, minutes: int, stopped: str | None = None) -> "Story":
        """Adds a page; `stopped` as in `Spell`."""
        self._spells.append(Spell(page, minutes, stopped))
        return self

    def growing(self, earlier: Page, page: Page, seconds: float, minutes: int) -> "Story":
        """Adds a page whose counters grow as between these two pages."""
        self._spells.append(Spell(page, minutes, earlier=earlier, seconds=seconds))
        return self

    def descriptions(self, directory: Path, *alerts: str) -> dict[str, str]:
        """The description of each of these alerts that fires at the end, rendered by promtool."""
        end = f"{sum(spell.minutes for spell in self._spells) - 1}m"
        found = {}
        for name in alerts:
            expected = [{"eval_time": end, "alertname": name, "exp_alerts": []}]
            said = self._evaluated(directory, alert_rule_test=expected)
            if text := _DESCRIPTION.search(said):
                found[name] = text[1].replace('\\"', '"')
        return found

    def fires(self, *alerts: str, **labels: str) -> "Story":
        """Expects exactly these alerts among those with these labels."""
        matchers = "".join(f",{name}={json.dumps(value)}" for name, value in labels.items())
        self._expectations.append(
            {
                "expr": f'group by (alertname) (ALERTS{{alertstate="firing"{matchers}}})',
                "eval_time": f"{sum(spell.minutes for spell in self._spells) - 1}m",
                "exp_samples": [
                    {"labels": f"{{alertname={json.dumps(name)}}}", "value": 1}
                    for name in sorted(alerts)
                ],
            }
        )
        return self

    def check(self, directory: Path) -> None:
        """Runs promtool; AssertionError with its output if an expectation fails."""
        said = self._evaluated(directory, promql_expr_test=self._expectations)
        assert not said, said

    def _evaluated(self, directory: Path, **expectations: Any) -> str:
        """Output of promtool; empty if all expectations hold."""
        document = {
            "rule_files": [str(path) for path in rules.RULE_FILES],
            "evaluation_interval": "1m",
            "group_eval_order": list(evaluation_order()),
            "tests": [
                {
                    "interval": "1m",
                    "input_series": list(_series(self._spells)),
                    **expectations,
                }
            ],
        }
        file = directory / "alerts.yml"
        file.write_text(json.dumps(document))
        done = run_program(["promtool", "test", "rules", str(file)])
        return done.stdout + done.stderr if done.returncode else ""


def evaluation_order() -> Iterator[str]:
    """The names of all groups in evaluation order: thresholds, recording rules, alerts."""
    names = [
        (any("alert" in rule for rule in group["rules"]), path.name, group["name"])
        for path in rules.RULE_FILES
        for group in yaml.safe_load(path.read_text())["groups"]
    ]
    order = {"thresholds.yml": 0, "recording.yml": 1}
    for _, _, name in sorted(names, key=lambda each: (each[0], order.get(each[1], 2))):
        yield name


def _series(spells: Sequence[Spell]) -> Iterator[dict[str, str]]:
    """promtool notation: "2x9" is ten equal samples, "5+60x9" ten increasing ones, "_" a gap."""
    expressions = [rule.expr for rule in rules.alerts()]
    expressions += [rule.expr for rule in rules.recordings()]
    asked = _IN_TEXTS.union(*map(rules.metrics, expressions))
    every = {
        series: None for spell in spells for series in spell.page.samples if series[0] in asked
    }
    for name, labels in every:
        values = [
            _values(spell, name, labels, begun=sum(s.minutes for s in spells[:i]))
            for i, spell in enumerate(spells)
        ]
        shown = ",".join(
            f"{label}={json.dumps(value, ensure_ascii=False)}"
            for label, value in sorted({**dict(labels), **_IDENTITY}.items())
        )
        yield {"series": f"{name}{{{shown}}}", "values": " ".join(values)}
    minutes = sum(spell.minutes for spell in spells)
    yield {"series": 'up{job="ssd",instance="lab"}', "values": f"1x{minutes - 1}"}


def _values(spell: Spell, name: str, labels: Labels, begun: int) -> str:
    value, more = spell.page.samples.get((name, labels)), spell.minutes - 1
    if value is None:
        return f"stale _x{more}" if more else "stale"
    if name == _START:
        # One day earlier, for an alert that is suppressed after a boot.
        return f"-86400x{more}"
    if name.endswith(_OF_TIMES):
        start = begun * 60 + value - spell.page.value(_NOW)
        is_stopped = spell.stopped is not None and name.startswith(spell.stopped)
        return f"{start:.3f}x{more}" if is_stopped else f"{start:.3f}+60x{more}"
    if spell.earlier is not None and name.endswith(_OF_COUNTERS):
        grown = value - spell.earlier.samples.get((name, labels), value)
        return f"{value!r}+{max(grown, 0.0) * 60 / spell.seconds!r}x{more}"
    return f"{value!r}x{more}"
