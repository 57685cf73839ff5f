"""Random reads past the page cache by this process itself, where there is no fio.

Reads only, one at a time: what a page of InnoDB takes that is not in the buffer pool. On a device
that hangs it hangs, as everything does that reads there; on a thread that has nothing else to do.
"""

import math
import mmap
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ReadError
from exporter.probe.fio_report import JobResult, Op, OpResult, ProbeRun, RunResult
from exporter.probe.profiles import Profile

#: The place of the engine's name in labels.
ENGINE = "python"

#: Latencies are told apart to so many digits in the bins, as fio does to about 1.5 %.
_DIGITS = 2


def fits(profile: Profile) -> bool:
    """Whether this can do what the profile asks for."""
    return not profile.writes and profile.direct and profile.depth == 1 and profile.jobs == 1


def run(profile: Profile, file: Path, clock: Clock, go_on: Callable[[], bool]) -> ProbeRun:
    """Read blocks of the file at random, at the profile's rate, as often as it says.

    `go_on` is asked after each read; where it says no the run is aborted.

    Raises:
        ReadError: the file cannot be read past the cache.
    """
    flags = os.O_RDONLY | os.O_DIRECT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags)
        try:
            # A map of its own begins on a page, as O_DIRECT wants it.
            with mmap.mmap(-1, profile.block_bytes) as page:
                return _run(profile, descriptor, page, clock, go_on)
        finally:
            os.close(descriptor)
    except OSError as e:
        raise ReadError(f"{file} cannot be read past the page cache: {e.strerror or e}") from e


def _run(
    profile: Profile, descriptor: int, page: mmap.mmap, clock: Clock, go_on: Callable[[], bool]
) -> ProbeRun:
    begun = clock.monotonic()
    blocks = profile.size_bytes // profile.block_bytes
    pause = 1 / profile.rate_iops if profile.rate_iops else 0.0
    latencies: list[float] = []
    result = RunResult.SUCCESS
    for number in range(profile.operations_at_most):
        until = begun + number * pause
        if (left := until - clock.monotonic()) > 0:
            clock.sleep(left)
        if clock.monotonic() - begun >= profile.runtime_seconds:
            break
        if not go_on():
            result = RunResult.ABORTED
            break
        block = random.randrange(blocks)  # noqa: S311  a place in a file, no secret
        before = clock.monotonic()
        read = os.preadv(descriptor, [page], block * profile.block_bytes)
        latencies.append(clock.monotonic() - before)
        if read != profile.block_bytes:
            raise OSError(f"{read} bytes came, {profile.block_bytes} were asked for")
    seconds = clock.monotonic() - begun
    ops = {Op.READ: _result(latencies, profile, seconds)} if latencies else {}
    if not latencies and result is RunResult.SUCCESS:
        result = RunResult.FAILED
    return ProbeRun(result, 0, jobs=(JobResult(profile.name, result, 0, seconds, ops),))


def _result(latencies: list[float], profile: Profile, seconds: float) -> OpResult:
    ordered = sorted(latencies)
    count, total = len(ordered), math.fsum(ordered)
    read = count * profile.block_bytes
    return OpResult(
        operations=count,
        bytes=read,
        iops=count / seconds if seconds > 0 else None,
        bytes_per_second=read / seconds if seconds > 0 else None,
        mean_seconds=total / count,
        p50_seconds=ordered[count // 2],
        p99_seconds=ordered[count * 99 // 100],
        p999_seconds=ordered[count * 999 // 1000],
        max_seconds=ordered[-1],
        total_mean_seconds=total / count,
        bins=Counter(_rounded(each) for each in ordered),
    )


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.{_DIGITS}e}")
