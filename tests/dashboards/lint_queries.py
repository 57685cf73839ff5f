"""Rules on expressions: values that are absent, not a number, or counted twice."""

import re
from collections.abc import Iterator
from typing import Any

from tests.dashboards.documents import panels_of

Document = dict[str, Any]
Found = Iterator[tuple[str, str]]

#: Aggregations, whose names tell nothing about a bounded number of series.
_MANY = ("timeseries", "bargauge", "state-timeline")
_DIVISION = re.compile(r"/ (?:on \([^)]*\) )?(?:group_left(?: \([^)]*\))? )?(rate|increase)\(")
#: What is expected if there is no event: the line is not drawn and not listed.
_EVENTS = re.compile(
    r"increase\(ssd_(?:smart_(?:media_errors|program_failures|erase_failures|interface_errors|"
    r"over_temperature_seconds)|device_io_(?:errors|timeouts)|pcie_errors|probe_skipped|"
    r"disk_write_falloff_events)_total"
)


def quantile_is_not_a_number(document: Document) -> Found:
    """histogram_quantile() returns NaN if no observation was made."""
    for panel in panels_of(document):
        for target in panel["targets"]:
            text = target["expr"]
            if "histogram_quantile(" in text and not re.search(r"\) >= 0\b", text):
                yield f"{panel['title']} {target['refId']}", "NaN without observations"


def division_by_zero(document: Document) -> Found:
    for panel in panels_of(document):
        for target in panel["targets"]:
            if _DIVISION.search(target["expr"]):
                yield f"{panel['title']} {target['refId']}", "the divisor can be zero"


def events_that_did_not_happen(document: Document) -> Found:
    """A legend with a row of zeros for each drive and kind of error hides the one that occurred."""
    for panel in panels_of(document):
        for target in panel["targets"]:
            if (
                panel["type"] == "timeseries"
                and _EVENTS.search(target["expr"])
                and not target["expr"].rstrip(")").endswith("> 0")
            ):
                yield f"{panel['title']} {target['refId']}", "zeros are in the legend"


def empty_state_timeline(document: Document) -> Found:
    """Without a series Grafana shows "Data does not have a time field"."""
    for panel in panels_of(document):
        for target in panel["targets"]:
            text = target["expr"]
            if panel["type"] == "state-timeline" and "or on () " not in text:
                yield panel["title"], "no row if nothing is found"


def targets_of_other_jobs(document: Document) -> Found:
    """All jobs are selected by a pattern that also matches the jobs of other exporters."""
    for panel in panels_of(document):
        for target in panel["targets"]:
            if re.search(r"\bup\{", target["expr"]) and "ssd_exporter_build_info" not in str(
                target["expr"]
            ):
                yield panel["title"], "counts targets that are not of this exporter"


def dirty_pages_by_state(document: Document) -> Found:
    """mysqld_exporter has a metric of its own for dirty pages; state="old" is a part of "data"."""
    for panel in panels_of(document):
        for target in panel["targets"]:
            if "buffer_pool_pages{" not in target["expr"]:
                continue
            if 'state="dirty"' in target["expr"]:
                yield panel["title"], 'state="dirty" does not exist'
            if "state=~" not in target["expr"] and "state!=" not in target["expr"]:
                yield panel["title"], "old pages are counted twice"


def median_of_buckets(document: Document) -> Found:
    """The median of histogram buckets was 7.5 ms where the mean was 5.1 ms."""
    for panel in panels_of(document):
        for target in panel["targets"]:
            if re.search(r"histogram_quantile\(0\.5,.*await", target["expr"], re.DOTALL):
                yield f"{panel['title']} {target['refId']}", "a median between two bucket bounds"


def series_without_limit(document: Document) -> Found:
    """A dashboard for all hosts shows the largest series only."""
    if document["uid"] != "ssd-fleet":
        return
    for panel in panels_of(document):
        for target in panel["targets"]:
            text = target["expr"]
            grouped = " by (model" in text
            if (
                panel["type"] in _MANY
                and not grouped
                and "topk(" not in text
                and "bottomk(" not in text
            ):
                yield panel["title"], "a line for each drive of the fleet"


RULES = (
    quantile_is_not_a_number,
    division_by_zero,
    events_that_did_not_happen,
    empty_state_timeline,
    targets_of_other_jobs,
    dirty_pages_by_state,
    median_of_buckets,
    series_without_limit,
)
