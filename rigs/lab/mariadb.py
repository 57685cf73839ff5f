"""A real MariaDB with its data on a disk of the rig, and sysbench as writer."""

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rigs.devices.slow_disk import SlowDisk
from tests.duration import PATIENCE_SECONDS

THREADS = 4

_PROGRAM_SECONDS = PATIENCE_SECONDS
_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = PATIENCE_SECONDS

#: Output line of sysbench per second: "[ 7s ] thds: 4 tps: 4690.49 qps: ...".
_SECOND = re.compile(r"^\[ \d+s \] .*?tps: ([0-9.]+) ", re.MULTILINE)

#: Output lines of sysbench at its end: a bucket of the histogram in milliseconds, "  1.234 |** 17",
#: and the percentile.
_BUCKET = re.compile(r"^ +([0-9.]+) \|\** +(\d+)$", re.MULTILINE)
_P99 = re.compile(r"^ +99th percentile: +([0-9.]+)$", re.MULTILINE)

_SLOW_MS = 1000.0

#: The programs stop if the tests are killed.
_WITH_US = ("setpriv", "--pdeathsig=KILL")


@contextmanager
def mariadb(
    disk: SlowDisk, mountpoint: Path, run: Path, prefix: Sequence[str] = ()
) -> Iterator[Path]:
    """Runs a server in the control group of the disk; otherwise as `server`.

    `prefix` is a further prefix of its command.
    """
    with server(mountpoint / "data", run, (*disk.cgroup.prefix, *prefix)) as socket:
        try:
            yield socket
        finally:
            # While the disk is slow, writing the remaining pages takes minutes.
            disk.free()


@contextmanager
def server(data: Path, run: Path, prefix: Sequence[str] = ()) -> Iterator[Path]:
    """Runs a server with a new data directory and root as only account; yields its socket.

    It uses direct I/O like production servers. `run` holds files other than data. Its path must be
    short, because a socket path has at most 107 characters.

    Raises:
        RuntimeError: the server ended or did not respond within twenty seconds; the message
        contains its
            output.
        CalledProcessError: the system tables cannot be created.
    """
    socket, said = run / "socket", run / "mariadbd.log"
    subprocess.run(
        [
            *("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
        ],
        check=True,
        capture_output=True,
        timeout=_PROGRAM_SECONDS,
    )
    argv = [
        *(*_WITH_US, *prefix, "mariadbd", "--no-defaults", "--user=root"),
        *(f"--datadir={data}", f"--socket={socket}", f"--pid-file={run / 'pid'}"),
        *("--skip-networking", "--innodb-flush-method=O_DIRECT"),
        *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=64M"),
        # Dirty pages are written continuously, as on a busy server. The redo log alone is written
        # by one thread and never fills a queue.
        *("--innodb-max-dirty-pages-pct=0", "--innodb-io-capacity=250"),
    ]
    with said.open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _await_answer(process, socket, said)
        yield socket
    finally:
        _end(process)


def status_variables(socket: Path) -> set[str]:
    """Names of SHOW GLOBAL STATUS in lower case.

    Raises:
        CalledProcessError: the server does not answer.
    """
    asked = ["--no-defaults", f"--socket={socket}", "--skip-column-names"]
    said = subprocess.run(
        ["mariadb", *asked, "--execute=SHOW GLOBAL STATUS"],
        check=True,
        capture_output=True,
        text=True,
        timeout=_PROGRAM_SECONDS,
    ).stdout
    return {line.split("\t")[0].lower() for line in said.splitlines()}


@dataclass(frozen=True, slots=True)
class Writers:
    """A running sysbench; `said` is its output file."""

    said: Path

    def per_second(self) -> list[float]:
        """Transactions per second, for each second since the start."""
        return [float(found) for found in _SECOND.findall(self.said.read_text())]


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of sysbench, and its number of connections."""

    count: int = 2
    rows: int = 20_000
    threads: int = THREADS

    def command(self, socket: Path) -> list[str]:
        """Command line of sysbench up to its own command."""
        return [
            *("sysbench", "oltp_write_only", f"--mysql-socket={socket}", "--mysql-user=root"),
            *(f"--tables={self.count}", f"--table-size={self.rows}", f"--threads={self.threads}"),
        ]

    def create(self, socket: Path) -> None:
        """Creates and fills them.

        Raises:
            CalledProcessError: they cannot be created.
        """
        asked = ["--no-defaults", f"--socket={socket}", "--execute=CREATE DATABASE sbtest"]
        subprocess.run(["mariadb", *asked], check=True, timeout=_PROGRAM_SECONDS)
        subprocess.run(
            [*self.command(socket), "prepare"],
            check=True,
            capture_output=True,
            timeout=_PROGRAM_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """What a finished sysbench reports.

    per_second: transactions of each second. p99_seconds: the 99th percentile of their duration.
    slow: the number of transactions that took a second or more.
    """

    per_second: list[float]
    p99_seconds: float
    slow: int

    @property
    def idle_seconds(self) -> int:
        """The number of whole seconds in which no transaction completed."""
        return sum(rate == 0 for rate in self.per_second)


def load(socket: Path, tables: Tables, *, seconds: int) -> Load:
    """Runs sysbench at full speed for this time.

    Raises:
        CalledProcessError: it failed.
    """
    options = [f"--time={seconds}", "--report-interval=1", "--percentile=99", "--histogram"]
    said = subprocess.run(
        [*_WITH_US, *tables.command(socket), *options, "run"],
        check=True,
        capture_output=True,
        text=True,
        timeout=seconds + _PROGRAM_SECONDS,
    ).stdout
    return parse_load(said)


def parse_load(said: str) -> Load:
    """Parses the output of sysbench.

    Raises:
        ValueError: it is not the output of a finished run with a histogram.
    """
    found = _P99.search(said)
    if found is None:
        raise ValueError(f"no percentile: {said[-2000:]}")
    buckets = ((float(ms), int(number)) for ms, number in _BUCKET.findall(said))
    slow = sum(number for ms, number in buckets if ms >= _SLOW_MS)
    return Load([float(tps) for tps in _SECOND.findall(said)], float(found[1]) / 1e3, slow)


@contextmanager
def writers(socket: Path, *, seconds: int) -> Iterator[Writers]:
    """Runs four threads that insert, update and delete at full speed.

    Raises:
        CalledProcessError: the tables cannot be created.
        RuntimeError: sysbench ended before the block; the message contains its output.
    """
    tables = Tables()
    tables.create(socket)
    sysbench = tables.command(socket)
    said = socket.with_name("sysbench.log")
    with said.open("wb") as log:
        load = subprocess.Popen(
            [*_WITH_US, *sysbench, f"--time={seconds}", "--report-interval=1", "run"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield Writers(said)
        if load.poll() is not None:
            raise RuntimeError(f"sysbench ended with {load.returncode}: {said.read_text()}")
    finally:
        _end(load)


def _await_answer(server: subprocess.Popen[bytes], socket: Path, said: Path) -> None:
    ping = ["mariadb-admin", "--no-defaults", f"--socket={socket}", "ping"]
    until = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        if subprocess.run(ping, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise RuntimeError(f"mariadbd does not answer: {said.read_text()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_STOP_SECONDS)
