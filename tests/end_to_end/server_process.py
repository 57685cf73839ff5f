"""Runs a server as a process whose output is a file."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from tests.duration import PATIENCE_SECONDS
from tests.processes import resident_kilobytes

_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = PATIENCE_SECONDS

#: Variables of a service manager. They are removed, because the tests may run in a service.
_OF_A_MANAGER = frozenset(
    {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM", "STATE_DIRECTORY"}
)

Server = TypeVar("Server", bound="ServerProcess")


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment of a process under test."""
    plain = {name: value for name, value in os.environ.items() if name not in _OF_A_MANAGER}
    return plain | dict(more or {})


class ServerProcess:
    """A context manager that runs a server, from when it is ready to its end.

    Raises:
        RuntimeError: it ended before it was ready; the message contains its log.
        TimeoutError: it was not ready.
    """

    process: "subprocess.Popen[bytes]"
    #: Mode in which the log is opened at each start.
    #: With "ab", the caller must empty the log before a restart if `is_ready` looks for a line.
    log_mode: Literal["wb", "ab"] = "wb"

    def __init__(
        self, argv: Sequence[str], log: Path, more: Mapping[str, str] | None = None
    ) -> None:
        self._argv, self._log, self._more = argv, log, more or {}

    def __enter__(self: Server) -> Server:  # noqa: PYI019 - Self came with Python 3.11
        self.launch()
        try:
            self._wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def launch(self, more: Mapping[str, str] | None = None) -> None:
        """Starts the server without waiting; `more` are further environment variables."""
        with self._log.open(self.log_mode) as log:
            self.process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment({**self._more, **(more or {})}),
            )

    def __exit__(self, *_error: object) -> None:
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

    def is_ready(self) -> bool:
        """Returns True after the server logged that it serves."""
        return True

    def resident_kilobytes(self) -> int:
        """Returns the resident memory of the process in KiB."""
        return resident_kilobytes(self.process.pid)

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

    def _wait_ready(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while not self.is_ready():
            name = type(self).__name__
            if self.process.poll() is not None:
                raise RuntimeError(f"{name} ended with {self.process.returncode}: {self.log}")
            if time.monotonic() >= until:
                raise TimeoutError(f"{name} does not serve: {self.log}")
            time.sleep(0.02)
