"""Lists all metric families, by subject."""

from collections.abc import Iterable, Iterator
from types import ModuleType

from exporter.families import (
    compat_families,
    cpu_families,
    device_families,
    disk_families,
    latency_families,
    nvme_log_families,
    own_families,
    probe_families,
    smart_families,
    smartctl_families,
)
from exporter.families.desc import MetricDesc

SUBJECTS: tuple[tuple[str, ModuleType], ...] = (
    ("Identity, topology, state", device_families),
    ("SMART", smart_families),
    ("Log pages of NVMe drives", nvme_log_families),
    ("Block I/O", disk_families),
    ("Latency of single requests", latency_families),
    ("CPU and pressure", cpu_families),
    ("fio probes", probe_families),
    ("The exporter itself", own_families),
    ("node_exporter's own families (`--compat.node-exporter`)", compat_families),
    ("smartctl_exporter's own families (`--compat.smartctl-exporter`)", smartctl_families),
)


def families(subject: ModuleType) -> Iterator[MetricDesc]:
    """Yields the metric families that a module `*_families` defines, in their order there."""
    for name, value in vars(subject).items():
        if not name.startswith("__"):
            yield from _descriptions(value)


def _descriptions(value: object) -> Iterable[MetricDesc]:
    if isinstance(value, MetricDesc):
        return (value,)
    if isinstance(value, dict):
        return tuple(item for item in value.values() if isinstance(item, MetricDesc))
    return ()
