"""The collector `process`: CPU time, memory and descriptors of the exporter's own process."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from exporter.families import own_families as metrics
from exporter.families.desc import Sample
from exporter.metrics.client_library import ProcessCollector
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


def new(_sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""
    process = ProcessCollector(registry=None)
    return lambda: Parsed(list(samples(iter(process.collect()))))


def samples(families: "Iterator[Metric]") -> Iterator[Sample]:
    """Yields those samples of prometheus_client's ProcessCollector that are in the catalogue.

    families: the result of `ProcessCollector.collect`.
    """
    for family in families:
        for sample in family.samples:
            if desc := metrics.PROCESS.get(sample.name):
                yield desc(sample.value)
