"""Runs the SMART agent as a process that writes its documents to a directory of the test."""

import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import exporter
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.server_process import ServerProcess
from tests.end_to_end.service_manager import ServiceManager

_START_SECONDS = PATIENCE_SECONDS
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


class Agent(ServerProcess):
    """A context manager that runs an agent; `settled` waits for its first documents.

    `directory` contains its configuration and log; `documents` is its run directory. The log also
    contains the lines of earlier processes.
    """

    log_mode = "ab"

    def __init__(self, directory: Path, documents: Path, *flags: str, config: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.documents = documents
        self.config = directory / "agent.toml"
        self.config.write_text(config)
        argv = [*LAUNCHER, "smart-agent", f"--config.file={self.config}", *flags]
        super().__init__(argv, directory / "agent.log")

    def launch_and_await_ready(self) -> None:
        """Starts the agent and waits until it is ready, as systemd does before the daemon."""
        with closing(ServiceManager(self._log.with_name("notify"))) as manager:
            self.launch(manager.environment)
            manager.await_ready()

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

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)


def _or_not_yet(is_true: Callable[[], bool]) -> bool:
    try:
        return is_true()
    except FileNotFoundError:
        return False
