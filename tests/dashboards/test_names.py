"""Every metric and label that a panel uses exists."""

import re
from pathlib import Path

import pytest

from exporter.families import catalogue
from exporter.families.desc import MetricDesc
from tests.alerts import rules
from tests.dashboards.documents import FILES, Target, every_target, panels, variables
from tests.dashboards.not_yet import NOT_YET
from tests.dashboards.promql import Selector, selectors
from tests.dashboards.scene import family, page_lines

CATALOGUE = {
    desc.name: desc for _, subject in catalogue.SUBJECTS for desc in catalogue.families(subject)
}

#: Metrics of Prometheus.
PROMETHEUS = {"up", "ALERTS"}

#: Recorded from native histograms, for which a panel cannot use the functions of VictoriaMetrics.
RECORDED = {
    rule["record"]
    for group in rules.story(rules.EXAMPLES / "native-histograms.yml")["groups"]
    for rule in group["rules"]
}

#: Labels that Prometheus adds to series and alerts.
TARGET_LABELS = {"cluster", "job", "instance"}


def described(name: str) -> MetricDesc | None:
    """Catalogue entry of a sample."""
    return CATALOGUE.get(name) or CATALOGUE.get(family(name))


def every_selector() -> list[tuple[str, Selector]]:
    """Selectors of all targets and variables, each with its location."""
    asked = [(each.where, each.expression) for each in every_target()]
    for file in FILES:
        asked += [
            (f"{file.name}: ${name}", variable["query"]["query"])
            for name, variable in variables(file).items()
            if variable["type"] == "query"
        ]
    return [(where, found) for where, text in asked for found in selectors(text)]


def mysqld_families() -> set[str]:
    return {name for page in ("mariadb.prom", "mysql.prom") for name, _, _ in page_lines(page)}


def test_every_metric_is_in_the_catalogue_or_planned() -> None:
    known = mysqld_families() | PROMETHEUS | RECORDED
    unknown = {
        f"{where}: {selector.name}"
        for where, selector in every_selector()
        if selector.name not in known
        and described(selector.name) is None
        and family(selector.name) not in NOT_YET
        and selector.name not in NOT_YET
    }
    assert set() == unknown


def test_planned_metrics_are_used_and_not_in_the_catalogue() -> None:
    """Remove a metric from not_yet.py when the catalogue contains it."""
    assert set() == NOT_YET & CATALOGUE.keys()
    asked = {
        name for _, selector in every_selector() for name in (selector.name, family(selector.name))
    }
    assert set() == NOT_YET - asked


def test_matched_labels_exist() -> None:
    unknown = set()
    for where, selector in every_selector():
        desc = described(selector.name)
        if desc is None:
            continue
        known = {*desc.labels, *TARGET_LABELS, *(("le",) if desc.kind == "histogram" else ())}
        unknown |= {
            f"{where}: {selector.name} {label}" for label in selector.matchers.keys() - known
        }
    assert set() == unknown


def test_matched_bucket_bounds_exist() -> None:
    for where, selector in every_selector():
        desc = described(selector.name)
        if desc is not None and "le" in selector.matchers:
            assert float(selector.matchers["le"]) in desc.edges, where


#: Counters whose lifetime value is meaningful.
LEVELS = {
    "ssd_smart_power_on_seconds_total",
    "ssd_smart_reallocated_sectors_total",
    "ssd_smart_power_cycles_total",
    "ssd_smart_host_read_bytes_total",
    "ssd_smart_host_written_bytes_total",
}


def test_counters_are_used_with_rate_or_increase_or_as_a_difference() -> None:
    for target in every_target():
        for selector in selectors(target.expression):
            desc = described(selector.name)
            if desc is None or desc.kind == "gauge" or selector.name in LEVELS:
                continue
            for place in re.finditer(re.escape(selector.name) + r"\{[^}]*\}", target.expression):
                before = target.expression[: place.start()]
                after = target.expression[place.end() :]
                assert before.endswith(
                    ("rate(", "increase(", "min_over_time(")
                ) or after.startswith(" - min_over_time("), target.where


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_selectors_match_the_selected_drives(file: Path) -> None:
    for panel in panels(file):
        for target in panel.targets:
            _assert_device(target)


#: Metrics of arrays, which are devices and not drives.
OF_ARRAYS = {"ssd_md_degraded_disks", "ssd_md_sync_action_info"}


def _assert_device(target: Target) -> None:
    for selector in selectors(target.expression):
        desc = described(selector.name)
        if desc is not None and "device" in desc.labels and selector.name not in OF_ARRAYS:
            assert "$device" == selector.matchers.get("device"), f"{target.where} {selector.name}"


#: Families that no panel shows, with the reason.
WITHOUT_PANEL = {
    "ssd_cgroup_io_read_bytes_total": "ssd_service_io_* contain these groups and all others",
    "ssd_cgroup_io_written_bytes_total": "ssd_service_io_* contain these groups and all others",
    "ssd_smart_error_log_entries_total": "unsupported commands add entries, which mean nothing",
    "ssd_smart_controller_busy_seconds_total": "counted in minutes; ssd_disk_busy_ratio is exact",
    "ssd_device_role_server_info": "for joins (docs/joins.md); most hosts run one server",
    "ssd_smart_corrected_errors_total": "SAS only; the errors that were not corrected have a panel",
    "ssd_state_set_aside_files": "ssd-exporter merge-wear and the log report them",
    "ssd_smart_log_missing": "the page of the drive has the reasons",
    "ssd_smart_thermal_throttling_seconds_total": "the events have a panel",
    "ssd_smart_incomplete_shutdowns_total": "the page of the drive has it",
    "ssd_smart_unaligned_writes_total": "the page of the drive has it",
    "ssd_smart_offline_dies": "the page of the drive has it",
    "ssd_ata_attribute_failed": "the page of the drive and ssd-exporter check list the attributes",
    "ssd_smart_exit_bit": "the states behind the bits have panels",
    "ssd_smart_poll_duration_seconds": "for the search for a slow drive; failed polls have a panel",
    "ssd_disk_request_lost_total": "the page of the drive has it",
    "ssd_disk_request_unfinished_total": "the page of the drive has it",
    "ssd_disk_io_now": "a momentary value; ssd_disk_queue_depth contains every second",
    "ssd_disk_io_time_weighted_seconds_total": "older kernels count too little",
    "ssd_disk_discards_merged_total": "for comparison with node_exporter",
    "ssd_disk_discard_time_seconds_total": "discards are asynchronous; nothing waits for them",
    "ssd_softirqs_by_cpu_total": "off by default; counts, while the time by CPU has a panel",
    "ssd_pressure_cpu_stalled_seconds_total": "the kernel always reports 0 for the whole host",
    "ssd_probe_last_run_timestamp_seconds": "the last success and the failed runs have panels",
    "ssd_collector_duration_seconds": "for the development of the exporter",
    "ssd_sampler_samples_total": "for the development of the exporter",
    "ssd_sampler_interval_seconds": "a setting",
    "ssd_md_sync_progress_ratio": "in the text of SSDRaidRebuilding",
    "process_cpu_seconds_total": "every process exporter shows it",
    "process_virtual_memory_bytes": "says nothing about the memory in use",
    "process_start_time_seconds": "shown by Prometheus as a restart",
    "process_open_fds": "for the development of the exporter",
    "process_max_fds": "a setting",
}


def test_every_family_is_in_a_panel_or_listed_with_the_reason() -> None:
    """Except the copies of node_exporter's and smartctl_exporter's families."""
    shown = {
        name
        for where, selector in every_selector()
        if ": $" not in where
        for name in (selector.name, family(selector.name))
    }
    own = {name for name in CATALOGUE if not name.startswith(("node_", "smartctl_"))}
    assert WITHOUT_PANEL.keys() == own - shown
