"""Fills the file that probes read with random data.

The file is written at a limited rate. The guard stops the filling if production needs the device.
The written bytes are charged to the budget of bytes that probes may write. The caller must reserve
them before the filling. The scheduled probes and the measuring commands use this module.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import Profile
from exporter.probe import probe_file
from exporter.probe.fio_run import SAMPLE_INTERVAL_SECONDS
from exporter.probe.gate import GuardSample, Reason, guard
from exporter.probe.probe_directory import ProbeDirectory
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ReadError

#: The write rate in bytes per second. It is low enough to leave the drive usable for production.
#: The default file of 64 MiB takes 1 s.
_BYTES_PER_SECOND = 64 << 20


class FillAborted(ReadError):
    """The filling was stopped, because production needs the device or a limit was reached.

    guard_reason (attribute): why it stopped the filling.
    """

    def __init__(self, path: Path, reason: Reason) -> None:
        super().__init__(f"the guard stopped the filling of {path}: {reason.value}")
        self.guard_reason = reason


class FillGuard:
    """While a file is being filled, checks whether production needs the device.

    size_bytes: the length of the complete file.
    missing_bytes: the number of bytes that must be written.
    written_bytes (attribute): upper bound of the bytes written so far, which are counted against
        the budget.
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
        # No profiles, because the filling makes no direct requests: its chunks go to the page
        # cache, and fdatasync waits for their writeback.
        self._sampler = directory.guard_sampler((), missing_bytes)
        self._samples: deque[GuardSample] = deque(maxlen=max(1, rules.guard_samples) + 1)
        self._samples.append(self._sampler.sample(directory.avail_bytes()))
        self._sampled_at = clock.monotonic()
        # Count one chunk from the start, because a chunk that fails may have been written in part.
        self.written_bytes = min(missing_bytes, probe_file.CHUNK_BYTES)

    def check(self, length_bytes: int) -> Reason | None:
        """Returns why the filling must stop; None means continue.

        It reads the device's counters at most once every `SAMPLE_INTERVAL_SECONDS`.

        length_bytes: the current length of the file.
        """
        written = length_bytes - self._start + probe_file.CHUNK_BYTES
        self.written_bytes = max(0, min(self._missing, written))
        self._sampler.read_servers()
        if self._sampler.servers_starve(self._rules):
            return Reason.CGROUP_PRESSURE
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
    """Fills the file `name` in the directory with random data, up to `size_bytes`.

    missing_bytes: the number of bytes to write, which `bytes_to_fill` returned.
    rules: the limits at which the filling is stopped.
    on_progress: receives the file's length in bytes after each chunk. It may raise an exception to
        stop the filling.
    settle: receives the bytes to count against the budget, also after an error.

    Raises:
        FillAborted: production needs the device, the drive is too hot, or the filesystem is nearly
            full.
        UnsafeProbeFile: the file or the directory is not safe to use, for example because it
            belongs to another user.
        FilesystemFull: the filesystem or a quota is full.
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
            # The file has holes, and `bytes_to_fill` counted its whole length.
            probe_file.remove(path, name)
        probe_file.prepare(path, name, size_bytes, progress=after_chunk)
    finally:
        settle(fill_guard.written_bytes)


class _Pace:
    """Limits the write rate. It does not catch up after a stall, because the device is overloaded.

    length_bytes: the length of the file before the filling.
    """

    def __init__(self, clock: Clock, length_bytes: int) -> None:
        self._clock = clock
        self._length = length_bytes
        self._due = clock.monotonic()

    def wait(self, length_bytes: int) -> None:
        """Sleeps until the next chunk may be written.

        length_bytes: the current length of the file.
        """
        now = self._clock.monotonic()
        added = max(0, length_bytes - self._length)
        self._due = max(now, self._due + added / _BYTES_PER_SECOND)
        self._length = length_bytes
        if self._due > now:
            self._clock.sleep(self._due - now)


def bytes_to_fill(directory: Path, name: str, size_bytes: int) -> int:
    """Returns how many bytes `fill` must write; 0 if the file is complete.

    If a file is long enough but has holes, `fill` replaces it, so all its bytes are missing. An
    aborted run of a profile that writes the whole file leaves such a file.
    """
    missing = probe_file.missing_bytes(directory, name, size_bytes)
    return size_bytes if missing and _length(directory / name) >= size_bytes else missing


def fill_seconds(missing_bytes: int) -> float:
    """Returns the duration of a filling at the limited rate, in seconds."""
    return missing_bytes / _BYTES_PER_SECOND


def filled_bytes(profiles: Iterable[Profile]) -> int:
    """Returns how many bytes at the start of the file must contain data for these profiles."""
    return max((p.size_bytes for p in profiles if not p.writes_whole_file), default=0)


def _length(file: Path) -> int:
    """Returns the file's length in bytes; -1 if there is no file."""
    try:
        return os.lstat(file).st_size
    except OSError:
        return -1
