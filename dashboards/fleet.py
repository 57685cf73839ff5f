"""Dashboard of all drives: health, wear and load."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards import words
from dashboards.fleet_models import MEDIA_ERRORS, WEAR, count_true, models
from dashboards.frame import Dashboard, Row, drive_variable, host_variables
from dashboards.panel_parts import DRIVE, HALF, Panel, Query, Size
from dashboards.panels import bars, states, timeline, value
from dashboards.tables import Column, grid

_UP = q.of_drive("ssd_device_up")
_SATURATED = q.of_drive("ssd_disk_saturated_seconds_total")
_ETA_LOW = q.of_drive("ssd_smart_wearout_eta_seconds", 'bound="low"')
_HEALTHY = q.of_drive("ssd_smart_healthy")
_MOST_SATURATED = t.ALERTS["disk_saturated_ratio"]
_WHOLE_ROW = Size(24, 10)


def _stats() -> tuple[Panel, ...]:
    size = Size(3, 5)
    return (
        value(
            "Drives",
            "All drives that the exporter has detected and that were not removed with "
            "ssd-exporter forget, whether they answer or not.",
            "short",
            Query(f"count({_UP})", ""),
            size=size,
            nothing="no SMART data",
        ),
        value(
            "Not answering or gone",
            "Drives that did not answer the last SMART poll or have disappeared. For a drive "
            "that was removed on purpose, run ssd-exporter forget SERIAL.",
            "short",
            count_true(f"{_UP} == bool 0"),
            steps=t.ANY_PAGES,
            size=size,
        ),
        value(
            "Predicting failure",
            "Drives with a failed SMART health status. Most failing drives never report it, so 0 "
            "does not prove that all drives are healthy.",
            "short",
            count_true(f"{_HEALTHY} == bool 0"),
            steps=t.ANY_PAGES,
            size=size,
        ),
        value(
            "Highest wear",
            "Share of the rated endurance used by the most worn drive. At 1 the warranty ends; "
            "the drive may continue to work.",
            "percentunit",
            Query(f"max({WEAR})", ""),
            steps=t.WEAR,
            size=size,
            nothing="not reported",
        ),
        value(
            "Soonest wear-out",
            "Shortest time until the rated endurance of a drive may be used up at its current "
            "write rate (lower bound).",
            "s",
            Query(f"min({_ETA_LOW})", ""),
            steps=t.WEAROUT,
            size=size,
            nothing="no estimate",
        ),
        value(
            "Lowest temperature margin",
            "Degrees Celsius between the hottest drive and its own warning temperature "
            f"({t.TEMPERATURE_FALLBACK_CELSIUS:g} °C if it reports none). At or below zero a "
            "drive may throttle itself.",
            "celsius",
            Query(f"min({q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)})", ""),
            steps=t.HEAT,
            size=size,
            nothing="not reported",
        ),
        value(
            "Saturated drives",
            f"Drives that were saturated for more than {_MOST_SATURATED:.0%} of the last 5 "
            "minutes: busy, queue full, latency far above their own baseline, and tasks waiting.",
            "short",
            count_true(f"rate({_SATURATED}[5m]) > bool {_MOST_SATURATED:g}"),
            steps=t.ANY_WARNS,
            size=size,
        ),
        value(
            "Slow links",
            "Drives whose link ran below the maximum speed of drive and port for the last hour. "
            "Causes: cable, slot or backplane. PCIe power saving also lowers the speed while a "
            "drive is idle.",
            "short",
            count_true(f"({q.link_share('1h')}) < bool 1"),
            steps=t.ANY_WARNS,
            size=size,
        ),
    )


def _drives() -> Panel:
    return grid(
        "Drives, by wear",
        "One row per drive. Click a name to open the drive or its host. An empty cell means that "
        "the drive or its controller does not report the value. Probe p99 is that of the last "
        "fsync probe. Errors are those of the last 24 hours.",
        Column(
            "", f"max by (job, instance, device, serial, model) ({q.of_drive('ssd_device_info')})"
        ),
        Column("SMART poll", f"max {q.BY_SERIAL} ({_UP})", "none", words=words.ANSWERS),
        Column("health", f"max {q.BY_SERIAL} ({_HEALTHY})", "none", words=words.HEALTH),
        Column("wear", f"max {q.BY_SERIAL} ({WEAR})", "percentunit", t.WEAR),
        Column("worn out in", f"min {q.BY_SERIAL} ({_ETA_LOW})", "s", t.WEAROUT, decimals=0),
        Column(
            "spare",
            f"min {q.BY_SERIAL} ({q.of_drive('ssd_smart_spare_ratio')})",
            "percentunit",
        ),
        Column(
            "temperature margin",
            f"min {q.BY_SERIAL} ({q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)})",
            "celsius",
            t.HEAT,
        ),
        Column(
            "media errors, 24 h",
            f"max {q.BY_SERIAL} ({q.increase(MEDIA_ERRORS, '24h')})",
            "short",
            t.MEDIA_ERRORS,
            decimals=0,
        ),
        Column(
            "saturated, 24 h",
            f"max {q.BY_DRIVE} ({q.increase(_SATURATED, '24h')})",
            "s",
            t.SATURATED_PER_DAY,
        ),
        Column(
            "busy, p95 of 1 h",
            f"histogram_quantile(0.95, sum by (job, instance, device, le) "
            f"({q.increase(q.of_drive('ssd_disk_busy_ratio_bucket'), '1h')}))",
            "percentunit",
        ),
        Column(
            "fsync probe p99",
            f"max {q.BY_DRIVE} ({q.fsync_probe_p99()})",
            "s",
            t.FSYNC_PROBE,
        ),
        size=_WHOLE_ROW,
        sort_by="wear",
        nothing="no drives: check the scrape configuration and that SMART is enabled",
    )


def _now() -> tuple[Panel, ...]:
    firing = q.of_host("ALERTS", 'alertstate="firing"', 'alertname=~"SSD.+"')
    return (
        grid(
            "Firing alerts",
            "Firing SSD alerts by severity, host and drive. Alerts without a host, such as "
            "SSDExporterAbsent, are shown in Alertmanager only.",
            Column(
                "",
                f"max by (job, instance, device, serial, alertname, severity) ({firing})",
            ),
            size=Size(12, 9),
            nothing="none",
        ),
        states(
            "Bottleneck of each drive over time",
            "Only drives that had a bottleneck in the selected range. Red is the drive itself; "
            "the other colours name a different cause.",
            Query(f"{q.verdict()} > 0", DRIVE),
            words.VERDICT,
            size=Size(12, 9),
            nothing="no bottleneck",
        ),
        bars(
            "Top 20 drives by time saturated in 24 hours",
            "Seconds in which the drive was saturated and tasks waited for it. Above one hour "
            "per day, optimise queries first, then consider a faster drive.",
            "s",
            Query(f"topk(20, {q.increase(_SATURATED, '24h')} > 0)"),
            steps=t.SATURATED_PER_DAY,
            size=HALF,
            nothing="no drive was saturated",
        ),
        timeline(
            "Drive writes per day",
            "Bytes written by the host in the previous 24 hours, divided by the capacity. "
            "Compare with the DWPD rating in the data sheet: above it, the endurance does not "
            "last for the warranty period.",
            "none",
            Query(
                f"{q.increase(q.of_drive('ssd_disk_written_bytes_total'), '24h')} / {q.ON_DRIVE} "
                f"{q.of_drive('ssd_device_capacity_bytes')}"
            ),
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-fleet",
    title="SSD / Fleet",
    description="Health, wear and load of all drives.",
    variables=(*host_variables(), drive_variable()),
    rows=(
        Row("Overview", _stats()),
        Row("Drives and alerts", (_drives(), *_now())),
        Row("Models, firmware, filesystems, exporters", models(), is_collapsed=True),
    ),
    time_from="now-24h",
)
