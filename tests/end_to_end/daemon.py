"""Runs the exporter as a process, with its own port and state directory."""

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from exporter.web.connection import ClientLimits
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.page import Page
from tests.processes import resident_kilobytes

_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = PATIENCE_SECONDS
_SERVES = re.compile(r"serves https?://127\.0\.0\.1:(\d+)/")
_SAMPLES = re.compile(r"^ssd_sampler_samples_total (\d+)$", re.MULTILINE)

#: Variables of a service manager. They are removed, because the tests may run in a service.
_OF_A_MANAGER = frozenset(
    {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM", "STATE_DIRECTORY"}
)


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


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment of a daemon under test."""
    plain = {name: value for name, value in os.environ.items() if name not in _OF_A_MANAGER}
    return plain | dict(more or {})


def run(argv: list[str], more: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Runs a program to its end. Returns exit status, standard output and standard error.

    Raises:
        TimeoutExpired: it did not end.
    """
    ended = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_START_SECONDS,
        check=False,
        env=environment(more),
    )
    return ended.returncode, ended.stdout, ended.stderr


class Daemon:
    """A context manager that runs a daemon, from its first page to its end.

    `directory` contains its configuration, log and state. Another daemon with the same directory
    continues from this state. Later flags override earlier ones. `prefix` is a prefix of its
    command, which must execute the exporter in the same process.

    Raises:
        RuntimeError: it ended before it served; its own words are in the text.
        TimeoutError: it does not serve.
    """

    process: subprocess.Popen[bytes]
    port: int
    #: Mode in which the log is opened at each start.
    #: With "ab", the caller must empty the log before a restart: it contains the port.
    log_mode: Literal["wb", "ab"] = "wb"

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
        self._log = directory / "log"
        self._argv = [*prefix, *command(directory, *flags, config=config, port=port)]
        self._more = more

    def __enter__(self) -> "Daemon":  # noqa: PYI034 - Self came with Python 3.11
        self.launch()
        try:
            self._wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def launch(self) -> None:
        """Starts the daemon without waiting."""
        with self._log.open(self.log_mode) as log:
            self.process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(self._more),
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop()

    @property
    def log(self) -> str:
        """Returns its log so far."""
        return self._log.read_text()

    @property
    def complaints(self) -> list[str]:
        """Returns warnings, errors, and lines that are not log records."""
        return [line for line in self.log.splitlines() if " level=info " not in line]

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

    def resident_kilobytes(self) -> int:
        """Returns the resident memory of the process in KiB."""
        return resident_kilobytes(self.process.pid)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        """Sends SIGTERM and returns the exit status; kills the process on a timeout and raises."""
        self.process.terminate()
        try:
            return self.process.wait(_STOP_SECONDS)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Sends SIGKILL, like the kernel's OOM killer."""
        self.process.kill()
        self.process.wait(_STOP_SECONDS)

    def is_serving(self) -> bool:
        """Returns True after the daemon logged its address; sets `port`."""
        said = _SERVES.search(self.log)
        if said is not None:
            self.port = int(said[1])
        return said is not None

    def _wait_ready(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while not self.is_serving():
            if self.process.poll() is not None:
                raise RuntimeError(f"the daemon ended with {self.process.returncode}: {self.log}")
            if time.monotonic() >= until:
                raise TimeoutError(f"the daemon does not serve: {self.log}")
            time.sleep(0.02)


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
