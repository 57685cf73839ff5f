"""Two populations of requests, and bursts: hit rates and false rates of the rules.

The latencies are drawn with fixed seeds, and counted in the buckets of the kernel's triggers.
"""

import random

from hypothesis import given
from hypothesis import strategies as st

from exporter.latency.populations import come_in_bursts, two_populations
from exporter.latency.triggers import bucket_of
from exporter.tails.request_histogram import RequestBucket, RequestHistogram

MS = 1e-3


def counted(latencies: list[float]) -> RequestHistogram:
    """Returns a histogram with the buckets of the kernel's triggers."""
    counts: dict[tuple[float, float], int] = {}
    for latency in latencies:
        low, high = bucket_of(int(latency * 1e9))
        ends = low / 1e9, high / 1e9
        counts[ends] = counts.get(ends, 0) + 1
    return RequestHistogram.from_counts(counts)


def one_population(draw: random.Random, count: int) -> list[float]:
    """Draws a log-normal distribution, as of a drive under load."""
    median, spread = draw.uniform(0.05, 5) * MS, draw.uniform(0.1, 0.8)
    return [median * draw.lognormvariate(0, spread) for _ in range(count)]


def with_slow_ones(draw: random.Random, count: int) -> list[float]:
    """Draws the same, and delays 0.2 to 5 % of the requests by 20 times the median or more."""
    latencies = one_population(draw, count)
    share, delay = draw.uniform(0.002, 0.05), sorted(latencies)[count // 2] * draw.uniform(20, 200)
    return [each + delay * (draw.random() < share) for each in latencies]


def test_one_population_is_rarely_taken_for_two() -> None:
    draws = [random.Random(seed) for seed in range(40)]
    found = [two_populations(counted(one_population(draw, 3_000))) for draw in draws]
    assert 0 == sum(each is not None for each in found)


def test_delayed_requests_are_found_with_their_share_and_median() -> None:
    hits = 0
    for seed in range(40):
        draw = random.Random(seed)
        found = two_populations(counted(with_slow_ones(draw, 3_000)))
        hits += found is not None and found.slow_seconds > 10 * found.fast_seconds
    assert hits >= 36


def test_one_request_in_500_that_takes_40_ms() -> None:
    draw = random.Random(0)
    latencies = [draw.uniform(0.1, 0.3) * MS + 40 * MS * (n % 500 == 0) for n in range(20_000)]
    found = two_populations(counted(latencies))
    assert found is not None
    assert 40 == found.slow_count
    assert 0.002 == found.slow_share
    assert abs(found.slow_seconds - 40.2 * MS) < 5 * MS
    assert abs(found.fast_seconds - 0.2 * MS) < 0.03 * MS


def test_a_few_slow_requests_are_no_population() -> None:
    assert two_populations(counted([0.2 * MS] * 10_000 + [40 * MS] * 9)) is None
    assert two_populations(counted([0.2 * MS] * 10_000 + [40 * MS] * 10)) is not None
    assert two_populations(RequestHistogram()) is None


@given(st.lists(st.floats(1e-6, 10), max_size=300))
def test_the_populations_are_separate_and_complete(latencies: list[float]) -> None:
    made = counted(latencies)
    found = two_populations(made)
    if found is not None:
        assert found.fast_seconds < found.slow_from_seconds <= found.slow_seconds
        assert made.between(found.slow_from_seconds) == found.slow_count
        assert 0 < found.slow_share <= 0.5


def interval(fast: int, slow: int) -> RequestHistogram:
    """Returns an interval with so many requests of 0.2 ms and of 40 ms."""
    buckets = (0.2 * MS, 0.21 * MS, fast), (40 * MS, 42 * MS, slow)
    return RequestHistogram(tuple(RequestBucket(*each) for each in buckets if each[2]))


def intervals(draw: random.Random, slow: list[int]) -> list[RequestHistogram]:
    """Returns intervals of 200 to 400 requests, with these numbers of slow ones."""
    return [interval(draw.randrange(200, 400), number) for number in slow]


def test_slow_requests_that_are_spread_evenly_are_no_bursts() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        slow = [0] * 40
        for _ in range(draw.randrange(10, 200)):
            slow[draw.randrange(40)] += 1
        assert come_in_bursts(intervals(draw, slow), 20 * MS) is not True


def test_slow_requests_in_a_tenth_of_the_intervals_are_bursts() -> None:
    for seed in range(40):
        draw = random.Random(seed)
        slow = [0] * 40
        for place in draw.sample(range(40), 4):
            slow[place] = draw.randrange(10, 40)
        assert come_in_bursts(intervals(draw, slow), 20 * MS) is True


def test_bursts_of_requests_are_no_bursts_of_slow_ones() -> None:
    """All requests come in four intervals, and one of ten is slow."""
    busy = interval(900, 100)
    measured = [busy if number % 10 == 0 else RequestHistogram() for number in range(80)]
    assert come_in_bursts(measured, 20 * MS) is False
    assert come_in_bursts([busy], 20 * MS) is None
    assert come_in_bursts([], 20 * MS) is None
