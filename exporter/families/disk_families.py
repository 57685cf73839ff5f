"""Defines the metric families of block I/O: kernel counters, and results of the sampler."""

from exporter.families.desc import MetricDesc

_DEVICE = ("device",)

READS_COMPLETED = MetricDesc(
    "ssd_disk_reads_completed_total",
    "Completed reads, after merging (diskstats field 1).",
    _DEVICE,
    "counter",
)
READS_MERGED = MetricDesc(
    "ssd_disk_reads_merged_total",
    "Reads merged with an adjacent one before they were issued (diskstats field 2).",
    _DEVICE,
    "counter",
)
READ_BYTES = MetricDesc(
    "ssd_disk_read_bytes_total", "Bytes read (diskstats field 3).", _DEVICE, "counter"
)
READ_TIME = MetricDesc(
    "ssd_disk_read_time_seconds_total",
    "Sum of the times of all reads, including the time in the queue (diskstats field 4). The "
    "kernel counts milliseconds in 32 bits, so the counter wraps after 49 days of I/O time; "
    "Prometheus handles this as a counter reset.",
    _DEVICE,
    "counter",
)
WRITES_COMPLETED = MetricDesc(
    "ssd_disk_writes_completed_total",
    "Completed writes, after merging (diskstats field 5).",
    _DEVICE,
    "counter",
)
WRITES_MERGED = MetricDesc(
    "ssd_disk_writes_merged_total",
    "Writes merged with an adjacent one before they were issued (diskstats field 6).",
    _DEVICE,
    "counter",
)
WRITTEN_BYTES = MetricDesc(
    "ssd_disk_written_bytes_total", "Bytes written (diskstats field 7).", _DEVICE, "counter"
)
WRITE_TIME = MetricDesc(
    "ssd_disk_write_time_seconds_total",
    "Sum of the times of all writes, including the time in the queue (diskstats field 8). The "
    "kernel counts milliseconds in 32 bits, so the counter wraps after 49 days of I/O time; "
    "Prometheus handles this as a counter reset.",
    _DEVICE,
    "counter",
)
IO_NOW = MetricDesc("ssd_disk_io_now", "Requests in flight (diskstats field 9).", _DEVICE)
IO_TIME = MetricDesc(
    "ssd_disk_io_time_seconds_total",
    "Time with at least one request in flight, the %util of iostat (diskstats field 10). 100 "
    "% does not mean saturation on an SSD, and kernels 5.0 to 6.9 count too much: prefer "
    "ssd_disk_busy_ratio.",
    _DEVICE,
    "counter",
)
IO_TIME_WEIGHTED = MetricDesc(
    "ssd_disk_io_time_weighted_seconds_total",
    "Time in flight, summed over requests (diskstats field 11). Kernels before 5.7 count too "
    "little: prefer ssd_disk_queue_depth.",
    _DEVICE,
    "counter",
)
DISCARDS_COMPLETED = MetricDesc(
    "ssd_disk_discards_completed_total",
    "Completed discards, after merging (diskstats field 12, since kernel 4.18).",
    _DEVICE,
    "counter",
)
DISCARDS_MERGED = MetricDesc(
    "ssd_disk_discards_merged_total",
    "Discards merged with an adjacent one before they were issued (diskstats field 13).",
    _DEVICE,
    "counter",
)
DISCARDED_BYTES = MetricDesc(
    "ssd_disk_discarded_bytes_total", "Bytes discarded (diskstats field 14).", _DEVICE, "counter"
)
DISCARD_TIME = MetricDesc(
    "ssd_disk_discard_time_seconds_total",
    "Sum of the times of all discards (diskstats field 15).",
    _DEVICE,
    "counter",
)
FLUSH_REQUESTS = MetricDesc(
    "ssd_disk_flush_requests_total",
    "Completed flushes of the drive's write cache (diskstats field 16, since kernel 5.5).",
    _DEVICE,
    "counter",
)
FLUSH_TIME = MetricDesc(
    "ssd_disk_flush_requests_time_seconds_total",
    "Sum of the times of all flushes (diskstats field 17). Only one flush runs at a time, so "
    "the time of a flush includes the wait for the one before.",
    _DEVICE,
    "counter",
)

BUSY_RATIO = MetricDesc(
    "ssd_disk_busy_ratio",
    "Number of seconds, by the share of the second in which the device was busy (diskstats, "
    "sampled every second). The share is the smaller of the time with requests in flight and "
    "the mean number of requests in flight (Little's law).",
    _DEVICE,
    "histogram",
    (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0),
)
QUEUE_DEPTH = MetricDesc(
    "ssd_disk_queue_depth",
    "Number of seconds, by the mean number of requests in flight in the second (diskstats, "
    "sampled every second). The mean is computed from the times of completed requests.",
    _DEVICE,
    "histogram",
    (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0),
)

_AWAIT_EDGES = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.2, 1.0)
_AWAIT_HELP = (
    "Number of {0}, by the mean await of the second in which they completed (diskstats, "
    "sampled every second). All {0} of one second count with the same mean: the await of a "
    "single request is unknown."
)
READ_AWAIT = MetricDesc(
    "ssd_disk_read_await_seconds", _AWAIT_HELP.format("reads"), _DEVICE, "histogram", _AWAIT_EDGES
)
WRITE_AWAIT = MetricDesc(
    "ssd_disk_write_await_seconds",
    _AWAIT_HELP.format("writes"),
    _DEVICE,
    "histogram",
    _AWAIT_EDGES,
)
FLUSH_AWAIT = MetricDesc(
    "ssd_disk_flush_await_seconds",
    _AWAIT_HELP.format("flushes"),
    _DEVICE,
    "histogram",
    _AWAIT_EDGES,
)

_SIZE_EDGES = (4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131072.0, 262144.0, 524288.0, 1048576.0)
READ_SIZE = MetricDesc(
    "ssd_disk_read_request_size_bytes",
    "Number of reads, by the mean read size of the second in which they completed (diskstats, "
    "sampled every second). "
    "InnoDB pages are 16384 bytes.",
    _DEVICE,
    "histogram",
    _SIZE_EDGES,
    optional=True,
)
WRITE_SIZE = MetricDesc(
    "ssd_disk_write_request_size_bytes",
    "Number of writes, by the mean write size of the second in which they completed (diskstats, "
    "sampled every second). "
    "InnoDB pages are 16384 bytes.",
    _DEVICE,
    "histogram",
    _SIZE_EDGES,
    optional=True,
)

AWAIT_BASELINE = MetricDesc(
    "ssd_disk_await_baseline_seconds",
    "Baseline of the device: its median await at low load (computed from diskstats). Until the "
    "baseline is learned, the value is the floor of the drive class: see "
    "ssd_disk_await_baseline_info. Then it takes one observation per hour, and follows the device "
    "over months.",
    ("device", "op"),
)
AWAIT_BASELINE_INFO = MetricDesc(
    "ssd_disk_await_baseline_info",
    "Source of ssd_disk_await_baseline_seconds; the value is always 1. source='learned': from "
    "this device. source='floor': the lower limit of its class (nvme, ssd, rotational).",
    ("device", "op", "source"),
)
AWAIT_REFERENCE = MetricDesc(
    "ssd_disk_await_reference_seconds",
    "Baseline of the device on its first day (computed from diskstats). It does not change, "
    "except when seconds with 1,000 requests and more replace a baseline of few requests. "
    "A drive whose ssd_disk_await_baseline_seconds is a multiple of it has become slower over the "
    "months. Absent during the first day.",
    ("device", "op"),
)
SLOW_INSIDE_DRIVE = MetricDesc(
    "ssd_disk_slow_inside_drive",
    "1 if requests were slow inside the drive, 0 if outside of it, between the last two readings "
    "of the drive's own latency (diskstats and NVMe OCP latency log). 1: the drive counted "
    "requests above its lowest limit, and so did the mean await of a second. 0: it counted none, "
    "and the mean await of a second was at least twice that limit. Absent if neither is known.",
    ("device", "op"),
)
SATURATED = MetricDesc(
    "ssd_disk_saturated_seconds_total",
    "Seconds in which the device was saturated (diskstats and PSI, sampled every second). "
    "The device is then busy, its queue is filled, requests are slow compared with the "
    "baseline, and tasks wait for I/O. Without PSI the last condition is omitted.",
    _DEVICE,
    "counter",
)
STALLED = MetricDesc(
    "ssd_disk_stalled_seconds_total",
    "Seconds in which requests hung (diskstats, sampled every second): all requests in flight, or "
    "for at least six seconds some of them, for example those of one hardware queue. Partial "
    "hangs count from their begin when they are certain.",
    _DEVICE,
    "counter",
)
WRITE_FALLOFF_EVENTS = MetricDesc(
    "ssd_disk_write_falloff_events_total",
    "Sudden throughput drops by more than a quarter during a long write (diskstats, sampled every "
    "second). Possible causes are a full write cache, garbage collection, heat or a slower "
    "link. Volumes of RAID controllers, SANs and hypervisors, and hard disks, have no sample.",
    _DEVICE,
    "counter",
)
WRITE_FALLOFF_RATIO = MetricDesc(
    "ssd_disk_write_falloff_last_ratio",
    "Write throughput after the last falloff divided by the throughput before it (diskstats, "
    "sampled every second). A drop after which the throughput returned without a rest is no "
    "falloff.",
    _DEVICE,
)
WRITE_FALLOFF_BURST = MetricDesc(
    "ssd_disk_write_falloff_last_burst_bytes",
    "Bytes written without a pause before the last falloff (diskstats, sampled every second). "
    "If the write cache was the cause, this is the size of its free part.",
    _DEVICE,
)

_WINDOWED = ("device", "window")
BUSY_RATIO_MAX = MetricDesc(
    "ssd_disk_busy_ratio_max",
    "Largest busy ratio of any second in the window (diskstats, sampled every second).",
    _WINDOWED,
)
QUEUE_DEPTH_MAX = MetricDesc(
    "ssd_disk_queue_depth_max",
    "Largest queue depth of any second in the window (diskstats, sampled every second).",
    _WINDOWED,
)
READ_AWAIT_MAX = MetricDesc(
    "ssd_disk_read_await_seconds_max",
    "Largest mean read await of any second in the window (diskstats, sampled every second).",
    _WINDOWED,
)
WRITE_AWAIT_MAX = MetricDesc(
    "ssd_disk_write_await_seconds_max",
    "Largest mean write await of any second in the window (diskstats, sampled every second).",
    _WINDOWED,
)
BOTTLENECK = MetricDesc(
    "ssd_io_bottleneck",
    "1 for the main bottleneck of the last 10 seconds, 0 for every other cause (diskstats, "
    "PSI, CPU time and softirqs, sampled every second). Only for drives, not for dm or md. "
    "cause='none' if the drive has too little work; cause='throttled' only for cloud volumes.",
    ("device", "cause"),
)
