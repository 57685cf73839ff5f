"""Compares two readings of a drive's latency monitor: what it counted between them. Pure."""

from dataclasses import dataclass

from exporter.drives.nvme_logs.drive_latency import DriveLatency

#: The monitor states the age of its window in steps of this many seconds.
_STEP_SECONDS = 300.0
#: A counter stays at this value.
_MOST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class LatencyGrowth:
    """The commands that the drive itself counted as slow between two readings of its monitor.

    from_at, until_at: when the monitor was read, as Unix time in seconds.
    least_seconds: the drive counts commands that take at least this time.
    reads, writes: the number of these commands.
    """

    from_at: float
    until_at: float
    least_seconds: float
    reads: int
    writes: int


def latency_growth(
    before: DriveLatency, before_at: float, latency: DriveLatency, at: float
) -> LatencyGrowth | None:
    """Returns what the drive counted between two readings; None if the counters do not tell it.

    They do not tell it if the monitor was off, began a new window, was reset or got other limits
    between the readings, or if its windows are too short to notice that.

    before_at, at: when the monitor was read, as Unix time in seconds.
    """
    if not _is_same_window(before, latency, at - before_at):
        return None
    reads, writes = (_growth(before, latency, operation) for operation in ("read", "write"))
    if reads is None or writes is None:
        return None
    return LatencyGrowth(before_at, at, latency.active[0].min_seconds, reads, writes)


def _is_same_window(before: DriveLatency, latency: DriveLatency, elapsed: float) -> bool:
    """Returns True if both readings are from one window with the same limits.

    In the same window the age grows like the clock. In a new one it is less than before, unless
    nearly a whole window has passed.
    """
    window, aged = latency.window_seconds, latency.active_seconds - before.active_seconds
    return (
        elapsed > 0
        and bool(latency.active)
        and _limits(before) == _limits(latency)
        and window == before.window_seconds
        and (window is None or window >= 2 * (elapsed + _STEP_SECONDS))
        and aged >= 0
        and abs(aged - elapsed) <= 2 * _STEP_SECONDS
    )


def _limits(latency: DriveLatency) -> list[float]:
    return [bucket.min_seconds for bucket in latency.active]


def _growth(before: DriveLatency, latency: DriveLatency, operation: str) -> int | None:
    """Returns the commands of an operation in all buckets; None if a counter decreased or ended."""
    grown = 0
    for old, new in zip(before.active, latency.active, strict=True):
        count, earlier = new.commands(operation).count, old.commands(operation).count
        if count < earlier or count >= _MOST:
            return None
        grown += count - earlier
    return grown
