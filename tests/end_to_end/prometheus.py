"""Runs Debian's Prometheus, which scrapes one target every second, and queries its HTTP API."""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from tests.duration import PATIENCE_SECONDS

_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = PATIENCE_SECONDS
_LISTENS = re.compile(r'msg="Listening on" address=(127\.0\.0\.1:\d+)')

_CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: ssd
    static_configs: [{{targets: ["{target}"]}}]
"""


class Series(NamedTuple):
    """One series of a query result: Unix times and values."""

    labels: dict[str, str]
    points: list[tuple[float, float]]

    @property
    def largest(self) -> float:
        return max(value for _, value in self.points)


class Prometheus:
    """A context manager that runs a Prometheus, which scrapes `target` ("host:port").

    config: the text of another configuration. flags: additional flags of Prometheus.

    Raises:
        RuntimeError: it ended before it was ready; the message contains its log.
        TimeoutError: it was not ready.
    """

    _process: subprocess.Popen[bytes]
    _address: str

    def __init__(
        self, directory: Path, target: str = "", *flags: str, config: str | None = None
    ) -> None:
        self._directory = directory
        self._config = _CONFIG.format(target=target) if config is None else config
        self._flags = flags
        self._log = directory / "log"

    def __enter__(self) -> "Prometheus":  # noqa: PYI034 - Self came with Python 3.11
        self._directory.mkdir(parents=True)
        config = self._directory / "prometheus.yml"
        config.write_text(self._config)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={self._directory / 'data'}",
                    "--web.listen-address=127.0.0.1:0",
                    *self._flags,
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def complaints(self) -> list[str]:
        """Returns the logged warnings and errors."""
        return [line for line in self._log.read_text().splitlines() if " level=info " not in line]

    def query(self, expression: str, at: float) -> list[Series]:
        """Evaluates an expression at a Unix time."""
        found = self._ask("query", query=expression, time=f"{at:.3f}")["result"]
        return [Series(each["metric"], [_point(each["value"])]) for each in found]

    def value(self, expression: str, at: float) -> float:
        """Returns the value of an expression with a single result."""
        found = self.query(expression, at)
        if len(found) != 1:
            raise AssertionError(f"{expression}: {len(found)} series, not one")
        return found[0].largest

    def over(self, expression: str, start: float, end: float) -> list[Series]:
        """Evaluates an expression at every second between two Unix times."""
        asked = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": "1"}
        found = self._ask("query_range", **asked)["result"]
        return [Series(each["metric"], list(map(_point, each["values"]))) for each in found]

    def counts(self, name: str) -> float:
        """Returns the sum of a counter that Prometheus exports about itself."""
        with urllib.request.urlopen(
            f"http://{self._address}/metrics", timeout=PATIENCE_SECONDS
        ) as answer:
            lines = answer.read().decode().splitlines()
        values = [line.rpartition(" ")[2] for line in lines if re.match(rf"{name}[{{ ]", line)]
        if not values:
            raise AssertionError(f"{name}: prometheus has no such counter")
        return sum(map(float, values))

    def kinds(self) -> dict[str, str]:
        """Returns the type of each scraped family, by name."""
        found = self._ask("targets/metadata")
        return {each["metric"]: each["type"] for each in found}

    def wait_for(self, expression: str, seconds: float = PATIENCE_SECONDS) -> float:
        """Waits until the expression has a result, and returns the Unix time of that moment.

        Raises:
            TimeoutError: it has no result within this number of seconds.
        """
        until = time.monotonic() + seconds
        while not self.query(expression, now := time.time()):
            if time.monotonic() >= until:
                raise TimeoutError(f"{expression}: no result in {seconds} s")
            time.sleep(0.1)
        return now

    def _ask(self, what: str, **parameters: str) -> Any:
        address = f"http://{self._address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{what} {parameters}: {e.read()[:500]!r}") from e

    def _wait_ready(self) -> None:
        until = time.monotonic() + _START_SECONDS
        # Prometheus logs its address in another thread, before or after that it is ready.
        while "Server is ready" not in (log := self._log.read_text()) or not _LISTENS.search(log):
            if self._process.poll() is not None:
                raise RuntimeError(f"prometheus ended: {self._log.read_text()[-2000:]}")
            if time.monotonic() >= until:
                raise TimeoutError(f"prometheus is not ready: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)
        self._address = _LISTENS.findall(log)[0]

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_STOP_SECONDS)


def _point(pair: list[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])
