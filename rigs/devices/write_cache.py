"""A disk with a filesystem and a simulated write cache: fast for some bytes, then slow."""

import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rigs.devices.cgroup import RigUnavailable
from rigs.devices.slow_disk import SlowDisk
from tests.duration import PATIENCE_SECONDS
from tests.mounts import unmount

#: A simulated write cache for `large_disk`: bytes per second while it has room, its size in bytes,
#: and bytes per second when it is full. The kernel limits a device in slices of a tenth of a
#: second, and `slc` uses the median speed of parts, each 1/32 of the write. At 20 MB/s a part has
#: six slices. At 40 MB/s it has three, and the ratio of the medians can be wrong by 10 %.
FAST, CACHE_BYTES, SLOW = 20_000_000, 300_000_000, 6_000_000

_LOOK_SECONDS = 0.004
_PROGRESS_SECONDS = 0.05

#: The number of pieces of equal bytes in a burst whose speeds are compared: each has many slices.
_BURST_PIECES = 15
_PROGRAM_SECONDS = PATIENCE_SECONDS


@contextmanager
def mounted(disk: SlowDisk, place: Path) -> Iterator[Path]:
    """Creates ext4 on the disk and mounts it at `place`.

    Without a journal, whose writes would run in another control group without limits.

    Raises:
        RigUnavailable: it cannot be created or mounted.
    """
    place.mkdir()
    _run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=0", disk.path)
    _run("mount", "-o", "noatime", disk.path, place)
    try:
        yield place
    finally:
        unmount(place)


@dataclass(slots=True)
class WriteCache:
    """Counts how often the cache was exhausted and recovered.

    progress: the bytes that the kernel counted since the start, several times a second, with the
        time in seconds. It explains a result that differs from the simulated one.
    changes: the times of each end and each recovery, in seconds since the start.
    begun_unix: the Unix time of the start.
    """

    ended: int = 0
    recovered: int = 0
    progress: list[tuple[float, int]] = field(default_factory=list)
    changes: list[float] = field(default_factory=list)
    begun_unix: float = 0.0

    def falloff_ratio(self) -> float:
        """Returns the median speed after the first end of the cache divided by that before it.

        The speeds are those that the kernel counted: on a busy machine, a device can be slower than
        its limit. They are those of pieces of equal bytes, as in the monitor, so that a short stall
        changes only one of them.
        """
        end, recovered, *_ = *self.changes, float("inf"), float("inf")
        burst_bytes = max(written for at, written in self.progress if at <= end)
        piece_bytes = burst_bytes / _BURST_PIECES
        fast, slow = self._speeds(0, end, piece_bytes), self._speeds(end, recovered, piece_bytes)
        return statistics.median(slow) / statistics.median(fast)

    def median_speed(self) -> float:
        """Returns the median speed of all pieces, in bytes per second."""
        written_bytes = max(written for _, written in self.progress)
        return statistics.median(self._speeds(0, float("inf"), written_bytes / _BURST_PIECES))

    def _speeds(self, begin: float, end: float, piece_bytes: float) -> list[float]:
        """Returns the speed of each piece that was written between these times."""
        speeds: list[float] = []
        points = [point for point in self.progress if begin <= point[0] <= end]
        begun, first = points[0]
        for at, written in points:
            if written - first >= piece_bytes:
                speeds.append((written - first) / (at - begun))
                begun, first = at, written
        return speeds


@contextmanager
def write_cache(
    disk: SlowDisk,
    *,
    fast: int,
    slow: int,
    cache_bytes: int,
    back_bytes: int = 0,
    rest_seconds: float = float("inf"),
) -> Iterator[WriteCache]:
    """Limits the disk to `fast` bytes per second until `cache_bytes` are written, then to `slow`.

    After `rest_seconds` without a write, `back_bytes` of the cache are available again.
    """
    seen = WriteCache()
    ending = threading.Event()

    def work() -> None:
        left, last, at = cache_bytes, disk.written_bytes(), time.monotonic()
        is_fast, begin, first = True, at, last
        seen.begun_unix = time.time()
        while not ending.wait(_LOOK_SECONDS):
            now = disk.written_bytes()
            seconds = time.monotonic() - begin
            if seconds >= len(seen.progress) * _PROGRESS_SECONDS:
                seen.progress.append((round(seconds, 2), now - first))
            if now != last:
                left, last, at = left - (now - last), now, time.monotonic()
            if is_fast and left <= 0:
                is_fast, seen.ended = False, seen.ended + 1
                seen.changes.append(seconds)
                disk.throttle(write_bps=slow)
            elif not is_fast and time.monotonic() - at >= rest_seconds:
                is_fast, left, seen.recovered = True, back_bytes, seen.recovered + 1
                seen.changes.append(seconds)
                disk.throttle(write_bps=fast)

    disk.throttle(write_bps=fast)
    thread = threading.Thread(target=work, name="write-cache", daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ending.set()
        thread.join()
        with suppress(OSError):
            disk.free()


def _run(*argv: str | Path) -> None:
    words = [str(word) for word in argv]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=_PROGRAM_SECONDS)
    except subprocess.CalledProcessError as e:
        raise RigUnavailable(f"{' '.join(words)}: exit {e.returncode}: {e.stderr!r}") from e
    except (subprocess.TimeoutExpired, OSError) as e:
        raise RigUnavailable(f"{argv[0]}: {e}") from e
