"""The probe of a write cache: what is judged of a long write, and what is kept of it."""

from pathlib import Path

from exporter.background import slc_files, slc_results
from exporter.background.slc_results import SlcResult
from exporter.background.slc_watch import Written
from exporter.diagnosis.cache_cliff import CacheCliff, CliffRules, cache_cliff
from exporter.diagnosis.cliff_watch import CliffWatch, CliffWatchRules
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
