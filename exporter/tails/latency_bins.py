"""Bins in which the latencies of requests are added up over time. Pure.

A bin is at most 12.5 % wide: eight bins between two powers of two, in nanoseconds. The kernel's
buckets (`exporter.latency.triggers`) lie within one bin each, so that no request is counted in the
wrong one. Bin 0 has all requests below 8.192 µs.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence

from exporter.tails.request_histogram import RequestBucket, RequestHistogram

#: The number of requests in each bin, keyed by bin.
Bins = Mapping[int, int]

_FIRST_BITS = 13
_PER_OCTAVE_BITS = 3
_PER_OCTAVE = 1 << _PER_OCTAVE_BITS
_MOST_BITS = 63

#: The highest bin.
LAST_BIN = (_MOST_BITS - _FIRST_BITS + 1) * _PER_OCTAVE

_NANOSECONDS = 1e9

#: A bin and its count in 64 bits.
_COUNT_BITS = 48
_COUNT_MASK = (1 << _COUNT_BITS) - 1


def bin_of(nanoseconds: int) -> int:
    """Returns the bin of a latency.

    >>> bin_of(8191), bin_of(8192), bin_of(9215), bin_of(9216), bin_of(16384)
    (0, 1, 1, 2, 9)
    """
    bits = min(nanoseconds.bit_length() - 1, _MOST_BITS)
    if bits < _FIRST_BITS:
        return 0
    within = (nanoseconds - (1 << bits)) >> (bits - _PER_OCTAVE_BITS)
    return 1 + (bits - _FIRST_BITS) * _PER_OCTAVE + min(within, _PER_OCTAVE - 1)


def bounds(number: int) -> tuple[float, float]:
    """Returns the two ends of a bin, in seconds."""
    if not number:
        return 0.0, (1 << _FIRST_BITS) / _NANOSECONDS
    octave, within = divmod(number - 1, _PER_OCTAVE)
    width = 1 << (octave + _FIRST_BITS - _PER_OCTAVE_BITS)
    low = (_PER_OCTAVE + within) * width
    return low / _NANOSECONDS, (low + width) / _NANOSECONDS


def binned(histogram: RequestHistogram) -> dict[int, int]:
    """Returns the bins of a histogram of the kernel."""
    bins: dict[int, int] = {}
    for bucket in histogram.buckets:
        number = bin_of(round(bucket.low_seconds * _NANOSECONDS))
        bins[number] = bins.get(number, 0) + bucket.count
    return bins


def total(several: Iterable[Bins]) -> dict[int, int]:
    """Returns the sum of bins."""
    found: dict[int, int] = {}
    for bins in several:
        for number, count in bins.items():
            found[number] = found.get(number, 0) + count
    return found


def increase(later: Bins, earlier: Bins) -> dict[int, int] | None:
    """Returns what was added to bins; None if a bin has decreased."""
    found = {number: count - earlier.get(number, 0) for number, count in later.items()}
    if not earlier.keys() <= later.keys() or any(count < 0 for count in found.values()):
        return None
    return {number: count for number, count in found.items() if count}


def as_histogram(bins: Bins) -> RequestHistogram:
    """Returns the bins as a histogram, which has percentiles."""
    return RequestHistogram(
        tuple(RequestBucket(*bounds(number), bins[number]) for number in sorted(bins))
    )


def weights(bins: Bins, edges: Sequence[float]) -> list[float]:
    """Returns the number of requests in each range between two edges.

    edges: the upper ends of the ranges in seconds, which are lower ends of bins. The last range is
        above all of them.
    """
    found = [0.0] * (len(edges) + 1)
    for number, count in bins.items():
        low, _ = bounds(number)
        found[sum(edge <= low for edge in edges)] += count
    return found


def sum_seconds(bins: Bins) -> float:
    """Returns the sum of all latencies, each taken as the middle of its bin."""
    return sum(count * sum(bounds(number)) / 2 for number, count in bins.items())


def packed(bins: Bins) -> "array[int]":
    """Returns the bins in 8 bytes each. A dict takes ten times as much."""
    return array(
        "Q", (number << _COUNT_BITS | min(count, _COUNT_MASK) for number, count in bins.items())
    )


def unpacked(values: "array[int]") -> dict[int, int]:
    """Returns the bins that `packed` was called with."""
    return {value >> _COUNT_BITS: value & _COUNT_MASK for value in values}
