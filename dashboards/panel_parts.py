"""Parts common to all panels: queries, sizes, links, title and description."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as prometheus_model

from dashboards.thresholds import Steps

Panel = Builder[model.Panel]

DATASOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")

#: Legends of series with one series for each drive, and one for each host.
DRIVE, HOST = "{{instance}} {{device}}", "{{instance}}"


@dataclass(frozen=True, slots=True)
class Query:
    """An expression and the legend of its series."""

    expression: str
    legend: str = DRIVE


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a panel: width in columns (of 24), height in rows of the grid."""

    width: int = 12
    height: int = 8


HALF = Size(12, 8)
TILE = Size(4, 5)

P = TypeVar("P", bound="_Builder")


class _Builder(Protocol):
    """Methods that all panel builders of the SDK have. Each one modifies the builder."""

    def title(self, title: str) -> object: ...
    def description(self, description: str) -> object: ...
    def datasource(self, datasource: model.DataSourceRef) -> object: ...
    def span(self, w: int) -> object: ...
    def height(self, h: int) -> object: ...
    def unit(self, unit: str) -> object: ...
    def no_value(self, no_value: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Frame:
    """Settings that every panel has; `nothing` is the text that is shown without data."""

    title: str
    description: str
    unit: str
    size: Size
    nothing: str

    def applied_to(self, panel: P) -> P:
        """Sets the settings in `panel` and returns it."""
        panel.title(self.title)
        panel.description(self.description)
        panel.datasource(DATASOURCE)
        panel.unit(self.unit)
        panel.span(self.size.width)
        panel.height(self.size.height)
        panel.no_value(self.nothing)
        return panel


def dataqueries(queries: Sequence[Query], *, instant: bool = False) -> list[prometheus.Dataquery]:
    """Builds the targets A, B, C, ...; `instant` requests only the current values."""
    return [
        dataquery(query, name, instant=instant)
        for query, name in zip(queries, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False)
    ]


def dataquery(query: Query, name: str, *, instant: bool = False) -> prometheus.Dataquery:
    target = (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(query.expression)
        .legend_format(query.legend)
        .editor_mode(prometheus_model.QueryEditorMode.CODE)
        .ref_id(name)
    )
    return target.instant() if instant else target.range()


def threshold_steps(steps: Steps) -> Builder[model.ThresholdsConfig]:
    return build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(list(steps))


def links_of(queries: Sequence[Query]) -> list[Builder[model.DashboardLink]]:
    """Links to the drive and host, or to the host only, depending on what the legends name."""
    legends = " ".join(query.legend for query in queries)
    if DRIVE in legends:
        return links("__field.labels")
    return links("__field.labels")[1:] if HOST in legends else []


def links(source: str) -> list[Builder[model.DashboardLink]]:
    """Links to one drive and to its host.

    `source` is where Grafana reads the labels of the clicked element: "__field.labels" in a graph,
    "__data.fields" in a table.
    """
    return [
        build.DashboardLink(title).url(
            f"/d/{uid}?${{datasource:queryparam}}&var-job=${{{source}.job}}"
            f"&var-instance=${{{source}.instance}}{device}&${{__url_time_range}}"
        )
        for title, uid, device in (
            ("This drive", "ssd-drive", f"&var-device=${{{source}.device}}"),
            ("I/O of this host", "ssd-host-io", ""),
        )
    ]
