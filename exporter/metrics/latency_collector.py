"""The collector `latency`: the latency of single requests, which the agent measures in windows."""

from collections.abc import Callable, Iterator

from exporter.families import latency_families as metrics
from exporter.families.desc import Buckets, Sample
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed
from exporter.tails.latency_bins import sum_seconds, weights
from exporter.tails.latency_watch import RequestTotals


def new(sources: Sources) -> Collect | None:
    """Returns the function that returns the samples; None if nothing is measured."""
    watch = sources.latency
    if watch is None:
        return None

    def collect() -> Parsed[list[Sample]]:
        totals = watch.totals
        return Parsed([] if totals is None else list(samples(totals, sources.is_exported)))

    return collect


def samples(totals: RequestTotals, is_exported: Callable[[str], bool]) -> Iterator[Sample]:
    """Yields the samples.

    is_exported: returns True for the names of the devices to export.
    """
    edges = metrics.REQUEST_TIME.edges
    for (device, op), bins in sorted(totals.bins.items()):
        if is_exported(device):
            buckets = Buckets(weights(bins, edges), sum_seconds(bins))
            yield metrics.REQUEST_TIME(buckets, device, op)
    for desc, numbers in ((metrics.LOST, totals.lost), (metrics.UNFINISHED, totals.unfinished)):
        for device, number in sorted(numbers.items()):
            if is_exported(device):
                yield desc(number, device)
    yield metrics.WINDOWS(totals.windows)
    yield metrics.SHORTENED(totals.shortened)
    yield metrics.OBSERVED(totals.observed_seconds)
