"""Starts and stops the programs of the stack and checks whether they respond."""

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
#: Timeout of the request that checks whether a program is ready.
_RESPONSE_TIMEOUT_SECONDS = 2.0
#: Time between SIGTERM and SIGKILL; Prometheus writes its database at the end.
_STOP_SECONDS = 20.0
#: Lines of a log that contain the reason of a failure.
_REASON = re.compile(r"level=error|^panic: ")


class StackError(Exception):
    """The stack cannot run. The message is a single line and says what to do."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the stack.

    binaries: names of the executable in distributions; the first one in PATH is used. If it is
    empty, `flags` start with the executable. package: Debian package. option: flag of `make stack`
    that sets the port. ready: URL path that returns status 200 when the program is ready.
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
        """Returns the command line.

        Raises:
            StackError: the program is not installed.
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
        """Checks that the port is free.

        Raises:
            StackError: another program listens on it, or listening is not permitted.
        """
        with socket.socket() as listener:
            # All three programs set it too. Without it, connections of an earlier run would block
            # the port for a minute.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((HOST, self.port))
            except OSError as e:
                raise StackError(
                    f"{self.name} cannot listen on {self.address}: {e.strerror}."
                    f" Stop the program that listens there, or select another port with"
                    f" {self.option}=PORT"
                ) from e

    def answers(self) -> bool:
        """Returns True if the program is ready, False if it does not respond."""
        link = http.client.HTTPConnection(HOST, self.port, timeout=_RESPONSE_TIMEOUT_SECONDS)
        try:
            link.request("GET", self.ready)
            return link.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()


def page(program: Program, *paths: str) -> str:
    """Returns the URL of the first path that exists. Without one, it is the URL of the first path.

    The packages of distributions lack some pages: Debian's Prometheus has only the classic ones.
    """
    for path in paths:
        link = http.client.HTTPConnection(HOST, program.port, timeout=_RESPONSE_TIMEOUT_SECONDS)
        try:
            link.request("GET", path)
            if link.getresponse().status == http.HTTPStatus.OK:
                return f"http://{program.address}{path}"
        except (OSError, http.client.HTTPException):
            pass
        finally:
            link.close()
    return f"http://{program.address}{paths[0]}"


class Running:
    """A started program. If this process is killed, setpriv makes the kernel stop the program."""

    def __init__(self, program: Program, directory: Path) -> None:
        self.program = program
        self.log = directory / f"{program.name}.log"
        argv = program.argv()
        if setpriv := shutil.which("setpriv"):
            argv = [setpriv, "--pdeathsig=TERM", *argv]
        with self.log.open("wb") as log:
            self._process = _start(argv, log)

    @property
    def status(self) -> int | None:
        """Exit status, or None while the program runs."""
        return self._process.poll()

    def failure_reason(self) -> str:
        """Returns the last error in the log, or the last line if the log contains no error."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        # Go prints stack traces after the reason.
        reasons = [line for line in lines if _REASON.search(line)]
        return (reasons or lines or ["the log is empty"])[-1][:500]

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Sends SIGKILL and waits until the program has ended."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Sends SIGTERM."""
        self._process.terminate()

    def wait(self) -> None:
        """Waits until the program exits; kills it after a timeout."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _start(argv: list[str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    # A new session: Ctrl-C reaches only this process, which sends SIGTERM to each program.
    return subprocess.Popen(  # noqa: S603 - our own command lines, no shell
        argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )


def exporter(port: int, directory: Path) -> Program:
    """The exporter of this checkout."""
    command = (sys.executable, "-m", "exporter")
    flags = (f"--web.listen-address={HOST}:{port}", f"--state.directory={directory / 'exporter'}")
    return Program("ssd-exporter", (), "", port, "--exporter", "/metrics", (*command, *flags))


def prometheus(port: int, directory: Path, config: Path) -> Program:
    """Prometheus with a retention of 60 days, which the dashboards need for comparisons."""
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
    """Alertmanager without clustering. Its executable has a different name in Debian."""
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
