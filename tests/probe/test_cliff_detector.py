"""Tests when the cliff detector stops a write."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.cache_cliff import GIB, MIB, CacheCliff, CliffResult, TraceSample
from exporter.probe.cliff_detector import CliffDetector, CliffDetectorRules
from tests.probe.test_cache_cliff import ANY_SAMPLE, CLIFFS, NO_CLIFFS, RULES, TRACES, Kind
from tests.probe.traces import GB, active

WATCH_RULES = CliffDetectorRules()


def watched(kind: Kind, seed: int) -> CacheCliff | None:
    watch = CliffDetector(WATCH_RULES, RULES, int(kind.budget))
    for sample in active(kind.speed, random.Random(seed), kind.noise, kind.budget):
        if found := watch.observe(sample):
            return found
    return None


@pytest.mark.parametrize("name", ["600p", "970 EVO", "QLC", "a small and slow one"])
def test_a_write_stops_about_a_gib_after_the_cliff(name: str) -> None:
    """The limit is 1 GiB, or an eighth of a small budget, and half as much for the alarm."""
    kind = CLIFFS[name]
    enough = min(GIB, kind.budget / 8)
    for seed in range(TRACES):
        found = watched(kind, seed)
        assert found is not None
        assert found.cache_bytes is not None
        assert pytest.approx(kind.ends, abs=0.2) == found.cache_bytes / GB
        beyond = found.written_bytes - kind.ends * GB
        assert 0.9 * enough <= beyond <= 1.5 * enough


def test_an_uneven_cliff_stops_the_write_too() -> None:
    """Fluctuations of some seconds after the cliff move it by up to a third of a GB."""
    for seed in range(TRACES):
        found = watched(CLIFFS["folding"], seed)
        assert found is not None
        assert found.cache_bytes is not None
        assert pytest.approx(12, abs=0.4) == found.cache_bytes / GB
        assert found.written_bytes <= 12 * GB + 2 * GIB


@pytest.mark.parametrize("kind", NO_CLIFFS.values(), ids=NO_CLIFFS)
def test_without_a_cliff_the_whole_budget_is_written(kind: Kind) -> None:
    assert [None] * TRACES == [watched(kind, seed) for seed in range(TRACES)]


def second(megabytes: float) -> TraceSample:
    return TraceSample(1.0, megabytes * 1e6)


def test_the_alarm_after_a_hang_of_a_second_ends() -> None:
    watch = CliffDetector(WATCH_RULES, RULES, 16 * GIB)
    for _ in range(6):
        watch.observe(second(500))
    assert not watch.is_alarmed
    watch.observe(second(100))
    assert watch.is_alarmed
    for _ in range(6):
        assert watch.observe(second(500)) is None
    assert not watch.is_alarmed


def test_the_trace_contains_all_samples() -> None:
    watch = CliffDetector(WATCH_RULES, RULES, 16 * GIB)
    samples = [second(500)] * 17 + [TraceSample(0.0, 1.0)] + [second(112)] * 9
    assert [None] * 27 == [watch.observe(sample) for sample in samples]
    assert samples == watch.trace


@given(st.lists(ANY_SAMPLE | st.builds(TraceSample, st.floats(0.01, 1), st.floats(0, 1e9))))
def test_any_samples_can_be_observed(trace: list[TraceSample]) -> None:
    watch = CliffDetector(WATCH_RULES, RULES, 512 * MIB)
    for sample in trace:
        found = watch.observe(sample)
        assert found is None or found.result is CliffResult.CLIFF
