"""Runs VictoriaMetrics and vmalert, which are built from their Go modules."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rigs.go_programs import installed
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.server_process import ServerProcess
from tests.ports import free_ports

_PACKAGES = "github.com/VictoriaMetrics/VictoriaMetrics/app"


def prometheus(version: str) -> str:
    """Returns the path of a Prometheus of this version, such as v0.316.0."""
    return str(installed("github.com/prometheus/prometheus/cmd/prometheus", version))


class _Victoria(ServerProcess):
    """A program of VictoriaMetrics that listens on a free port of loopback."""

    def __init__(self, program: str, version: str, directory: Path, *flags: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        path = installed(f"{_PACKAGES}/{program}", version)
        argv = [str(path), f"-httpListenAddr={self.address}", *flags]
        super().__init__(argv, directory / f"{program}.log")

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://{self.address}/health", timeout=PATIENCE_SECONDS
            ) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False


class VictoriaMetrics(_Victoria):
    """A context manager that runs a VictoriaMetrics with one node.

    version: the version of the module, such as v1.150.0.
    config: the text of its scrape configuration.
    """

    def __init__(self, version: str, directory: Path, config: str) -> None:
        directory.mkdir(parents=True)
        file = directory / "scrape.yml"
        file.write_text(config)
        places = [f"-promscrape.config={file}", f"-storageDataPath={directory / 'data'}"]
        memory = ["-memory.allowedBytes=200MB", "-retentionPeriod=30d"]
        super().__init__("victoria-metrics", version, directory, *places, *memory)

    def query(self, expression: str) -> list[Any]:
        """Evaluates an expression now."""
        asked = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(
            f"http://{self.address}/api/v1/query?{asked}", timeout=PATIENCE_SECONDS
        ) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
            return found


class Vmalert(_Victoria):
    """A context manager that runs a vmalert, which evaluates rules with its default delays.

    database: the address of VictoriaMetrics.
    manager: the address of Alertmanager.
    """

    def __init__(
        self, version: str, directory: Path, rules: Sequence[str], database: str, manager: str
    ) -> None:
        urls = [f"-{each}.url=http://{database}" for each in _OF_DATABASE]
        files = [f"-rule={each}" for each in rules]
        flags = [*files, *urls, f"-notifier.url=http://{manager}", "-evaluationInterval=30s"]
        super().__init__("vmalert", version, directory, *flags)


_OF_DATABASE = ("datasource", "remoteWrite", "remoteRead")
