"""Panels on models, firmware, filesystems and exporters of a fleet."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.panel_parts import Panel, Query, Size
from dashboards.panels import timeline, value
from dashboards.tables import Column, grid

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
            "One row per model and firmware. Look for outliers and for outdated firmware.",
            Column("drives", f"count {by_model} ({q.of_drive('ssd_device_info')})", "short"),
            Column("mean wear", f"avg {by_model} ({q.with_model(WEAR)})", "percentunit", t.WEAR),
            Column(
                "media errors, 24 h",
                f"sum {by_model} ({q.with_model(q.increase(MEDIA_ERRORS, '24h'))})",
                "short",
                t.MEDIA_ERRORS,
                decimals=0,
            ),
            Column(
                "fsync probe p99, median",
                f"quantile {by_model} (0.5, {q.with_model(q.fsync_probe_p99())})",
                "s",
                t.FSYNC_PROBE,
            ),
            size=Size(12, 8),
            is_linked=False,
        ),
        grid(
            "Known firmware defects",
            "Drives whose model and firmware have a known defect, and the remaining power-on "
            "time for defects that occur at a certain age. Run ssd-exporter check for the "
            "remedy.",
            Column(
                "",
                f"max by (job, instance, device, serial, issue) "
                f"({q.of_drive('ssd_smart_firmware_issue')} == 1)",
            ),
            Column(
                "occurs in",
                "min by (job, instance, device, serial, issue) "
                f"({q.of_drive('ssd_smart_firmware_issue_left_seconds')})",
                "s",
                t.FIRMWARE,
            ),
            size=Size(12, 8),
            nothing="none known",
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
        value(
            "Read-only filesystems",
            "Filesystems that are mounted read-only. ext4 remounts itself read-only after an "
            "error.",
            "short",
            count_true(
                f"max by (job, instance, mountpoint) ({q.of_drive('ssd_filesystem_readonly')})"
            ),
            steps=t.ANY_PAGES,
            size=Size(6, 8),
        ),
        value(
            "Exporters with problems",
            "Hosts where a collector failed or returned incomplete data, or that Prometheus "
            "cannot scrape.",
            "short",
            count_true(
                f"max {q.BY_HOST} ({q.of_host('ssd_collector_success')} == bool 0 or "
                f"{q.of_host('up')} == bool 0)"
            ),
            steps=t.ANY_WARNS,
            size=Size(6, 8),
        ),
    )
