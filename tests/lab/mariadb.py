"""A real MariaDB with its data on a disk of the rig, and sysbench as writer."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.rig.slow_disk import SlowDisk

THREADS = 4

_PROGRAM_SECONDS = 60
_START_SECONDS = 20.0
_STOP_SECONDS = 20.0

#: Output line of sysbench per second: "[ 7s ] thds: 4 tps: 4690.49 qps: ...".
_SECOND = re.compile(r"^\[ \d+s \] .*?tps: ([0-9.]+) ", re.MULTILINE)

#: The programs stop if the tests are killed.
_WITH_US = ("setpriv", "--pdeathsig=KILL")


@contextmanager
def mariadb(disk: SlowDisk, mountpoint: Path, run: Path) -> Iterator[Path]:
    """Runs a server in the control group of the disk, with root as only account; yields its socket.

    It uses direct I/O like production servers. `run` holds files other than data. Its path must be
    short, because a socket path has at most 107 characters.

    Raises:
        RuntimeError: the server ended or did not respond within twenty seconds; the message
        contains its
            output.
        CalledProcessError: the system tables cannot be created.
    """
    data, socket, said = mountpoint / "data", run / "socket", run / "mariadbd.log"
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
        *(*_WITH_US, *disk.cgroup.prefix, "mariadbd", "--no-defaults", "--user=root"),
        *(f"--datadir={data}", f"--socket={socket}", f"--pid-file={run / 'pid'}"),
        *("--skip-networking", "--innodb-flush-method=O_DIRECT"),
        *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=64M"),
        # Dirty pages are written continuously, as on a busy server. The redo log alone is written
        # by one thread and never fills a queue.
        *("--innodb-max-dirty-pages-pct=0", "--innodb-io-capacity=250"),
    ]
    with said.open("wb") as log:
        server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _await_answer(server, socket, said)
        yield socket
    finally:
        # While the disk is slow, writing the remaining pages takes minutes.
        disk.free()
        _end(server)


@dataclass(frozen=True, slots=True)
class Writers:
    """A running sysbench; `said` is its output file."""

    said: Path

    def per_second(self) -> list[float]:
        """Transactions per second, for each second since the start."""
        return [float(found) for found in _SECOND.findall(self.said.read_text())]


@contextmanager
def writers(socket: Path, *, seconds: int) -> Iterator[Writers]:
    """Runs four threads that insert, update and delete at full speed.

    Raises:
        CalledProcessError: the tables cannot be created.
        RuntimeError: sysbench ended before the block; the message contains its output.
    """
    asked = ["--no-defaults", f"--socket={socket}", "--execute=CREATE DATABASE sbtest"]
    subprocess.run(["mariadb", *asked], check=True, timeout=_PROGRAM_SECONDS)
    sysbench = [
        *("sysbench", "oltp_write_only", f"--mysql-socket={socket}", "--mysql-user=root"),
        *("--tables=2", "--table-size=20000", f"--threads={THREADS}"),
    ]
    subprocess.run(
        [*sysbench, "prepare"], check=True, capture_output=True, timeout=_PROGRAM_SECONDS
    )
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
