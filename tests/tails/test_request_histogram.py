"""Percentiles from buckets."""

import math

from hypothesis import given
from hypothesis import strategies as st

from exporter.tails.request_histogram import RequestHistogram, merged

WIDTH = 0.001


def histogram(latencies: list[float]) -> RequestHistogram:
    """Returns a histogram with buckets of 1 ms."""
    counts: dict[tuple[float, float], int] = {}
    for latency in latencies:
        low = math.floor(latency / WIDTH) * WIDTH
        ends = (low, low + WIDTH)
        counts[ends] = counts.get(ends, 0) + 1
    return RequestHistogram.from_counts(counts)


_LATENCIES = st.lists(st.floats(0, 10), min_size=1, max_size=200)


@given(_LATENCIES, st.floats(0, 1))
def test_a_percentile_is_wrong_by_less_than_a_bucket(latencies: list[float], share: float) -> None:
    found = histogram(latencies).percentile(share)
    exact = sorted(latencies)[max(math.ceil(share * len(latencies) - 1e-9), 1) - 1]
    assert found is not None
    assert abs(found - exact) <= WIDTH * 1.001


@given(_LATENCIES)
def test_percentiles_do_not_fall_and_no_request_is_slower_than_the_maximum(
    latencies: list[float],
) -> None:
    made = histogram(latencies)
    values = [made.percentile(share) or 0.0 for share in (0.0, 0.5, 0.9, 0.99, 0.999, 1.0)]
    assert values == sorted(values)
    assert made.max_seconds is not None
    assert max(latencies) <= made.max_seconds + 1e-12
    assert values[-1] <= made.max_seconds


@given(_LATENCIES, _LATENCIES)
def test_what_was_added_since_a_reading_is_the_rest(
    before: list[float], after: list[float]
) -> None:
    whole = merged([histogram(before), histogram(after)])
    assert histogram(before + after).buckets == whole.buckets
    assert histogram(after).buckets == whole.since(histogram(before)).buckets


def test_without_requests_nothing_is_known() -> None:
    none = RequestHistogram()
    assert (0, None, None) == (none.count, none.max_seconds, none.percentile(0.99))
