"""The collector `softirqs`: the number of softirqs by vector."""

from collections.abc import Iterator

from exporter.families import cpu_families as metrics
from exporter.families.desc import Sample
from exporter.linux import softirqs
from exporter.linux.softirqs import Softirqs
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample]]:
        settings = sources.settings
        parsed = softirqs.read(settings.path.procfs)
        found = samples(parsed.value, per_cpu=settings.cpu.per_cpu)
        return Parsed(list(found), parsed.faults)

    return collect


def samples(counts_by_vector: Softirqs, *, per_cpu: bool) -> Iterator[Sample]:
    """Yields the number of softirqs of each vector, which is the kernel's name for their kind.

    per_cpu: True yields also the numbers of each CPU.
    """
    for vector, counts in counts_by_vector.items():
        yield metrics.SOFTIRQS(sum(counts.values()), vector)
    if per_cpu:
        for vector, counts in counts_by_vector.items():
            for number, count in counts.items():
                yield metrics.SOFTIRQS_BY_CPU(count, str(number), vector)
