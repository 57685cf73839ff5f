"""Defines the metric families that describe the exporter itself.

The names and HELP texts of `process_*` are those of prometheus_client.
"""

from exporter.families.desc import MetricDesc

COLLECTOR_SUCCESS = MetricDesc(
    "ssd_collector_success",
    "1 if the collector's last reading was complete, 0 if it failed or omitted something.",
    ("collector",),
)
COLLECTOR_DURATION = MetricDesc(
    "ssd_collector_duration_seconds",
    "Duration of the collector's last reading.",
    ("collector",),
)
COLLECTOR_ERRORS = MetricDesc(
    "ssd_collector_errors_total",
    "Readings of the collector that failed or omitted something, by reason. The reason `bug` is a "
    "mistake in the exporter; its log contains the traceback.",
    ("collector", "reason"),
    "counter",
)
SAMPLER_SAMPLES = MetricDesc(
    "ssd_sampler_samples_total", "Samples taken by the per-second sampler.", (), "counter"
)
SAMPLER_GAPS = MetricDesc(
    "ssd_sampler_gaps_total",
    "Samples taken more than three intervals after the previous one, or after a suspend. The "
    "kernel's counters include the skipped time, the histograms do not.",
    (),
    "counter",
)
SAMPLER_TIMESTAMP = MetricDesc(
    "ssd_sampler_last_sample_timestamp_seconds",
    "Unix time of the last sample. If it is old, all values of the page are old.",
)
SURVEY_TIMESTAMP = MetricDesc(
    "ssd_survey_last_success_timestamp_seconds",
    "Unix time of the last successful survey of /sys, mounts and MySQL servers. It does not "
    "advance while a filesystem or a process that the survey reads hangs. It is missing until the "
    "first survey has succeeded; ssd_survey_start_timestamp_seconds then shows since when.",
)
SURVEY_START = MetricDesc(
    "ssd_survey_start_timestamp_seconds",
    "Unix time at which the exporter started, and with it the surveys.",
)
SET_ASIDE = MetricDesc(
    "ssd_state_set_aside_files",
    "Copies of a file of the state directory that was unusable and was renamed. Merge those of "
    "history.sqlite with `ssd-exporter merge-wear`, and delete them. It is missing without a state "
    "directory.",
    ("file",),
)
SAMPLER_INTERVAL = MetricDesc(
    "ssd_sampler_interval_seconds", "Configured time between two samples."
)
BUILD_INFO = MetricDesc(
    "ssd_exporter_build_info",
    "Versions of the exporter, of Python and the kernel, and of the programs that it runs; "
    "the value is always 1.",
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
