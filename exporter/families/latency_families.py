"""Defines the metric families of the latency of single requests."""

from exporter.families.desc import MetricDesc

#: From 8 µs to 8.6 s, powers of two in nanoseconds: the kernel's buckets end at them.
_EDGES = tuple((1 << bits) / 1e9 for bits in range(13, 34))

REQUEST_TIME = MetricDesc(
    "ssd_disk_request_seconds",
    "Latency of single requests, from the issue to the completion (hist triggers "
    "of the kernel, in windows of some seconds). It is a sample: divide the increase by that of "
    "ssd_disk_request_observed_seconds_total for requests per second. The sum takes each request "
    "as the middle of a bucket of 12.5 %. op: read, write, sync_write, flush, discard, other.",
    ("device", "op"),
    "histogram",
    _EDGES,
    optional=True,
)
LOST = MetricDesc(
    "ssd_disk_request_lost_total",
    "Requests whose completion was not matched (hist triggers of the kernel). They are not "
    "in ssd_disk_request_seconds.",
    ("device",),
    "counter",
    optional=True,
)
UNFINISHED = MetricDesc(
    "ssd_disk_request_unfinished_total",
    "Requests in flight two seconds after their window (hist triggers of the kernel). "
    "They are not in ssd_disk_request_seconds; a hanging drive has many.",
    ("device",),
    "counter",
    optional=True,
)
WINDOWS = MetricDesc(
    "ssd_disk_request_windows_total",
    "Windows of the measurement, on all devices at once (agent). If it does not increase, "
    "nothing was observed.",
    (),
    "counter",
    optional=True,
)
SHORTENED = MetricDesc(
    "ssd_disk_request_windows_shortened_total",
    "Windows that ended early (agent). There were more requests than "
    "latency.max_requests_per_second allows.",
    (),
    "counter",
    optional=True,
)
OBSERVED = MetricDesc(
    "ssd_disk_request_observed_seconds_total",
    "Duration of all windows (agent). Requests outside of the windows are not counted.",
    (),
    "counter",
    optional=True,
)
