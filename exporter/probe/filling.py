"""The probe's file is filled before it is read: at a bearable pace, guarded, and charged for."""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ReadError
from exporter.probe import probe_file
from exporter.probe.budget import ProbeBudget
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR
from exporter.probe.fio_run import SAMPLE_INTERVAL_SECONDS
from exporter.probe.gate import GateRules, GuardSample, Reason, guard
from exporter.probe.probe_directory import ProbeDirectory
from exporter.probe.profiles import Profile, Rw

log = logging.getLogger(__name__)

#: The default file takes a second.
_BYTES_PER_SECOND = 64 << 20


class ShuttingDown(ReadError):
    """The exporter ends while the file is filled."""


class FillAborted(ReadError):
    """The guard ended the filling; `why` is its reason."""

    def __init__(self, path: Path, reason: Reason) -> None:
        super().__init__(f"{path} is not filled now; the guard says {reason.value}")
        self.why = reason


class FillGuard:
    """Looks on while a file is filled, as `run_fio` does while fio runs.

    missing_bytes: of the file, up to `size_bytes`. written_bytes: what may be written by now.
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
        # Each piece goes to the page cache; what reaches the device is waited for before the next.
        self._watch = directory.guard_sampler(())
        self._samples: deque[GuardSample] = deque(maxlen=max(1, rules.guard_samples))
        self._samples.append(self._watch.sample(directory.avail_bytes()))
        self._looked_at = clock.monotonic()
        # Where it ends in the middle of a piece, that may have been written all the same.
        self.written_bytes = min(missing_bytes, probe_file.CHUNK_BYTES)

    def check(self, at: int) -> Reason | None:
        """Why it must end, now that the file reaches to `at`; a look every LOOK_SECONDS."""
        written = at - self._start + probe_file.CHUNK_BYTES
        self.written_bytes = max(0, min(self._missing, written))
        now = self._clock.monotonic()
        if now - self._looked_at < SAMPLE_INTERVAL_SECONDS:
            return None
        self._looked_at = now
        self._samples.append(self._watch.sample(self._directory.avail_bytes()))
        return guard(tuple(self._samples), self._rules)


class ProbeFileFiller:
    """Prepares the file of a directory for some profiles."""

    def __init__(
        self,
        directory: ProbeDirectory,
        budget: ProbeBudget,
        clock: Clock,
        rules: GateRules,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._directory = directory
        self._budget = budget
        self._clock = clock
        self._rules = rules
        self._is_stopping = is_stopping

    def prepare(self, profiles: Sequence[Profile]) -> Path | None:
        """The file, filled as far as it is read; None where the budget does not hold that.

        Raises:
            Refused, NoSpace: it cannot be used or made.
            Stopping: the exporter ends.
            Unwelcome: production needs the device, or the drive gets too hot or full.
            OSError: the budget cannot be written down.
        """
        path, name = self._directory.path, self._directory.file
        filled = filled_bytes(profiles)
        if missing := probe_file.missing_bytes(path, name, filled):
            if _length(path / name) >= filled:
                # It has holes, as an aborted run that was to write it whole leaves them.
                probe_file.remove(path, name)
                missing = filled
            # What is refused is not written, and need not be charged time and again.
            probe_file.look(path, name)
            if self._budget.reserve(self._directory.drive, "filling", missing) is None:
                return None
            self._fill(filled, missing)
        size = max(profile.size_bytes for profile in profiles)
        probe_file.prepare(path, name, size, fill=False)
        return probe_file.check(path, name, size)

    def shorten(self) -> None:
        """After a run that wrote the file whole: no more of it stays than the others read."""
        size = filled_bytes(each.profile for each in self._directory.results.profiles.values())
        try:
            probe_file.shorten(self._directory.path, self._directory.file, size)
        except ReadError as e:
            log.warning("the file of the probes stays as long as it is: %s", e)

    def _fill(self, size: int, missing: int) -> None:
        path, name = self._directory.path, self._directory.file
        guarded = FillGuard(self._directory, self._rules, self._clock, size, missing)
        due, before = self._clock.monotonic(), size - missing

        def progress(at: int) -> None:
            nonlocal due, before
            reason = guarded.check(at)
            if self._is_stopping():
                raise ShuttingDown(f"{path} is not filled: the exporter ends")
            if reason is not None:
                raise FillAborted(path / name, reason)
            now = self._clock.monotonic()
            # What was late stays late: a device that stalled is in no need of haste.
            due = max(now, due + max(0, at - before) / _BYTES_PER_SECOND)
            before = at
            if due > now:
                self._clock.sleep(due - now)

        try:
            probe_file.prepare(path, name, size, progress=progress)
        finally:
            self._directory.record_charge(self._budget.settle(guarded.written_bytes, None))


def writes_whole(profile: Profile) -> bool:
    """It goes over the file once from end to end, so that nothing needs to be there before."""
    return profile.rw is Rw.WRITE and profile.number_ios is None


def filled_bytes(profiles: Iterable[Profile]) -> int:
    """How much of the file must be there before these run: what they do not write themselves."""
    return max((each.size_bytes for each in profiles if not writes_whole(each)), default=0)


def charged(written_bytes: int) -> int:
    """What the budget reserves for them."""
    return FILESYSTEM_FACTOR * written_bytes


def _length(file: Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return -1
