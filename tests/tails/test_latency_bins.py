"""Bins of latencies: the kernel's buckets fit into them, and nothing is counted twice."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from exporter.families.latency_families import REQUEST_TIME
from exporter.latency.triggers import bucket_of
from exporter.tails.latency_bins import (
    LAST_BIN,
    as_histogram,
    bin_of,
    binned,
    bounds,
    increase,
    packed,
    sum_seconds,
    total,
    unpacked,
    weights,
)
from exporter.tails.request_histogram import RequestBucket, RequestHistogram

latencies = st.integers(0, (1 << 63) - 1)
some_bins = st.dictionaries(st.integers(0, LAST_BIN), st.integers(1, 1 << 40), max_size=30)


@given(latencies)
def test_a_bucket_of_the_kernel_is_in_one_bin(nanoseconds: int) -> None:
    low, high = bucket_of(nanoseconds)
    assert bin_of(low) == bin_of(high - 1) == bin_of(nanoseconds)


@given(latencies)
def test_a_latency_is_within_its_bin_which_is_narrow(nanoseconds: int) -> None:
    low, high = bounds(bin_of(nanoseconds))
    assert low * 1e9 * 0.999999 <= nanoseconds <= high * 1e9 * 1.000001
    assert high <= low * 1.1251 or not low


def test_bins_follow_each_other_without_a_gap() -> None:
    ends = [bounds(number) for number in range(LAST_BIN + 1)]
    assert all(one[1] == other[0] for one, other in itertools.pairwise(ends))


def test_the_edges_of_the_exported_histogram_are_ends_of_bins() -> None:
    lows = {bounds(number)[0] for number in range(LAST_BIN + 1)}
    assert set(REQUEST_TIME.edges) <= lows


def test_the_exported_buckets_count_each_request_once() -> None:
    edges = REQUEST_TIME.edges
    bins = {bin_of(5_000): 3, bin_of(8_192): 4, bin_of(40_000_000): 2, bin_of(20 * 10**9): 1}
    found = weights(bins, edges)
    assert [3, 4] == found[:2]
    assert 2 == found[next(i for i, edge in enumerate(edges) if edge > 0.04)]
    assert 1 == found[-1]
    assert 10 == sum(found)


@given(some_bins)
def test_the_exported_buckets_have_all_requests(bins: dict[int, int]) -> None:
    assert sum(bins.values()) == sum(weights(bins, REQUEST_TIME.edges))


def test_the_buckets_of_the_kernel_become_bins() -> None:
    low, high = (value / 1e9 for value in bucket_of(1_500_000))
    kernel = RequestHistogram((RequestBucket(low, high, 7), RequestBucket(0.1, 0.101, 1)))
    bins = binned(kernel)
    assert {bin_of(1_500_000): 7, bin_of(100_000_000): 1} == bins
    assert 0.00144 < (as_histogram(bins).percentile(0.5) or 0) < 0.0016
    assert 0.105 < sum_seconds(bins) < 0.11


@given(some_bins, some_bins)
def test_what_was_added_is_the_difference(before: dict[int, int], added: dict[int, int]) -> None:
    assert added == increase(total((before, added)), before)


def test_there_is_no_difference_if_a_bin_has_decreased() -> None:
    assert increase({1: 2}, {1: 3}) is None
    assert increase({}, {1: 3}) is None


@given(some_bins)
def test_packed_bins_are_unchanged(bins: dict[int, int]) -> None:
    assert bins == unpacked(packed(bins))
