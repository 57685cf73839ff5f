"""Divides a table that is wider than the terminal into narrower tables."""

from dataclasses import replace

from exporter.report.content import Table
from exporter.report.formatting import columns
from exporter.runtime.printable import printable


def fitting(table: Table, width: int, gap: int) -> list[Table]:
    """Returns tables of at most `width` characters that contain all columns of the table.

    Each returned table begins with the columns that name the rows (`Table.keys`). A single column
    is not divided, even if its table is wider than `width`.

    gap: the number of characters between two columns.
    """
    count = len(table.columns)
    rows = (table.columns, *table.rows)
    widths = [
        max(columns(printable(cell)) for cell in column) for column in zip(*rows, strict=True)
    ]
    keys = list(range(min(table.keys, count)))
    groups: list[list[int]] = [list(keys)]
    for column in range(len(keys), count):
        taken = [*groups[-1], column]
        used = sum(widths[n] for n in taken) + gap * (len(taken) - 1)
        if used > width and len(groups[-1]) > len(keys):
            groups.append([*keys, column])
        else:
            groups[-1].append(column)
    if len(groups) == 1:
        return [table]
    return [_part(table, group) for group in groups]


def _part(table: Table, group: list[int]) -> Table:
    """Returns the table with these columns only."""

    def chosen(row: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(row[n] for n in group)

    return replace(
        table,
        columns=chosen(table.columns),
        rows=tuple(map(chosen, table.rows)),
        numbers=frozenset(place for place, n in enumerate(group) if n in table.numbers),
    )
