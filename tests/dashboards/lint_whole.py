"""Rules on a dashboard as a whole: variables, annotations, links and the first screen."""

import re
from collections.abc import Iterator
from typing import Any

from tests.dashboards.documents import panels_of

Document = dict[str, Any]
Found = Iterator[tuple[str, str]]

#: Variables that select one value, by dashboard: with more, labels are 4 pixels high.
_ONE_OF = {
    "ssd-host-io": ("instance",),
    "ssd-drive": ("instance", "device"),
    "ssd-mysql": ("instance", "mysql_instance"),
    "ssd-probes": ("instance", "profile"),
}
_OFFSET = re.compile(r"offset (\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHORTEST_MARK = 2 * 3600
#: Rows of the grid that are visible without scrolling in a window of 768 pixels.
_FIRST_SCREEN = 15


def _variables(document: Document) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in document["templating"]["list"]}


def lost_drive_is_not_selected(document: Document) -> Found:
    """The kernel's list of drives does not contain a drive that disappeared."""
    device = _variables(document).get("device")
    if device and "ssd_device_up" not in device["query"]["query"]:
        yield "variable device", "All omits a drive that disappeared before the time range"


def all_where_one_fits(document: Document) -> Found:
    for name in _ONE_OF.get(document["uid"], ()):
        variable = _variables(document).get(name)
        if variable and (variable["multi"] or variable["includeAll"]):
            yield f"variable {name}", "All makes this dashboard unreadable"


def cluster_is_not_selected(document: Document) -> Found:
    if "cluster" not in _variables(document):
        yield "variables", "no cluster: equal names of hosts in two clusters are mixed"
    queries = [
        (panel["title"], target["expr"])
        for panel in panels_of(document)
        for target in panel["targets"]
    ] + [(each["name"], each["expr"]) for each in document.get("annotations", {}).get("list", [])]
    outside = [text for _, text in queries if text.count("job=~") > text.count("cluster=~")]
    if outside:
        yield "queries", f"{len(outside)} of {len(queries)} do not match the cluster"


def mark_is_too_short(document: Document) -> Found:
    """At 60 days the distance of two points exceeds a mark of minutes."""
    for mark in document.get("annotations", {}).get("list", []):
        for number, unit in _OFFSET.findall(mark["expr"]):
            if int(number) * _SECONDS[unit] < _SHORTEST_MARK:
                yield mark["name"], f"a mark of {number}{unit} vanishes at 30 days"


def probe_marks_cover_the_week(document: Document) -> Found:
    for mark in document.get("annotations", {}).get("list", []):
        if "ssd_probe_running" in mark["expr"] and mark["enable"]:
            yield mark["name"], "a mark every five minutes hides the data"


def first_screen_without_the_answer(document: Document) -> Found:
    """Fleet: the table that names drives and reasons is on the first screen."""
    if document["uid"] != "ssd-fleet":
        return
    first = [
        panel
        for panel in panels_of(document)
        if panel["type"] == "table" and panel["gridPos"]["y"] <= _FIRST_SCREEN // 2
    ]
    if not any("reason" in target["expr"] for panel in first for target in panel["targets"]):
        yield "first screen", "no table of drives with the reason"


def needless_panel(document: Document) -> Found:
    """Panels that are empty or meaningless for most users do not belong to an open row."""
    for panel in document["panels"]:
        if panel["type"] == "row":
            continue
        for target in panel["targets"]:
            name = next(
                (
                    name
                    for name in ("ssd_cpu_softirq_hottest_cpu", "ssd_cpu_by_cpu_seconds_total")
                    if name in target["expr"]
                ),
                None,
            )
            if name:
                yield panel["title"], f"{name} is off by default or needs another tool"


def link_loses_the_selection(document: Document) -> Found:
    """Links keep the data source, cluster, host and time."""
    text = str(document)
    for url in re.findall(r"/d/ssd-[a-z-]+\?[^'\"]*", text):
        for part in ("${datasource:queryparam}", "${cluster:queryparam}", "${__url_time_range}"):
            if part not in url:
                yield url[:40], f"the link loses {part}"
                return


RULES = (
    lost_drive_is_not_selected,
    all_where_one_fits,
    cluster_is_not_selected,
    mark_is_too_short,
    probe_marks_cover_the_week,
    first_screen_without_the_answer,
    needless_panel,
    link_loses_the_selection,
)
