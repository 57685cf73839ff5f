"""Draws the layout of dashboards: panels, titles and table columns at their true width.

    python -m tests.dashboards.layout DIRECTORY

writes an SVG file for each dashboard at 1,366 and 1,600 pixels. Data is not drawn, except for the
cells of tables that are passed to `svg`.
"""

import html
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dashboards.builders.screen import NARROW, WIDE, panel_width
from tests.dashboards.documents import FILES, columns_of, read

_ROW, _GAP, _MARGIN, _TOP = 30, 8, 16, 60
_FIRST_SCREEN = 768

#: Rows of a table, by panel title: the texts of each cell.
Cells = dict[str, list[Sequence[str]]]


def svg(document: dict[str, Any], window: int, cells: Cells) -> str:
    """The layout of a dashboard in a window of this width, including collapsed rows' headings."""
    bottom = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in document["panels"])
    height = _TOP + bottom * (_ROW + _GAP)
    drawn = "\n".join(line for panel in document["panels"] for line in _panel(panel, window, cells))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{window}" height="{height}" '
        'font-family="Inter, Helvetica, sans-serif" font-size="14">\n'
        f'<rect width="100%" height="100%" fill="#f4f5f5"/>\n'
        f"{_text(_MARGIN, 30, _variables(document), 13)}\n{drawn}\n"
        f'<line x1="0" x2="{window}" y1="{_FIRST_SCREEN}" y2="{_FIRST_SCREEN}" '
        'stroke="red" stroke-dasharray="6"/>\n</svg>\n'
    )


def _variables(document: dict[str, Any]) -> str:
    named = (
        f"{each['name']}: {'All' if each.get('includeAll') else 'one'}"
        for each in document["templating"]["list"]
        if each.get("hide") != 2
    )
    return f"{document['title']}    {'    '.join(named)}"


def _panel(panel: dict[str, Any], window: int, cells: Cells) -> Iterator[str]:
    grid = panel["gridPos"]
    unit = (window - 2 * _MARGIN) / 24
    left, top = _MARGIN + grid["x"] * unit, _TOP + grid["y"] * (_ROW + _GAP)
    if panel["type"] == "row":
        arrow = "▸" if panel["collapsed"] else "▾"
        hidden = f" ({len(panel['panels'])} panels)" if panel["collapsed"] else ""
        yield _text(left, top + 20, f"{arrow} {panel['title']}{hidden}", 15)
        return
    width, height = panel_width(grid["w"], window), grid["h"] * (_ROW + _GAP) - _GAP
    yield (
        f'<svg x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}">'
        '<rect width="100%" height="100%" fill="white" stroke="#ccc"/>'
    )
    yield _text(8, 20, panel["title"], 14, weight=500)
    if panel["type"] == "table":
        yield from _table(panel, width, cells.get(panel["title"], []))
    else:
        yield _text(8, height / 2 + 10, panel["type"], 12, colour="#999")
    yield "</svg>"


def _table(panel: dict[str, Any], width: float, rows: list[Sequence[str]]) -> Iterator[str]:
    columns = columns_of(panel)
    spare = width - 16 - sum(column.width or 150 for column in columns)
    flexible = {
        override["matcher"]["options"]
        for override in panel["fieldConfig"]["overrides"]
        if any(each["id"] == "custom.minWidth" for each in override["properties"])
    }
    left = 8.0
    for number, column in enumerate(columns):
        wide = (column.width or 150) + (max(spare, 0) if column.title in flexible else 0)
        yield f'<svg x="{left:.1f}" y="32" width="{wide:.1f}" height="100%">'
        yield _text(6, 16, column.title, 14, weight=500)
        for line, row in enumerate(rows):
            yield _text(6, 16 + 30 * (line + 1), row[number], 14)
        yield "</svg>"
        left += wide


def _text(
    x: float, y: float, text: str, size: int, *, weight: int = 400, colour: str = "#24292e"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}" xml:space="preserve">{html.escape(text)}</text>'
    )


def main(directory: Path) -> int:
    for file in FILES:
        for window in (NARROW, WIDE):
            text = svg(read(file), window, {})
            (directory / f"{file.stem}-{window}.svg").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
