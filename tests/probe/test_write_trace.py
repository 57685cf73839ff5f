"""A write's samples over equal amounts of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probe.cache_cliff import GIB, MIB, BinRules, TraceSample, binned

BIN_RULES = BinRules()

ANY_SAMPLE = st.builds(TraceSample, st.floats(), st.floats() | st.integers())
LIKELY_SAMPLE = st.builds(TraceSample, st.floats(1e-3, 10), st.integers(0, 10**9))


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
def test_the_size_of_a_bin_follows_from_what_was_written(written: int, expected: int) -> None:
    assert expected == BIN_RULES.bin_bytes_for(written)


def test_samples_of_any_length_make_bins_of_equal_bytes() -> None:
    """1.5 GiB at 100 MiB/s in 3 samples, 0.5 GiB at 50 MiB/s in 64."""
    trace = [TraceSample(5.12, 512 * MIB)] * 3 + [TraceSample(0.16, 8 * MIB)] * 64
    found = binned(trace, BIN_RULES)
    assert (2 * GIB, 64 * MIB) == (found.written_bytes, found.bin_bytes)
    assert [100.0] * 24 + [50.0] * 8 == pytest.approx([speed / MIB for speed in found.speeds])


def test_a_bin_across_two_samples_has_the_speed_of_both() -> None:
    """Half a bin at 100 MiB/s and half at 50: two thirds of 100."""
    rules = BinRules(short_bin_bytes=64 * MIB, least_bins=1)
    found = binned([TraceSample(0.32, 32 * MIB), TraceSample(0.64, 32 * MIB)], rules)
    assert pytest.approx([66.667], abs=0.001) == [speed / MIB for speed in found.speeds]


def test_time_without_a_byte_belongs_to_the_bin_it_falls_into() -> None:
    rules = BinRules(short_bin_bytes=64 * MIB, least_bins=1)
    trace = [TraceSample(0.5, 32 * MIB), TraceSample(3.0, 0), TraceSample(0.5, 32 * MIB)]
    assert pytest.approx((16.0 * MIB,)) == binned(trace, rules).speeds


def test_samples_that_cannot_be_cost_themselves_alone() -> None:
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
def test_no_time_and_no_byte_is_lost(trace: list[TraceSample]) -> None:
    found = binned(trace, BIN_RULES)
    assert int(sum(sample.written_bytes for sample in trace)) == found.written_bytes
    spent = sum(found.bin_bytes / speed for speed in found.speeds)
    assert spent <= sum(sample.seconds for sample in trace) * (1 + 1e-9)
