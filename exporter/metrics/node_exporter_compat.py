"""Yields the samples of node_exporter's metric families, for hosts without node_exporter."""

from collections.abc import Iterator

from exporter.families import compat_families as metrics
from exporter.families.desc import MetricDesc, Sample
from exporter.io.sampler import Sampler
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.metrics import disk_collector


def disk_samples(sampler: Sampler) -> Iterator[Sample]:
    """Yields the samples of node_disk_*.

    The values are those of ssd_disk_*, but discards are counted in sectors of 512 bytes.
    """
    for name, record in (sampler.disks or {}).items():
        for desc, count in disk_collector.COUNTERS:
            value = count(record)
            if value is not None:
                compat_desc, divisor = _COMPAT[desc]
                yield compat_desc(value if divisor == 1 else int(value) // divisor, name)


def cpu_samples(sampler: Sampler) -> Iterator[Sample]:
    """Yields the samples of node_cpu_seconds_total.

    The kernel's idle and iowait times may decrease. Here they are corrected and never decrease.
    """
    if sampler.stat is None:
        return
    for number, times in sampler.stat.cpus.items():
        monotonic: dict[str, float] = {
            "idle": sampler.cpu.idle_by_cpu[number].value,
            "iowait": sampler.cpu.iowait_by_cpu[number].value,
        }
        for mode, seconds in (times._asdict() | monotonic).items():
            yield metrics.CPU_SECONDS(seconds, str(number), mode)


def _compat(desc: MetricDesc) -> tuple[MetricDesc, int]:
    suffix = desc.name.removeprefix("ssd_disk_")
    if suffix == "discarded_bytes_total":
        return metrics.DISCARDED_SECTORS, SECTOR_BYTES
    return metrics.BY_SUFFIX[suffix], 1


_COMPAT = {desc: _compat(desc) for desc, _ in disk_collector.COUNTERS}
