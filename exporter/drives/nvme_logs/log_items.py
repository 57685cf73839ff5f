"""Reads log pages that consist of items, each with an identifier, like the attributes of ATA.

Intel introduced such a page, and several makers use it with identifiers of their own. The items
have no fixed order, and a drive leaves out what it does not report.
"""

from dataclasses import dataclass

from exporter.drives.nvme_logs.log_layout import (
    LogField,
    Values,
    add_constants,
    read_fields,
    require_content,
)
from exporter.runtime.errors import ParseError


@dataclass(frozen=True, slots=True)
class ItemLayout:
    """The layout of a page of items.

    page, size, name, source: as in `LogLayout`.
    item_bytes: the size of an item. Its first byte is its identifier; 0 means that it is empty.
    start: the position of the first item.
    fields: identifiers and the numbers in the item. Offsets are within the item.
    constants: as in `LogLayout`.
    by_position: the identifiers in `fields` are the positions of the items, from 0. The page is
        documented so; an empty item is still left out.
    sums: the fields of which the numbers of several items are added.
    """

    page: int
    size: int
    name: str
    source: str
    fields: tuple[tuple[int, LogField], ...]
    constants: tuple[tuple[str, str, int], ...] = ()
    item_bytes: int = 12
    start: int = 0
    by_position: bool = False
    sums: frozenset[str] = frozenset()


def items(layout: ItemLayout, data: bytes) -> dict[int, bytes]:
    """Returns the items of a page, keyed by identifier, or by position if the layout says so."""
    found: dict[int, bytes] = {}
    ends = range(layout.start, layout.size - layout.item_bytes + 1, layout.item_bytes)
    for position, at in enumerate(ends):
        item = data[at : at + layout.item_bytes]
        if item[0]:
            found.setdefault(position if layout.by_position else item[0], item)
    return found


def read_items(layout: ItemLayout, data: bytes) -> Values:
    """Returns the values in a page of items, keyed by the field of `NvmeLogValues`.

    Raises:
        ParseError: the page is truncated or empty, or it has none of the known items.
    """
    require_content(data, layout.size, layout.name)
    present = items(layout, data)
    values: Values = {}
    for identifier, field in layout.fields:
        number = (
            read_fields((field,), present.get(identifier, b"")) if identifier in present else {}
        )
        for name, value in number.items():
            if name in layout.sums:
                values[name] = values.get(name, 0) + value
            else:
                values.setdefault(name, value)
    if not values:
        raise ParseError(f"{layout.name}: another page: it has none of the known items")
    add_constants(values, layout.constants)
    return values
