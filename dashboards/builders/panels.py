"""Builds panels, one function for each kind, so that panels of a kind look and behave alike.

Each function takes a title, a description that explains how to read the panel, and a Grafana unit
("s", "percentunit", "Bps", "decbytes", "iops", "short", "none"). The functions implement the rules
of tests/dashboards/lint_*.py on panels, so that a dashboard cannot break them.
"""

from typing import Literal

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    heatmap,
    stat,
    statetimeline,
    timeseries,
    xychart,
)
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import heatmap as heatmap_model
from grafana_foundation_sdk.models import prometheus as prometheus_model
from grafana_foundation_sdk.models import xychart as xychart_model

from dashboards.builders import promql, thresholds
from dashboards.builders.panel_parts import (
    HALF,
    TILE,
    Frame,
    Panel,
    Query,
    Size,
    bounded,
    dataqueries,
    dataquery,
    links_of,
    threshold_steps,
)
from dashboards.builders.thresholds import Steps, plain
from dashboards.builders.words import Words

#: Panels from this width have the legend beside the graph, narrower ones have it below.
_WIDE, _LEGEND_PIXELS = 12, 250


def timeline(
    title: str,
    description: str,
    unit: str,
    *queries: Query,
    steps: Steps = (),
    size: Size = HALF,
    nothing: str = "no data",
    minimum: float | None = 0,
    maximum: float | None = None,
    style: Literal["line", "stacked", "points"] = "line",
) -> Panel:
    """Graph over time; the thresholds in `steps` are drawn as dashed lines.

    Unit "s" is for latencies, whose axis is logarithmic. The legend is sorted by the maximum.
    """
    queries = tuple(bounded(queries, unit))
    panel = Frame(title, description, unit, size, nothing).applied_to(timeseries.Panel(), queries)
    panel = (
        panel.line_width(1)
        .fill_opacity(60 if style == "stacked" else 0)
        .show_points(common_model.VisibilityMode.NEVER)
        .span_nulls(False)
        .legend(_legend(size))
        .tooltip(
            common.VizTooltipOptions()
            .mode(common_model.TooltipDisplayMode.MULTI)
            .sort(common_model.SortOrder.DESCENDING)
        )
        .data_links(links_of(queries))
    )
    if style == "stacked":
        panel.stacking(common.StackingConfig().mode(common_model.StackingMode.NORMAL))
    if style == "points":
        panel.draw_style(common_model.GraphDrawStyle.POINTS).show_points(
            common_model.VisibilityMode.ALWAYS
        )
    if unit == "s":
        panel.scale_distribution(
            common.ScaleDistributionConfig().type(common_model.ScaleDistribution.LOG).log(10)
        )
    elif minimum is not None:
        panel.min(minimum)
    if maximum is not None:
        panel.max(maximum)
    if steps:
        panel.thresholds(threshold_steps(thresholds.lines(steps))).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(common_model.GraphThresholdsStyleMode.DASHED)
        )
    for target in dataqueries(queries):
        panel.with_target(target)
    return panel


def _legend(size: Size) -> common.VizLegendOptions:
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(common_model.LegendDisplayMode.TABLE)
        .sort_by("Max")
        .sort_desc(True)
    )
    if size.width >= _WIDE:
        right = legend.placement(common_model.LegendPlacement.RIGHT).width(_LEGEND_PIXELS)
        return right.calcs(["max", "lastNotNull"])
    return legend.placement(common_model.LegendPlacement.BOTTOM).calcs(["max"])


def value(
    title: str,
    description: str,
    unit: str,
    *queries: Query,
    steps: Steps = (),
    words: Words | None = None,
    size: Size = TILE,
    nothing: str = "no data",
) -> Panel:
    """Tile with the last value of each series; `words` maps numbers to texts and colours.

    The name is shown beside the value if the legend contains a label. An unknown value is grey.
    """
    queries = tuple(bounded(queries, unit))
    is_named = any("{{" in query.legend for query in queries)
    panel = (
        Frame(title, description, unit, size, nothing)
        .applied_to(stat.Panel(), queries)
        .color_mode(common_model.BigValueColorMode.BACKGROUND)
        .graph_mode(common_model.BigValueGraphMode.NONE)
        .text_mode(
            common_model.BigValueTextMode.VALUE_AND_NAME
            if is_named
            else common_model.BigValueTextMode.AUTO
        )
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .thresholds(threshold_steps(steps or plain("blue")))
        .color_scheme(build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS))
        .data_links(links_of(queries))
    )
    if words is not None:
        panel.mappings([words.mapping()])
    for target in dataqueries(queries, instant=True):
        panel.with_target(target)
    return panel


def states(
    title: str,
    description: str,
    query: Query,
    words: Words,
    *,
    size: Size = HALF,
    nothing: str = "no data",
) -> Panel:
    """State timeline of each series, as texts and colours; state 0 is the healthy one.

    The colour mode is fixed: with colours by threshold Grafana ignores the texts of merged values.
    Without series the panel has one row with the text `nothing`: for an empty result Grafana shows
    an error message instead of that text.
    """
    query = Query(promql.or_nothing(query.expression, "device", nothing), query.legend)
    panel = (
        Frame(title, description, "none", size, nothing)
        .applied_to(statetimeline.Panel(), (query,))
        .mappings([words.faint().mapping()])
        .color_scheme(
            build.FieldColor().mode(model.FieldColorModeId.FIXED).fixed_color(thresholds.UNKNOWN)
        )
        .merge_values(True)
        .show_value(common_model.VisibilityMode.AUTO)
        .row_height(0.85)
        .fill_opacity(80)
        .data_links(links_of((query,)))
    )
    for target in dataqueries((query,)):
        panel.with_target(target)
    return panel


def bars(
    title: str,
    description: str,
    unit: str,
    query: Query,
    *,
    steps: Steps = (),
    size: Size = HALF,
    nothing: str = "no data",
) -> Panel:
    """Bar gauge of the last value of each series."""
    panel = (
        Frame(title, description, unit, size, nothing)
        .applied_to(bargauge.Panel(), (query,))
        .orientation(common_model.VizOrientation.HORIZONTAL)
        .display_mode(common_model.BarGaugeDisplayMode.BASIC)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .thresholds(threshold_steps(steps or plain("blue")))
        .min(0)
        .data_links(links_of((query,)))
    )
    for target in dataqueries((query,), instant=True):
        panel.with_target(target)
    return panel


def buckets(
    title: str,
    description: str,
    unit: str,
    expression: str,
    *,
    size: Size = HALF,
    nothing: str = "no data",
) -> Panel:
    """Heatmap of a histogram: a rate of buckets summed by `le`; `unit` is the unit of `le`."""
    panel = (
        Frame(title, description, unit, size, nothing)
        .applied_to(heatmap.Panel())
        .calculate(False)
        .color(
            heatmap.HeatmapColorOptions()
            .mode(heatmap_model.HeatmapColorMode.SCHEME)
            .scheme("Oranges")
            .steps(64)
        )
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .cell_values(heatmap.CellValues().unit("short"))
    )
    target = dataquery(Query(expression, "{{le}}"), "A")
    return panel.with_target(target.format(prometheus_model.PromQueryFormat.HEATMAP))


def scatter(
    title: str,
    description: str,
    x: tuple[str, str, Query],
    y: tuple[str, str, Query],
    *,
    size: Size = HALF,
    nothing: str = "no data",
) -> Panel:
    """Scatter plot of two series, one point per interval.

    `x` and `y` are each a name, a unit and a query with one series.
    """
    panel = (
        Frame(title, description, y[1], size, nothing)
        .applied_to(xychart.Panel())
        .series_mapping(xychart_model.SeriesMapping.AUTO)
        .dims(xychart.XYDimensionConfig().frame(0).x(x[0]).exclude(["Time"]))
        .show(xychart_model.ScatterShow.POINTS)
        .with_transformation(
            model.DataTransformerConfig(
                id_val="joinByField", options={"byField": "Time", "mode": "outer"}
            )
        )
        .override_by_name(x[0], [model.DynamicConfigValue(id_val="unit", value=x[1])])
    )
    queries = (Query(x[2].expression, x[0]), Query(y[2].expression, y[0]))
    for target in dataqueries(queries):
        panel.with_target(target)
    return panel
