"""The collector `probe`: fio probes, and probes that measure a drive's write cache (SLC)."""

from collections.abc import Iterator, Mapping

from exporter.families import probe_families as metrics
from exporter.families.desc import Sample
from exporter.metrics.collectors import Collect, Sources
from exporter.probe.slc_results import SlcResult
from exporter.runtime.errors import Parsed


def new(sources: Sources) -> Collect | None:
    """Returns the function that returns the samples; see `collectors`."""
    probe = sources.probe
    if probe is None and sources.slc is None:
        return None

    def collect() -> Parsed[list[Sample]]:
        found: list[Sample] = []
        if probe is not None:
            # Imported only if it is used, because the daemon's memory is limited.
            from exporter.metrics import probe_samples  # noqa: PLC0415

            found += probe_samples.samples(probe)
        found += slc_samples(sources.slc_results())
        return Parsed(found)

    return collect


def slc_samples(results: Mapping[str, SlcResult]) -> Iterator[Sample]:
    """Yields the last result of the write-cache probe of each device.

    results: the results, keyed by device name.
    """
    for device, slc in results.items():
        cliff = slc.cliff
        yield metrics.SLC_RESULT(1, device, cliff.result.value)
        yield metrics.SLC_AT(slc.at, device)
        for desc, value in (
            (metrics.SLC_CACHE, cliff.cache_bytes),
            (metrics.SLC_CACHE_MIN, cliff.cache_min_bytes),
            (metrics.SLC_BURST, cliff.burst_bytes_per_second),
            (metrics.SLC_SUSTAINED, cliff.sustained_bytes_per_second),
            (metrics.SLC_FALLOFF, cliff.falloff_ratio),
        ):
            if value is not None:
                yield desc(value, device)
        for seconds, size in slc.recovered_bytes.items():
            yield metrics.SLC_RECOVERED(size, device, f"{seconds}s")
