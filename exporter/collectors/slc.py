"""What probes of write caches found, to samples."""

from collections.abc import Iterator, Mapping

from exporter.background.slc_results import SlcResult
from exporter.metrics import probe as metrics
from exporter.metrics.desc import Sample


def samples(found: Mapping[str, SlcResult]) -> Iterator[Sample]:
    """The last result of each device, by its label."""
    for device, its in found.items():
        cliff = its.cliff
        yield metrics.SLC_RESULT(1, device, cliff.result.value)
        yield metrics.SLC_AT(its.at, device)
        for desc, value in (
            (metrics.SLC_CACHE, cliff.cache_bytes),
            (metrics.SLC_CACHE_MIN, cliff.cache_min_bytes),
            (metrics.SLC_BURST, cliff.burst_bytes_per_second),
            (metrics.SLC_SUSTAINED, cliff.sustained_bytes_per_second),
            (metrics.SLC_FALLOFF, cliff.falloff_ratio),
        ):
            if value is not None:
                yield desc(value, device)
        for seconds, size in its.recovered_bytes.items():
            yield metrics.SLC_RECOVERED(size, device, f"{seconds}s")
