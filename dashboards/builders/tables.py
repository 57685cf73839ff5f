"""Builds tables: rows of one expression, with columns for its labels and for other expressions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, prometheus, table
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as prometheus_model

from dashboards.builders import promql as q
from dashboards.builders.panel_parts import DATASOURCE, SELECTION, Frame, Panel, Size, links
from dashboards.builders.screen import header_width, table_width
from dashboards.builders.thresholds import Steps, quiet
from dashboards.builders.words import Words

#: Columns that no table shows.
_DROPPED = ("Time", "__name__")

#: Labels that links read. They stay in the table as hidden columns; other labels are dropped.
_OF_LINKS = ("job", "instance", "device", "page", "drive")

#: Labels in an expression: those that are grouped by, joined, or written.
_LABELS = re.compile(r'\b(?:by|group_left) \(([^)]*)\)|, "(\w+)", "[^"]*", "\w*", "[^"]*"\)')
_LETTERS = "ABCDEFGHIJKLMNOPQRST"


@dataclass(frozen=True, slots=True)
class Label:
    """A column with a label of the rows. `width` is in pixels.

    is_flexible: the column also takes the space that is left.
    """

    name: str
    width: int
    title: str = ""
    is_flexible: bool = False

    @property
    def heading(self) -> str:
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class Column:
    """A column with the values of an expression, or of the rows if `expression` is empty.

    Rows and columns are joined by their common labels. Only exceptions are coloured.
    """

    heading: str
    width: int
    expression: str = ""
    unit: str = "none"
    steps: Steps = ()
    words: Words | None = None
    decimals: int | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The expression whose series are the rows.

    nothing: text of the only row if there are no series; shown in the flexible or widest label.
    is_of_drives: rows have the labels of a drive, and link to it.
    is_partly_of_hosts: some rows have no drive; they link to their host instead.
    """

    expression: str
    nothing: str
    is_of_drives: bool = True
    is_partly_of_hosts: bool = False


def grid(
    title: str,
    description: str,
    rows: Rows,
    *cells: Label | Column,
    size: Size,
    sort_by: str | tuple[str, ...] = (),
) -> Panel:
    """Table of current values, sorted by the columns `sort_by` descending.

    The columns have the order of `cells`.

    Raises:
        ValueError: the columns do not fit in the narrow window, or a heading in its column.
    """
    _check(title, cells, size)
    columns = [cell for cell in cells if isinstance(cell, Column) and cell.expression]
    expressions = [_rows(rows, cells), *(column.expression for column in columns)]
    panel = Frame(title, description, "string", size, rows.nothing).applied_to(table.Panel())
    panel.filterable(False)
    # Rows without a value in a column. The text of the panel is too long for a cell.
    panel.override_by_regexp("/.*/", [model.DynamicConfigValue("noValue", "–")])
    for letter, expression in zip(_LETTERS, expressions, strict=False):
        panel.with_target(
            prometheus.Dataquery()
            .datasource(DATASOURCE)
            .expr(expression)
            .format(prometheus_model.PromQueryFormat.TABLE)
            .editor_mode(prometheus_model.QueryEditorMode.CODE)
            .instant()
            .ref_id(letter)
        )
    for cell in cells:
        panel.override_by_name(cell.heading, _properties(cell, rows))
    unlisted = _unlisted_labels(expressions, cells)
    for label in sorted(unlisted & set(_OF_LINKS)):
        panel.override_by_name(label, [model.DynamicConfigValue("custom.hidden", value=True)])
    panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        model.DataTransformerConfig(id_val="organize", options=_organized(cells, columns, unlisted))
    )
    order = (sort_by,) if isinstance(sort_by, str) else sort_by
    if order:
        panel.sort_by([common.TableSortByFieldState().display_name(n).desc(True) for n in order])
    return panel


def _check(title: str, cells: Sequence[Label | Column], size: Size) -> None:
    used, room = sum(cell.width for cell in cells), table_width(size.width)
    if used > room:
        raise ValueError(f"table {title!r}: {used} pixels of columns in {room:.0f} pixels")
    for cell in cells:
        if header_width(cell.heading) > cell.width:
            needed = header_width(cell.heading)
            raise ValueError(f"table {title!r}: {cell.heading!r} needs {needed:.0f} pixels")


def _rows(rows: Rows, cells: Sequence[Label | Column]) -> str:
    """The expression of the rows, with the labels for display and links, and with the empty row."""
    expression = rows.expression
    if any(cell.heading == "host" for cell in cells):
        expression = _relabelled(expression, "host", "$1", "instance", "(.+?)(:[0-9]+)?")
    if rows.is_partly_of_hosts:
        # "$$" is "$" for Prometheus; $__all is how Grafana writes All in an address.
        # Arrays (md0) are no drives.
        expression = _relabelled(expression, "page", "ssd-drive", "device", ".+")
        expression = _relabelled(expression, "page", "ssd-host-io", "device", "|md.+")
        expression = _relabelled(expression, "drive", "$1", "device", "(.+)")
        expression = _relabelled(expression, "drive", "$$__all", "device", "|md.+")
    labels = [cell for cell in cells if isinstance(cell, Label)]
    widest = max(labels, key=lambda cell: (cell.is_flexible, cell.width))
    return q.or_nothing(expression, widest.name, rows.nothing)


def _relabelled(expression: str, to: str, text: str, label: str, pattern: str) -> str:
    return f'label_replace({expression}, "{to}", "{text}", "{label}", "{pattern}")'


def _unlisted_labels(expressions: Sequence[str], cells: Sequence[Label | Column]) -> set[str]:
    """Labels of the expressions that no column shows. Grafana would append them as columns."""
    found = {
        label.strip()
        for expression in expressions
        for group, written in _LABELS.findall(expression)
        for label in (group or written).split(",")
        if label.strip()
    }
    return found - {cell.name for cell in cells if isinstance(cell, Label)} - {"le"}


def _organized(
    cells: Sequence[Label | Column], columns: Sequence[Column], unlisted: set[str]
) -> dict[str, object]:
    """Options of the transformation that orders, renames and hides columns."""
    # With a single expression Grafana names the column "Value".
    names = {
        column.heading: f"Value #{letter}"
        for letter, column in zip(_LETTERS[1:], columns, strict=False)
    }
    of_rows = "Value #A" if columns else "Value"
    order = [
        cell.name if isinstance(cell, Label) else names.get(cell.heading, of_rows) for cell in cells
    ]
    dropped = sorted(unlisted - set(_OF_LINKS))
    excluded = [*_DROPPED, *dropped, *([] if of_rows in order else [of_rows])]
    hidden = sorted(unlisted & set(_OF_LINKS))
    return {
        "excludeByName": dict.fromkeys(excluded, True),
        "indexByName": {name: index for index, name in enumerate((*order, *hidden))},
        "renameByName": {
            name: cell.heading
            for name, cell in zip(order, cells, strict=True)
            if name != cell.heading
        },
    }


def _properties(cell: Label | Column, rows: Rows) -> list[model.DynamicConfigValue]:
    if isinstance(cell, Label):
        width = "custom.minWidth" if cell.is_flexible else "custom.width"
        properties = [model.DynamicConfigValue(width, cell.width)]
        if rows.is_of_drives and cell.heading in ("device", "host"):
            targets = [link.build() for link in _links(rows)]
            properties.append(model.DynamicConfigValue("links", targets))
        return properties
    properties = [
        model.DynamicConfigValue("custom.width", cell.width),
        model.DynamicConfigValue("unit", cell.unit),
    ]
    decimals = 1 if cell.decimals is None and cell.unit == "percentunit" else cell.decimals
    if decimals is not None:
        properties.append(model.DynamicConfigValue("decimals", decimals))
    if cell.words is not None:
        properties.append(model.DynamicConfigValue("mappings", [cell.words.quiet().mapping()]))
    if cell.steps or cell.words is not None:
        steps = build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE)
        chosen = quiet(cell.steps) or (model.Threshold(value=None, color="transparent"),)
        properties += [
            model.DynamicConfigValue("thresholds", steps.steps(list(chosen)).build()),
            model.DynamicConfigValue("custom.cellOptions", {"type": "color-background"}),
        ]
    return properties


def _links(rows: Rows) -> list[build.DashboardLink]:
    if not rows.is_partly_of_hosts:
        return [*links("__data.fields")]  # type: ignore[list-item]
    return [
        build.DashboardLink("This drive or host").url(
            f"/d/${{__data.fields.page}}?{SELECTION}&var-job=${{__data.fields.job}}"
            "&var-instance=${__data.fields.instance}&var-device=${__data.fields.drive}"
            "&${__url_time_range}"
        )
    ]
