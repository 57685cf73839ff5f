"""Dashboard of all drives: which drive needs attention, why, and what to do."""

from dashboards.attention import attention
from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders import words
from dashboards.builders.frame import Dashboard, Row, drive_variable, host_variables
from dashboards.builders.panel_parts import FLEET_DRIVE, Panel, Query, Size
from dashboards.builders.panels import bars, states, timeline, value
from dashboards.builders.tables import Column, Label, Rows, grid
from dashboards.fleet_models import MEDIA_ERRORS, WEAR, count_true, models

_UP = q.of_drive("ssd_device_up")
_SATURATED = q.of_drive("ssd_disk_saturated_seconds_total")
_ETA_LOW = q.of_drive("ssd_smart_wearout_eta_seconds", 'bound="low"')
_MOST_SATURATED = t.ALERTS["disk_saturated_ratio"]
_TILE = Size(3, 3)

#: Lines and bars of one panel.
_MOST = 10


def _stats() -> tuple[Panel, ...]:
    return (
        value(
            "Drives",
            "All drives that the exporter has detected and that were not removed with "
            "ssd-exporter forget, whether they answer or not.",
            "short",
            Query(f"count({_UP})", ""),
            steps=t.quiet(t.plain()),
            size=_TILE,
            nothing="no SMART data",
        ),
        value(
            "Missing",
            "Drives that have disappeared. For a drive that was removed on purpose, run "
            "ssd-exporter forget SERIAL.",
            "short",
            Query(q.known_zero(f"count({q.lost()})", _UP), ""),
            steps=t.quiet(t.ANY_PAGES),
            size=_TILE,
            nothing="no SMART data",
        ),
        value(
            "No answer",
            "Drives that the kernel lists and that did not answer the last SMART poll.",
            "short",
            Query(q.known_zero(f"count({q.silent()})", _UP), ""),
            steps=t.quiet(t.ANY_WARNS),
            size=_TILE,
            nothing="no SMART data",
        ),
        value(
            "Failing",
            "Drives that report a failure. A temperature warning alone does not count. Most drives "
            "that fail never report it, so 0 does not prove that all drives are healthy.",
            "short",
            Query(q.known_zero(f"count({q.failing()})", _UP), ""),
            steps=t.quiet(t.ANY_PAGES),
            size=_TILE,
            nothing="no SMART data",
        ),
        value(
            "Highest wear",
            "Share of the rated endurance used by the most worn drive. At 100 % the warranty ends; "
            "the drive may continue to work.",
            "percentunit",
            Query(f"max({WEAR})", ""),
            steps=t.quiet(t.WEAR),
            size=_TILE,
            nothing="not reported",
        ),
        value(
            "Wear-out in",
            "Shortest time until the rated endurance of a drive may be used up at its current "
            "write rate (lower bound).",
            "s",
            Query(f"min({_ETA_LOW})", ""),
            steps=t.quiet(t.WEAROUT),
            size=_TILE,
            nothing="no estimate",
        ),
        value(
            "Heat margin",
            "Degrees Celsius between the hottest drive and its own warning temperature "
            f"({t.TEMPERATURE_FALLBACK_CELSIUS:g} °C if it reports none). At or below zero a "
            "drive may throttle itself.",
            "celsius",
            Query(f"min({q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)})", ""),
            steps=t.quiet(t.HEAT),
            size=_TILE,
            nothing="not reported",
        ),
        value(
            "Saturated",
            f"Drives that were saturated for more than {_MOST_SATURATED:.0%} of the last 5 "
            "minutes: busy, queue full, latency far above their own baseline, and tasks waiting.",
            "short",
            count_true(f"rate({_SATURATED}[5m]) > bool {_MOST_SATURATED:g}"),
            steps=t.quiet(t.ANY_WARNS),
            size=_TILE,
        ),
    )


def _drives() -> Panel:
    """All drives, with a column of presence first, so that the missing drive is on top."""
    answers = f"max {q.BY_SERIAL} ({_UP})"
    presence = (
        f"max {q.BY_SERIAL} (({q.lost()} * 0 + 2) or ({_UP} == 0) * 0 + 1 or ({_UP} == 1) * 0)"
    )
    # An unhealthy drive that is only hot is not failing.
    healthy = q.of_drive("ssd_smart_healthy")
    health = f"{q.failing()} * 0 + 1 or ({healthy} == 0) * 0 + 2 or {healthy} * 0"
    with_identity = (
        f"max by (cluster, job, instance, device, serial, model) ({q.identity()}) * 0 + 1\n"
        f"or {answers} unless {q.ON_SERIAL} {q.identity()}"
    )
    return grid(
        "All drives: missing ones first, then by wear",
        "One row per drive. Click a name to open the drive or its host. An empty cell means that "
        "the drive or its controller does not report the value. Margin: degrees below the warning "
        "temperature. Errors: uncorrectable ones of the last 24 hours. Saturated: time in the last "
        "24 hours. fsync: p99 of the last fsync probe.",
        Rows(
            with_identity, "No drives: check the scrape configuration, and that SMART is enabled."
        ),
        Label("device", 110),
        Label("host", 120),
        Label("model", 190, is_flexible=True),
        Label("serial", 150),
        Column("SMART", 90, presence, words=words.PRESENCE),
        Column("health", 80, f"max {q.BY_SERIAL} ({health})", words=words.HEALTH),
        Column("wear", 65, f"max {q.BY_SERIAL} ({WEAR})", "percentunit", t.WEAR),
        Column("worn out in", 110, f"min {q.BY_SERIAL} ({_ETA_LOW})", "s", t.WEAROUT, decimals=0),
        Column(
            "spare",
            65,
            f"min {q.BY_SERIAL} ({q.of_drive('ssd_smart_spare_ratio')})",
            "percentunit",
        ),
        Column(
            "margin",
            75,
            f"min {q.BY_SERIAL} ({q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)})",
            "celsius",
            t.HEAT,
        ),
        Column(
            "errors",
            75,
            f"max {q.BY_SERIAL} ({q.increase(MEDIA_ERRORS, '24h')})",
            "short",
            t.MEDIA_ERRORS,
            decimals=0,
        ),
        Column(
            "saturated",
            95,
            f"max {q.BY_DRIVE} ({q.increase(_SATURATED, '24h')})",
            "s",
            t.SATURATED_PER_DAY,
        ),
        Column("fsync", 75, f"max {q.BY_DRIVE} ({q.fsync_probe_p99()})", "s", t.FSYNC_PROBE),
        size=Size(24, 10),
        sort_by=("SMART", "wear"),
    )


def _now() -> tuple[Panel, ...]:
    firing = ('alertstate="firing"', 'alertname=~"SSD.+"')
    by = "max by (cluster, job, instance, device, alertname, severity)"
    severity = "\nor ".join(
        f"{by} ({q.of_host('ALERTS', *firing, matcher)}) * 0 + {number}"
        for matcher, number in (
            ('severity="critical"', 3),
            ('severity="warning"', 2),
            ('severity="info"', 1),
        )
    )
    bottlenecks = q.of_drive("ssd_io_bottleneck", 'cause!="none"')
    held_back = f"sum {q.BY_DRIVE} (avg_over_time({bottlenecks}[$__range:5m] @ end()))"
    most = f"topk({_MOST}, {held_back} > 0)"
    written = q.increase(q.of_drive("ssd_disk_written_bytes_total"), "24h")
    capacity = q.of_drive("ssd_device_capacity_bytes")
    return (
        grid(
            "Firing alerts, critical first",
            "Firing SSD alerts. Alerts without a host, such as SSDExporterAbsent, are shown in "
            "Alertmanager only. Requires the rules of alerts/.",
            Rows(severity, "No alert fires, or the rules are not loaded.", is_partly_of_hosts=True),
            Column("severity", 90, words=words.URGENCY),
            Label("alertname", 210, title="alert", is_flexible=True),
            Label("device", 105),
            Label("host", 115),
            size=Size(10, 9),
            sort_by="severity",
        ),
        states(
            "Bottlenecks over time, top ten drives",
            "The drives that had a bottleneck for the longest time in the selected range. Red is "
            "the drive itself; the other colours name a different cause.",
            Query(f"{q.verdict()} and {q.ON_DRIVE} {most}", FLEET_DRIVE),
            words.VERDICT,
            size=Size(14, 9),
            nothing="no drive had a bottleneck",
        ),
        bars(
            "Time saturated in 24 hours, top ten",
            "Time in which the drive was saturated and tasks waited for it. Above one hour "
            "per day, optimise queries first, then consider a faster drive.",
            "s",
            Query(f"topk({_MOST}, {q.increase(_SATURATED, '24h')} > 0)", FLEET_DRIVE),
            steps=t.SATURATED_PER_DAY,
            size=Size(8, 9),
            nothing="no drive was saturated",
        ),
        bars(
            "Drive writes per day (24 h), top ten",
            "Bytes written by the host in the previous 24 hours, divided by the capacity. "
            "Compare with the DWPD rating in the data sheet: above it, the endurance does not "
            "last for the warranty period.",
            "none",
            Query(
                f"topk({_MOST}, {written} / {q.ON_DRIVE} ({capacity} > 0) > 0)",
                FLEET_DRIVE,
            ),
            size=Size(8, 9),
            nothing="no writes",
        ),
        timeline(
            "Await: reads and writes, the five slowest",
            "Mean time of a request in the queue and in the drive, of the drives with the highest "
            "values at each time.",
            "s",
            *(
                Query(f"topk(5, {q.mean_await(kind)})", f"{kind} {FLEET_DRIVE}")
                for kind in ("read", "write")
            ),
            steps=t.AWAIT,
            size=Size(8, 9),
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-fleet",
    title="SSD / Fleet",
    description="Which drive needs attention, why, and what to do.",
    variables=(*host_variables(), drive_variable()),
    rows=(
        Row(
            "Drives that need attention",
            (
                *_stats(),
                attention(
                    "Which drive, why, and what to do", Size(24, 10), "No drive needs attention."
                ),
            ),
        ),
        Row("Alerts and load", _now()),
        Row("All drives", (_drives(),)),
        Row("Models, firmware, filesystems, exporters", models(), is_collapsed=True),
    ),
    time_from="now-24h",
)
