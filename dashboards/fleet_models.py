"""The fleet by model and firmware, its filesystems and exporters."""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards.panel_parts import Panel, Query, Size
from dashboards.panels import timeline, value
from dashboards.tables import Column, grid

WEAR = q.of_drive("ssd_smart_endurance_used_ratio")
MEDIA_ERRORS = q.of_drive("ssd_smart_media_errors_total")


def how_many(question: str) -> Query:
    """How often a comparison with bool holds; no value where there is nothing to compare."""
    return Query(f"sum({question})", "")


def models() -> tuple[Panel, ...]:
    by_model = "by (model, firmware)"
    return (
        grid(
            "Models and firmware",
            "One row for each model and firmware: an odd one out is worth a look. Old firmware and "
            "failures go together.",
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
            "Drives whose model and firmware are known for a defect, and how much power-on time is "
            "left where it strikes at a certain age. ssd-exporter check says what to do.",
            Column(
                "",
                f"max by (job, instance, device, serial, issue) "
                f"({q.of_drive('ssd_smart_firmware_issue')} == 1)",
            ),
            Column(
                "strikes in",
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
            "Points of endurance that a model's drives used in the 30 days before. A model that "
            "wears faster than others under the same load is worth a look.",
            "percentunit",
            Query(
                f"avg {by_model} ({q.with_model(f'delta({WEAR}[30d])')})",
                "{{model}} {{firmware}}",
            ),
            nothing="needs 30 days of history",
        ),
        value(
            "Read-only filesystems",
            "Filesystems that take no writes: ext4 and others do so after an error.",
            "short",
            how_many(
                f"max by (job, instance, mountpoint) ({q.of_drive('ssd_filesystem_readonly')})"
            ),
            steps=t.ANY_PAGES,
            size=Size(6, 8),
        ),
        value(
            "Exporters that lack something",
            "Hosts on which a collector failed or left something out, or that cannot be scraped.",
            "short",
            how_many(
                f"max {q.BY_HOST} ({q.of_host('ssd_collector_success')} == bool 0 or "
                f"{q.of_host('up')} == bool 0)"
            ),
            steps=t.ANY_WARNS,
            size=Size(6, 8),
        ),
    )
