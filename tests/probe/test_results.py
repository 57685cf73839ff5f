"""Tests the history of rounds, over restarts and clock steps."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.profiles import MIB, PROFILES, Rw
from exporter.probe import results
from exporter.probe.fio_report import JobResult, Op, OpResult, RunResult
from exporter.probe.results import Round, RoundHistory
from exporter.probe.steady_state import SteadyPhase

DAY = 86_400.0
READ, REDO, BURST = (PROFILES[name] for name in ("page_read", "fsync", "burst"))


def add(rounds: RoundHistory, *values: float, begin: float = 1000.0) -> SteadyPhase:
    for number, value in enumerate(values):
        found = rounds.add("key", Round(begin + number, value), lower_is_better=True)
    return found.phase


def test_host_limited_rounds_are_ignored() -> None:
    rounds = RoundHistory()
    add(rounds, 1.0, 1.0, 1.0, 1.0)
    found = rounds.add("key", Round(1010.0, 50.0, is_host_limited=True), lower_is_better=True)
    assert found.phase is SteadyPhase.TOO_FEW
    assert add(rounds, 1.0, begin=1020.0) is SteadyPhase.STEADY


def test_rounds_older_than_five_weeks_are_removed() -> None:
    rounds = RoundHistory()
    assert add(rounds, *[1.0] * 5) is SteadyPhase.STEADY
    assert add(rounds, 1.0, begin=1000.0 + 36 * DAY) is SteadyPhase.TOO_FEW


def test_rounds_dated_in_the_future_are_removed() -> None:
    rounds = RoundHistory()
    add(rounds, *[1.0] * 5, begin=1e9)
    assert add(rounds, 1.0, begin=1000.0) is SteadyPhase.TOO_FEW


def test_the_baseline_survives_a_restart() -> None:
    rounds = RoundHistory()
    assert add(rounds, *[1.0] * 5) is SteadyPhase.STEADY
    again = RoundHistory(json.loads(json.dumps(rounds.to_state())))
    assert add(again, *[2.0] * 5, begin=2000.0) is SteadyPhase.UNSTEADY


def test_the_history_is_bounded() -> None:
    rounds = RoundHistory()
    for number in range(200):
        for repeat in range(2):
            at = float(number * 2 + repeat)
            rounds.add(f"key {number}", Round(at, 1.0), lower_is_better=True)
    add(rounds, *[1.0] * 500)
    kept = rounds.to_state()
    assert 64 == len(kept)
    assert 64 == len(kept["key"]["rounds"])  # type: ignore[index]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
WINDOW = st.fixed_dictionaries(
    dict.fromkeys(("mean", "least", "most", "deviation", "excursion"), PLAIN)
)
SERIES = st.fixed_dictionaries(
    {"rounds": st.lists(st.tuples(PLAIN, PLAIN, PLAIN).map(list)), "baseline": WINDOW | PLAIN}
)


@given(PLAIN | st.dictionaries(st.text(max_size=5), SERIES | PLAIN))
def test_any_saved_history_is_parsed_or_left_out(kept: Any) -> None:
    rounds = RoundHistory(kept)
    add(rounds, 1.0)
    for key in list(rounds.to_state()):
        rounds.known(key, lower_is_better=True)


@pytest.mark.parametrize(
    ("profile", "value"),
    [
        (READ, 0.3),
        (REDO, 0.9),
        (BURST, 3.0),
        (replace(READ, rate_iops=None), 2.0),
        (replace(READ, rate_iops=None, block_bytes=MIB), 3.0),
        (replace(REDO, rate_iops=None), 0.9),
    ],
)
def test_the_judged_value_depends_on_the_profile(profile: Any, value: float) -> None:
    found = OpResult(operations=1, iops=2.0, bytes_per_second=3.0, mean_seconds=0.3)
    ops = {Op.READ: found, Op.WRITE: found, Op.SYNC: OpResult(operations=1, mean_seconds=0.9)}
    job = JobResult(profile.name, RunResult.SUCCESS, 0, 1.0, ops)
    assert value == results.round_value(profile, job)


def test_a_value_that_fio_does_not_report_is_unknown() -> None:
    job = JobResult("page_read", RunResult.SUCCESS, 0, 1.0, {})
    assert results.round_value(READ, job) is None


def test_every_label_is_part_of_the_series_key() -> None:
    made = [
        results.series_key("drive", "1.0", READ, "psync"),
        results.series_key("other", "1.0", READ, "psync"),
        results.series_key("drive", "1.1", READ, "psync"),
        results.series_key("drive", "1.0", READ, "io_uring"),
        results.series_key("drive", "1.0", replace(READ, rw=Rw.READ), "psync"),
        results.series_key("drive", "1.0", replace(READ, block_bytes=4096), "psync"),
        results.series_key("drive", "1.0", replace(READ, size_bytes=4096), "psync"),
        results.series_key("drive", "1.0", replace(READ, rate_iops=None), "psync"),
        results.series_key("drive", "1.0", replace(READ, depth=2), "psync"),
    ]
    assert len(made) == len(set(made))
