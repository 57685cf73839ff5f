"""Prints a report as text. If the output is a terminal and rich is installed, rich prints it."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from exporter.report import text_chart
from exporter.report.content import Chart, Report, Table
from exporter.report.formatting import columns, encodable, has_unicode
from exporter.report.table_split import fitting
from exporter.runtime.printable import printable

#: Width of the output if it is not a terminal, in characters.
_WIDTH = 100

_GAP = "  "


def write(report: Report, out: TextIO) -> None:
    """Prints the report, in colour if the output is a UTF-8 terminal and rich is installed.

    Characters that the encoding of the output lacks are written as escapes.
    """
    if out.isatty() and has_unicode(out):
        try:
            from exporter.report import rich_output  # noqa: PLC0415  rich is an extra
        except ImportError:
            pass
        else:
            rich_output.write(report, out)
            return
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if out.isatty() else _WIDTH
    out.write(encodable("".join(_parts(report, width)), out))


def _parts(report: Report, width: int) -> Iterator[str]:
    title = printable(report.title)
    yield f"{title}\n{'=' * columns(title)}\n\n{_wrapped(report.verdict, width)}"
    if report.facts:
        yield "\n"
        wide = max(columns(printable(name)) for name, _ in report.facts)
        for name, value in report.facts:
            yield f"{_padded(printable(name), wide)}{_GAP}{printable(value)}\n"
    for part in report.parts:
        yield f"\n{printable(part.title)}\n"
        yield _tables(part, width) if isinstance(part, Table) else _chart(part, width)
    if report.notes:
        yield "\n"
    for note in report.notes:
        yield _wrapped(note, width, "- ")


def _wrapped(words: str, width: int, first: str = "") -> str:
    lines = textwrap.wrap(
        printable(words),
        max(width, 20),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(lines) + "\n"


def _chart(chart: Chart, width: int) -> str:
    return text_chart.text(chart, width) or "nothing was measured\n"


def _tables(table: Table, width: int) -> str:
    """Returns the table as text. A wide table is divided, and no cell is cut."""
    return "\n".join(_table(part) for part in fitting(table, width, len(_GAP)))


def _table(table: Table) -> str:
    if not table.rows:
        return "nothing was measured\n"
    rows = [[printable(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "".join(f"{_row(row, widths, table.numbers)}\n" for row in rows)


def _row(row: Sequence[str], widths: Sequence[int], numbers: frozenset[int]) -> str:
    cells = (
        _padded(cell, width, is_number=n in numbers)
        for n, (cell, width) in enumerate(zip(row, widths, strict=False))
    )
    return _GAP.join(cells).rstrip()


def _padded(words: str, width: int, *, is_number: bool = False) -> str:
    padding = " " * (width - columns(words))
    return padding + words if is_number else words + padding
