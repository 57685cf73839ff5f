"""The probe of a write cache: what is judged of a long write, and what is kept of it."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.background import slc_files, slc_results
from exporter.background.slc_results import SlcResult
from exporter.background.slc_watch import Written
from exporter.diagnosis.cache_cliff import CacheCliff, CliffRules, cache_cliff
from exporter.diagnosis.cliff_watch import CliffWatch, CliffWatchRules
from exporter.linux.files import Parsed
from exporter.tools.fio_profiles import Profile

RULES = CliffRules()
WATCH_RULES = CliffWatchRules()


def watch(profile: Profile) -> CliffWatch:
    """Says when a write may end: the end of a cache is certain, and more would only wear it."""
    return CliffWatch(WATCH_RULES, RULES, profile.written_bytes_at_most)


def judged(written: Written, capacity_bytes: int | None) -> CacheCliff:
    """What a write that is over shows of a drive of that size."""
    return cache_cliff(
        written.samples, RULES, capacity_bytes=capacity_bytes, was_aborted=written.was_ended
    )


def keep(directory: Path, result: SlcResult) -> SlcResult | None:
    """Write a result down; or, where an earlier one says more and stands, that one.

    Raises:
        OSError: it cannot be written.
    """
    earlier = slc_files.kept(directory, result.drives)
    if slc_results.replaces(result, earlier):
        slc_files.save(directory, result)
        return None
    return earlier


class SlcProbes:
    """The results in a state directory, whoever left them there. `results` is for the page."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._found: tuple[SlcResult, ...] = ()

    def look(self) -> Parsed[None]:
        """Read them all; on a thread that may wait for a disk.

        Raises:
            ReadError: the directory cannot be listed.
        """
        found = slc_files.read_all(self._directory)
        with self._lock:
            self._found = tuple(found.value)
        return Parsed(None, found.faults)

    def results(self, identities: Callable[[], Mapping[str, str]]) -> dict[str, SlcResult]:
        """By the label that each drive has now.

        identities: of the devices by their names; asked only where there is a result.
        """
        with self._lock:
            found = self._found
        return slc_results.by_device(found, identities()) if found else {}
