"""The probe's file is filled before it is read, at a bearable pace, and charged for."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from exporter.background.probe_budget import ProbeBudget
from exporter.background.probe_directory import ProbeDirectory
from exporter.background.probe_ledger import FILESYSTEM_FACTOR
from exporter.clock import Clock
from exporter.errors import ReadError
from exporter.tools import probe_file
from exporter.tools.fio_profiles import Profile, Rw

#: The default file takes a second.
_BYTES_PER_SECOND = 64 << 20


class Stopping(ReadError):
    """The exporter ends while the file is filled."""


class Filling:
    """Prepares the file of a directory for some profiles."""

    def __init__(
        self,
        directory: ProbeDirectory,
        budget: ProbeBudget,
        clock: Clock,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._directory = directory
        self._budget = budget
        self._clock = clock
        self._is_stopping = is_stopping

    def prepared(self, profiles: Sequence[Profile]) -> Path | None:
        """The file, filled as far as it is read; None where the budget does not hold that.

        Raises:
            Refused, NoSpace: it cannot be used or made.
            Stopping: the exporter ends.
            OSError: the budget cannot be written down.
        """
        path, name = self._directory.path, self._directory.file
        filled = max((p.size_bytes for p in profiles if not writes_whole(p)), default=0)
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

    def _fill(self, size: int, missing: int) -> None:
        path, name = self._directory.path, self._directory.file
        begun = self._clock.monotonic()
        start = size - missing
        # Where it ends in the middle of a piece, that may have been written all the same.
        written = min(missing, probe_file.CHUNK_BYTES)

        def progress(at: int) -> None:
            nonlocal written
            written = max(0, min(missing, at - start + probe_file.CHUNK_BYTES))
            if self._is_stopping():
                raise Stopping(f"{path} is not filled: the exporter ends")
            due = begun + max(0, at - start) / _BYTES_PER_SECOND
            if (left := due - self._clock.monotonic()) > 0:
                self._clock.sleep(left)

        try:
            probe_file.prepare(path, name, size, progress=progress)
            written = missing
        finally:
            self._directory.note_charge(self._budget.settle(written, None))


def writes_whole(profile: Profile) -> bool:
    """It goes over the file once from end to end, so that nothing needs to be there before."""
    return profile.rw is Rw.WRITE and profile.number_ios is None


def charged(written_bytes: int) -> int:
    """What the budget reserves for them."""
    return FILESYSTEM_FACTOR * written_bytes


def _length(file: Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return -1
