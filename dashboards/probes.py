"""Dashboard of probe results and write caches."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders import words
from dashboards.builders.frame import Dashboard, Row, Variable, drive_variable, host_variables
from dashboards.builders.panel_parts import DRIVE, THIRD, Panel, Query, Size
from dashboards.builders.panels import buckets, timeline, value
from dashboards.builders.promql import HOST
from dashboards.probe_runs import OFF, of_profile, runs
from dashboards.write_cache import NO_SLC, cache

_TILE = Size(4, 6)
_LAST = "ssd_probe_last_latency_seconds"


def _band(share: float) -> str:
    """The quantile `share` of the p99 latencies of the last 7 days, by profile and operation."""
    p99 = of_profile(_LAST, 'stat="p99"')
    usual = f"quantile_over_time({share:g}, {p99}[7d])"
    return f"max by (cluster, job, instance, device, profile, op) ({usual})"


def _now() -> tuple[Panel, ...]:
    return (
        value(
            "fsync probe p99",
            "Latency of a commit at the time of the probe. Up to 10 ms is suitable for a database.",
            "s",
            Query(q.fsync_probe_p99()),
            steps=t.FSYNC_PROBE,
            size=_TILE,
            nothing=OFF,
        ),
        value(
            "Last success",
            "Time since the last successful run. If it is long, see the skipped runs below.",
            "s",
            Query(
                f"time() - {of_profile('ssd_probe_last_success_timestamp_seconds')}",
                f"{{{{profile}}}} {DRIVE}",
            ),
            steps=t.PROBE_AGE,
            size=_TILE,
            nothing=OFF,
        ),
        value(
            "Cache: sustained",
            "Write throughput with a full write cache, as a share of the burst throughput, in "
            f"the last SLC probe. Below {t.ALERTS['falloff_ratio']:.0%} a warning fires.",
            "percentunit",
            Query(q.of_drive("ssd_slc_falloff_ratio")),
            steps=t.FALLOFF,
            size=_TILE,
            nothing=NO_SLC,
        ),
        value(
            "Steady state",
            "Whether the last five runs of a profile are similar enough to be compared (SNIA). A "
            "drive that was just formatted, filled or trimmed is not in a steady state.",
            "none",
            Query(of_profile("ssd_probe_steady_state"), f"{{{{profile}}}} {DRIVE}"),
            words=words.STEADY,
            size=_TILE,
            nothing=OFF,
        ),
        value(
            "Budget left",
            "Share of the write budget of probes that is left, for the day and for the lifetime of "
            "the drive.",
            "percentunit",
            Query(
                f"{q.of_drive('ssd_probe_write_budget_remaining_bytes')} / "
                f"{q.of_drive('ssd_probe_write_budget_bytes')}",
                f"{{{{period}}}} {DRIVE}",
            ),
            steps=t.BUDGET,
            size=_TILE,
            nothing=OFF,
        ),
        value(
            "Probe running",
            "While a probe runs, part of the I/O belongs to it, and saturation alerts are "
            "suppressed.",
            "none",
            Query(q.of_drive("ssd_probe_running")),
            words=words.RUNS,
            size=_TILE,
            nothing=OFF,
        ),
    )


def _latency() -> tuple[Panel, ...]:
    return (
        timeline(
            "p50, p99, p99.9 and maximum of each run",
            "Watch p99 and maximum: a mean hides the pauses caused by a full cache or garbage "
            "collection.",
            "s",
            *(
                Query(
                    of_profile(_LAST, f'stat="{stat}"'),
                    f"{stat} {{{{profile}}}} {{{{op}}}} {DRIVE}",
                )
                for stat in ("p50", "p99", "p999", "max")
            ),
            steps=t.FSYNC_PROBE,
            style="points",
            size=Size(12, 9),
            nothing=OFF,
        ),
        timeline(
            "p99 of each run, with its usual range of 7 days",
            "Several runs in a row above the upper line are a change; a single one is noise.",
            "s",
            Query(of_profile(_LAST, 'stat="p99"'), f"last {{{{profile}}}} {{{{op}}}} {DRIVE}"),
            Query(_band(0.1), f"usual, low {{{{profile}}}} {{{{op}}}} {DRIVE}"),
            Query(_band(0.9), f"usual, high {{{{profile}}}} {{{{op}}}} {DRIVE}"),
            size=Size(12, 9),
            nothing=OFF,
        ),
        buckets(
            "All probe requests by latency",
            "Every request of every run. Colour intensity: number of requests.",
            "s",
            q.distribution(of_profile("ssd_probe_latency_seconds")),
            nothing=OFF,
        ),
        timeline(
            "Share of the latency outside the drive",
            "Share of latency that the host adds: CPU, interrupts, scheduler. Above 50 % the "
            "probe measures the host rather than the drive.",
            "percentunit",
            Query(of_profile("ssd_probe_host_share_ratio"), f"{{{{profile}}}} {DRIVE}"),
            steps=t.HOST_SHARE,
            maximum=1,
            nothing="not measured: the drive had other load",
        ),
    )


def _maximum() -> tuple[Panel, ...]:
    return (
        timeline(
            "Reads and commits: production and probe",
            "The probe has one request in flight, production has many. If only production is "
            "slower than before, the cause is the load. If both are slower, it is the drive.",
            "s",
            Query(q.mean_await("read"), f"reads in production {DRIVE}"),
            Query(q.probe_latency("page_read", "read", "mean"), f"read by the probe {DRIVE}"),
            Query(q.mean_await("flush"), f"flushes in production {DRIVE}"),
            Query(q.probe_latency("fsync", "sync", "mean"), f"fsync by the probe {DRIVE}"),
            size=THIRD,
        ),
        timeline(
            "Throughput: probe and production writes",
            "If production reaches the line of the probe, the drive is the limit.",
            "Bps",
            Query(
                of_profile("ssd_probe_throughput_bytes_per_second"),
                f"probe {{{{profile}}}} {{{{op}}}} {DRIVE}",
            ),
            Query(q.rate(q.of_drive("ssd_disk_written_bytes_total")), f"production {DRIVE}"),
            size=THIRD,
        ),
        timeline(
            "Headroom: share of the probe's maximum",
            "Near 100 % for a long time: reduce the writes or use a faster drive.",
            "percentunit",
            Query(q.headroom()),
            steps=t.HEADROOM,
            size=THIRD,
            nothing="no probe without a rate cap has run (burst, slc)",
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-probes",
    title="SSD / Probes and SLC cache",
    description="Performance of each drive over time, and the size of its write cache.",
    variables=(
        *host_variables(is_single=True),
        drive_variable(),
        Variable(
            "profile",
            f"ssd_probe_runs_total{{{HOST}}}",
            "profile",
            is_single=True,
            default="fsync",
        ),
    ),
    rows=(
        Row("Current results", _now()),
        Row("Latency of each run", _latency()),
        Row("Maximum performance and production load", _maximum()),
        Row("Write cache", cache()),
        Row("Probe operation", runs(), is_collapsed=True),
    ),
    time_from="now-7d",
)
