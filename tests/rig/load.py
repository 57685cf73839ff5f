"""Real I/O on the slow disk: fio in its control group, bounded in bytes and in seconds."""

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

from tests.rig.cgroup import RigUnavailable
from tests.rig.slow_disk import SlowDisk

_START_SECONDS = 10.0
_STOP_SECONDS = 3.0

#: fio 3.33 ends its jobs on SIGTERM, reports and exits with 128; kill is the last resort.
_STOPPED = frozenset({0, 128, -signal.SIGTERM, -signal.SIGKILL})


@dataclass(frozen=True, slots=True)
class Job:
    """What one fio job asks of the disk.

    `depth` requests in flight: libaio's own, or psync's threads. The engines look different to
    the kernel: a psync thread waits in io_schedule() and counts in iowait and in pressure; one
    that waits for libaio's completions counts in neither, however slow the disk is. MySQL does
    both: pages by libaio, the redo log's fsync without.

    `rate_iops` is per thread. With it fio lets what is in flight drain whenever it is ahead of
    its rate, so libaio's queue is `depth` only while the disk is slower than that, and 1 in a hang
    that begins while it is not. Afterwards fio makes up for what it missed, as fast as it can.
    """

    pattern: Literal["randread", "randwrite", "randrw", "read", "write"] = "randwrite"
    engine: Literal["libaio", "psync"] = "libaio"
    depth: int = 32
    block_bytes: int = 16 << 10
    rate_iops: int | None = None
    writes_per_fsync: int | None = None

    @property
    def threads(self) -> int:
        return self.depth if self.engine == "psync" else 1


def arguments(path: Path, jobs: Sequence[Job], *, seconds: int, largest_bytes: int) -> list[str]:
    """fio's arguments; the jobs together write or read at most `largest_bytes`."""
    share = largest_bytes // sum(job.threads for job in jobs)
    argv = ["fio", "--thread", "--minimal"]
    for number, job in enumerate(jobs):
        argv += [
            f"--name=job{number}",
            f"--filename={path}",
            # Without it fio makes a file where a device is missing, and exits with 0.
            "--allow_file_create=0",
            "--direct=1",
            f"--ioengine={job.engine}",
            f"--iodepth={job.depth if job.engine == 'libaio' else 1}",
            f"--numjobs={job.threads}",
            f"--rw={job.pattern}",
            f"--bs={job.block_bytes}",
            # Together, and without time_based: whichever comes first ends the job.
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
    """Raises RigUnavailable where fio is not installed."""
    if shutil.which("fio") is None:
        raise RigUnavailable("not installed: fio; apt install fio")


@contextmanager
def load(
    disk: SlowDisk, *jobs: Job, seconds: int = 60, largest_bytes: int = 16 << 30
) -> Iterator[subprocess.Popen[bytes]]:
    """fio at work on `disk`, from its first request to the end of the block.

    Raises:
        RuntimeError: fio failed; its own words are in the text.
        TimeoutError: no request reached the disk in ten seconds.
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
        # A process with requests in flight cannot die, not even of SIGKILL.
        disk.free()
        fio.kill()
        fio.wait(_STOP_SECONDS)
