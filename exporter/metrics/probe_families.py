"""fio probes: is the drive still as fast as it was?"""

from exporter.metrics.desc import MetricDesc

_PROFILE = ("device", "profile")
_OP = (*_PROFILE, "op")

LATENCY = MetricDesc(
    "ssd_probe_latency_seconds",
    "Latency of the probe's operations, all runs that succeeded together. op='sync' is the fsync "
    "or fdatasync after a write.",
    _OP,
    "histogram",
    (
        *(1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3),
        *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
    ),
)
LAST_LATENCY = MetricDesc(
    "ssd_probe_last_latency_seconds",
    "Latency in the last run that succeeded: mean, p50, p99, p999, max.",
    (*_OP, "stat"),
)
IOPS = MetricDesc(
    "ssd_probe_iops",
    "Operations a second in the last run that succeeded. Only of profiles without a rate cap, for "
    "a cap is no measurement.",
    _OP,
)
THROUGHPUT = MetricDesc(
    "ssd_probe_throughput_bytes_per_second",
    "Bytes a second in the last run that succeeded, of profiles without a rate cap.",
    _OP,
)
HOST_SHARE = MetricDesc(
    "ssd_probe_host_share_ratio",
    "Share of the last run's latency that arose outside the device. Only where the probe made at "
    "least half of the device's operations while it ran.",
    _PROFILE,
)
RUNS = MetricDesc(
    "ssd_probe_runs_total",
    "Runs of the profile by how they ended: success, failed, aborted (production needed the "
    "device, or the exporter ended), timeout, stuck (fio cannot be ended).",
    (*_PROFILE, "result"),
    "counter",
)
SKIPPED = MetricDesc(
    "ssd_probe_skipped_total",
    "Runs that were due and did not begin, or were aborted, by reason.",
    (*_PROFILE, "reason"),
    "counter",
)
LAST_RUN = MetricDesc(
    "ssd_probe_last_run_timestamp_seconds",
    "Unix time at which the last run ended, however it did.",
    _PROFILE,
)
LAST_SUCCESS = MetricDesc(
    "ssd_probe_last_success_timestamp_seconds",
    "Unix time at which the last run that succeeded ended.",
    _PROFILE,
)
DURATION = MetricDesc(
    "ssd_probe_duration_seconds", "How long the last run that succeeded took.", _PROFILE
)
RUNNING = MetricDesc(
    "ssd_probe_running",
    "1 while a probe runs on the device. Its seconds are not counted as saturated.",
    ("device",),
)
WRITTEN = MetricDesc(
    "ssd_probe_written_bytes_total",
    "Bytes that probes were charged for: twice what fio says it wrote, or what the device wrote "
    "where that is more.",
    ("device",),
    "counter",
)
BUDGET = MetricDesc(
    "ssd_probe_write_budget_bytes",
    "Bytes that scheduled probes may be charged for in a day (UTC), and all probes over the "
    "drive's life.",
    ("device", "period"),
)
BUDGET_LEFT = MetricDesc(
    "ssd_probe_write_budget_remaining_bytes",
    "What is left of ssd_probe_write_budget_bytes.",
    ("device", "period"),
)
STEADY = MetricDesc(
    "ssd_probe_steady_state",
    "1 if the last five comparable runs are steady by SNIA's rule: within 20 % of their average, "
    "and rising or falling by no more than 10 % of it. No sample with fewer than five.",
    _PROFILE,
)
STEADY_INFO = MetricDesc(
    "ssd_probe_steady_state_info",
    "Where the drive stands: too_few (runs), transition (not steady yet), steady, unsteady (it has "
    "been steady and is no more, or three runs in a row are worse than it was).",
    (*_PROFILE, "phase"),
)
STEADY_RANGE = MetricDesc(
    "ssd_probe_steady_range_ratio",
    "The largest less the smallest of the last five comparable runs, of their average.",
    _PROFILE,
)
STEADY_SLOPE = MetricDesc(
    "ssd_probe_steady_slope_ratio",
    "What the best line through the last five comparable runs rises or falls by, of their average.",
    _PROFILE,
)
DEVIATION = MetricDesc(
    "ssd_probe_deviation_ratio",
    "How far the last comparable run lies off the average of the first steady window: 0.1 is a "
    "tenth above it. Of profiles with a rate cap it is the mean latency, else IOPS or throughput.",
    _PROFILE,
)
INFO = MetricDesc(
    "ssd_probe_info",
    "How the profile is run. Results are comparable only if all of these labels are equal.",
    (
        *(*_PROFILE, "engine", "rw", "bs", "iodepth", "numjobs", "direct", "fsync"),
        *("file_bytes", "fio_version", "fstype", "mountpoint"),
    ),
)

_DEVICE = ("device",)

SLC_CACHE = MetricDesc(
    "ssd_slc_cache_bytes",
    "Bytes that a rested drive took before it fell to a lower speed for good, in the last SLC "
    "probe: its write cache. No sample where none ended.",
    _DEVICE,
)
SLC_CACHE_MIN = MetricDesc(
    "ssd_slc_cache_min_bytes",
    "Bytes that the last SLC probe wrote without coming to the end of a cache, where it may write "
    "no more or was ended: a cache, if there is one, is larger.",
    _DEVICE,
)
SLC_BURST = MetricDesc(
    "ssd_slc_burst_bytes_per_second",
    "Median speed of the last SLC probe's first phase: that of the cache, where there is one.",
    _DEVICE,
)
SLC_SUSTAINED = MetricDesc(
    "ssd_slc_sustained_bytes_per_second",
    "Median speed of the last SLC probe's last phase, once the cache had ended; that of the whole "
    "where it was found to have none.",
    _DEVICE,
)
SLC_FALLOFF = MetricDesc(
    "ssd_slc_falloff_ratio",
    "The speed that the last SLC probe found at last, of that at first: "
    "ssd_slc_sustained_bytes_per_second by ssd_slc_burst_bytes_per_second.",
    _DEVICE,
)
SLC_RECOVERED = MetricDesc(
    "ssd_slc_recovered_bytes",
    "How much of the cache was back after it had ended and nothing had been written for the time "
    'that the label says, as "600s". Measured on demand: ssd-exporter slc --recover.',
    (*_DEVICE, "idle"),
)
SLC_RESULT = MetricDesc(
    "ssd_slc_probe_result_info",
    "What the last SLC probe found: cliff (the end of a cache), flat (none), ramp (a slow decline, "
    "so heat), budget (none within what might be written), aborted (ended before one was seen; "
    "only where no earlier probe has said more).",
    (*_DEVICE, "result"),
)
SLC_AT = MetricDesc(
    "ssd_slc_probe_timestamp_seconds",
    "Unix time at which the last SLC probe ended that the other ssd_slc families are of.",
    _DEVICE,
)
