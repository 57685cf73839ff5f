"""Runs the exporter as a process, with its own port and state directory."""

import http.client
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.web.connection import ClientLimits
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.page import Page
from tests.end_to_end.server_process import ServerProcess, environment
from tests.processes import run_program

_START_SECONDS = PATIENCE_SECONDS
_SERVES = re.compile(r"serves https?://127\.0\.0\.1:(\d+)/")
_SAMPLES = re.compile(r"^ssd_sampler_samples_total (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def command(directory: Path, *flags: str, config: str = "", port: int = 0) -> list[str]:
    """Returns the exporter's arguments; `config` is the text of its configuration file."""
    file = directory / "ssd-exporter.toml"
    file.write_text(config)
    return [
        sys.executable,
        "-m",
        "exporter",
        f"--config.file={file}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--state.directory={directory / 'state'}",
        *flags,
    ]


def run(argv: list[str], more: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Runs a program to its end. Returns exit status, standard output and standard error.

    Raises:
        TimeoutExpired: it did not end.
    """
    ended = run_program(argv, env=environment(more))
    return ended.returncode, ended.stdout, ended.stderr


class Daemon(ServerProcess):
    """A context manager that runs a daemon, from its first page to its end.

    `directory` contains its configuration, log and state. Another daemon with the same directory
    continues from this state. Later flags override earlier ones. `prefix` is a prefix of its
    command, which must execute the exporter in the same process.
    """

    port: int

    def __init__(
        self,
        directory: Path,
        *flags: str,
        config: str = "",
        port: int = 0,
        more: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.state = directory / "state"
        self.config = directory / "ssd-exporter.toml"
        argv = [*prefix, *command(directory, *flags, config=config, port=port)]
        super().__init__(argv, directory / "log", more)

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Sends one request on a new connection; ``Accept_Encoding`` is Accept-Encoding.

        The server ends a request that takes longer than its limit, as on a busy machine. Only then
        the request is sent again.
        """
        begun = time.monotonic()
        while True:
            sent = time.monotonic()
            try:
                answer = self._get(path, method, headers)
            except (OSError, http.client.HTTPException):
                if not _is_too_slow(sent, begun):
                    raise
                continue
            is_error = answer.status == http.HTTPStatus.SERVICE_UNAVAILABLE
            if not (is_error and _is_too_slow(sent, begun)):
                return answer

    def _get(self, path: str, method: str, headers: Mapping[str, str]) -> Answer:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            link.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = link.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, fields, answer.read())
        finally:
            link.close()

    def page(self) -> Page:
        """Returns the page of the last sample."""
        return Page.parse(self._text())

    def next_page(self, samples: int = 1) -> Page:
        """Returns the page right after this number of further samples."""
        wanted = sample_count(self._text()) + samples
        while sample_count(text := self._text()) < wanted:
            time.sleep(0.02)
        return Page.parse(text)

    def _text(self) -> str:
        answer = self.get("/metrics")
        if answer.status != http.HTTPStatus.OK:
            raise AssertionError(f"/metrics: {answer.status}: {answer.body[:200]!r}")
        return answer.body.decode()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def is_ready(self) -> bool:
        """Returns True after the daemon logged its address; sets `port`."""
        said = _SERVES.search(self.log)
        if said is not None:
            self.port = int(said[1])
        return said is not None


def _is_too_slow(sent: float, begun: float) -> bool:
    """True if a request that was sent at `sent` exceeded the server's limit and can be repeated."""
    now = time.monotonic()
    return now - sent >= ClientLimits().request_seconds and now - begun < PATIENCE_SECONDS


def sample_count(text: str) -> int:
    """Returns the number of samples that a page shows."""
    found = _SAMPLES.search(text)
    if found is None:
        raise AssertionError("the page does not say how many samples were taken")
    return int(found[1])
