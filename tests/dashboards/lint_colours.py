"""Rules on colours: the colour of an unknown value, of a healthy state, and of a state timeline."""

import re
from collections.abc import Iterator
from typing import Any

from tests.dashboards.documents import panels_of

Document = dict[str, Any]
Found = Iterator[tuple[str, str]]

#: Panels whose whole area takes the colour of the value.
_COLOURED = ("stat", "gauge", "bargauge")
_GREY = re.compile(r"#(..)\1\1|rgba\((\d+), \2, \2, [0-9.]+\)")
_NEUTRAL_NAMES = {"transparent", "text"}


def is_neutral(colour: str) -> bool:
    """Whether the colour has no meaning: a grey, the colour of texts, or no colour."""
    return colour in _NEUTRAL_NAMES or _GREY.fullmatch(colour) is not None


def unknown_value_has_a_meaning(document: Document) -> Found:
    """A value that is absent takes the colour of the lowest threshold step."""
    for panel in panels_of(document):
        defaults = panel["fieldConfig"]["defaults"]
        if panel["type"] in _COLOURED:
            yield from _base(panel["title"], defaults)
        for override in panel["fieldConfig"]["overrides"]:
            properties = {each["id"]: each["value"] for each in override["properties"]}
            if "custom.cellOptions" in properties:
                column = override["matcher"]["options"]
                yield from _base(f"{panel['title']}, column {column}", properties)


def _base(where: str, properties: dict[str, Any]) -> Found:
    """Without own steps Grafana's are used: green, and red from 80."""
    steps = properties.get("thresholds", {}).get("steps") or [{"color": "green", "value": None}]
    if not is_neutral(steps[0]["color"]):
        yield where, f"an unknown value is {steps[0]['color']}"


def state_timeline_by_threshold(document: Document) -> Found:
    """With colours by threshold and merged values Grafana ignores the texts of values."""
    for panel in panels_of(document):
        mode = panel["fieldConfig"]["defaults"].get("color", {}).get("mode")
        if panel["type"] == "state-timeline" and mode != "fixed":
            yield panel["title"], f"colour mode {mode} shows '-∞+' instead of the states"


def healthy_state_has_a_colour(document: Document) -> Found:
    """Colour is for exceptions: state 0 of a timeline and good cells of a table are neutral."""
    for panel in panels_of(document):
        if panel["type"] == "state-timeline":
            for mapping in panel["fieldConfig"]["defaults"].get("mappings", []):
                healthy = mapping["options"].get("0")
                if healthy and not is_neutral(healthy["color"]):
                    yield panel["title"], f"'{healthy['text']}' is {healthy['color']}"
        if panel["type"] == "table":
            for override in panel["fieldConfig"]["overrides"]:
                if "green" in _colours(override):
                    column = override["matcher"]["options"]
                    yield panel["title"], f"good cells of column {column} are green"


def _colours(override: dict[str, Any]) -> set[str]:
    properties = {each["id"]: each["value"] for each in override["properties"]}
    if "custom.cellOptions" not in properties:
        return set()
    steps = properties.get("thresholds", {}).get("steps", [])
    states = [
        state for mapping in properties.get("mappings", []) for state in mapping["options"].values()
    ]
    return {each["color"] for each in (*steps, *states)}


def alert_severity_without_a_colour(document: Document) -> Found:
    """A table of alerts marks the severity and has an order."""
    for panel in panels_of(document):
        if panel["type"] != "table" or not _names(panel, "ALERTS"):
            continue
        coloured = {
            override["matcher"]["options"]
            for override in panel["fieldConfig"]["overrides"]
            if _colours(override)
        }
        if not coloured:
            yield panel["title"], "the severity has no colour"
        if not panel.get("options", {}).get("sortBy"):
            yield panel["title"], "the alerts have no order"


def failing_for_heat_alone(document: Document) -> Found:
    """The SMART status is also "failed" while a drive is hot; the alert excludes this case."""
    for panel in panels_of(document):
        if _names(panel, "ssd_smart_healthy{") and not _names(panel, "ssd_smart_critical_warning{"):
            yield panel["title"], "a hot drive counts as failing"


def _names(panel: dict[str, Any], text: str) -> bool:
    return any(text in target["expr"] for target in panel["targets"])


def dark_or_light(document: Document) -> Found:
    """A heatmap is dark where it has much in one theme, and light in the other."""
    for panel in panels_of(document):
        if re.search(r"\b(dark|light)er\b", panel["description"], re.IGNORECASE):
            yield panel["title"], "the description is false in the other theme"


RULES = (
    unknown_value_has_a_meaning,
    state_timeline_by_threshold,
    healthy_state_has_a_colour,
    alert_severity_without_a_colour,
    failing_for_heat_alone,
    dark_or_light,
)
