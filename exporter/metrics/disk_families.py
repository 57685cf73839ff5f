"""Block I/O: the kernel's counters, and what the per-second sampler makes of them."""

from exporter.metrics.desc import MetricDesc

_DEVICE = ("device",)

READS_COMPLETED = MetricDesc(
    "ssd_disk_reads_completed_total",
    "Reads completed, after merging (diskstats field 1).",
    _DEVICE,
    "counter",
)
READS_MERGED = MetricDesc(
    "ssd_disk_reads_merged_total",
    "Reads merged into a neighbour before they were issued (diskstats field 2).",
    _DEVICE,
    "counter",
)
READ_BYTES = MetricDesc(
    "ssd_disk_read_bytes_total", "Bytes read (diskstats field 3).", _DEVICE, "counter"
)
READ_TIME = MetricDesc(
    "ssd_disk_read_time_seconds_total",
    "Time that reads took, queued and served, summed over requests (diskstats field 4). The kernel "
    "keeps 32 bits of milliseconds: it wraps, as a counter reset.",
    _DEVICE,
    "counter",
)
WRITES_COMPLETED = MetricDesc(
    "ssd_disk_writes_completed_total",
    "Writes completed, after merging (diskstats field 5).",
    _DEVICE,
    "counter",
)
WRITES_MERGED = MetricDesc(
    "ssd_disk_writes_merged_total",
    "Writes merged into a neighbour before they were issued (diskstats field 6).",
    _DEVICE,
    "counter",
)
WRITTEN_BYTES = MetricDesc(
    "ssd_disk_written_bytes_total", "Bytes written (diskstats field 7).", _DEVICE, "counter"
)
WRITE_TIME = MetricDesc(
    "ssd_disk_write_time_seconds_total",
    "Time that writes took, queued and served, summed over requests (diskstats field 8).",
    _DEVICE,
    "counter",
)
IO_NOW = MetricDesc("ssd_disk_io_now", "Requests in flight (diskstats field 9).", _DEVICE)
IO_TIME = MetricDesc(
    "ssd_disk_io_time_seconds_total",
    "Time with at least one request in flight (diskstats field 10), the %util of iostat. An SSD "
    "serves many at once, and kernels 5.0 to 6.9 count too much: see ssd_disk_busy_ratio.",
    _DEVICE,
    "counter",
)
IO_TIME_WEIGHTED = MetricDesc(
    "ssd_disk_io_time_weighted_seconds_total",
    "Time in flight summed over requests (diskstats field 11). Too small on kernels before 5.7: "
    "see ssd_disk_queue_depth.",
    _DEVICE,
    "counter",
)
DISCARDS_COMPLETED = MetricDesc(
    "ssd_disk_discards_completed_total",
    "Discards completed, after merging (diskstats field 12, since kernel 4.18).",
    _DEVICE,
    "counter",
)
DISCARDS_MERGED = MetricDesc(
    "ssd_disk_discards_merged_total",
    "Discards merged into a neighbour before they were issued (diskstats field 13).",
    _DEVICE,
    "counter",
)
DISCARDED_BYTES = MetricDesc(
    "ssd_disk_discarded_bytes_total", "Bytes discarded (diskstats field 14).", _DEVICE, "counter"
)
DISCARD_TIME = MetricDesc(
    "ssd_disk_discard_time_seconds_total",
    "Time that discards took, summed over requests (diskstats field 15).",
    _DEVICE,
    "counter",
)
FLUSH_REQUESTS = MetricDesc(
    "ssd_disk_flush_requests_total",
    "Flushes of the drive's write cache completed (diskstats field 16, since kernel 5.5).",
    _DEVICE,
    "counter",
)
FLUSH_TIME = MetricDesc(
    "ssd_disk_flush_requests_time_seconds_total",
    "Time that flushes took, summed over requests (diskstats field 17). One flush runs at a time, "
    "so one that waits for another counts both.",
    _DEVICE,
    "counter",
)

BUSY_RATIO = MetricDesc(
    "ssd_disk_busy_ratio",
    "Seconds by how busy the device was in them, sampled every second: the smaller of the time "
    "with requests in flight and the mean number in flight, which bounds it (Little's law).",
    _DEVICE,
    "histogram",
    (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0),
)
QUEUE_DEPTH = MetricDesc(
    "ssd_disk_queue_depth",
    "Seconds by the mean number of requests in flight in them, sampled every second, from the "
    "time sums of completed requests.",
    _DEVICE,
    "histogram",
    (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0),
)

_AWAIT_EDGES = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.2, 1.0)
_AWAIT_HELP = (
    "{0} by the mean await of the second in which they completed: per-second means weighted by "
    "operations, not the await of each request."
)
READ_AWAIT = MetricDesc(
    "ssd_disk_read_await_seconds", _AWAIT_HELP.format("Reads"), _DEVICE, "histogram", _AWAIT_EDGES
)
WRITE_AWAIT = MetricDesc(
    "ssd_disk_write_await_seconds",
    _AWAIT_HELP.format("Writes"),
    _DEVICE,
    "histogram",
    _AWAIT_EDGES,
)
FLUSH_AWAIT = MetricDesc(
    "ssd_disk_flush_await_seconds",
    _AWAIT_HELP.format("Flushes"),
    _DEVICE,
    "histogram",
    _AWAIT_EDGES,
)

_SIZE_EDGES = (4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131072.0, 262144.0, 524288.0, 1048576.0)
READ_SIZE = MetricDesc(
    "ssd_disk_read_request_size_bytes",
    "Reads by the mean size of the second in which they completed. InnoDB pages are 16384.",
    _DEVICE,
    "histogram",
    _SIZE_EDGES,
    optional=True,
)
WRITE_SIZE = MetricDesc(
    "ssd_disk_write_request_size_bytes",
    "Writes by the mean size of the second in which they completed. InnoDB pages are 16384.",
    _DEVICE,
    "histogram",
    _SIZE_EDGES,
    optional=True,
)

AWAIT_BASELINE = MetricDesc(
    "ssd_disk_await_baseline_seconds",
    "The await of this device at low load, median over calm seconds, or its class's floor while "
    "none is learned: see ssd_disk_await_baseline_info.",
    ("device", "op"),
)
AWAIT_BASELINE_INFO = MetricDesc(
    "ssd_disk_await_baseline_info",
    "Where ssd_disk_await_baseline_seconds comes from: learned from this device, or the floor of "
    "its class (nvme, ssd, rotational).",
    ("device", "op", "source"),
)
SATURATED = MetricDesc(
    "ssd_disk_saturated_seconds_total",
    "Seconds in which the device was saturated: busy, its queue filled, requests slow against "
    "their baseline, and tasks waiting for I/O (the last where the kernel keeps PSI).",
    _DEVICE,
    "counter",
)
STALLED = MetricDesc(
    "ssd_disk_stalled_seconds_total",
    "Seconds in which requests were in flight and none completed. It counts while a device hangs.",
    _DEVICE,
    "counter",
)
WRITE_FALLOFF_EVENTS = MetricDesc(
    "ssd_disk_write_falloff_events_total",
    "How often the drive became a third slower or more in the middle of a write that asked for all "
    "it can do: the end of its write cache, garbage collection, heat or a slower link. SSDs only, "
    "and no volumes of RAID controllers, SANs or hypervisors.",
    _DEVICE,
    "counter",
)
WRITE_FALLOFF_RATIO = MetricDesc(
    "ssd_disk_write_falloff_last_ratio",
    "Write speed after the last falloff, as a share of that before.",
    _DEVICE,
)
WRITE_FALLOFF_BURST = MetricDesc(
    "ssd_disk_write_falloff_last_burst_bytes",
    "What had been written without a rest until the last falloff: what was free of the write cache "
    "then, where that was the cause.",
    _DEVICE,
)

_WINDOWED = ("device", "window")
BUSY_RATIO_MAX = MetricDesc(
    "ssd_disk_busy_ratio_max", "The busiest second of the window.", _WINDOWED
)
QUEUE_DEPTH_MAX = MetricDesc(
    "ssd_disk_queue_depth_max", "The deepest queue of any second of the window.", _WINDOWED
)
READ_AWAIT_MAX = MetricDesc(
    "ssd_disk_read_await_seconds_max",
    "The largest mean read await of any second of the window.",
    _WINDOWED,
)
WRITE_AWAIT_MAX = MetricDesc(
    "ssd_disk_write_await_seconds_max",
    "The largest mean write await of any second of the window.",
    _WINDOWED,
)
BOTTLENECK = MetricDesc(
    "ssd_io_bottleneck",
    "What held the device's work back for most of the last 10 seconds: exactly one cause is 1. "
    "Judged on drives only, not on dm or md, and only while they have work; else none.",
    ("device", "cause"),
)
