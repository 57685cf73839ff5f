"""Runs Debian's Alertmanager with the routes of alerts/, and queries its HTTP API."""

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.duration import PATIENCE_SECONDS

_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = PATIENCE_SECONDS
_LISTENS = re.compile(r'msg="Listening on" address=(127\.0\.0\.1:\d+)')


@dataclass(frozen=True, slots=True)
class Held:
    """An active alert; `by` names the alerts that inhibit it."""

    alert: str
    device: str
    by: frozenset[str]


class Alertmanager:
    """A context manager that runs an Alertmanager; `config` is the text of its configuration.

    Raises:
        RuntimeError: it ended before it was ready; the message contains its log.
        TimeoutError: it was not ready within thirty seconds.
    """

    _process: subprocess.Popen[bytes]
    address: str

    def __init__(self, directory: Path, config: str) -> None:
        self._directory = directory
        self._config = config
        self._log = directory / "log"

    def __enter__(self) -> "Alertmanager":  # noqa: PYI034 - Self came with Python 3.11
        self._directory.mkdir(parents=True)
        config = self._directory / "alertmanager.yml"
        config.write_text(self._config)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus-alertmanager",
                    f"--config.file={config}",
                    f"--storage.path={self._directory / 'data'}",
                    "--web.listen-address=127.0.0.1:0",
                    "--cluster.listen-address=",
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

    def holds(self, instance: str) -> list[Held]:
        """Returns the firing alerts of a host, including inhibited ones."""
        asked = urllib.parse.urlencode({"filter": f'instance="{instance}"'})
        with urllib.request.urlopen(
            f"http://{self.address}/api/v2/alerts?{asked}", timeout=PATIENCE_SECONDS
        ) as answer:
            found = json.load(answer)
        names = {each["fingerprint"]: each["labels"]["alertname"] for each in found}
        return [
            Held(
                each["labels"]["alertname"],
                each["labels"].get("device", ""),
                frozenset(names[by] for by in each["status"]["inhibitedBy"] if by in names),
            )
            for each in found
        ]

    def _wait_ready(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while (listens := _LISTENS.search(self._log.read_text())) is None:
            if self._process.poll() is not None:
                raise RuntimeError(f"alertmanager ended: {self._log.read_text()[-2000:]}")
            if time.monotonic() >= until:
                raise TimeoutError(f"alertmanager is not ready: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)
        self.address = listens[1]

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_STOP_SECONDS)
