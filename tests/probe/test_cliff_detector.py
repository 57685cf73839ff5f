"""Tests when the cliff detector stops a write."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.cache_cliff import GIB, MIB, TraceSample, cache_cliff
from exporter.probe.cliff_detector import (
    CliffDetector,
    CliffDetectorRules,
    is_disturbed,
    without_cliff,
)
from exporter.probe.cliff_result import CacheCliff, CliffResult
from tests.probe.test_cache_cliff import ANY_SAMPLE, CLIFFS, NO_CLIFFS, RULES, TRACES, Kind
from tests.probe.traces import GB, active, steps

WATCH_RULES = CliffDetectorRules()


def watched(kind: Kind, seed: int) -> CacheCliff | None:
    watch = CliffDetector(WATCH_RULES, RULES, int(kind.budget))
    for sample in active(kind.speed, random.Random(seed), kind.noise, kind.budget):
        if found := watch.observe(sample):
            return found
    return None


@pytest.mark.parametrize("name", ["600p", "970 EVO", "QLC", "a small and slow one"])
def test_a_write_stops_a_gib_and_a_quarter_of_a_minute_after_the_cliff(name: str) -> None:
    """Both limits are smaller for a small budget. The alarm adds half as much."""
    kind = CLIFFS[name]
    enough = min(GIB, kind.budget / 8)
    for seed in range(TRACES):
        found = watched(kind, seed)
        assert found is not None
        assert found.cache_bytes is not None
        assert found.sustained_bytes_per_second is not None
        assert pytest.approx(kind.ends, abs=0.2) == found.cache_bytes / GB
        beyond = found.written_bytes - kind.ends * GB
        in_time = 15 * enough / GIB * found.sustained_bytes_per_second
        assert 0.9 * max(enough, in_time) <= beyond <= 1.5 * max(enough, in_time)


def test_an_uneven_cliff_is_found_by_the_end_of_the_write() -> None:
    """Fluctuations of some seconds after the cliff move it by up to a third of a GB."""
    kind = CLIFFS["folding"]
    for seed in range(TRACES):
        trace = list(active(kind.speed, random.Random(seed), kind.noise, kind.budget))
        found = cache_cliff(trace, RULES)
        assert found.cache_bytes is not None
        assert pytest.approx(12, abs=0.4) == found.cache_bytes / GB


#: Gigabytes per second of other processes, while they slow the probe down by as much.
OTHERS = 1.2


def beside_production(seconds: float, seed: int) -> CacheCliff:
    """A flat drive of 2 GB/s, and production that begins after 3 GB and lasts for this time."""
    chance = random.Random(seed)
    watch = CliffDetector(WATCH_RULES, RULES, 16 * GIB)
    written = disturbed = 0.0
    while written < 16 * GIB:
        is_disturbed_now = written >= 3 * GB and disturbed < seconds
        speed = (2.0 - OTHERS * is_disturbed_now) * GB * chance.lognormvariate(0.0, 0.1)
        others = OTHERS * GB * 0.1 * is_disturbed_now
        disturbed += 0.1 * is_disturbed_now
        written += 0.1 * speed
        if found := watch.observe(TraceSample(0.1, 0.1 * speed, others)):
            return found
    whole = cache_cliff(watch.trace, RULES)
    return without_cliff(whole) if is_disturbed(watch.trace, whole, WATCH_RULES) else whole


@pytest.mark.parametrize("seconds", [1.0, 3.0, 6.0, 12.0, 14.0, 30.0, 1e9])
def test_production_is_not_taken_for_the_end_of_the_cache(seconds: float) -> None:
    for seed in range(TRACES):
        found = beside_production(seconds, seed)
        assert found.result in (CliffResult.BUDGET, CliffResult.DISTURBED)
        assert found.cache_bytes is None
        assert found.cache_min_bytes is not None


def test_a_drive_that_gets_hot_again_and_again_has_no_cliff() -> None:
    """It slows down for some seconds, cools down, and returns to its speed."""
    for seed in range(TRACES):
        chance = random.Random(seed)
        fast, slow = chance.uniform(8, 20), chance.uniform(4, 12)
        watch = CliffDetector(WATCH_RULES, RULES, 16 * GIB)
        seconds = written = 0.0
        while written < 16 * GIB:
            is_hot = seconds > 5 and (seconds - 5) % (fast + slow) < slow
            speed = (0.6 if is_hot else 1.5) * GB * chance.lognormvariate(0.0, 0.1)
            seconds, written = seconds + 0.1, written + 0.1 * speed
            assert watch.observe(TraceSample(0.1, 0.1 * speed)) is None
        assert cache_cliff(watch.trace, RULES).cache_bytes is None


@pytest.mark.parametrize("left", [0.5, 0.6, 0.7, 1.0, 1.4])
def test_a_nearly_full_cache_is_reported(left: float) -> None:
    speed = steps(1000, (left, 300))
    for seed in range(TRACES):
        watch = CliffDetector(WATCH_RULES, RULES, 16 * GIB)
        trace = active(speed, random.Random(seed))
        found = next(filter(None, map(watch.observe, trace)), None) or cache_cliff(
            watch.trace, RULES
        )
        assert CliffResult.CLIFF is found.result
        assert found.cache_bytes is not None
        assert pytest.approx(left, abs=0.15) == found.cache_bytes / GB


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


def test_completed_requests_of_fio_are_not_taken_for_production() -> None:
    """fio's bytes are counted at submission, and those of the device at completion."""
    fast, slow, in_flight = 0.8e6, 0.2e6, 2e6
    first = TraceSample(0.1, fast, -in_flight)
    steady = TraceSample(0.1, fast, 0.0)
    trace = [first, *[steady] * 24, *[TraceSample(0.1, slow, 0.0)] * 24]
    last = TraceSample(0.1, slow, in_flight)
    cliff = CacheCliff(
        CliffResult.CLIFF, 0, (), cache_bytes=int(25 * fast), burst_bytes_per_second=10 * fast
    )
    assert not is_disturbed([*trace, last], cliff, WATCH_RULES)
    reading = TraceSample(0.1, slow, 3 * in_flight)
    assert is_disturbed([*trace, reading], cliff, WATCH_RULES)
