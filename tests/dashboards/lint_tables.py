"""Rules on tables: order and width of columns, labels, links, and the empty table."""

from collections.abc import Iterator
from typing import Any

from dashboards.builders.screen import header_width, table_width
from tests.dashboards.documents import columns_of, panels_of

Document = dict[str, Any]
Found = Iterator[tuple[str, str]]


def _tables(document: Document) -> Iterator[dict[str, Any]]:
    return (panel for panel in panels_of(document) if panel["type"] == "table")


def label_as_a_number(document: Document) -> Found:
    """A unit for numbers also formats labels: serial number 0x3e5e9a12 becomes "1.05 Bil"."""
    for panel in _tables(document):
        unit = panel["fieldConfig"]["defaults"]["unit"]
        if unit != "string":
            yield panel["title"], f"labels are formatted with unit {unit}"


def columns_by_alphabet(document: Document) -> Found:
    for panel in _tables(document):
        if not columns_of(panel):
            yield panel["title"], "the columns are in the alphabetical order of the labels"


def columns_of_equal_width(document: Document) -> Found:
    for panel in _tables(document):
        missing = [c.title for c in columns_of(panel) if c.width is None]
        if missing or not columns_of(panel):
            yield panel["title"], f"no width: {', '.join(missing) or 'all columns'}"


def header_is_cut(document: Document) -> Found:
    for panel in _tables(document):
        for column in columns_of(panel):
            if column.width is not None and column.width < header_width(column.title):
                yield panel["title"], f"'{column.title}' does not fit in {column.width} pixels"


def column_beyond_the_screen(document: Document) -> Found:
    for panel in _tables(document):
        room = table_width(panel["gridPos"]["w"])
        used = sum(column.width or 0 for column in columns_of(panel))
        if used > room:
            yield panel["title"], f"{used} pixels of columns in {room:.0f} pixels"


def empty_table_is_blank(document: Document) -> Found:
    """A joined table without rows shows its headers only, and never the text for no data."""
    for panel in _tables(document):
        if "vector(" not in panel["targets"][0]["expr"]:
            yield panel["title"], "blank if there is nothing to show"


def column_is_hidden_by_a_label(document: Document) -> Found:
    """A label that is hidden also hides a column of values with the same heading."""
    for panel in _tables(document):
        shown, hidden = set(), set()
        for override in panel["fieldConfig"]["overrides"]:
            properties = {each["id"] for each in override["properties"]}
            name = override["matcher"]["options"]
            shown |= {name} if properties & {"custom.width", "custom.minWidth"} else set()
            hidden |= {name} if "custom.hidden" in properties else set()
        for name in sorted(shown & hidden):
            yield panel["title"], f"column {name} is never visible"


def link_to_a_dash(document: Document) -> Found:
    """An alert of a host has no device, and the link leads to a drive with the name "–"."""
    for panel in _tables(document):
        if not any("ALERTS{" in target["expr"] for target in panel["targets"]):
            continue
        for override in panel["fieldConfig"]["overrides"]:
            for each in override["properties"]:
                urls = [link["url"] for link in each["value"]] if each["id"] == "links" else []
                if any("var-device=${__data.fields.device}" in url for url in urls):
                    yield panel["title"], "a row without a drive links to the drive –"


RULES = (
    label_as_a_number,
    columns_by_alphabet,
    columns_of_equal_width,
    header_is_cut,
    column_beyond_the_screen,
    empty_table_is_blank,
    column_is_hidden_by_a_label,
    link_to_a_dash,
)
