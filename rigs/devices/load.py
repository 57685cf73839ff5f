"""Generates I/O on the slow disk with fio in its control group, limited in bytes and seconds."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rigs.devices.cgroup import RigUnavailable
from rigs.devices.slow_disk import SlowDisk
from tests.duration import PATIENCE_SECONDS

_START_SECONDS = PATIENCE_SECONDS
_STOP_SECONDS = 3.0

#: fio 3.33 stops its jobs on SIGTERM, writes its report and exits with 128. SIGKILL is the last
#: resort.
_STOPPED = frozenset({0, 128, -signal.SIGTERM, -signal.SIGKILL})


@dataclass(frozen=True, slots=True)
class Job:
    """Parameters of a fio job.

    `depth` is the number of requests in flight: of libaio, or of threads with psync. The kernel
    treats the engines differently: a psync thread waits in io_schedule() and counts in iowait and
    pressure; a thread that waits for libaio completions counts in neither, however slow the disk
    is. MySQL uses both: libaio for pages, fsync for the redo log.

    `rate_iops` is per thread. With it, fio lets the queue drain whenever it is ahead of its rate.
    libaio's queue is therefore `depth` only while the disk is slower than the rate, and 1 in a hang
    that starts while it is not. Afterwards fio catches up at full speed.
    """

    pattern: Literal["randread", "randwrite", "randrw", "read", "write", "randtrim"] = "randwrite"
    engine: Literal["libaio", "psync"] = "libaio"
    depth: int = 32
    block_bytes: int = 16 << 10
    rate_iops: int | None = None
    writes_per_fsync: int | None = None

    @property
    def threads(self) -> int:
        return self.depth if self.engine == "psync" else 1


def arguments(path: Path, jobs: Sequence[Job], *, seconds: int, largest_bytes: int) -> list[str]:
    """Arguments of fio; all jobs together write or read at most `largest_bytes`."""
    share = largest_bytes // sum(job.threads for job in jobs)
    argv = ["fio", "--thread", "--minimal"]
    for number, job in enumerate(jobs):
        argv += [
            f"--name=job{number}",
            f"--filename={path}",
            # Without it fio creates a file if the device is missing, and exits with 0.
            "--allow_file_create=0",
            "--direct=1",
            f"--ioengine={job.engine}",
            f"--iodepth={job.depth if job.engine == 'libaio' else 1}",
            f"--numjobs={job.threads}",
            f"--rw={job.pattern}",
            f"--bs={job.block_bytes}",
            # Both limits without time_based: the first one that is reached ends the job.
            f"--runtime={seconds}",
            f"--io_size={share}",
            "--norandommap",
        ]
        if job.rate_iops is not None:
            argv.append(f"--rate_iops={job.rate_iops}")
        if job.writes_per_fsync is not None:
            argv.append(f"--fsync={job.writes_per_fsync}")
    return argv


def require_fio() -> None:
    """Raises RigUnavailable if fio is not installed."""
    if shutil.which("fio") is None:
        raise RigUnavailable("not installed: fio; apt install fio")


@contextmanager
def load(
    disk: SlowDisk, *jobs: Job, seconds: int = 300, largest_bytes: int = 16 << 30
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs fio on `disk`, from its first request to the end of the block.

    Raises:
        RuntimeError: fio failed; the message contains its output.
        TimeoutError: no request reached the disk.
    """
    argv = arguments(disk.path, jobs, seconds=seconds, largest_bytes=largest_bytes)
    with tempfile.TemporaryFile() as said:
        before = _stat(disk)
        fio = subprocess.Popen(
            [*disk.cgroup.prefix, *argv], stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            _wait_started(disk, fio, before)
            yield fio
        finally:
            _stop(disk, fio)
        if fio.returncode not in _STOPPED:
            said.seek(0)
            text = said.read(4096).decode(errors="backslashreplace").strip()
            raise RuntimeError(f"fio on {disk.path}: exit {fio.returncode}: {text}")


def _stat(disk: SlowDisk) -> str:
    return Path("/sys/block", disk.device, "stat").read_text()


def _wait_started(disk: SlowDisk, fio: subprocess.Popen[bytes], before: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while fio.poll() is None and _stat(disk) == before:
        if time.monotonic() >= until:
            raise TimeoutError(f"{disk.path}: no request in {_START_SECONDS} s")
        time.sleep(0.02)


def _stop(disk: SlowDisk, fio: subprocess.Popen[bytes]) -> None:
    fio.terminate()
    try:
        fio.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # A process with requests in flight cannot exit, not even after SIGKILL.
        disk.free()
        fio.kill()
        fio.wait(PATIENCE_SECONDS)
