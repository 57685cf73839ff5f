"""Builds tables: one row for each drive, one column for each expression."""

from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, prometheus, table
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as prometheus_model

from dashboards.panel_parts import DATASOURCE, Panel, Size, links
from dashboards.thresholds import Steps
from dashboards.words import Words

#: Columns that every result of Prometheus contains and no table shows.
_DROPPED = ("Time", "__name__")


@dataclass(frozen=True, slots=True)
class Column:
    """One expression with one value for each row; rows are joined by their common labels.

    With an empty `unit` only the labels of the expression are shown, not its value.
    """

    name: str
    expression: str
    unit: str = ""
    steps: Steps = ()
    words: Words | None = None
    decimals: int | None = None


def grid(
    title: str,
    description: str,
    *columns: Column,
    size: Size,
    nothing: str = "no data",
    sort_by: str = "",
    is_linked: bool = True,
) -> Panel:
    """Table of current values, one row for each label set, sorted by `sort_by` descending."""
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit("short")
        .span(size.width)
        .height(size.height)
        .no_value(nothing)
        .filterable(True)
    )
    # `nothing` is shown for a table without rows; it is too long for an empty cell.
    panel.override_by_regexp("/.*/", [model.DynamicConfigValue("noValue", "–")])
    # With a single expression Grafana names the column "Value".
    values = (
        [f"Value #{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"[: len(columns)]]
        if len(columns) > 1
        else ["Value"]
    )
    for letter, column in zip("ABCDEFGHIJKLMNOPQRST", columns, strict=False):
        panel.with_target(
            prometheus.Dataquery()
            .datasource(DATASOURCE)
            .expr(column.expression)
            .format(prometheus_model.PromQueryFormat.TABLE)
            .editor_mode(prometheus_model.QueryEditorMode.CODE)
            .instant()
            .ref_id(letter)
        )
        if column.unit:
            panel.override_by_name(column.name, _properties(column))
    hidden = [value for value, column in zip(values, columns, strict=True) if not column.unit]
    panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        model.DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": dict.fromkeys((*_DROPPED, *hidden), True),
                "renameByName": {
                    value: column.name
                    for value, column in zip(values, columns, strict=True)
                    if column.unit
                },
            },
        )
    )
    if sort_by:
        panel.sort_by([common.TableSortByFieldState().display_name(sort_by).desc(True)])
    if is_linked:
        # The links read the job from this column. It is hidden, because readers do not need it.
        panel.override_by_name("job", [model.DynamicConfigValue("custom.hidden", value=True)])
        for label in ("device", "instance"):
            targets = [link.build() for link in links("__data.fields")]
            panel.override_by_name(label, [model.DynamicConfigValue("links", targets)])
    return panel


def _properties(column: Column) -> list[model.DynamicConfigValue]:
    properties = [model.DynamicConfigValue("unit", column.unit)]
    if column.decimals is not None:
        properties.append(model.DynamicConfigValue("decimals", column.decimals))
    if column.words is not None:
        properties.append(model.DynamicConfigValue("mappings", [column.words.mapping()]))
    if column.steps:
        steps = build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE)
        properties.append(
            model.DynamicConfigValue("thresholds", steps.steps(list(column.steps)).build())
        )
    if column.steps or column.words is not None:
        properties.append(
            model.DynamicConfigValue("custom.cellOptions", {"type": "color-background"})
        )
    return properties
