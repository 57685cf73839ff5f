"""Probes and SLC cache: is each drive still as fast as it was?"""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards import words
from dashboards.frame import Dashboard, Row, Variable, drive_variable, host_variables
from dashboards.panel_parts import DRIVE, Panel, Query, Size
from dashboards.panels import buckets, timeline, value
from dashboards.probe_runs import OFF, of_profile, runs
from dashboards.write_cache import NO_SLC, cache

_TILE = Size(4, 6)
_LAST = "ssd_probe_last_latency_seconds"


def _band(share: float) -> str:
    """A quantile of the last 7 days of p99s: where they usually are."""
    p99 = of_profile(_LAST, 'stat="p99"')
    usual = f"quantile_over_time({share:g}, {p99}[7d])"
    return f"max by (job, instance, device, profile, op) ({usual})"


def _now() -> tuple[Panel, ...]:
    return (
        value(
            "fsync probe: p99 of the last run",
            "How long a commit would have waited. Up to 10 ms is fit for a database.",
            "s",
            Query(q.fsync_probe_p99()),
            steps=t.FSYNC_PROBE,
            size=_TILE,
            nothing=OFF,
        ),
        value(
            "Last success",
            "Time since the last run that succeeded. Long: see the skips below.",
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
            "Cache: sustained speed as a share of the burst",
            "What is left of the write speed once the fast cache is full, by the last cache probe. "
            f"Below {t.ALERTS['falloff_ratio']:.0%} is a warning.",
            "percentunit",
            Query(q.of_drive("ssd_slc_falloff_ratio")),
            steps=t.FALLOFF,
            size=_TILE,
            nothing=NO_SLC,
        ),
        value(
            "Steady state",
            "Whether the last rounds of a profile lie close enough together to be compared (SNIA). "
            "A drive just formatted, filled or trimmed is not steady.",
            "none",
            Query(of_profile("ssd_probe_steady_state"), f"{{{{profile}}}} {DRIVE}"),
            words=words.STEADY,
            size=_TILE,
            nothing=OFF,
        ),
        value(
            "Write budget left",
            "Share of what probes may still write today and in the drive's life.",
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
            "A probe runs now",
            "While one runs, some of the drive's I/O is ours, and saturation does not alert.",
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
            "p50, p99, p99.9 and the worst of each run",
            "Watch p99 and the worst: a mean hides the pauses of a full cache or of garbage "
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
            "p99 of each run beside its usual range of 7 days",
            "Above the upper line run after run is a change; once is noise.",
            "s",
            Query(of_profile(_LAST, 'stat="p99"'), f"last {{{{profile}}}} {{{{op}}}} {DRIVE}"),
            Query(_band(0.1), f"usual, low {{{{profile}}}} {{{{op}}}} {DRIVE}"),
            Query(_band(0.9), f"usual, high {{{{profile}}}} {{{{op}}}} {DRIVE}"),
            size=Size(12, 9),
            nothing=OFF,
        ),
        buckets(
            "All probed requests by latency",
            "Every request of every run, not means. Darker: more requests.",
            "s",
            f"sum by (le) ({q.increase(of_profile('ssd_probe_latency_seconds_bucket'))})",
            nothing=OFF,
        ),
        timeline(
            "Share of the latency outside the drive",
            "Time that the host added: CPU, interrupts, scheduler. Above a half the probe measures "
            "the host, and says nothing of the drive.",
            "percentunit",
            Query(of_profile("ssd_probe_host_share_ratio"), f"{{{{profile}}}} {DRIVE}"),
            steps=t.HOST_SHARE,
            most=1,
            nothing="not measured: the drive had other work",
        ),
    )


def _ceiling() -> tuple[Panel, ...]:
    third = Size(8, 8)
    return (
        timeline(
            "Reads and commits: production beside the probe",
            "The probe has one request in flight, production many. Production slower and the probe "
            "as ever: a queue, so the load. Both slower: the drive.",
            "s",
            Query(q.mean_await("read"), f"reads in production {DRIVE}"),
            Query(q.probe_latency("page_read", "read", "mean"), f"read by the probe {DRIVE}"),
            Query(q.mean_await("flush"), f"flushes in production {DRIVE}"),
            Query(q.probe_latency("fsync", "sync", "mean"), f"fsync by the probe {DRIVE}"),
            size=third,
        ),
        timeline(
            "Bytes a second: the probe's best, and production's writes",
            "Where production runs along the probe's line, the drive is the limit.",
            "Bps",
            Query(
                of_profile("ssd_probe_throughput_bytes_per_second"),
                f"probe {{{{profile}}}} {{{{op}}}} {DRIVE}",
            ),
            Query(q.rate(q.of_drive("ssd_disk_written_bytes_total")), f"production {DRIVE}"),
            size=third,
        ),
        timeline(
            "Headroom: bytes written as a share of the probe's best",
            "Near 100 % for long: fewer writes or a faster drive.",
            "percentunit",
            Query(q.headroom()),
            steps=t.HEADROOM,
            size=third,
            nothing="no probe without a rate cap has run (burst, slc)",
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-probes",
    title="SSD / Probes and SLC cache",
    description="Is each drive still as fast as it was, and how much fast cache has it got?",
    variables=(
        *host_variables(),
        drive_variable(),
        Variable(
            "profile",
            'ssd_probe_runs_total{job=~"$job", instance=~"$instance"}',
            "profile",
            all_value=".+",
        ),
    ),
    rows=(
        Row("Is it as fast as it was?", _now()),
        Row("Latency, run by run", _latency()),
        Row("What the drive can do, and what it is asked for", _ceiling()),
        Row("Where the write speed falls off", cache()),
        Row("Are the probes themselves well?", runs(), is_collapsed=True),
    ),
    past="now-7d",
)
