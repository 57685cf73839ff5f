"""Shortened rules and routes differ from the originals only in their times."""

import math
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.alerts.rules import ALERTS, RULE_FILES
from tests.end_to_end import alerting_shortened as shortened
from tests.end_to_end.alerting_shortened import FACTOR
from tests.end_to_end.programs import need
from tests.processes import run_program

SCRAPE = 0.5
TIMES = {"for", "keep_firing_for", "interval", "group_wait", "group_interval", "repeat_interval"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1m", "1s"), ("30s", "500ms"), ("1h", "60s"), ("7d", "10080s"), ("1h30m", "90s")],
)
def test_a_duration_is_shortened(text: str, expected: str) -> None:
    assert expected == shortened.duration(text, 60)


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "1.5h", "1q", "-1m", "7ms"])
def test_an_invalid_or_too_short_duration_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"no duration|no whole number"):
        shortened.duration(text, 60)


@given(st.integers(min_value=1, max_value=10**6), st.integers(min_value=1, max_value=1000))
def test_a_shortened_duration_times_the_factor_is_the_original(seconds: int, factor: int) -> None:
    long = f"{seconds * factor}s"
    assert 1000 * seconds == shortened.milliseconds(shortened.duration(long, factor))


@given(st.text())
def test_any_text_is_shortened_or_rejected(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(shortened.expression(text, 60, SCRAPE), str)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rate(a[5m])", "rate(a[5s])"),
        ("min_over_time(a[7d:1h]) > 5", "min_over_time(a[10080s:60s]) > 5"),
        ("max_over_time(a[1h:])", "max_over_time(a[60s:])"),
        ("a offset 1h - a offset -10m", "a offset 60s - a offset -10s"),
        ('a{b=~"[5m]|x offset 1h"}[10m]', 'a{b=~"[5m]|x offset 1h"}[10s]'),
        ("a{b='[5m]'}[10m]", "a{b='[5m]'}[10s]"),
        ("a5m + b_5m:rate5m", "a5m + b_5m:rate5m"),
    ],
)
def test_ranges_steps_and_offsets_are_shortened_but_not_names_and_strings(
    before: str, after: str
) -> None:
    assert after == shortened.expression(before, 60, SCRAPE)


def test_a_range_of_fewer_than_four_scrapes_is_rejected() -> None:
    assert "rate(a[2s])" == shortened.expression("rate(a[2m])", 60, 0.5)
    with pytest.raises(ValueError, match="less than 4 scrapes"):
        shortened.expression("rate(a[2m])", 60, 0.51)


def test_the_queries_of_a_text_are_shortened_and_its_words_stay() -> None:
    before = 'In [5m] of {{ $labels.a }}: {{ printf "a{b=%q}[7d:1h]" $labels.b | query }} [1h].'
    after = 'In [5m] of {{ $labels.a }}: {{ printf "a{b=%q}[10080s:60s]" $labels.b | query }} [1h].'
    assert after == shortened.text(before, 60, SCRAPE)


def without_times(document: Any) -> Any:
    """Returns a document with every duration, and every number of `OF_A_RANGE`, replaced by T."""
    if isinstance(document, list):
        return [without_times(each) for each in document]
    if isinstance(document, dict):
        spared = document.get("record") in shortened.OF_A_RANGE
        return {
            name: "T" if name in TIMES or (spared and name == "expr") else without_times(value)
            for name, value in document.items()
        }
    return (
        re.sub(r"(?<=[\[:])\d+(?:ms|[smhdwy])|(?<=offset )\d+(?:ms|[smhdwy])", "T", document)
        if isinstance(document, str)
        else document
    )


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.stem)
def test_nothing_but_times_changes_in_a_rule_file(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    after = shortened.rules(document, FACTOR, SCRAPE)
    assert yaml.safe_load(path.read_text()) == document, "changed in place"
    assert document != after
    assert without_times(document) == without_times(after)


def test_nothing_but_times_changes_in_the_routes() -> None:
    document = yaml.safe_load((ALERTS / "examples" / "alertmanager.yml").read_text())
    after = shortened.routes(document, FACTOR)
    assert ("1s", "5s") == (after["route"]["group_wait"], after["route"]["group_interval"])
    assert ["250ms"] == [each["group_wait"] for each in after["route"]["routes"][:1]]
    assert without_times(document) == without_times(after)


def test_thresholds_of_a_range_are_shortened_with_it_and_exist() -> None:
    path = ALERTS / "thresholds.yml"
    before, after = (
        {
            rule["record"]: float(rule["expr"][7:-1])
            for group in document["groups"]
            for rule in group["rules"]
        }
        for document in (
            yaml.safe_load(path.read_text()),
            shortened.rules(yaml.safe_load(path.read_text()), FACTOR, SCRAPE),
        )
    )
    changed = {name for name in before if not math.isclose(before[name], after[name])}
    assert shortened.OF_A_RANGE == changed
    for name in changed:
        assert math.isclose(before[name] / FACTOR, after[name])


@pytest.mark.real
def test_promtool_accepts_shortened_rules(tmp_path: Path) -> None:
    need("promtool")
    files = []
    for path in RULE_FILES:
        files.append(tmp_path / path.name)
        document = shortened.rules(yaml.safe_load(path.read_text()), FACTOR, SCRAPE)
        files[-1].write_text(yaml.safe_dump(document, sort_keys=False))
    done = run_program(["promtool", "check", "rules", "--lint-fatal", *map(str, files)])
    assert (0, "") == (done.returncode, done.stderr)


def test_a_group_is_evaluated_within_the_lookback_of_prometheus() -> None:
    """Prometheus looks five minutes back for a value. A group of five minutes leaves none between
    the end of those and the end of its evaluation, and an alert's `for` begins again each time.
    """
    for path in RULE_FILES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            assert shortened.milliseconds(group["interval"]) <= 240_000, group["name"]
