"""Sizes on the screen: how Grafana divides a window among panels, and how wide texts are.

The numbers were read from renderings of Grafana 12.3 with its default font. They are upper bounds:
a text that fits by these numbers is not cut.
"""

#: The window widths that the layout is checked for, in pixels.
NARROW, WIDE = 1366, 1600

#: Pixels beside the grid of panels, between two panels, and within a panel beside its content.
_MARGIN, _GAP, _PADDING = 32, 8, 16

#: Pixels of a character in a title and in a table; of the information icon; of the sort
#: icon of a column header.
_TITLE_CHARACTER, _CELL_CHARACTER = 8.5, 7.5
_TITLE_ICON, _HEADER_ICON, _CELL_PADDING = 28, 24, 13

COLUMNS = 24


def panel_width(columns: int, window: int = NARROW) -> float:
    """Pixels of a panel that is `columns` of 24 wide."""
    return (window - _MARGIN) / COLUMNS * columns - _GAP


def title_characters(columns: int) -> int:
    """The longest title that is not cut in the narrow window, in characters."""
    return int((panel_width(columns) - _PADDING - _TITLE_ICON) / _TITLE_CHARACTER)


def table_width(columns: int, window: int = NARROW) -> float:
    """Pixels for the columns of a table."""
    return panel_width(columns, window) - _PADDING


def cell_width(text: str) -> float:
    """Pixels of a cell with this text."""
    return len(text) * _CELL_CHARACTER + _CELL_PADDING


def header_width(text: str) -> float:
    """Pixels of a column header with this text and its icon."""
    return len(text) * _CELL_CHARACTER + _HEADER_ICON
