"""Panels on models, firmware, filesystems and exporters of a fleet."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.panel_parts import HOST, Panel, Query, Size
from dashboards.builders.panels import bars, timeline, value
from dashboards.builders.tables import Column, Label, Rows, grid

WEAR = q.of_drive("ssd_smart_endurance_used_ratio")
MEDIA_ERRORS = q.of_drive("ssd_smart_media_errors_total")


def count_true(comparison: str) -> Query:
    """Counts the series for which a `bool` comparison holds; no value if there are no series."""
    return Query(f"sum({comparison})", "")


def models() -> tuple[Panel, ...]:
    by_model = "by (model, firmware)"
    return (
        grid(
            "Models and firmware",
            "One row per model and firmware. Look for outliers and for outdated firmware. Errors: "
            "uncorrectable ones in 24 h. fsync: the median p99 of the last fsync probes.",
            Rows(
                f"count {by_model} ({q.of_drive('ssd_device_info')})",
                "No drives.",
                is_of_drives=False,
            ),
            Label("model", 180, is_flexible=True),
            Label("firmware", 105),
            Column("drives", 75, unit="short"),
            Column(
                "wear",
                65,
                f"avg {by_model} ({q.with_model(WEAR)})",
                "percentunit",
                t.WEAR,
            ),
            Column(
                "errors",
                75,
                f"sum {by_model} ({q.with_model(q.increase(MEDIA_ERRORS, '24h'))})",
                "short",
                t.MEDIA_ERRORS,
                decimals=0,
            ),
            Column(
                "fsync",
                75,
                f"quantile {by_model} (0.5, {q.with_model(q.fsync_probe_p99())})",
                "s",
                t.FSYNC_PROBE,
            ),
            size=Size(12, 8),
            sort_by="drives",
        ),
        grid(
            "Known firmware defects",
            "Drives whose model and firmware have a known defect, and the remaining power-on "
            "time for defects that occur at a certain age. Run ssd-exporter check for the "
            "remedy.",
            Rows(
                f"max by (cluster, job, instance, device, serial, issue) "
                f"({q.of_drive('ssd_smart_firmware_issue')} == 1)",
                "No known defect.",
            ),
            Label("device", 110),
            Label("host", 115),
            Label("issue", 210, title="defect", is_flexible=True),
            Column(
                "occurs in",
                100,
                "min by (cluster, job, instance, device, serial, issue) "
                f"({q.of_drive('ssd_smart_firmware_issue_left_seconds')})",
                "s",
                t.FIRMWARE,
            ),
            size=Size(12, 8),
            sort_by="occurs in",
        ),
        timeline(
            "Wear gained in 30 days, mean by model",
            "Endurance used by the drives of a model in the previous 30 days. Check models that "
            "wear faster than others under the same load.",
            "percentunit",
            Query(
                f"avg {by_model} ({q.with_model(f'delta({WEAR}[30d])')})",
                "{{model}} {{firmware}}",
            ),
            nothing="needs 30 days of history",
        ),
        bars(
            "Least free space, by host",
            "Free space of the fullest filesystem of each host. Sizes exist only for filesystems "
            "of MySQL and of probes. A full SSD writes slowly.",
            "percentunit",
            Query(
                "bottomk(10, min by (cluster, job, instance) "
                f"({q.of_drive('ssd_filesystem_avail_bytes')} / "
                f"({q.of_drive('ssd_filesystem_size_bytes')} > 0)))",
                HOST,
            ),
            steps=t.FREE,
            size=Size(6, 8),
            nothing="no filesystem is measured",
        ),
        value(
            "Read-only",
            "Filesystems that are mounted read-only. ext4 remounts itself read-only after an "
            "error.",
            "short",
            count_true(
                "max by (cluster, job, instance, mountpoint) "
                f"({q.of_drive('ssd_filesystem_readonly')})"
            ),
            steps=t.quiet(t.ANY_PAGES),
            size=Size(3, 8),
        ),
        value(
            "Exporters",
            "Hosts where a collector failed or returned incomplete data, or whose exporter "
            "Prometheus cannot scrape. Other jobs of Prometheus do not count.",
            "short",
            count_true(
                f"max {q.BY_HOST} ({q.of_host('ssd_collector_success')} == bool 0 or "
                f"{q.of_host('up')} == bool 0 and on (cluster, job) "
                f"last_over_time({q.of_host('ssd_exporter_build_info')}[1d]))"
            ),
            steps=t.quiet(t.ANY_WARNS),
            size=Size(3, 8),
        ),
    )
