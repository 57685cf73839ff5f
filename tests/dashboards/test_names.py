"""Every metric and label that a panel uses exists."""

import re
from pathlib import Path

import pytest

from exporter.metrics import catalogue
from exporter.metrics.desc import MetricDesc
from tests.dashboards.documents import FILES, Target, every_target, panels, variables
from tests.dashboards.not_yet import NOT_YET
from tests.dashboards.promql import Selector, selectors
from tests.dashboards.scene import family, page_lines

CATALOGUE = {
    desc.name: desc for _, subject in catalogue.SUBJECTS for desc in catalogue.families(subject)
}

#: Metrics of Prometheus.
PROMETHEUS = {"up", "ALERTS"}

#: Labels that Prometheus adds to series and alerts.
TARGET_LABELS = {"job", "instance"}


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
    return {name for name, _, _ in page_lines("mysqld.prom")}


def test_every_metric_is_in_the_catalogue_or_planned() -> None:
    known = mysqld_families() | PROMETHEUS
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


def test_counters_are_used_with_rate_or_increase() -> None:
    """Exceptions are counters whose lifetime value is meaningful."""
    levels = {"ssd_smart_power_on_seconds_total", "ssd_smart_reallocated_sectors_total"}
    for target in every_target():
        for selector in selectors(target.expression):
            desc = described(selector.name)
            if desc is None or desc.kind == "gauge" or selector.name in levels:
                continue
            for place in re.finditer(re.escape(selector.name) + r"\{", target.expression):
                before = target.expression[: place.start()]
                assert before.endswith(("rate(", "increase(")), target.where


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_selectors_match_the_selected_drives(file: Path) -> None:
    for panel in panels(file):
        for target in panel.targets:
            _assert_device(target)


def _assert_device(target: Target) -> None:
    for selector in selectors(target.expression):
        desc = described(selector.name)
        if desc is not None and "device" in desc.labels:
            assert "$device" == selector.matchers.get("device"), f"{target.where} {selector.name}"
