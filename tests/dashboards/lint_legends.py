"""Rules on titles, legends, axes and units of panels."""

import re
from collections.abc import Iterator
from typing import Any

from dashboards.builders.screen import title_characters
from tests.dashboards.documents import panels_of

Document = dict[str, Any]
Found = Iterator[tuple[str, str]]

#: Units that show a number that differs from the data sheet or is hard to read.
_UNITS = {
    "bytes": "shows 894 GiB for a drive of 960 GB; use decbytes",
    "pps": "shows µp/s; use cps",
    "binBps": "shows binary units; use Bps",
}
#: Names in the expression of a latency.
_LATENCY = re.compile(r"await|latency_seconds|(?:read|write|requests)_time_seconds_total")
#: A share of time from a counter of seconds; sampling makes it exceed 1.
_TIME_SHARE = re.compile(r"rate\(\w+_seconds_total\{")
_WINDOW = re.compile(r"\[(\d+[hdw])\]")


def title_is_cut(document: Document) -> Found:
    for panel in panels_of(document):
        most = title_characters(panel["gridPos"]["w"])
        if len(panel["title"]) > most:
            yield panel["title"], f"{len(panel['title'])} characters, {most} fit at 1,366 pixels"


def tile_names_no_drive(document: Document) -> Found:
    """With one series Grafana shows the value alone, unless the panel requests the name."""
    for panel in panels_of(document):
        legends = " ".join(target.get("legendFormat", "") for target in panel["targets"])
        mode = panel.get("options", {}).get("textMode")
        if panel["type"] == "stat" and "{{" in legends and mode != "value_and_name":
            yield panel["title"], f"text mode {mode} omits the name of a single drive"


def tile_with_several_values(document: Document) -> Found:
    """Which of three values is which was in letters of 5 pixels."""
    for panel in panels_of(document):
        if panel["type"] == "stat" and len(panel["targets"]) > 1:
            yield panel["title"], f"{len(panel['targets'])} values in one tile"


def legend_has_no_order(document: Document) -> Found:
    for panel in panels_of(document):
        legend = panel.get("options", {}).get("legend", {})
        if panel["type"] == "timeseries" and legend.get("showLegend"):
            if not legend.get("sortBy"):
                yield panel["title"], "the legend is not sorted"
            if legend.get("placement") == "bottom" and len(legend.get("calcs", [])) > 1:
                yield panel["title"], "the legend takes 40 % of the panel"


def legend_shows_the_port(document: Document) -> Found:
    for panel in panels_of(document):
        renamed = any(each["id"] == "renameByRegex" for each in panel.get("transformations", []))
        legends = " ".join(target.get("legendFormat", "") for target in panel["targets"])
        if "{{instance}}" in legends and panel["type"] != "table" and not renamed:
            yield panel["title"], "the port of the exporter is in each name"


def latency_axis_is_linear(document: Document) -> Found:
    for panel in panels_of(document):
        defaults = panel["fieldConfig"]["defaults"]
        asked = " ".join(target["expr"] for target in panel["targets"])
        if panel["type"] == "timeseries" and defaults["unit"] == "s" and _LATENCY.search(asked):
            if defaults["custom"].get("scaleDistribution", {}).get("type") != "log":
                yield panel["title"], "microseconds and seconds share a linear axis"
            elif defaults.get("min") is not None:
                yield panel["title"], "a logarithmic axis has no zero"


def unit_misleads(document: Document) -> Found:
    for panel in panels_of(document):
        for unit in _units(panel):
            if unit in _UNITS:
                yield panel["title"], f"unit {unit} {_UNITS[unit]}"


def _units(panel: dict[str, Any]) -> set[str]:
    own = panel["fieldConfig"]["defaults"]["unit"]
    return {own} | {
        each["value"]
        for override in panel["fieldConfig"]["overrides"]
        for each in override["properties"]
        if each["id"] == "unit"
    }


def share_has_five_digits(document: Document) -> Found:
    """Grafana shows "0.00287 %" unless the number of decimals is set."""
    for panel in panels_of(document):
        defaults = panel["fieldConfig"]["defaults"]
        if defaults["unit"] == "percentunit" and "decimals" not in defaults:
            yield panel["title"], "the number of decimals is not set"
        for override in panel["fieldConfig"]["overrides"]:
            properties = {each["id"]: each["value"] for each in override["properties"]}
            if properties.get("unit") == "percentunit" and "decimals" not in properties:
                yield panel["title"], f"decimals of {override['matcher']['options']} are not set"


def share_exceeds_one(document: Document) -> Found:
    for panel in panels_of(document):
        if panel["fieldConfig"]["defaults"]["unit"] != "percentunit":
            continue
        for target in panel["targets"]:
            if _TIME_SHARE.search(target["expr"]) and "clamp_max(" not in target["expr"]:
                yield f"{panel['title']} {target['refId']}", "a share of time can exceed 100 %"


def duration_axis_has_odd_steps(document: Document) -> Found:
    """An axis of growing durations shows "1.67 mins"."""
    for panel in panels_of(document):
        asked = " ".join(target["expr"] for target in panel["targets"])
        if (
            panel["type"] == "timeseries"
            and panel["fieldConfig"]["defaults"]["unit"] == "s"
            and re.search(r"increase\(\w+_seconds_total", asked)
        ):
            yield panel["title"], "an axis of seconds with steps of 100; use minutes"


def moving_window_as_bars(document: Document) -> Found:
    """Bars of a window that is longer than their distance overlap to a block."""
    for panel in panels_of(document):
        if panel["fieldConfig"]["defaults"].get("custom", {}).get("drawStyle") != "bars":
            continue
        windows = {w for t in panel["targets"] for w in _WINDOW.findall(t["expr"])}
        if windows:
            yield panel["title"], f"bars of a moving window of {', '.join(sorted(windows))}"


def fills_overlap(document: Document) -> Found:
    for panel in panels_of(document):
        custom = panel["fieldConfig"]["defaults"].get("custom", {})
        stacked = custom.get("stacking", {}).get("mode") == "normal"
        lines = custom.get("drawStyle", "line") == "line"
        if panel["type"] == "timeseries" and lines and not stacked and custom.get("fillOpacity"):
            yield panel["title"], "the fills of several lines mix to another colour"


RULES = (
    title_is_cut,
    tile_names_no_drive,
    tile_with_several_values,
    legend_has_no_order,
    legend_shows_the_port,
    latency_axis_is_linear,
    unit_misleads,
    share_has_five_digits,
    share_exceeds_one,
    duration_axis_has_odd_steps,
    moving_window_as_bars,
    fills_overlap,
)
