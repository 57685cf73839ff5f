"""Runs the SMART agent as a process that writes its documents to a directory of the test."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

import exporter
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.daemon import environment
from tests.end_to_end.service_manager import ServiceManager
from tests.processes import resident_kilobytes

_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = PATIENCE_SECONDS
#: As /usr/bin/ssd-exporter of the packages starts it (packaging/install.sh): isolated, and without
#: site-packages. Python 3.10 has no tomllib, so the directory of tomli is added.
_PLACES = [str(Path(exporter.__file__).parents[1])]
if sys.version_info < (3, 11):
    import tomli

    _PLACES.append(str(Path(tomli.__file__).parents[1]))
LAUNCHER = (
    *(sys.executable, "-I", "-S", "-c"),
    f"import sys; sys.path += {_PLACES!r}; from exporter.cli import main; sys.exit(main())",
)


class Agent:
    """A context manager that runs an agent; `settled` waits for its first documents.

    `directory` contains its configuration and log; `documents` is its run directory.
    """

    process: subprocess.Popen[bytes]

    def __init__(self, directory: Path, documents: Path, *flags: str, config: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.documents = documents
        self.config = directory / "agent.toml"
        self.config.write_text(config)
        self._log = directory / "agent.log"
        self._argv = [*LAUNCHER, "smart-agent"]
        self._argv += [f"--config.file={self.config}", *flags]

    def __enter__(self) -> "Agent":  # noqa: PYI034 - Self came with Python 3.11
        self.launch()
        return self

    def launch(self, more: Mapping[str, str] | None = None) -> None:
        """Starts the agent without waiting; `more` are further environment variables."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(more)
            )

    def launch_and_await_ready(self) -> None:
        """Starts the agent and waits until it is ready, as systemd does before the daemon."""
        with closing(ServiceManager(self._log.with_name("notify"))) as manager:
            self.launch(manager.environment)
            manager.await_ready()

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
        """Returns its log so far, including that of earlier processes."""
        return self._log.read_text()

    @property
    def complaints(self) -> list[str]:
        """Returns warnings, errors, and lines that are not log records."""
        return [line for line in self.log.splitlines() if " level=info " not in line]

    def heartbeat(self) -> dict[str, Any]:
        """Returns the heartbeat. Raises FileNotFoundError without one."""
        found: dict[str, Any] = json.loads((self.documents / "agent.json").read_text())
        return found

    def polls(self) -> dict[str, dict[str, Any]]:
        """Returns the last document of each drive, by path."""
        files = [f for f in self.documents.glob("drive-*.json") if ".daily." not in f.name]
        found = [json.loads(file.read_text()) for file in files]
        return {each["path"]: each for each in found}

    def settled(self, drives: int) -> "Agent":
        """Waits until the heartbeat and the documents contain this number of drives."""
        self.wait_until(
            lambda: drives == len(self.polls()) == len(self.heartbeat()["drives"]),
            f"{drives} documents",
        )
        return self

    def wait_until(
        self, is_true: Callable[[], bool], what: str, seconds: float = _START_SECONDS
    ) -> None:
        """Waits for a condition and retries FileNotFoundError; AssertionError on a timeout."""
        until = time.monotonic() + seconds
        while not _or_not_yet(is_true):
            assert self.process.poll() is None, self.log
            assert time.monotonic() < until, f"{what}: {self.log}"
            time.sleep(0.02)

    def resident_kilobytes(self) -> int:
        """Returns the resident memory of the process in KiB."""
        return resident_kilobytes(self.process.pid)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> int:
        """Sends SIGTERM and returns the exit status; kills the process on a timeout and raises."""
        self.process.terminate()
        try:
            return self.process.wait(_STOP_SECONDS)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(_STOP_SECONDS)


def _or_not_yet(is_true: Callable[[], bool]) -> bool:
    try:
        return is_true()
    except FileNotFoundError:
        return False
