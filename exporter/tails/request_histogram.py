"""A histogram of the latencies of requests, and the percentiles that it allows. Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: The operations in the order of the output, with their names in a sentence.
#: `exporter.latency.trace_histogram` finds the operation of a request.
OPERATIONS: Mapping[str, str] = {
    "read": "reads",
    "write": "writes",
    "sync_write": "synchronous writes",
    "flush": "flushes",
    "discard": "discards",
    "other": "other requests",
}


@dataclass(frozen=True, slots=True)
class RequestBucket:
    """The number of requests whose latency is in a range.

    low_seconds: the lowest latency of the range, inclusive.
    high_seconds: the highest latency of the range, exclusive.
    count: the number of requests.
    """

    low_seconds: float
    high_seconds: float
    count: int


@dataclass(frozen=True, slots=True)
class RequestHistogram:
    """The latencies of requests.

    buckets: the buckets that are not empty, in ascending order. They do not overlap.
    """

    buckets: tuple[RequestBucket, ...] = ()

    @classmethod
    def from_counts(cls, counts: Mapping[tuple[float, float], int]) -> "RequestHistogram":
        """Returns a histogram of these counts, keyed by the two ends of a bucket in seconds."""
        return cls(tuple(RequestBucket(*ends, counts[ends]) for ends in sorted(counts)))

    @property
    def count(self) -> int:
        """The number of requests."""
        return sum(bucket.count for bucket in self.buckets)

    @property
    def max_seconds(self) -> float | None:
        """The upper end of the highest bucket; no request was slower. None without requests."""
        return self.buckets[-1].high_seconds if self.buckets else None

    def bucket_of(self, share: float) -> RequestBucket | None:
        """Returns the bucket of a percentile; None without requests.

        It contains the request with the rank ceil(share * count), counted from the fastest.

        share: from 0 to 1, such as 0.999.
        """
        rank = max(math.ceil(share * self.count - 1e-9), 1)
        for bucket in self.buckets:
            rank -= bucket.count
            if rank <= 0:
                return bucket
        return None

    def percentile(self, share: float) -> float | None:
        """Returns a percentile in seconds; None without requests.

        It is interpolated in its bucket, so its error is less than the width of that bucket.

        share: from 0 to 1, such as 0.999.
        """
        bucket = self.bucket_of(share)
        if bucket is None:
            return None
        before = sum(b.count for b in self.buckets if b.low_seconds < bucket.low_seconds)
        rank = min(max(share * self.count - before, 0.0), bucket.count)
        width = bucket.high_seconds - bucket.low_seconds
        return bucket.low_seconds + width * rank / bucket.count

    def since(self, earlier: "RequestHistogram") -> "RequestHistogram":
        """Returns what was added since an earlier reading of the same histogram."""
        counts = _counts((self,))
        for bucket in earlier.buckets:
            ends = (bucket.low_seconds, bucket.high_seconds)
            counts[ends] = counts.get(ends, 0) - bucket.count
        return self.from_counts({ends: count for ends, count in counts.items() if count > 0})

    def between(self, low_seconds: float, high_seconds: float = math.inf) -> int:
        """Returns the number of requests in the buckets that begin in this range."""
        return sum(b.count for b in self.buckets if low_seconds <= b.low_seconds < high_seconds)


def merged(histograms: Iterable[RequestHistogram]) -> RequestHistogram:
    """Returns the sum of histograms with the same buckets."""
    return RequestHistogram.from_counts(_counts(histograms))


def percentile(histogram: RequestHistogram, share: float) -> float | None:
    """Returns a percentile in seconds; None if no request is slower than it.

    With 100 requests the percentile 99.9 would be that of the slowest request.
    """
    if histogram.count * (1 - share) < 1 - 1e-9:
        return None
    return histogram.percentile(share)


def _counts(histograms: Iterable[RequestHistogram]) -> dict[tuple[float, float], int]:
    counts: dict[tuple[float, float], int] = {}
    for histogram in histograms:
        for bucket in histogram.buckets:
            ends = (bucket.low_seconds, bucket.high_seconds)
            counts[ends] = counts.get(ends, 0) + bucket.count
    return counts
