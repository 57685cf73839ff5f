"""node_exporter's own families, for hosts without it (--compat.node-exporter).

The same names and labels as node_exporter 1.5 and later; scraping both doubles every sum that does
not name its job.
"""

from exporter.metrics.desc import MetricDesc

_DEVICE = ("device",)


def _disk(suffix: str, text: str) -> MetricDesc:
    return MetricDesc(
        f"node_disk_{suffix}",
        text,
        _DEVICE,
        "counter" if suffix.endswith("_total") else "gauge",
    )


#: The families of which ssd_disk_* has one of the same suffix.
BY_SUFFIX = {
    suffix: _disk(suffix, text)
    for suffix, text in (
        ("reads_completed_total", "Reads completed."),
        ("reads_merged_total", "Reads merged."),
        ("read_bytes_total", "Bytes read."),
        ("read_time_seconds_total", "Time that reads took."),
        ("writes_completed_total", "Writes completed."),
        ("writes_merged_total", "Writes merged."),
        ("written_bytes_total", "Bytes written."),
        ("write_time_seconds_total", "Time that writes took."),
        ("io_now", "Requests in flight."),
        ("io_time_seconds_total", "Time with requests in flight."),
        ("io_time_weighted_seconds_total", "Time in flight summed over requests."),
        ("discards_completed_total", "Discards completed."),
        ("discards_merged_total", "Discards merged."),
        ("discard_time_seconds_total", "Time that discards took."),
        ("flush_requests_total", "Flushes completed."),
        ("flush_requests_time_seconds_total", "Time that flushes took."),
    )
}
DISCARDED_SECTORS = _disk("discarded_sectors_total", "Sectors of 512 bytes discarded.")

CPU_SECONDS = MetricDesc(
    "node_cpu_seconds_total",
    "Time of each CPU by what it was spent on.",
    ("cpu", "mode"),
    "counter",
)


def _pressure(resource: str, kind: str) -> MetricDesc:
    return MetricDesc(
        f"node_pressure_{resource}_{kind}_seconds_total",
        f"Pressure stall time, {resource} {kind}.",
        (),
        "counter",
    )


#: By resource and kind; node_exporter 1.5 leaves cpu's "full" out.
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
