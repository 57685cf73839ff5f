"""Defines the metric families of node_exporter, for hosts without it (--compat.node-exporter).

Names and labels are those of node_exporter 1.5 and later. If Prometheus scrapes both exporters on
one host, a sum that does not select a job contains every value twice.
"""

from exporter.families.desc import MetricDesc

_DEVICE = ("device",)


def _disk(suffix: str, text: str) -> MetricDesc:
    return MetricDesc(
        f"node_disk_{suffix}",
        text,
        _DEVICE,
        "counter" if suffix.endswith("_total") else "gauge",
    )


#: Families node_disk_*, keyed by suffix. A family ssd_disk_* with the same suffix exists for each.
BY_SUFFIX = {
    suffix: _disk(suffix, text)
    for suffix, text in (
        ("reads_completed_total", "Completed reads (diskstats)."),
        ("reads_merged_total", "Merged reads (diskstats)."),
        ("read_bytes_total", "Bytes read (diskstats)."),
        ("read_time_seconds_total", "Sum of the times of all reads (diskstats)."),
        ("writes_completed_total", "Completed writes (diskstats)."),
        ("writes_merged_total", "Merged writes (diskstats)."),
        ("written_bytes_total", "Bytes written (diskstats)."),
        ("write_time_seconds_total", "Sum of the times of all writes (diskstats)."),
        ("io_now", "Requests in flight (diskstats)."),
        ("io_time_seconds_total", "Time with requests in flight (diskstats)."),
        ("io_time_weighted_seconds_total", "Time in flight, summed over requests (diskstats)."),
        ("discards_completed_total", "Completed discards (diskstats)."),
        ("discards_merged_total", "Merged discards (diskstats)."),
        ("discard_time_seconds_total", "Sum of the times of all discards (diskstats)."),
        ("flush_requests_total", "Completed flushes (diskstats)."),
        ("flush_requests_time_seconds_total", "Sum of the times of all flushes (diskstats)."),
    )
}
DISCARDED_SECTORS = _disk("discarded_sectors_total", "Discarded sectors of 512 bytes (diskstats).")

CPU_SECONDS = MetricDesc(
    "node_cpu_seconds_total",
    "Time of each CPU by mode (/proc/stat).",
    ("cpu", "mode"),
    "counter",
)


def _pressure(resource: str, kind: str) -> MetricDesc:
    return MetricDesc(
        f"node_pressure_{resource}_{kind}_seconds_total",
        f"Pressure stall time, {resource} {kind} (/proc/pressure/{resource}).",
        (),
        "counter",
    )


#: The families of pressure stall information, keyed by resource and kind. There is no stalled time
#: of the CPU, because node_exporter 1.5 does not export it.
PRESSURE = {
    (resource, kind): _pressure(resource, kind)
    for resource, kind in (
        ("io", "waiting"),
        ("io", "stalled"),
        ("cpu", "waiting"),
        ("memory", "waiting"),
        ("memory", "stalled"),
        ("irq", "stalled"),
    )
}
