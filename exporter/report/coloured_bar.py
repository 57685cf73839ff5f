"""A bar of progress by rich (the extra `report`). Importing this raises ImportError without."""

from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column


class ColouredBar:
    def __init__(self, out: TextIO) -> None:
        self._progress = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[share]:>5}", markup=False),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=Console(file=out, highlight=False),
            # No thread beside those that start programs, and nobody's output taken away.
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            transient=True,
            expand=True,
        )
        self._task = self._progress.add_task("", total=None, share="")
        self._is_begun = False

    def show(self, words: str, done: float | None) -> None:
        if not self._is_begun:
            self._progress.start()
            self._is_begun = True
        share = "" if done is None else f"{done * 100:.0f} %"
        total = None if done is None else 1.0
        task = self._progress.tasks[0]
        task.total = total  # update() takes None for no change
        self._progress.update(
            self._task, completed=done or 0.0, description=words, share=share, refresh=True
        )

    def close(self) -> None:
        if self._is_begun:
            self._progress.stop()
