"""Starts the measured programs as separate processes."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.kernel import Kernel
from tests.unit_file import UnitFile

COMMAND = (sys.executable, "-m", "exporter")
CHECKOUT = Path(__file__).parents[1]
_START = (
    f"import sys; sys.path.append({str(CHECKOUT)!r}); "
    "from exporter.cli import main; sys.exit(main())"
)
#: Equivalent of the launcher of the packages (packaging/install.sh).
LAUNCHER = (sys.executable, "-I", "-S", "-c", _START)
NODE_EXPORTER = "/usr/bin/prometheus-node-exporter"
_NANOSECONDS = 1e9

#: Environment variables that the unit sets (systemd/ssd-exporter.service).
_ENVIRONMENT = UnitFile.read("ssd-exporter").environment()

#: Request headers of a Prometheus server.
HEADERS = {
    "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "Accept-Encoding": "gzip",
}


@dataclass
class Program:
    """A running exporter."""

    name: str
    pid: int
    port: int

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def scrape(self) -> float:
        """Seconds of one scrape over a persistent connection, like that of Prometheus."""
        start = time.perf_counter()
        self._answer(HEADERS)
        return time.perf_counter() - start

    def page(self) -> str:
        """The page as text."""
        return self._answer({}).decode()

    def _answer(self, headers: dict[str, str]) -> bytes:
        self._connection.request("GET", "/metrics", headers=headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200 or not body:
            raise RuntimeError(f"{self.name} answered {response.status}")
        return body

    def cpu_seconds(self) -> float:
        """CPU time of all threads in seconds."""
        return cpu_seconds(self.pid)

    def rss_megabytes(self) -> float:
        return rss_megabytes(self.pid)


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process in seconds.

    Read from schedstat, because stat has a resolution of 10 ms.
    """
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / _NANOSECONDS


def rss_megabytes(pid: int) -> float:
    """Resident memory (VmRSS) of a running process, in units of 1024 * 1024 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has ended")


@contextlib.contextmanager
def ours(
    kernel: Kernel,
    state: Path,
    *flags: str,
    checkout: Path = CHECKOUT,
    command: Sequence[str] = COMMAND,
) -> Iterator[Program]:
    """Runs ssd-exporter, by default that of this checkout."""
    port = _free_port()
    argv = [
        *command,
        f"--web.listen-address=127.0.0.1:{port}",
        f"--path.procfs={kernel.proc}",
        f"--path.sysfs={kernel.sys}",
        f"--state.directory={state}",
        "--log.level=error",
        *flags,
    ]
    with _running("ssd-exporter", argv, port, checkout) as program:
        yield program


@contextlib.contextmanager
def node_exporter(kernel: Kernel) -> Iterator[Program]:
    """Runs Debian's node_exporter with equivalent collectors."""
    port = _free_port()
    argv = [
        NODE_EXPORTER,
        f"--web.listen-address=127.0.0.1:{port}",
        f"--path.procfs={kernel.proc}",
        f"--path.sysfs={kernel.sys}",
        f"--path.udev.data={kernel.sys}",
        "--collector.disable-defaults",
        "--collector.diskstats",
        "--collector.cpu",
        "--collector.stat",
        "--collector.stat.softirq",
        "--collector.pressure",
        "--log.level=error",
    ]
    with _running("node_exporter", argv, port) as program:
        yield program


@contextlib.contextmanager
def _running(
    name: str, argv: Sequence[str], port: int, directory: Path = CHECKOUT
) -> Iterator[Program]:
    # `python -m` imports the package in the working directory.
    process = subprocess.Popen(
        argv, cwd=directory, stdout=subprocess.DEVNULL, env=os.environ | _ENVIRONMENT
    )
    try:
        _await_port(process, port, name)
        yield Program(name, process.pid, port)
    finally:
        process.terminate()
        process.wait(10)


def _await_port(process: "subprocess.Popen[bytes]", port: int, name: str) -> None:
    for _ in range(1000):
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"{name} does not listen")


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
