"""Tests the end of a write cache: published figures, simulated drives, step and line, bins."""

import itertools
import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.probe.cache_cliff import (
    GIB,
    MIB,
    BinRules,
    CliffRules,
    TraceSample,
    binned,
    cache_cliff,
    recovered_bytes,
)
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.step_fit import best_split, fit_line, squared_deviations
from tests.probe.traces import GB, MB, Noise, Speed, active, ramp, steps

RULES = CliffRules()
ANY_SAMPLE = st.builds(TraceSample, st.floats(), st.floats() | st.integers())
LIKELY_SAMPLE = st.builds(TraceSample, st.floats(1e-3, 10), st.integers(0, 10**9))

#: How many traces of each kind are judged.
TRACES = 40


@dataclass(frozen=True)
class Kind:
    """One kind of drive. ends: size of its cache in GB. ratio: sustained by burst speed."""

    speed: Speed
    ends: float = 0.0
    ratio: float = 1.0
    noise: Noise = field(default_factory=Noise)
    budget: float = 16 * GIB
    result: CliffResult = CliffResult.BUDGET

    def judged(self, seed: int) -> CacheCliff:
        trace = active(self.speed, random.Random(seed), self.noise, self.budget)
        return cache_cliff(trace, RULES)


CLIFFS = {
    "600p": Kind(steps(540, (8.5, 112)), 8.5, 0.21),
    "970 EVO": Kind(steps(2300, (22, 620)), 22, 0.27, budget=32 * GIB),
    "QLC": Kind(steps(1600, (14, 150)), 14, 0.094, budget=24 * GIB),
    # Bins hold equal bytes, so most of them are fast, and the median is a fast one.
    "folding": Kind(steps(1500, (12, 400)), 12, 0.41, Noise(folding=0.6)),
    "a third less": Kind(steps(410, (6, 260)), 6, 0.634),
    "three phases": Kind(steps(5000, (6, 2000), (11, 300)), 6, 0.06),
    "three phases, the last one short": Kind(steps(3000, (4, 1500), (14, 300)), 4, 0.1),
    "a small and slow one": Kind(steps(150, (0.45, 20)), 0.45, 0.133, budget=GIB),
}

NO_CLIFFS = {
    "flat": Kind(steps(540)),
    "flat and uneven": Kind(steps(540), noise=Noise(0.2, 0.05)),
    "flat and most uneven": Kind(steps(540), noise=Noise(0.3, 0.05)),
    "870 EVO, 480 to 400": Kind(steps(480, (6, 400))),
    "RAID 1 of SSDs": Kind(steps(484, (10, 486))),
    "RAID 10 of HDDs": Kind(steps(406, (10, 294))),
    "HDD, outer to inner tracks": Kind(ramp(200, 95, 17), result=CliffResult.RAMP),
    "thermal ramp": Kind(ramp(2000, 800, 17), result=CliffResult.RAMP),
    "cache larger than the budget": Kind(steps(2300, (22, 620))),
    "a cliff too near the end": Kind(steps(2300, (16.95, 620)), noise=Noise(stalls=0.0)),
}


@pytest.mark.parametrize("kind", CLIFFS.values(), ids=CLIFFS)
def test_cliffs_are_found_at_the_right_byte(kind: Kind) -> None:
    """Cliffs are found in all traces, within 0.2 GB in 95 %, and the speeds are the medians."""
    found = [kind.judged(seed) for seed in range(TRACES)]
    assert {CliffResult.CLIFF} == {cliff.result for cliff in found}
    errors = sorted(abs((cliff.cache_bytes or 0) / GB - kind.ends) for cliff in found)
    assert errors[int(0.95 * TRACES)] <= 0.2
    ratios = [cliff.falloff_ratio or 0 for cliff in found]
    assert [pytest.approx(kind.ratio, rel=0.15)] * TRACES == ratios


@pytest.mark.parametrize("kind", NO_CLIFFS.values(), ids=NO_CLIFFS)
def test_drives_without_a_cliff_have_none(kind: Kind) -> None:
    assert {kind.result} == {kind.judged(seed).result for seed in range(TRACES)}


def test_a_constant_speed_is_no_ramp_if_only_the_ends_of_the_write_differ() -> None:
    """As on a busy host: before the comparison of the thirds, 7 % of these traces were ramps."""
    ramps = 0
    for seed in range(300):
        chance = random.Random(seed)
        speeds = [chance.uniform(1.2, 2.2) for _ in range(chance.randrange(2, 6))]
        speeds += [chance.lognormvariate(0, 0.02) for _ in range(32 - len(speeds))]
        for number in range(chance.randrange(6)):
            speeds[-1 - number] *= chance.uniform(0.5, 0.9)
        trace = [TraceSample(7 / (40 * speed), 7 * MB) for speed in speeds]
        ramps += cache_cliff(trace, RULES).result is CliffResult.RAMP
    assert ramps <= 3


def test_a_cliff_is_found_in_an_uneven_trace() -> None:
    """A published write of a whole drive: peaks above 410 MB/s, an average of about 260 MB/s."""
    kind = replace(CLIFFS["a third less"], noise=Noise(0.15, 0.02))
    assert {CliffResult.CLIFF} == {kind.judged(seed).result for seed in range(TRACES)}


def test_three_phases_are_detected() -> None:
    for seed in range(TRACES):
        found = CLIFFS["three phases"].judged(seed)
        assert [0, 6, 11] == [round(phase.begin_bytes / GB) for phase in found.phases]
        speeds = [phase.bytes_per_second / MB for phase in found.phases]
        assert [pytest.approx(speed, rel=0.1) for speed in (5000, 2000, 300)] == speeds


def test_the_published_ladder_of_an_intel_600p() -> None:
    """Files of 2 to 16 GiB one after the other; those before were the page cache's, 2.143 GB.

    The cliff is by bytes since the drive rested, at 8.586 GB, and not by the size of a file.
    """
    ladder = [(2048, 3.48498), (4096, 7.36899), (8192, 73.1975), (16384, 153.142)]
    found = cache_cliff([TraceSample(s, mib * MIB) for mib, s in ladder], RULES)
    assert found.cache_bytes is not None
    assert pytest.approx(8.586, abs=0.01) == (2143e6 + found.cache_bytes) / GB
    assert found.burst_bytes_per_second is not None
    assert found.sustained_bytes_per_second is not None
    assert 583 <= round(found.burst_bytes_per_second / MB) <= 616
    assert 112 <= round(found.sustained_bytes_per_second / MB) <= 117
    assert pytest.approx(0.19, abs=0.01) == found.falloff_ratio


def test_the_synthetic_direct_write() -> None:
    """540 MB/s up to 8.5 GB, then 112 MB/s, with 10 % noise and 1 % stalls."""
    for seed in range(TRACES):
        found = CLIFFS["600p"].judged(seed)
        assert pytest.approx(8.5, abs=0.3) == (found.cache_bytes or 0) / GB
        assert pytest.approx(0.21, abs=0.02) == found.falloff_ratio


@pytest.mark.parametrize(
    ("ten_gib_seconds", "hundred_gib_seconds"),
    [pytest.param(22.1695, 220.997, id="SSDs"), pytest.param(26.4656, 365.673, id="HDDs")],
)
def test_published_direct_writes_to_arrays_have_no_cliff(
    ten_gib_seconds: float, hundred_gib_seconds: float
) -> None:
    """484 then 486 MB/s, and 406 then 294 MB/s: a ratio of 0.72 is not a cliff."""
    trace = [
        TraceSample(ten_gib_seconds, 10 * GIB),
        TraceSample(hundred_gib_seconds, 100 * GIB),
    ]
    assert CliffResult.BUDGET is cache_cliff(trace, RULES).result


def test_a_published_fall_to_six_tenths_is_a_cliff() -> None:
    trace = [TraceSample(6e9 / 410e6, 6e9), TraceSample(10e9 / 260e6, 10e9)]
    assert CliffResult.CLIFF is cache_cliff(trace, RULES).result


def even(*phases: tuple[float, float]) -> list[TraceSample]:
    """Returns a trace without noise from pairs of GB and MB/s."""
    return [
        TraceSample(gigabytes * GB / (speed * MB), gigabytes * GB) for gigabytes, speed in phases
    ]


def test_without_a_cliff_the_written_bytes_are_a_lower_bound_of_the_cache() -> None:
    found = cache_cliff(even((16, 2300)), RULES, capacity_bytes=1000 * 10**9)
    assert CliffResult.BUDGET is found.result
    assert found.cache_bytes is None
    assert 16 * 10**9 == found.cache_min_bytes
    assert pytest.approx(2300 * MB) == found.burst_bytes_per_second
    assert found.sustained_bytes_per_second is None
    assert found.falloff_ratio is None


def test_a_drive_is_flat_after_more_bytes_than_any_cache_can_hold() -> None:
    found = cache_cliff(even((16, 2300)), RULES, capacity_bytes=48 * 10**9)
    assert CliffResult.FLAT is found.result
    assert found.cache_min_bytes is None
    assert pytest.approx(1.0) == found.falloff_ratio


def test_an_aborted_write_is_aborted_unless_it_contains_a_cliff() -> None:
    flat, fell = even((16, 2300)), even((8, 540), (4, 112))
    found = cache_cliff(flat, RULES, capacity_bytes=10**9, was_aborted=True)
    assert CliffResult.ABORTED is found.result
    assert 16 * 10**9 == found.cache_min_bytes
    assert CliffResult.CLIFF is cache_cliff(fell, RULES, was_aborted=True).result


def test_an_empty_trace_has_no_phases() -> None:
    assert CacheCliff(CliffResult.BUDGET, 0) == cache_cliff([], RULES)
    assert CacheCliff(CliffResult.ABORTED, 0) == cache_cliff([], RULES, was_aborted=True)


def test_a_fall_to_two_thirds_is_a_cliff_and_to_seven_tenths_is_not() -> None:
    assert CliffResult.CLIFF is cache_cliff(even((8, 300), (8, 200)), RULES).result
    assert CliffResult.BUDGET is cache_cliff(even((8, 300), (8, 205)), RULES).result


def test_a_drive_that_becomes_faster_has_no_cliff() -> None:
    assert CliffResult.BUDGET is cache_cliff(even((8, 112), (8, 540)), RULES).result


FOUND = cache_cliff(even((8.6, 569), (8, 115)), RULES)


@pytest.mark.parametrize("back", [8.0, 5.4, 2.4, 1.5])
def test_the_recovered_bytes_are_those_written_at_burst_speed(back: float) -> None:
    """The values are from a published series of runs that were minutes apart."""
    for seed in range(TRACES):
        again = active(steps(569, (back, 115)), random.Random(seed), budget=8.6 * GB)
        found = recovered_bytes(again, FOUND, RULES)
        assert found is not None
        assert pytest.approx(back, abs=0.2) == found / GB


def test_a_later_write_that_is_fast_throughout_gives_a_lower_bound() -> None:
    assert 4 * GIB == recovered_bytes(even((4 * GIB / GB, 569)), FOUND, RULES)


def test_a_later_write_that_is_slow_throughout_shows_no_recovery() -> None:
    assert 0 == recovered_bytes(even((4, 115)), FOUND, RULES)


def test_without_a_cliff_or_a_later_write_the_recovery_is_unknown() -> None:
    flat = cache_cliff(even((16, 540)), RULES)
    assert recovered_bytes(even((4, 569)), flat, RULES) is None
    assert recovered_bytes([], FOUND, RULES) is None


@given(st.lists(ANY_SAMPLE | LIKELY_SAMPLE, max_size=80), st.none() | st.integers(), st.booleans())
def test_any_trace_has_a_result(
    trace: list[TraceSample], capacity: int | None, was_aborted: bool
) -> None:
    found = cache_cliff(trace, RULES, capacity_bytes=capacity, was_aborted=was_aborted)
    begins = [phase.begin_bytes for phase in found.phases]
    assert all(a < b for a, b in itertools.pairwise(begins))
    assert (found.cache_bytes is not None) == (found.result is CliffResult.CLIFF)
    assert (len(found.phases) >= 2) == (found.result is CliffResult.CLIFF)
    if found.cache_bytes is not None:
        assert 0 < found.cache_bytes < found.written_bytes
        assert found.cache_min_bytes is None
    recovered = recovered_bytes(trace, found, RULES)
    assert recovered is None or 0 <= recovered <= found.written_bytes


@given(
    st.floats(20, 7000),
    st.floats(0.02, 0.9),
    st.floats(2, 14),
    st.integers(0, 1000),
)
# Without a deadline: an example is a trace of 16 GiB, and the machine may be busy.
@settings(deadline=None)
def test_a_clean_step_is_a_cliff_only_if_it_is_large_enough(
    burst: float, ratio: float, ends: float, seed: int
) -> None:
    speed, chance = steps(burst, (ends, burst * ratio)), random.Random(seed)
    step = 16 * MIB
    trace = [
        TraceSample(step / speed(begin) * chance.lognormvariate(0, 0.05), step)
        for begin in range(0, 16 * GIB, step)
    ]
    found = cache_cliff(trace, RULES)
    if ratio <= 0.62:
        assert CliffResult.CLIFF is found.result
        assert pytest.approx(ends, abs=0.2) == (found.cache_bytes or 0) / GB
        assert pytest.approx(ratio, rel=0.1) == found.falloff_ratio
    elif ratio >= 0.72:
        assert CliffResult.CLIFF is not found.result


SERIES = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=30)


def test_a_step_is_split_at_its_edge() -> None:
    assert 3 == best_split([5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 1.0], 2)
    assert 2 == best_split([5.0, 1.0, 1.0, 1.0], 2), "no segment is shorter than asked for"


def test_a_series_shorter_than_two_segments_is_not_split() -> None:
    assert best_split([1.0, 2.0, 3.0], 2) is None
    assert best_split([], 1) is None


def test_a_line_fits_a_ramp_without_residuals() -> None:
    ramp = fit_line([1, 3, 5, 7])
    assert pytest.approx(6.0) == ramp.gain
    assert pytest.approx(0.0) == ramp.residual_squares
    assert 0.0 == fit_line([2, 2, 2]).gain


@given(SERIES, st.integers(1, 5))
def test_no_other_split_has_smaller_residuals(values: list[float], least: int) -> None:
    split = best_split(values, least)
    places = range(least, len(values) - least + 1)
    left = [
        squared_deviations(values[:place]) + squared_deviations(values[place:]) for place in places
    ]
    assert (split is None) == (not left)
    if split is not None:
        assert least <= split <= len(values) - least
        assert pytest.approx(min(left), abs=1e-6) == squared_deviations(
            values[:split]
        ) + squared_deviations(values[split:])


@given(SERIES)
def test_the_residuals_of_a_line_are_at_most_those_of_the_mean(values: list[float]) -> None:
    assert -1e-9 <= fit_line(values).residual_squares <= squared_deviations(values) + 1e-9


BIN_RULES = BinRules()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(16 * GIB, 128 * MIB, id="as a rule"),
        pytest.param(4 * GIB, 128 * MIB, id="4 GiB"),
        pytest.param(4 * GIB - 1, 64 * MIB, id="less than 4 GiB"),
        pytest.param(GIB, 32 * MIB, id="enough bins of a small trace"),
        pytest.param(4 * MIB, MIB, id="and none smaller than 1 MiB"),
        pytest.param(4096 * GIB, GIB, id="and not more than 4096"),
    ],
)
def test_the_bin_size_depends_on_the_written_bytes(written: int, expected: int) -> None:
    assert expected == BIN_RULES.bin_bytes_for(written)


def test_samples_of_any_length_make_bins_of_equal_bytes() -> None:
    """The trace is 1.5 GiB at 100 MiB/s in 3 samples, and 0.5 GiB at 50 MiB/s in 64 samples."""
    trace = [TraceSample(5.12, 512 * MIB)] * 3 + [TraceSample(0.16, 8 * MIB)] * 64
    found = binned(trace, BIN_RULES)
    assert (2 * GIB, 64 * MIB) == (found.written_bytes, found.bin_bytes)
    assert [100.0] * 24 + [50.0] * 8 == pytest.approx([speed / MIB for speed in found.speeds])


def test_a_bin_across_two_samples_has_the_speed_of_both() -> None:
    """Half a bin at 100 MiB/s and half at 50 MiB/s give 66.7 MiB/s."""
    rules = BinRules(short_bin_bytes=64 * MIB, least_bins=1)
    found = binned([TraceSample(0.32, 32 * MIB), TraceSample(0.64, 32 * MIB)], rules)
    assert pytest.approx([66.667], abs=0.001) == [speed / MIB for speed in found.speeds]


def test_time_without_bytes_counts_in_its_bin() -> None:
    rules = BinRules(short_bin_bytes=64 * MIB, least_bins=1)
    trace = [TraceSample(0.5, 32 * MIB), TraceSample(3.0, 0), TraceSample(0.5, 32 * MIB)]
    assert pytest.approx((16.0 * MIB,)) == binned(trace, rules).speeds


def test_impossible_samples_are_ignored() -> None:
    good = [TraceSample(1.0, 64 * MIB)] * 4
    nan = float("nan")
    odd = [TraceSample(*pair) for pair in ((0, 1), (-1, 1), (1, -1), (nan, 1), (1, nan), (1, 1e30))]
    assert binned(good, BIN_RULES) == binned([*odd, *good], BIN_RULES)


@given(st.lists(ANY_SAMPLE | LIKELY_SAMPLE, max_size=60))
def test_any_trace_has_bins_with_finite_speeds(trace: list[TraceSample]) -> None:
    found = binned(trace, BIN_RULES)
    assert all(0 < speed < float("inf") for speed in found.speeds)
    assert len(found.speeds) <= BIN_RULES.most_bins + 1
    assert len(found.speeds) * found.bin_bytes <= found.written_bytes * (1 + 1e-9) + 1


@given(st.lists(LIKELY_SAMPLE, max_size=60))
def test_all_time_and_all_bytes_are_binned(trace: list[TraceSample]) -> None:
    found = binned(trace, BIN_RULES)
    assert int(sum(sample.written_bytes for sample in trace)) == found.written_bytes
    spent = sum(found.bin_bytes / speed for speed in found.speeds)
    assert spent <= sum(sample.seconds for sample in trace) * (1 + 1e-9)
