"""A histogram that takes weights."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.accumulators import WeightedHistogram
from exporter.metrics import disk_families as metrics
from exporter.metrics.desc import MetricDesc

DESC = MetricDesc("ssd_test", "For tests.", (), "histogram", (0.5, 1.0, 2.0))

_OBSERVATIONS = st.lists(
    st.tuples(st.floats(0, 1e6), st.integers(0, 1000).map(lambda ms: ms / 1000))
)


def test_an_upper_bound_belongs_to_its_own_bucket() -> None:
    seen = WeightedHistogram(DESC)
    for value in (0.0, 0.5, 0.500_001, 1.0, 2.0, 2.1):
        seen.observe(value, 1)
    assert (2, 2, 1, 1) == seen.buckets().weights


def test_weights_and_their_products_add_up() -> None:
    seen = WeightedHistogram(DESC)
    seen.observe(0.7, 400)
    seen.observe(3.0, 2)
    assert (0, 400, 0, 2) == seen.buckets().weights
    assert pytest.approx(286) == seen.buckets().sum


def test_nothing_at_all_is_a_zero_like_any_other() -> None:
    quick, slow = WeightedHistogram(DESC), WeightedHistogram(DESC)
    quick.observe_zero(1.5)
    slow.observe(0.0, 1.5)
    assert slow.buckets() == quick.buckets()


@given(_OBSERVATIONS, st.sampled_from([metrics.BUSY_RATIO, metrics.QUEUE_DEPTH, metrics.READ_SIZE]))
def test_weights_add_up_to_the_time_that_passed(
    observations: list[tuple[float, float]], desc: MetricDesc
) -> None:
    """Each bucket, cumulated, holds the weight of all values up to its bound."""
    seen = WeightedHistogram(desc)
    for value, weight in observations:
        seen.observe(value, weight)
    weights, total = seen.buckets()
    assert min(weights) >= 0
    cumulated = list(accumulate(weights))
    assert cumulated[-1] == pytest.approx(sum(weight for _, weight in observations))
    assert total == pytest.approx(sum(value * weight for value, weight in observations))
    for edge, below in zip(desc.edges, cumulated, strict=False):
        expected = sum(weight for value, weight in observations if value <= edge)
        assert expected == pytest.approx(below)


@given(_OBSERVATIONS, _OBSERVATIONS)
def test_no_bucket_ever_goes_back(
    first: list[tuple[float, float]], then: list[tuple[float, float]]
) -> None:
    seen = WeightedHistogram(DESC)
    for value, weight in first:
        seen.observe(value, weight)
    before = seen.buckets()
    for value, weight in then:
        seen.observe(value, weight)
    after = seen.buckets()
    assert all(a <= b for a, b in zip(before.weights, after.weights, strict=True))
    assert before.sum <= after.sum
