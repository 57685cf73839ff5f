"""Fleet: which drive needs somebody, of all there are."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards import words
from dashboards.fleet_models import MEDIA_ERRORS, WEAR, how_many, models
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
            "Drives that were ever seen and not forgotten, whether they answer or not.",
            "short",
            Query(f"count({_UP})", ""),
            size=size,
            nothing="no SMART",
        ),
        value(
            "Drives that are silent or gone",
            "Drives that did not answer their last SMART poll, or have vanished. One that was "
            "taken out on purpose: ssd-exporter forget SERIAL.",
            "short",
            how_many(f"{_UP} == bool 0"),
            steps=t.ANY_PAGES,
            size=size,
        ),
        value(
            "Drives that call themselves failing",
            "The drive's own verdict. Most drives that fail never say so: 0 is no proof of health.",
            "short",
            how_many(f"{_HEALTHY} == bool 0"),
            steps=t.ANY_PAGES,
            size=size,
        ),
        value(
            "Worst wear",
            "The most worn drive's share of its rated endurance. 1 is the end of the warranty, not "
            "of the drive.",
            "percentunit",
            Query(f"max({WEAR})", ""),
            steps=t.WEAR,
            size=size,
            nothing="not told",
        ),
        value(
            "Soonest wear-out",
            "The earliest time at which a drive's rated endurance may be used up at its load.",
            "s",
            Query(f"min({_ETA_LOW})", ""),
            steps=t.WEAROUT,
            size=size,
            nothing="no estimate",
        ),
        value(
            "Least room to a temperature limit",
            "The drive closest to its own warning limit, and how many degrees are left. At zero "
            f"it may slow down. {t.TEMPERATURE_FALLBACK_CELSIUS:g} °C where it names no limit.",
            "celsius",
            Query(f"min({q.degrees_left(t.TEMPERATURE_FALLBACK_CELSIUS)})", ""),
            steps=t.HEAT,
            size=size,
            nothing="not told",
        ),
        value(
            "Drives saturated in the last 5 minutes",
            f"Drives that were saturated for more than {_MOST_SATURATED:.0%} of the last "
            "5 minutes: busy, queue filled, slow against their own baseline, and somebody waits.",
            "short",
            how_many(f"rate({_SATURATED}[5m]) > bool {_MOST_SATURATED:g}"),
            steps=t.ANY_WARNS,
            size=size,
        ),
        value(
            "Links below their maximum",
            "Drives whose link was for the last hour slower than drive and port allow: cable, "
            "slot, or backplane. PCIe power saving lowers it too while a drive is idle.",
            "short",
            how_many(f"({q.link_share('1h')}) < bool 1"),
            steps=t.ANY_WARNS,
            size=size,
        ),
    )


def _drives() -> Panel:
    return grid(
        "Every drive, the most worn first",
        "One row a drive; click a name for the drive or its host. A cell without a value is "
        "something that the drive or its controller does not tell. Probe p99 is that of the last "
        "fsync probe; errors are those of the last 24 hours.",
        Column(
            "", f"max by (job, instance, device, serial, model) ({q.of_drive('ssd_device_info')})"
        ),
        Column("answers", f"max {q.BY_SERIAL} ({_UP})", "none", words=words.ANSWERS),
        Column("health", f"max {q.BY_SERIAL} ({_HEALTHY})", "none", words=words.HEALTH),
        Column("wear", f"max {q.BY_SERIAL} ({WEAR})", "percentunit", t.WEAR),
        Column("worn out in", f"min {q.BY_SERIAL} ({_ETA_LOW})", "s", t.WEAROUT, decimals=0),
        Column(
            "spare left",
            f"min {q.BY_SERIAL} ({q.of_drive('ssd_smart_spare_ratio')})",
            "percentunit",
        ),
        Column(
            "degrees left",
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
        nothing="no drives: is the exporter scraped, and SMART on?",
    )


def _now() -> tuple[Panel, ...]:
    firing = q.of_host("ALERTS", 'alertstate="firing"', 'alertname=~"SSD.+"')
    return (
        grid(
            "Alerts that fire",
            "What Prometheus has firing of these rules, by severity, host and drive. One of no "
            "host, such as SSDExporterAbsent, stands in Alertmanager alone.",
            Column(
                "",
                f"max by (job, instance, device, serial, alertname, severity) ({firing})",
            ),
            size=Size(12, 9),
            nothing="none fires",
        ),
        states(
            "What held each drive back, over time",
            "Only drives that something held back at some time. Red is the disk itself; the other "
            "colours say what to look at instead of it.",
            Query(f"{q.verdict()} > 0", DRIVE),
            words.VERDICT,
            size=Size(12, 9),
            nothing="nothing held any drive back",
        ),
        bars(
            "The 20 drives saturated longest in 24 hours",
            "Seconds in which the drive had nothing left to give and somebody waited. More than "
            "an hour a day is worth a plan: queries first, then a faster drive.",
            "s",
            Query(f"topk(20, {q.increase(_SATURATED, '24h')} > 0)"),
            steps=t.SATURATED_PER_DAY,
            size=HALF,
            nothing="none was saturated",
        ),
        timeline(
            "Drive writes per day",
            "What hosts wrote in the 24 hours before, as a share of the capacity: to compare with "
            "the DWPD in the data sheet, above which the endurance will not last the warranty.",
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
    description="Which drive needs somebody, of all there are.",
    variables=(*host_variables(), drive_variable()),
    rows=(
        Row("How many drives need somebody?", _stats()),
        Row("Which?", (_drives(), *_now())),
        Row("Models, firmware, filesystems, exporters", models(), is_collapsed=True),
    ),
    past="now-24h",
)
