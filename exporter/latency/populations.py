"""Judges a histogram: are there two populations of requests, and do the slow ones come in bursts?

Pure. The thresholds were chosen by hand; tests/latency/test_populations.py counts hits and false
results on simulated distributions only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.tails.request_histogram import RequestHistogram


@dataclass(frozen=True, slots=True)
class PopulationRules:
    """Thresholds of the judgement.

    least_slow: the least number of slow requests of which something is said.
    gap_ratio: a second population begins at this multiple of the latency where the first one ends.
    gap_share: the most requests in the gap, as a share of the slow requests.
    most_slow_share: the largest share of slow requests. More slow than fast ones are no exception.
    burst_ratio: the slow requests come in bursts if they are in at most this share of the intervals
        in which evenly spread ones would be.
    least_intervals: the least number of intervals in which evenly spread ones would be.
    """

    least_slow: int = 10
    gap_ratio: float = 2.0
    gap_share: float = 0.1
    most_slow_share: float = 0.5
    burst_ratio: float = 0.5
    least_intervals: float = 6.0


@dataclass(frozen=True, slots=True)
class Populations:
    """Two populations of requests.

    fast_seconds, slow_seconds: the median latency of each.
    slow_from_seconds: the latency at which the slow population begins.
    slow_count: the number of slow requests. slow_share: their share of all, from 0 to 1.
    """

    fast_seconds: float
    slow_seconds: float
    slow_from_seconds: float
    slow_count: int
    slow_share: float


def two_populations(
    histogram: RequestHistogram, rules: PopulationRules | None = None
) -> Populations | None:
    """Returns the fast and the slow population; None if the requests form one population.

    Two populations are separated by a range of latencies with few requests, whose upper end is at
    least `gap_ratio` times its lower end. If there are several such ranges, that with the fewest
    requests is used, then the lowest.
    """
    rules = rules or PopulationRules()
    total = histogram.count
    found: list[tuple[float, float]] = []
    for bucket in histogram.buckets:
        low = bucket.high_seconds
        slow = histogram.between(low * rules.gap_ratio)
        within = histogram.between(low, low * rules.gap_ratio)
        if (
            slow >= rules.least_slow
            and slow <= rules.most_slow_share * total
            and within <= rules.gap_share * slow
        ):
            found.append((within / slow, low))
    if not found:
        return None
    _, low = min(found)
    start = low * rules.gap_ratio
    fast = RequestHistogram(tuple(b for b in histogram.buckets if b.low_seconds < start))
    slow_ones = RequestHistogram(tuple(b for b in histogram.buckets if b.low_seconds >= start))
    fast_median, slow_median = fast.percentile(0.5), slow_ones.percentile(0.5)
    assert fast_median is not None
    assert slow_median is not None
    return Populations(
        fast_median,
        slow_median,
        slow_ones.buckets[0].low_seconds,
        slow_ones.count,
        slow_ones.count / total,
    )


def come_in_bursts(
    intervals: Sequence[RequestHistogram],
    slow_from_seconds: float,
    rules: PopulationRules | None = None,
) -> bool | None:
    """Returns True if the slow requests come in bursts, False if they are spread evenly.

    Evenly means in proportion to the requests of each interval. None: there are too few slow
    requests or too few intervals.

    intervals: the requests that were completed in successive intervals.
    slow_from_seconds: the latency from which a request is slow.
    """
    rules = rules or PopulationRules()
    slow = [interval.between(slow_from_seconds) for interval in intervals]
    total = sum(interval.count for interval in intervals)
    if not total:
        return None
    expected = math.fsum(
        1 - math.exp(-sum(slow) * interval.count / total) for interval in intervals
    )
    if expected < rules.least_intervals:
        return None
    return sum(count > 0 for count in slow) <= rules.burst_ratio * expected
