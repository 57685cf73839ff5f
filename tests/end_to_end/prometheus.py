"""Runs a Prometheus, which scrapes one target every second, and queries its HTTP API."""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.server_process import ServerProcess

_LISTENS = re.compile(r'msg="Listening on" (?:component=web )?address=(127\.0\.0\.1:\d+)')

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


class Prometheus(ServerProcess):
    """A context manager that runs a Prometheus, which scrapes `target` ("host:port").

    config: the text of another configuration. flags: additional flags of Prometheus.
    program: another Prometheus than that of the package.
    """

    _address: str

    def __init__(
        self,
        directory: Path,
        target: str = "",
        *flags: str,
        config: str | None = None,
        program: str = "prometheus",
    ) -> None:
        directory.mkdir(parents=True)
        file = directory / "prometheus.yml"
        file.write_text(_CONFIG.format(target=target) if config is None else config)
        places = [f"--config.file={file}", f"--storage.tsdb.path={directory / 'data'}"]
        argv = [program, *places, "--web.listen-address=127.0.0.1:0", *flags]
        super().__init__(argv, directory / "log")

    @property
    def address(self) -> str:
        """Returns "host:port"."""
        return self._address

    def query(self, expression: str, at: float) -> list[Series]:
        """Evaluates an expression at a Unix time. The value of a native histogram is its count."""
        found = self._ask("query", query=expression, time=f"{at:.3f}")["result"]
        return [Series(each["metric"], [_instant(each)]) for each in found]

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

    def is_ready(self) -> bool:
        """Prometheus logs its address in another thread, before or after that it is ready."""
        listens = _LISTENS.search(self.log)
        if listens:
            self._address = listens[1]
        return listens is not None and "Server is ready" in self.log


def _instant(result: dict[str, Any]) -> tuple[float, float]:
    if "histogram" in result:
        at, histogram = result["histogram"]
        return _point([at, histogram["count"]])
    return _point(result["value"])


def _point(pair: list[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])
