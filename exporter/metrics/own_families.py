"""The exporter about itself."""

from exporter.metrics.desc import MetricDesc

COLLECTOR_SUCCESS = MetricDesc(
    "ssd_collector_success",
    "1 if the collector's last reading was whole; 0 if it failed or left something out.",
    ("collector",),
)
COLLECTOR_DURATION = MetricDesc(
    "ssd_collector_duration_seconds",
    "How long the collector's last reading took.",
    ("collector",),
)
COLLECTOR_ERRORS = MetricDesc(
    "ssd_collector_errors_total",
    "Readings of the collector that failed or left something out, by reason.",
    ("collector", "reason"),
    "counter",
)
SAMPLER_SAMPLES = MetricDesc(
    "ssd_sampler_samples_total", "Samples that the per-second sampler took.", (), "counter"
)
SAMPLER_GAPS = MetricDesc(
    "ssd_sampler_gaps_total",
    "Samples that came more than three intervals after the one before, or after the machine slept: "
    "what happened in between is in the kernel's counters and in no histogram.",
    (),
    "counter",
)
SAMPLER_TIMESTAMP = MetricDesc(
    "ssd_sampler_last_sample_timestamp_seconds",
    "Unix time of the last sample. The page is that sample's: an old one is an old page.",
)
SURVEY_TIMESTAMP = MetricDesc(
    "ssd_survey_last_success_timestamp_seconds",
    "Unix time of the last look at /sys, mounts and MySQL servers. It stands still where a file "
    "system or a program hangs that the survey asks.",
)
SAMPLER_INTERVAL = MetricDesc(
    "ssd_sampler_interval_seconds", "The time between two samples that is aimed at."
)
BUILD_INFO = MetricDesc(
    "ssd_exporter_build_info",
    "Versions of this exporter, of what runs it, and of the programs that it runs.",
    ("version", "python", "smartctl", "fio", "kernel"),
)

PROCESS = {
    desc.name: desc
    for desc in (
        MetricDesc(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            (),
            "counter",
        ),
        MetricDesc("process_virtual_memory_bytes", "Virtual memory size in bytes."),
        MetricDesc("process_resident_memory_bytes", "Resident memory size in bytes."),
        MetricDesc(
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
        ),
        MetricDesc("process_open_fds", "Number of open file descriptors."),
        MetricDesc("process_max_fds", "Maximum number of open file descriptors."),
    )
}
