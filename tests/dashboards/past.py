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
        super().__init__(directory, target="")
        self._text = openmetrics

    def __enter__(self) -> "Past":  # noqa: PYI034 - Self came with Python 3.11
        self._directory.mkdir(parents=True)
        samples = self._directory / "samples.txt"
        samples.write_text(self._text, encoding="utf-8")
        data = self._directory / "data"
        make_blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
        subprocess.run([*make_blocks, samples, data], check=True, capture_output=True)
        config = self._directory / "prometheus.yml"
        config.write_text("global: {}\n", encoding="utf-8")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={data}",
                    "--storage.tsdb.retention.time=100y",
                    "--web.listen-address=127.0.0.1:0",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait_ready()
        except BaseException:
            self._stop()
            raise
        return self

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
