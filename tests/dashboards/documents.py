"""Parses the JSON files of the dashboards."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[2] / "dashboards"

#: Copies for Grafana's import dialogue.
IMPORT = DIRECTORY.parent / "docs" / "grafana-import"

FILES = sorted(DIRECTORY.glob("*.json"))

#: Values that Grafana inserts for its own variables and for All.
VALUES = {
    "$__rate_interval": "4m",
    "$__range": "1h",
    "$mysql_instance": ".+",
    "$mysql_job": ".+",
    "$instance": ".+",
    "$profile": ".+",
    "$device": ".+",
    "$cluster": ".*",
    "$job": ".+",
    "$host": "(db1|db2)",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One query of a panel or annotation."""

    where: str
    expression: str
    legend: str
    is_instant: bool

    @property
    def filled(self) -> str:
        """The expression with variables replaced; all variables are set to All."""
        return filled(self.expression)


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel with queries, not a row."""

    where: str
    json: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.json["title"])

    @property
    def description(self) -> str:
        return str(self.json["description"])

    @property
    def defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = self.json["fieldConfig"]["defaults"]
        return defaults

    @property
    def targets(self) -> list[Target]:
        return [
            Target(
                f"{self.where} {each['refId']}",
                each["expr"],
                each.get("legendFormat", ""),
                bool(each.get("instant")),
            )
            for each in self.json["targets"]
        ]


def filled(text: str) -> str:
    for variable, value in VALUES.items():
        text = text.replace(variable, value)
    return text


def read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def panels(file: Path) -> list[Panel]:
    """All panels, including those of collapsed rows."""
    return [Panel(f"{file.name}: {each['title']}", each) for each in _all(read(file)["panels"])]


def annotations(file: Path) -> list[Target]:
    return [
        Target(f"{file.name}: annotation {each['name']}", each["expr"], "", is_instant=False)
        for each in read(file).get("annotations", {}).get("list", [])
    ]


def variables(file: Path) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in read(file)["templating"]["list"]}


def every_panel() -> list[Panel]:
    return [panel for file in FILES for panel in panels(file)]


def every_target() -> list[Target]:
    """Queries of all panels and annotations."""
    asked = [target for panel in every_panel() for target in panel.targets]
    return asked + [target for file in FILES for target in annotations(file)]


@dataclass(frozen=True, slots=True)
class Column:
    """A visible column of a table; `width` is None if Grafana chooses it."""

    title: str
    width: int | None


def columns_of(panel: dict[str, Any]) -> list[Column]:
    """Visible columns of a table in their order; empty if the order is not defined."""
    organized = next(t for t in panel["transformations"] if t["id"] == "organize")["options"]
    order = organized.get("indexByName", {})
    titles = [
        organized["renameByName"].get(name, name)
        for name in sorted(order, key=lambda name: int(order[name]))
        if not organized["excludeByName"].get(name)
    ]
    properties = {
        override["matcher"]["options"]: {
            each["id"]: each["value"] for each in override["properties"]
        }
        for override in panel["fieldConfig"]["overrides"]
    }
    return [
        Column(title, _width(properties.get(title, {})))
        for title in titles
        if not properties.get(title, {}).get("custom.hidden")
    ]


def listed_columns(panel: dict[str, Any]) -> set[str]:
    """Columns of a table that have a place in the order or are excluded, by original name."""
    organized = next(t for t in panel["transformations"] if t["id"] == "organize")["options"]
    return {*organized.get("indexByName", {}), *organized["excludeByName"]}


def _width(properties: dict[str, Any]) -> int | None:
    width: int | None = properties.get("custom.width", properties.get("custom.minWidth"))
    return width


def panels_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All panels of a parsed dashboard, including those of collapsed rows."""
    return list(_all(document["panels"]))


def _all(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in found:
        if each["type"] == "row":
            yield from _all(each.get("panels", []))
        else:
            yield each
