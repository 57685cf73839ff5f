"""The collector `softnet`: the backlog of received network packets."""

from collections.abc import Iterator

from exporter.families import cpu_families as metrics
from exporter.families.desc import Sample
from exporter.linux import softnet_stat
from exporter.linux.softnet_stat import SoftnetCounters
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        parsed = softnet_stat.read(sources.settings.path.procfs)
        return Parsed(list(samples(parsed.value)), parsed.faults)

    return collect


def samples(softnet: SoftnetCounters) -> Iterator[Sample]:
    """Yields the samples of the network backlog."""
    yield metrics.SOFTNET_DROPPED(softnet.dropped)
    yield metrics.SOFTNET_SQUEEZED(softnet.times_squeezed)
