"""Prints a report and a progress bar with rich.

rich is an optional dependency (extra `report`). Without it, the import of this module raises
ImportError.

All text is passed to rich as `Text`, which is not parsed as markup. Otherwise a model name, which
comes from the drive, could contain markup.
"""

from typing import TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from exporter.report import text_chart
from exporter.report.content import Chart, Report, Table
from exporter.report.table_split import fitting
from exporter.runtime.printable import printable, with_control_characters

#: The number of characters between two columns of `box.SIMPLE_HEAD`.
_GAP = 2

_VERDICT_STYLES = {None: "bold", True: "bold green", False: "bold yellow"}


def write(report: Report, out: TextIO) -> None:
    """Prints the report in colour. `out` is a terminal."""
    console = Console(file=with_control_characters(out), highlight=False, soft_wrap=False)
    console.print(_text(report.title, "bold underline"))
    console.print()
    console.print(_text(report.verdict, _VERDICT_STYLES[report.is_good]))
    console.print()
    if report.facts:
        console.print(_facts(report))
        console.print()
    for part in report.parts:
        console.print(_text(part.title, "bold"))
        if isinstance(part, Chart):
            console.print(_chart(part, console.width))
            continue
        for each in fitting(part, console.width, _GAP):
            console.print(_table(each))
    for note in report.notes:
        line = Grid.grid(padding=(0, 1))
        line.add_row("-", _text(note))
        console.print(line)


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style)


def _facts(report: Report) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in report.facts:
        grid.add_row(_text(name, "dim"), _text(value))
    return grid


def _table(table: Table) -> RenderableType:
    if not table.rows:
        return _text("nothing was measured\n", "dim")
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for number, heading in enumerate(table.columns):
        is_number = number in table.numbers
        grid.add_column(_text(heading), justify="right" if is_number else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*map(_text, row))
    return grid


def _chart(chart: Chart, width: int) -> RenderableType:
    drawn = text_chart.text(chart, width)
    return Text(drawn) if drawn else _text("nothing was measured\n", "dim")


class ColouredBar:
    """Shows a progress bar in colour, and removes it at the end."""

    def __init__(self, out: TextIO) -> None:
        self._progress = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[share]:>5}", markup=False),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=Console(file=with_control_characters(out), highlight=False),
            # No refresh thread, and no redirection of the process's output.
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            transient=True,
            expand=True,
        )
        self._task = self._progress.add_task("", total=None, share="")
        self._is_started = False

    def show(self, words: str, done: float | None) -> None:
        if not self._is_started:
            self._progress.start()
            self._is_started = True
        share = "" if done is None else f"{done * 100:.0f} %"
        total = None if done is None else 1.0
        task = self._progress.tasks[0]
        task.total = total  # update() reads None as "no change"
        self._progress.update(
            self._task,
            completed=done or 0.0,
            description=printable(words),
            share=share,
            refresh=True,
        )

    def close(self) -> None:
        if self._is_started:
            self._progress.stop()
