"""Parts common to all panels: queries, sizes, links, title and description."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as prometheus_model

from dashboards.builders.screen import title_characters
from dashboards.builders.thresholds import Steps

Panel = Builder[model.Panel]

DATASOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")

#: Legends of series with one series for each drive of a host, for each drive of all hosts, and for
#: each host.
DRIVE, FLEET_DRIVE, HOST = "{{device}}", "{{instance}} {{device}}", "{{instance}}"

#: Units that Grafana shows as powers of 1024 ("894 GiB" for a drive of 960 GB), or with a prefix
#: below one ("µp/s").
_MISLEADING_UNITS = frozenset({"bytes", "binBps", "pps"})

#: Shares of time that are computed from a counter of seconds. The time of a scrape varies, so they
#: exceed 1 by some per cent.
_TIME_SHARE = re.compile(r"rate\(\w+_seconds_total\{")

#: Removes the port from the names of series.
_WITHOUT_PORT = model.DataTransformerConfig(
    id_val="renameByRegex", options={"regex": r"(.*?):\d+(?= |$)(.*)", "renamePattern": "$1$2"}
)


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
THIRD = Size(8, 8)
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
    def decimals(self, decimals: float) -> object: ...
    def no_value(self, no_value: str) -> object: ...
    def with_transformation(self, transformation: model.DataTransformerConfig) -> object: ...


@dataclass(frozen=True, slots=True)
class Frame:
    """Settings that every panel has; `nothing` is the text that is shown without data.

    Raises:
        ValueError: the title does not fit, or the unit is misleading.
    """

    title: str
    description: str
    unit: str
    size: Size
    nothing: str

    def __post_init__(self) -> None:
        if len(self.title) > title_characters(self.size.width):
            raise ValueError(f"title {self.title!r} is cut at a width of {self.size.width}")
        if self.unit in _MISLEADING_UNITS:
            raise ValueError(f"unit {self.unit} of {self.title!r} is misleading")

    def applied_to(self, panel: P, queries: Sequence[Query] = ()) -> P:
        """Sets the settings in `panel` and returns it."""
        panel.title(self.title)
        panel.description(self.description)
        panel.datasource(DATASOURCE)
        panel.unit(self.unit)
        panel.span(self.size.width)
        panel.height(self.size.height)
        panel.no_value(self.nothing)
        if self.unit == "percentunit":
            panel.decimals(1)
        if any(HOST in query.legend for query in queries):
            panel.with_transformation(_WITHOUT_PORT)
        return panel


def bounded(queries: Sequence[Query], unit: str) -> list[Query]:
    """Returns the queries, with shares of time limited to 1."""
    return [
        Query(f"clamp_max({query.expression}, 1)", query.legend)
        if unit == "percentunit" and _TIME_SHARE.search(query.expression)
        else query
        for query in queries
    ]


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
    """Links to one drive, to the I/O of its host with this drive, and to its probes.

    `source` is where Grafana reads the labels of the clicked element: "__field.labels" in a graph,
    "__data.fields" in a table. The cluster is that of the variable, because not every series has
    this label and Grafana does not replace a label that is absent.
    """
    return [
        build.DashboardLink(title).url(
            f"/d/{uid}?{SELECTION}&var-job=${{{source}.job}}&var-instance=${{{source}.instance}}"
            f"{device}&${{__url_time_range}}"
        )
        for title, uid, device in (
            ("This drive", "ssd-drive", f"&var-device=${{{source}.device}}"),
            ("I/O of this host", "ssd-host-io", ""),
        )
    ]


#: The part of a link that keeps data source and cluster.
SELECTION = "${datasource:queryparam}&${cluster:queryparam}"
