"""Defines the metric families of fio probes: latency, steady state, write budget and write cache.

A probe is a short measurement with fio. The write budget limits the bytes that probes write. The
write cache is the part of a drive that stores one bit per cell (SLC). It makes writes fast until it
is full.
"""

from exporter.families.desc import MetricDesc

_PROFILE = ("device", "profile")
_OP = (*_PROFILE, "op")

LATENCY = MetricDesc(
    "ssd_probe_latency_seconds",
    "Latency of the probe's operations, over all successful runs (fio). op='sync' is the "
    "fsync or fdatasync after a write.",
    _OP,
    "histogram",
    (
        *(1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3),
        *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
    ),
)
LAST_LATENCY = MetricDesc(
    "ssd_probe_last_latency_seconds",
    "Latency in the last successful run: mean, p50, p99, p999 and max (fio).",
    (*_OP, "stat"),
)
IOPS = MetricDesc(
    "ssd_probe_iops",
    "Operations per second in the last successful run (fio). Profiles with a rate cap have no "
    "sample, because the cap would be measured.",
    _OP,
)
THROUGHPUT = MetricDesc(
    "ssd_probe_throughput_bytes_per_second",
    "Bytes per second in the last successful run (fio). Profiles with a rate cap have no "
    "sample, because the cap would be measured.",
    _OP,
)
HOST_SHARE = MetricDesc(
    "ssd_probe_host_share_ratio",
    "Share of the last run's latency that was not spent in the device (fio, diskstats). No "
    "sample if the probe made less than half of the device's operations while it ran.",
    _PROFILE,
)
RUNS = MetricDesc(
    "ssd_probe_runs_total",
    "Runs of the profile by result: success, failed, aborted, timeout or stuck (computed by "
    "the exporter). aborted means that production needed the device or the exporter ended; "
    "stuck means that fio cannot be killed.",
    (*_PROFILE, "result"),
    "counter",
)
SKIPPED = MetricDesc(
    "ssd_probe_skipped_total",
    "Due runs that did not start or were aborted, by reason (computed by the exporter).",
    (*_PROFILE, "reason"),
    "counter",
)
LAST_RUN = MetricDesc(
    "ssd_probe_last_run_timestamp_seconds",
    "Unix time at which the last run ended, with any result.",
    _PROFILE,
)
LAST_SUCCESS = MetricDesc(
    "ssd_probe_last_success_timestamp_seconds",
    "Unix time at which the last successful run ended.",
    _PROFILE,
)
DURATION = MetricDesc(
    "ssd_probe_duration_seconds", "Duration of the last successful run.", _PROFILE
)
RUNNING = MetricDesc(
    "ssd_probe_running",
    "1 while a probe runs on the device. These seconds do not count as saturated.",
    ("device",),
)
WRITTEN = MetricDesc(
    "ssd_probe_written_bytes_total",
    "Bytes that probes have charged to the write budget (fio, diskstats). A probe charges "
    "twice the bytes that fio reports, or the bytes that the device wrote if that is more.",
    ("device",),
    "counter",
)
BUDGET = MetricDesc(
    "ssd_probe_write_budget_bytes",
    "Bytes that probes may write: scheduled probes per day (UTC), and all probes over the "
    "drive's life (settings).",
    ("device", "period"),
)
BUDGET_LEFT = MetricDesc(
    "ssd_probe_write_budget_remaining_bytes",
    "Remaining part of ssd_probe_write_budget_bytes (ledger).",
    ("device", "period"),
)
STEADY = MetricDesc(
    "ssd_probe_steady_state",
    "1 if the last five comparable runs are steady by SNIA's rule (fio): all within 20 % of "
    "their average, and a trend of at most 10 % of it. No sample with fewer than five runs.",
    _PROFILE,
)
STEADY_INFO = MetricDesc(
    "ssd_probe_steady_state_info",
    "Phase of the steady-state test; the value is always 1. too_few: not enough runs. "
    "transition: not steady yet. steady: steady now. unsteady: no longer steady, or three "
    "consecutive runs are worse than the steady window.",
    (*_PROFILE, "phase"),
)
STEADY_RANGE = MetricDesc(
    "ssd_probe_steady_range_ratio",
    "Difference between the largest and the smallest of the last five comparable runs, "
    "divided by their average (computed from fio's results).",
    _PROFILE,
)
STEADY_SLOPE = MetricDesc(
    "ssd_probe_steady_slope_ratio",
    "Change along the least-squares line through the last five comparable runs, divided by "
    "their average (computed from fio's results).",
    _PROFILE,
)
DEVIATION = MetricDesc(
    "ssd_probe_deviation_ratio",
    "Deviation of the last comparable run from the average of the first steady window; 0.1 is "
    "10 % above it (computed from fio's results). It compares the mean latency of profiles "
    "with a rate cap, else IOPS or throughput.",
    _PROFILE,
)
INFO = MetricDesc(
    "ssd_probe_info",
    "Parameters of the profile; the value is always 1 (settings). Results are comparable only "
    "if all of them are equal.",
    (
        *(*_PROFILE, "engine", "rw", "bs", "iodepth", "numjobs", "direct", "fsync"),
        *("file_bytes", "fio_version", "fstype", "mountpoint"),
    ),
)

_DEVICE = ("device",)

SLC_CACHE = MetricDesc(
    "ssd_slc_cache_bytes",
    "Size of the write cache: bytes that the last SLC probe wrote at full speed, after an idle "
    "time and before the cache cliff (fio). The probe saw the lower speed for 1 GiB and 15 s "
    "only. No sample if no cliff was found.",
    _DEVICE,
)
SLC_CACHE_MIN = MetricDesc(
    "ssd_slc_cache_min_bytes",
    "Bytes that the last SLC probe wrote without a cache cliff until it was stopped or its "
    "budget was used up (fio). The write cache, if there is one, is larger.",
    _DEVICE,
)
SLC_BURST = MetricDesc(
    "ssd_slc_burst_bytes_per_second",
    "Median throughput of the first phase of the last SLC probe (fio). If there is a write "
    "cache, this is its speed.",
    _DEVICE,
)
SLC_SUSTAINED = MetricDesc(
    "ssd_slc_sustained_bytes_per_second",
    "Median throughput after the cache cliff in the last SLC probe (fio). If the drive has no "
    "cliff, it is the median of the whole probe.",
    _DEVICE,
)
SLC_FALLOFF = MetricDesc(
    "ssd_slc_falloff_ratio",
    "ssd_slc_sustained_bytes_per_second divided by ssd_slc_burst_bytes_per_second (fio).",
    _DEVICE,
)
SLC_RECOVERED = MetricDesc(
    "ssd_slc_recovered_bytes",
    "Part of the write cache that was free again after the drive was idle for the time in the "
    'label, such as "600s" (fio). Measured on demand: ssd-exporter slc --recover.',
    (*_DEVICE, "idle"),
)
SLC_RESULT = MetricDesc(
    "ssd_slc_probe_result_info",
    "Result of the last SLC probe; the value is always 1. cliff: a cache cliff. flat: no "
    "cliff. ramp: a gradual decline, which indicates heat. budget: no cliff within the write "
    "budget. aborted: stopped before a cliff. disturbed: the speed fell when other programs began "
    "to use the drive. Neither of the last two replaces an earlier result that is complete.",
    (*_DEVICE, "result"),
)
SLC_AT = MetricDesc(
    "ssd_slc_probe_timestamp_seconds",
    "Unix time at which the SLC probe ended that produced the exposed results.",
    _DEVICE,
)
