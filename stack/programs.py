"""The three programs: how each is called, and whether it runs and answers."""

import http.client
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HOST = "127.0.0.1"
_ANSWER_SECONDS = 2.0
_STOP_SECONDS = 20.0
_REASON = re.compile(r"level=error|^panic: ")


class StackError(Exception):
    """The stack cannot run; the text is one line for the one who started it."""


@dataclass(frozen=True, slots=True)
class Program:
    """One of the three.

    binaries: names that distributions give it, the first that is in PATH is taken; none where
    `flags` already begin with a program. ready: a path that answers 200 when it works.
    """

    name: str
    binaries: tuple[str, ...]
    package: str
    port: int
    option: str
    ready: str
    flags: tuple[str, ...]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def argv(self) -> list[str]:
        """The command.

        Raises:
            StackError: it is not installed.
        """
        if not self.binaries:
            return list(self.flags)
        for binary in self.binaries:
            if path := shutil.which(binary):
                return [path, *self.flags]
        raise StackError(
            f"{self.name} is not installed: no {' or '.join(self.binaries)} in PATH"
            f" (Debian: apt-get install {self.package})"
        )

    def require_free_port(self) -> None:
        """See that nobody listens where it will.

        Raises:
            StackError: somebody does, or we may not.
        """
        with socket.socket() as found:
            # As all three do, so that connections of a stack that has just ended are no hindrance.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                found.bind((HOST, self.port))
            except OSError as e:
                raise StackError(
                    f"{self.name} cannot listen on {self.address}: {e.strerror}."
                    f" End what listens there, or choose another with {self.option}=PORT"
                ) from e

    def answers(self) -> bool:
        """Whether it works by now."""
        link = http.client.HTTPConnection(HOST, self.port, timeout=_ANSWER_SECONDS)
        try:
            link.request("GET", self.ready)
            return link.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()


class Running:
    """A program that was started; it ends with us, also where we are killed (setpriv)."""

    def __init__(self, program: Program, directory: Path) -> None:
        self.program = program
        self.log = directory / f"{program.name}.log"
        argv = program.argv()
        if setpriv := shutil.which("setpriv"):
            argv = [setpriv, "--pdeathsig=TERM", *argv]
        with self.log.open("wb") as log:
            self._process = _started(argv, log)

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """What it gave as the reason, as one line; what it said last where it gave none."""
        said = self.log.read_text(errors="replace").strip().splitlines()
        # Go prints where it was after the reason.
        reasons = [line for line in said if _REASON.search(line)]
        return (reasons or said or ["it said nothing"])[-1][:500]

    def end(self) -> None:
        """SIGTERM."""
        self._process.terminate()

    def wait(self) -> None:
        """Until it has ended; what does not is killed."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _started(argv: list[str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    # A session of its own: ctrl-C is ours to pass on, as one SIGTERM to each.
    return subprocess.Popen(  # noqa: S603 - our own command lines, no shell
        argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )


def exporter(port: int, directory: Path) -> Program:
    """The exporter of this checkout."""
    command = (sys.executable, "-m", "exporter")
    flags = (f"--web.listen-address={HOST}:{port}", f"--state.directory={directory / 'exporter'}")
    return Program("ssd-exporter", (), "", port, "--exporter", "/metrics", (*command, *flags))


def prometheus(port: int, directory: Path, config: Path) -> Program:
    """Prometheus, which keeps what the dashboards compare: 60 days."""
    return Program(
        "prometheus",
        ("prometheus",),
        "prometheus",
        port,
        "--prometheus",
        "/-/ready",
        (
            f"--config.file={config}",
            f"--storage.tsdb.path={directory / 'prometheus'}",
            "--storage.tsdb.retention.time=60d",
            f"--web.listen-address={HOST}:{port}",
        ),
    )


def alertmanager(port: int, directory: Path, config: Path) -> Program:
    """Alertmanager, alone and not in a cluster; Debian calls it otherwise than its makers."""
    return Program(
        "alertmanager",
        ("prometheus-alertmanager", "alertmanager"),
        "prometheus-alertmanager",
        port,
        "--alertmanager",
        "/-/ready",
        (
            f"--config.file={config}",
            f"--storage.path={directory / 'alertmanager'}",
            f"--web.listen-address={HOST}:{port}",
            "--cluster.listen-address=",
        ),
    )
