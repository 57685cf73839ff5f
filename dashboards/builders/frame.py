"""Builds dashboards: variables, links to the other dashboards, rows and annotations."""

from collections.abc import Iterator
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model

from dashboards.builders import promql
from dashboards.builders.panel_parts import DATASOURCE, Panel

TAG = "ssd-exporter"


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable of a dashboard: the values of `label` in the series of `selector`.

    all_value: pattern for All; if empty, All is the list of all values. pattern: regular expression
    whose first group replaces each value. is_hidden: users cannot change it, so it is always All.
    is_single: exactly one value is selected, at first `default` or else the first one.
    """

    name: str
    selector: str
    label: str
    all_value: str = ""
    pattern: str = ""
    is_hidden: bool = False
    is_single: bool = False
    default: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading. A collapsed row runs no queries until it is opened."""

    title: str
    panels: tuple[Panel, ...]
    is_collapsed: bool = False


@dataclass(frozen=True, slots=True)
class Annotation:
    """Marks the times at which the expression has a value, in every panel.

    is_shown: shown at first; otherwise users switch it on.
    """

    name: str
    expression: str
    title: str
    text: str
    colour: str
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard, written to one JSON file.

    time_from: start of the default time range, as Grafana writes it; the end is now.
    """

    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...]
    annotations: tuple[Annotation, ...] = ()
    time_from: str = "now-3h"


def host_variables(
    family: str = "ssd_exporter_build_info", *, is_single: bool = False
) -> tuple[Variable, ...]:
    """Returns the variables cluster, job and instance of the targets that export `family`.

    Most installations have no label `cluster`; ".*" also matches series without it.
    """
    return (
        Variable("cluster", family, "cluster", all_value=".*"),
        Variable("job", f'{family}{{cluster=~"$cluster"}}', "job", all_value=".+"),
        Variable(
            "instance",
            f'{family}{{cluster=~"$cluster", job=~"$job"}}',
            "instance",
            all_value="" if is_single else ".+",
            is_single=is_single,
        ),
    )


def drive_variable(*, is_single: bool = False) -> Variable:
    """Returns the variable device, whose values are physical drives.

    ssd_device_up has the drives that disappeared, ssd_device_info those without SMART data. All is
    the list of drives. A pattern would also match dm and md devices, and panels would show them
    beside their drives.
    """
    return Variable(
        "device",
        f'{{__name__=~"ssd_device_up|ssd_device_info", {promql.HOST}}}',
        label="device",
        is_single=is_single,
    )


def built_dashboard(dashboard: Dashboard) -> model.Dashboard:
    """Returns the dashboard as a record of the SDK, with panels numbered in display order."""
    builder = (
        build.Dashboard(dashboard.title)
        .uid(dashboard.uid)
        .description(dashboard.description)
        .tags([TAG])
        .readonly()
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .refresh("1m")
        .time(dashboard.time_from, "now")
        .timezone("browser")
        .with_variable(
            build.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
        .link(
            build.DashboardLink("SSD dashboards")
            .type(model.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(True)
            .include_vars(True)
            .keep_time(True)
            .tooltip("The other SSD dashboards, with the same cluster, host, drive and time range")
        )
    )
    for variable in dashboard.variables:
        builder.with_variable(_variable(variable))
    for annotation in dashboard.annotations:
        builder.annotation(_BuiltAnnotation(annotation))
    for row in dashboard.rows:
        heading = build.Row(row.title).collapsed(row.is_collapsed)
        if row.is_collapsed:
            for panel in row.panels:
                heading.with_panel(panel)
        builder.with_row(heading)
        for panel in () if row.is_collapsed else row.panels:
            builder.with_panel(panel)
    record = builder.build()
    # 39 is the version of Grafana 10.4. The SDK writes an older one, from which Grafana would
    # migrate the settings, although they already have the new format.
    record.schema_version = 39
    _close_gaps(record)
    for number, panel_or_row in enumerate(_all(record), start=1):
        panel_or_row.id_val = number
    return record


def _close_gaps(record: model.Dashboard) -> None:
    """Moves panels up, because the SDK reserves space for the panels of collapsed rows."""
    gap = 0
    for panel_or_row in record.panels or ():
        place = panel_or_row.grid_pos
        if place is None:
            continue
        place.y -= gap
        if isinstance(panel_or_row, model.RowPanel) and panel_or_row.panels:
            places = [panel.grid_pos for panel in panel_or_row.panels if panel.grid_pos]
            gap += max(each.y + each.h for each in places) - (place.y + gap + 1)


def _all(record: model.Dashboard) -> Iterator[model.Panel | model.RowPanel]:
    for panel in record.panels or ():
        yield panel
        if isinstance(panel, model.RowPanel):
            yield from panel.panels


def _variable(variable: Variable) -> Builder[model.VariableModel]:
    builder = (
        build.QueryVariable(variable.name)
        .label(variable.name)
        .datasource(DATASOURCE)
        .query(
            {
                "query": f"label_values({variable.selector}, {variable.label})",
                "refId": f"Variable-{variable.name}",
            }
        )
        .multi(not variable.is_single)
        .include_all(not variable.is_single)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.NATURAL_ASC)
    )
    if variable.default:
        chosen = variable.default
        builder.current(model.VariableOption(selected=True, text=chosen, value=chosen))
    if not variable.is_single:
        builder.current(model.VariableOption(selected=True, text=["All"], value=["$__all"]))
    if variable.all_value:
        builder.all_value(variable.all_value)
    if variable.pattern:
        builder.regex(variable.pattern)
    if variable.is_hidden:
        builder.hide(model.VariableHide.HIDE_VARIABLE)
    return builder


class _PrometheusAnnotation(model.AnnotationQuery):
    """Adds fields of the Prometheus data source that the SDK does not write."""

    def __init__(self, annotation: Annotation) -> None:
        super().__init__(
            name=annotation.name,
            datasource=DATASOURCE,
            enable=annotation.is_shown,
            icon_color=annotation.colour,
            expr=annotation.expression,
        )
        self._title = annotation.title
        self._text = annotation.text

    def to_json(self) -> dict[str, object]:
        return super().to_json() | {
            "titleFormat": self._title,
            "textFormat": self._text,
            "step": "60s",
        }


class _BuiltAnnotation(Builder[model.AnnotationQuery]):
    def __init__(self, annotation: Annotation) -> None:
        self._annotation = annotation

    def build(self) -> model.AnnotationQuery:
        return _PrometheusAnnotation(self._annotation)


_UP = promql.of_drive("ssd_device_up")

#: Drives of the day before. A drive counts as replaced if its serial number answers now and did not
#: answer within that day, although another drive answered under the same device name. The offset is
#: the length of the mark. In a range of 60 days Grafana asks for a value every one to two hours; a
#: shorter mark would lie between two of them.
_SEEN_BEFORE = f"last_over_time({_UP}[1d] offset 3h)"

REPLACED = Annotation(
    "Drive replaced",
    f"({_UP} == 1)\n  unless {promql.ON_SERIAL} {_SEEN_BEFORE}\n"
    f"  and {promql.ON_DRIVE} {_SEEN_BEFORE}",
    title="Drive replaced in {{device}}",
    text="The new serial number is {{serial}}.",
    colour="blue",
)

PROBE_RUNS = Annotation(
    "Probe runs",
    f"{promql.of_drive('ssd_probe_running')} == 1",
    title="Probe of ssd-exporter on {{device}}",
    text="Part of this I/O belongs to the probe.",
    colour="purple",
    # A probe runs every few minutes: in a range of a week the marks cover the panels.
    is_shown=False,
)
