"""Prints each query of the dashboards with its result on the scene, as a Markdown table.

    python -m tests.dashboards.query_table [DIRECTORY]

starts a Prometheus with the scene and one without any family of the dashboards. With a directory it
also draws the layouts with the rows of the tables.
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from dashboards.builders.screen import NARROW, WIDE
from tests.dashboards.documents import FILES, Target, columns_of, every_target, panels, read
from tests.dashboards.layout import Cells, svg
from tests.dashboards.past import Past
from tests.dashboards.scene import END, START, STEP, openmetrics
from tests.end_to_end.prometheus import Series


def answer(past: Past, target: Target) -> list[Series]:
    if target.is_instant:
        return past.query(target.filled, END)
    return past.between(target.filled, START, END, STEP)


def _example(series: Series) -> str:
    labels = [
        text
        for name, text in series.labels.items()
        if name not in {"job", "cluster", "page", "drive", "__name__", "serial"}
    ]
    return f"{' '.join(labels)[:70]} = {series.points[-1][1]:.4g}"


def main(directory: Path | None) -> int:
    with tempfile.TemporaryDirectory() as text:
        here = Path(text)
        empty = f"another_family 1 {START}\n# EOF\n"
        with Past(here / "all", openmetrics()) as past, Past(here / "none", empty) as nothing:
            sys.stdout.write(
                "| query | series | example | without the family |\n|---|---|---|---|\n"
            )
            for target in every_target():
                found, absent = answer(past, target), answer(nothing, target)
                example = _example(found[0]) if found else "–"
                sys.stdout.write(
                    f"| {target.where} | {len(found)} | {example} | "
                    f"{_example(absent[0]) if absent else 'no series'} |\n"
                )
            if directory is not None:
                _draw(past, directory)
    return 0


def _draw(past: Past, directory: Path) -> None:
    for file in FILES:
        cells: Cells = {}
        for panel in panels(file):
            if panel.json["type"] == "table":
                first = answer(past, panel.targets[0])
                cells[panel.title] = [_row(panel.json, series) for series in _sorted(first)]
        for window in (NARROW, WIDE):
            text = svg(read(file), window, cells)
            (directory / f"{file.stem}-{window}.svg").write_text(text, encoding="utf-8")


def _sorted(found: list[Series]) -> list[Series]:
    return sorted(found, key=lambda series: -series.largest)[:12]


def _row(panel: dict[str, Any], series: Series) -> list[str]:
    """Cells of the columns that the first query fills."""
    organized = next(t for t in panel["transformations"] if t["id"] == "organize")["options"]
    names = {title: name for name, title in organized["renameByName"].items()}
    row = []
    for column in columns_of(panel):
        name = names.get(column.title, column.title)
        is_value = re.fullmatch(r"Value( #A)?", name)
        row.append(f"{series.largest:g}" if is_value else series.labels.get(name, "–"))
    return row


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else None))
