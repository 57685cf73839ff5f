"""Fills the file that probes read: at a limited rate, under guard, and counted for the budget.

The scheduled probes and the measuring commands share it. The caller reserves the bytes before.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ReadError
from exporter.probe import probe_file
from exporter.probe.fio_run import SAMPLE_INTERVAL_SECONDS
from exporter.probe.gate import GateRules, GuardSample, Reason, guard
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.profiles import Profile

#: The write rate, low enough for production on the same drive. The default file takes 1 s.
_BYTES_PER_SECOND = 64 << 20


class FillAborted(ReadError):
    """The guard stopped the filling; `guard_reason` says why."""

    def __init__(self, path: Path, reason: Reason) -> None:
        super().__init__(f"the guard stopped the filling of {path}: {reason.value}")
        self.guard_reason = reason


class FillGuard:
    """Checks while a file is filled whether production needs the device.

    size_bytes: the length to fill to. missing_bytes: how many of these bytes the file lacks.
    written_bytes (attribute): upper bound of the bytes written so far, for the budget.
    """

    def __init__(
        self,
        directory: ProbeDirectory,
        rules: GateRules,
        clock: Clock,
        size_bytes: int,
        missing_bytes: int,
    ) -> None:
        self._directory = directory
        self._rules = rules
        self._clock = clock
        self._start = size_bytes - missing_bytes
        self._missing = missing_bytes
        # Without own requests in flight: chunks go to the page cache, and fdatasync waits for their
        # writeback.
        self._sampler = directory.guard_sampler(())
        self._samples: deque[GuardSample] = deque(maxlen=max(1, rules.guard_samples))
        self._samples.append(self._sampler.sample(directory.avail_bytes()))
        self._sampled_at = clock.monotonic()
        # One chunk from the start: a chunk that fails may have been written in part.
        self.written_bytes = min(missing_bytes, probe_file.CHUNK_BYTES)

    def check(self, length_bytes: int) -> Reason | None:
        """Returns why the filling must stop; None to continue.

        length_bytes: the length that the file has reached. Reads the device's counters once every
        `SAMPLE_INTERVAL_SECONDS`.
        """
        written = length_bytes - self._start + probe_file.CHUNK_BYTES
        self.written_bytes = max(0, min(self._missing, written))
        now = self._clock.monotonic()
        if now - self._sampled_at < SAMPLE_INTERVAL_SECONDS:
            return None
        self._sampled_at = now
        self._samples.append(self._sampler.sample(self._directory.avail_bytes()))
        return guard(tuple(self._samples), self._rules)


def fill(
    directory: ProbeDirectory,
    name: str,
    size_bytes: int,
    missing_bytes: int,
    *,
    rules: GateRules,
    clock: Clock,
    on_progress: Callable[[int], None],
    settle: Callable[[int], None],
) -> None:
    """Fill the file `name` up to `size_bytes` with random data.

    missing_bytes: the result of `bytes_to_fill`.
    on_progress: receives the file's length after each chunk; it may raise to stop.
    settle: receives the bytes to charge, also after an error.

    Raises:
        FillAborted: the guard stopped it.
        UnsafeProbeFile, FilesystemFull: as `probe_file.prepare`.
    """
    path = directory.path
    fill_guard = FillGuard(directory, rules, clock, size_bytes, missing_bytes)
    pace = _Pace(clock, size_bytes - missing_bytes)

    def after_chunk(length_bytes: int) -> None:
        reason = fill_guard.check(length_bytes)
        on_progress(length_bytes)
        if reason is not None:
            raise FillAborted(path / name, reason)
        pace.wait(length_bytes)

    try:
        if _length(path / name) >= size_bytes:
            # It has holes; `bytes_to_fill` counted all of it.
            probe_file.remove(path, name)
        probe_file.prepare(path, name, size_bytes, progress=after_chunk)
    finally:
        settle(fill_guard.written_bytes)


class _Pace:
    """Limits the write rate. After a stall it does not catch up: the device is overloaded then."""

    def __init__(self, clock: Clock, length_bytes: int) -> None:
        self._clock = clock
        self._length = length_bytes
        self._due = clock.monotonic()

    def wait(self, length_bytes: int) -> None:
        """Sleep until the file may be longer than `length_bytes`."""
        now = self._clock.monotonic()
        added = max(0, length_bytes - self._length)
        self._due = max(now, self._due + added / _BYTES_PER_SECOND)
        self._length = length_bytes
        if self._due > now:
            self._clock.sleep(self._due - now)


def bytes_to_fill(directory: Path, name: str, size_bytes: int) -> int:
    """Returns how many bytes `fill` writes; 0 for a file that is complete.

    A file that is long enough but has holes counts as missing in full: `fill` replaces it. An
    aborted run of a profile that writes the whole file leaves such a file.
    """
    missing = probe_file.missing_bytes(directory, name, size_bytes)
    return size_bytes if missing and _length(directory / name) >= size_bytes else missing


def fill_seconds(missing_bytes: int) -> float:
    """Returns how long filling takes on a drive that is faster than the limited rate."""
    return missing_bytes / _BYTES_PER_SECOND


def filled_bytes(profiles: Iterable[Profile]) -> int:
    """Returns how many bytes of the file must hold data before these profiles run."""
    return max((p.size_bytes for p in profiles if not p.writes_whole_file), default=0)


def _length(file: Path) -> int:
    """Returns the file's length in bytes; -1 without a file."""
    try:
        return os.lstat(file).st_size
    except OSError:
        return -1
