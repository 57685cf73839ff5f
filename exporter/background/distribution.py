"""A histogram that takes weights: seconds, or operations."""

from bisect import bisect_left
from collections.abc import Sequence

from exporter.metrics.desc import Buckets, Desc

# Past the class's own constructor: a page asks five times a device.
_new = tuple.__new__


class Distribution:
    """Cumulative over the daemon's life, so that it survives any scrape interval.

    prometheus_client's Histogram counts single observations; seconds and operations weigh.
    """

    __slots__ = ("_edges", "_sum", "_weights")

    def __init__(self, desc: Desc) -> None:
        self._edges: Sequence[float] = desc.edges
        self._weights = [0.0] * (len(desc.edges) + 1)
        self._sum = 0.0

    def observe(self, value: float, weight: float) -> None:
        """An upper bound belongs to its own bucket, as Prometheus has it."""
        self._weights[bisect_left(self._edges, value)] += weight
        self._sum += value * weight

    def observe_zero(self, weight: float) -> None:
        """What `observe(0.0, weight)` does, for the many devices that do nothing."""
        self._weights[0] += weight

    def buckets(self) -> Buckets:
        return _new(Buckets, (tuple(self._weights), self._sum))
