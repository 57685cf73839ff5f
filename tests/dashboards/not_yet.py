"""Families of which a panel asks and that the catalogue does not have yet. It must become empty."""

NOT_YET = frozenset(
    {
        "ssd_probe_deviation_ratio",
        "ssd_probe_duration_seconds",
        "ssd_probe_host_share_ratio",
        "ssd_probe_info",
        "ssd_probe_last_latency_seconds",
        "ssd_probe_last_success_timestamp_seconds",
        "ssd_probe_latency_seconds",
        "ssd_probe_running",
        "ssd_probe_runs_total",
        "ssd_probe_skipped_total",
        "ssd_probe_steady_range_ratio",
        "ssd_probe_steady_slope_ratio",
        "ssd_probe_steady_state",
        "ssd_probe_throughput_bytes_per_second",
        "ssd_probe_write_budget_bytes",
        "ssd_probe_write_budget_remaining_bytes",
        "ssd_probe_written_bytes_total",
        "ssd_slc_burst_bytes_per_second",
        "ssd_slc_cache_bytes",
        "ssd_slc_cache_min_bytes",
        "ssd_slc_falloff_ratio",
        "ssd_slc_recovered_bytes",
        "ssd_slc_sustained_bytes_per_second",
    }
)
