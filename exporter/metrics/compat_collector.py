"""node_exporter's own families from the same samples, for hosts without it."""

from collections.abc import Iterator

from exporter.io.sampler import Sampler
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.metrics import compat_families as metrics
from exporter.metrics import disk_collector
from exporter.metrics.desc import MetricDesc, Sample


def disk_samples(sampler: Sampler) -> Iterator[Sample]:
    """node_disk_*: the same counters under its names; discards in sectors, as it has them."""
    for name, counted in (sampler.disks or {}).items():
        for desc, count in disk_collector.COUNTERS:
            value = count(counted)
            if value is not None:
                theirs, divisor = _THEIRS[desc]
                yield theirs(value if divisor == 1 else int(value) // divisor, name)


def cpu_samples(sampler: Sampler) -> Iterator[Sample]:
    """node_cpu_seconds_total, with idle and iowait kept from stepping back."""
    if sampler.stat is None:
        return
    for number, times in sampler.stat.cpus.items():
        kept: dict[str, float] = {
            "idle": sampler.cpu.idle_by_cpu[number].value,
            "iowait": sampler.cpu.iowait_by_cpu[number].value,
        }
        for mode, seconds in (times._asdict() | kept).items():
            yield metrics.CPU_SECONDS(seconds, str(number), mode)


def _theirs(desc: MetricDesc) -> tuple[MetricDesc, int]:
    suffix = desc.name.removeprefix("ssd_disk_")
    if suffix == "discarded_bytes_total":
        return metrics.DISCARDED_SECTORS, SECTOR_BYTES
    return metrics.BY_SUFFIX[suffix], 1


_THEIRS = {desc: _theirs(desc) for desc, _ in disk_collector.COUNTERS}
