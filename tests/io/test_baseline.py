"""Tests of `io.baseline`: learning the await at low load, and storing it."""

import json
import random
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.config.disk_rules import BaselineRules
from exporter.io.baseline import AwaitBaseline, Baseline, Baselines
from exporter.runtime.state import StateFile

RULES = BaselineRules()
HOUR = RULES.interval_seconds


def taught(awaits: list[float], rules: BaselineRules = RULES) -> Baseline:
    """Return a baseline that has observed calm seconds with these awaits."""
    baseline = Baseline(rules)
    for hour, seconds in enumerate(awaits):
        baseline.observe(hour * HOUR, rules.operations, seconds * rules.operations)
    return baseline


@pytest.mark.parametrize("await_seconds", [0.000_02, 0.000_1, 0.000_35, 0.002, 0.008, 0.2])
def test_it_learns_the_await_at_low_load(await_seconds: float) -> None:
    """The tolerance is 10 %."""
    assert await_seconds == pytest.approx(taught([await_seconds] * 60).seconds, rel=0.1)


def test_there_is_no_baseline_before_enough_observations() -> None:
    assert taught([0.001] * 59).seconds is None
    assert taught([0.001] * 60).seconds is not None


def test_few_operations_are_pooled() -> None:
    """The kernel counts milliseconds, which is too coarse for one request of 80 µs."""
    baseline = Baseline(RULES)
    for second in range(60 * 50):
        baseline.observe(second * HOUR, 1, 0.001 if second % 12 == 0 else 0.0)
    assert 0.001 / 12 == pytest.approx(baseline.seconds, rel=0.1)


def test_outliers_do_not_change_the_median() -> None:
    awaits = [0.001] * 100 + [5.0] * 30
    assert pytest.approx(0.001, rel=0.1) == taught(awaits).seconds


@example([2.0] * 19 + [1.0] * 18)
@given(st.lists(st.floats(2e-6, 50), min_size=6, max_size=40))
def test_it_is_within_10_percent_of_the_weighted_median(awaits: list[float]) -> None:
    """An observation after the first baseline counts as often as five earlier ones."""
    awaits = awaits * 10
    learned = taught(awaits).seconds
    assert learned is not None
    early, later = awaits[: RULES.observations], awaits[RULES.observations :]
    weighted = early + later * 5
    low, high = statistics.median_low(weighted), statistics.median_high(weighted)
    assert low / 1.11 <= learned <= high * 1.11


def test_it_follows_changes_of_the_device() -> None:
    """An old drive is slower at low load, and this becomes its baseline after months."""
    days = [0.001] * 24 * 100
    assert pytest.approx(0.001, rel=0.1) == taught([*days, *[0.004] * 24 * 30]).seconds
    baseline = taught([*days, *[0.004] * 24 * 150])
    assert pytest.approx(0.004, rel=0.1) == baseline.seconds


def test_a_valid_baseline_takes_one_observation_per_hour() -> None:
    """A day of slow requests at any rate does not change it."""
    baseline = taught([0.001] * 100)
    for second in range(86_400):
        baseline.observe(100 * HOUR + second, 500, 500 * 0.02)
    assert pytest.approx(0.001, rel=0.1) == baseline.seconds


def test_the_reference_is_the_baseline_of_the_first_day() -> None:
    assert taught([0.001] * 60).reference is None
    baseline = taught([0.001] * 90)
    assert pytest.approx(0.001, rel=0.1) == baseline.reference
    slower = taught([0.001] * 90 + [0.004] * 3000)
    assert baseline.reference == slower.reference
    assert pytest.approx(0.004, rel=0.1) == slower.seconds


def test_the_reference_survives_a_restart() -> None:
    baselines = Baselines(RULES)
    for hour in range(100):
        baselines.for_drive("wwn-1").read.observe(hour * HOUR, 50, 50 * 0.001, are_many=True)
    kept = json.loads(json.dumps(baselines.to_state()))
    again = Baselines(RULES, kept).for_drive("wwn-1")
    assert again.read.reference == baselines.for_drive("wwn-1").read.reference is not None
    assert again.write.reference is None


def test_its_memory_is_limited() -> None:
    rules = BaselineRules(memory=500)
    random.seed(1)
    baseline = taught([10 ** random.uniform(-7, 3) for _ in range(5000)], rules)
    assert sum(baseline.bins.values()) <= 500 * 5
    assert len(baseline.bins) <= 194


@given(st.lists(st.floats(0, 1e6), max_size=200))
def test_a_baseline_survives_a_restart(awaits: list[float]) -> None:
    """Any observations, including awaits of zero and of days."""
    before = taught(awaits)
    after = Baseline.restored(RULES, before.weights())
    assert before.seconds == after.seconds
    assert list(before.weights()) == list(after.weights())


@pytest.mark.parametrize(
    "bins",
    [
        [(-1, 60.0)],
        [(100_000, 60.0)],
        [(10, -1.0)],
        [(10, 0.0)],
        [(10, float("nan"))],
        [(10, float("inf"))],
        [(10, 60.0), (11, 1e12)],
    ],
)
def test_impossible_bins_and_weights_are_rejected(bins: list[tuple[int, float]]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Baseline.restored(RULES, bins)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 10**9)), max_size=100))
def test_any_observation_leaves_a_valid_baseline(seen: list[tuple[int, int]]) -> None:
    baseline = Baseline(BaselineRules(observations=1, operations=1))
    for hour, (operations, milliseconds) in enumerate(seen):
        baseline.observe(hour * HOUR, operations, milliseconds / 1000)
    assert baseline.seconds is None or 1e-6 <= baseline.seconds <= 110


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
_ALMOST = st.dictionaries(
    st.text(),
    st.fixed_dictionaries(
        {"read": st.just([]), "write": st.lists(st.lists(st.integers() | st.floats(), max_size=3))}
    ),
)


def learned() -> Baselines:
    baselines = Baselines(RULES)
    for hour in range(80):
        drive = baselines.for_drive("wwn-1")
        drive.read.observe(hour * HOUR, 50, 50 * 0.000_2, are_many=True)
        drive.write.observe(hour * HOUR, 50, 50 * 0.002, are_many=True)
    baselines.for_drive("wwn-2")
    return baselines


def test_baselines_survive_json() -> None:
    kept = json.loads(json.dumps(learned().to_state()))
    again = Baselines(RULES, kept).for_drive("wwn-1")
    assert pytest.approx(0.000_2, rel=0.1) == again.read.seconds
    assert pytest.approx(0.002, rel=0.1) == again.write.seconds


def test_drives_without_observations_are_not_stored() -> None:
    assert {"wwn-1"} == learned().to_state().keys()


def test_a_known_drive_keeps_its_baselines() -> None:
    baselines = learned()
    assert baselines.for_drive("wwn-1") is baselines.for_drive("wwn-1")


@given(_JSON | st.dictionaries(st.text(), _JSON) | _ALMOST)
def test_invalid_stored_baselines_are_discarded(kept: Any) -> None:
    """Any JSON value, including 1e999."""
    baselines = Baselines(RULES, kept)
    assert baselines.for_drive("wwn-1").read.seconds is None
    json.dumps(baselines.to_state(), allow_nan=False)


def test_an_invalid_stored_baseline_affects_only_its_drive(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = learned().to_state() | {"wwn-9": {"read": [[1, -5]], "write": []}}
    again = Baselines(RULES, kept)
    assert again.for_drive("wwn-1").read.seconds is not None
    assert again.for_drive("wwn-9").read.seconds is None
    assert "the stored baseline of wwn-9 is not usable" in caplog.text


def test_the_least_recently_seen_drives_are_dropped_first() -> None:
    baselines = learned()
    for count in range(8191):
        baselines.for_drive(f"drive-{count}")
        baselines.for_drive("wwn-1")
    assert "wwn-1" in baselines.to_state()
    for count in range(8192):
        baselines.for_drive(f"other-{count}")
    assert {} == baselines.to_state()


def with_bins(drives: int, bins: int) -> dict[str, Any]:
    """Returns stored baselines with this number of bins of each direction."""
    pairs = [[number, 1.5] for number in range(bins)]
    return {f"wwn-{number}": {"read": pairs, "write": pairs} for number in range(drives)}


@pytest.mark.parametrize("excess", [-1, 0, 1, 1500])
def test_the_baselines_that_fit_into_the_state_file_are_saved_and_only_more_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, excess: int
) -> None:
    """Without the limit, the next start would set aside the whole file, with the inventory."""
    count = 1500 + excess
    baselines = Baselines(RULES, with_bins(count, 50))
    StateFile(tmp_path).save({"baselines": baselines.to_state(), "inventory": ["a drive"]})
    baselines.to_state()
    loaded = StateFile(tmp_path).load()
    first = max(0, excess)
    assert [f"wwn-{number}" for number in range(first, count)] == list(loaded["baselines"])
    assert ["a drive"] == loaded["inventory"]
    message = f"only the baselines of 1500 of {count} drives are saved"
    assert ([message] if excess > 0 else []) == [text.partition(":")[0] for text in caplog.messages]


def asleep(await_seconds: float) -> AwaitBaseline:
    """Returns the baseline of a drive that few requests per second have woken up for an hour."""
    baseline = AwaitBaseline(Baseline(RULES))
    for second in range(3600):
        baseline.observe(second, 12, 12 * await_seconds, are_many=False)
    return baseline


def test_a_baseline_of_few_requests_is_doubtful() -> None:
    baseline = asleep(0.006)
    assert pytest.approx(0.006, rel=0.1) == baseline.seconds
    assert baseline.is_doubtful


def test_many_requests_replace_it_within_seconds() -> None:
    baseline = asleep(0.006)
    for second in range(10):
        baseline.observe(3600 + second, 1000, 1000 * 0.000_1, are_many=True)
    for second in range(10):
        baseline.observe(3610 + second, 12, 12 * 0.006, are_many=False)
    assert baseline.seconds is None or baseline.is_doubtful
    for second in range(60):
        baseline.observe(3620 + second, 1000, 1000 * 0.000_1, are_many=True)
    assert pytest.approx(0.000_1, rel=0.1) == baseline.seconds
    assert not baseline.is_doubtful


def test_five_faster_seconds_under_load_refute_it_for_good() -> None:
    baseline = asleep(0.006)
    changes = [baseline.observe_load(50_000, 50_000 * 0.002, 1.0) for _ in range(5)]
    assert [False] * 4 + [True] == changes
    assert baseline.seconds is None
    for second in range(3600):
        baseline.observe(4000 + second, 12, 12 * 0.006, are_many=False)
    assert baseline.seconds is None


def test_a_load_that_is_as_slow_does_not_refute_it() -> None:
    baseline = asleep(0.003)
    assert not any(baseline.observe_load(1000, 1000 * 0.003, 1.0) for _ in range(100))
    assert pytest.approx(0.003, rel=0.1) == baseline.seconds


def test_a_baseline_of_an_older_version_is_kept_and_doubted() -> None:
    """Its file does not tell how many requests taught it."""
    taught_before = [[52, 300.0], [53, 40.0]]
    stored = {"wwn-1": {"read": taught_before, "write": [], "read_reference": 0.000_15}}
    baseline = Baselines(RULES, stored).for_drive("wwn-1").read
    assert baseline.seconds is not None
    assert 0.000_15 == baseline.reference
    assert baseline.is_doubtful
    for second in range(60):
        baseline.observe(second, 1000, 1000 * 0.000_1, are_many=True)
    assert not baseline.is_doubtful, "a minute of calm load has replaced it"


def test_what_is_doubted_and_refuted_survives_a_restart() -> None:
    baselines = Baselines(RULES)
    drive = baselines.for_drive("wwn-1")
    for second in range(3600):
        drive.read.observe(second, 12, 12 * 0.006, are_many=False)
        drive.write.observe(second, 12, 12 * 0.004, are_many=False)
    for _ in range(5):
        drive.write.observe_load(50_000, 50_000 * 0.001, 1.0)
    drive.write.observe(9000, 50, 50 * 0.000_1, are_many=True)
    again = Baselines(RULES, json.loads(json.dumps(baselines.to_state()))).for_drive("wwn-1")
    assert again.read.is_doubtful
    assert drive.read.seconds == again.read.seconds
    assert again.write.is_refuted
    assert again.write.seconds is None
