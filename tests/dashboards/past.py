"""A Prometheus server with imported blocks and without scraping."""

import subprocess
from pathlib import Path

from tests.end_to_end.prometheus import Prometheus, Series


class Past(Prometheus):
    """A context manager that holds a Prometheus over `openmetrics`, a text of OpenMetrics.

    Raises:
        CalledProcessError: promtool could not read the text.
    """

    def __init__(self, directory: Path, openmetrics: str) -> None:
        super().__init__(directory, "", "--storage.tsdb.retention.time=100y", config="global: {}\n")
        samples = directory / "samples.txt"
        samples.write_text(openmetrics, encoding="utf-8")
        make_blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
        data = directory / "data"
        subprocess.run([*make_blocks, samples, data], check=True, capture_output=True)

    def series(self, selector: str, start: float, end: float) -> list[dict[str, str]]:
        """Labels of the series that a selector matches."""
        asked = {"match[]": selector, "start": f"{start:.0f}", "end": f"{end:.0f}"}
        found: list[dict[str, str]] = self._ask("series", **asked)
        return found

    def between(self, expression: str, start: float, end: float, step: int) -> list[Series]:
        """Values of the expression, one every `step` seconds."""
        asked = {"query": expression, "start": f"{start:.0f}", "end": f"{end:.0f}"}
        found = self._ask("query_range", **asked, step=str(step))["result"]
        return [
            Series(each["metric"], [(float(at), float(value)) for at, value in each["values"]])
            for each in found
        ]
