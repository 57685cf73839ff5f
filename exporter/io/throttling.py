"""Detects that a volume is throttled: its throughput is constant although requests wait.

A provider limits the operations or the bytes of a volume per second. At the limit, one of the two
is the same in every second, and more requests only wait longer. The throughput of a full drive
varies more, but not always: only volumes with a limit are compared.

This module uses no files, no clock and no logs.
"""

from collections import deque
from dataclasses import dataclass

from exporter.io.interval import DiskInterval

#: The comparison starts again after this many intervals in which the volume was not full. The await
#: of a volume at its limit may be near the limit for slow requests, so that some are not.
_LONGEST_GAP = 5.0


@dataclass(frozen=True, slots=True)
class ThrottlingRules:
    """The thresholds of a limit. They apply to cloud volumes only.

    intervals: the volume must have been full in this number of intervals. Up to four others may be
        between two of them.
    deviation_ratio: the standard deviation of the operations per second, or of the bytes per
        second, must be at most this share of their mean.
    """

    intervals: int = 10
    deviation_ratio: float = 0.03


class ThrottlingDetector:
    """Compares the throughput of the last intervals in which one volume was full."""

    __slots__ = ("_last_at", "_rates", "_rules")

    def __init__(self, rules: ThrottlingRules) -> None:
        self._rules = rules
        self._rates: deque[tuple[float, float]] = deque(maxlen=max(rules.intervals, 2))
        self._last_at = 0.0

    def observe(self, now: float, disk: DiskInterval) -> bool:
        """Records an interval in which the volume was full; returns True if it is throttled.

        now: the end of the interval in seconds of any monotonic clock.
        """
        rates, seconds = self._rates, disk.seconds
        if now - self._last_at > _LONGEST_GAP * seconds:
            rates.clear()
        self._last_at = now
        operations = disk.reads + disk.writes
        rates.append((operations / seconds, (disk.read_bytes + disk.written_bytes) / seconds))
        if len(rates) < (rates.maxlen or 0):
            return False
        return any(self._is_constant(values) for values in zip(*rates, strict=True))

    def _is_constant(self, values: tuple[float, ...]) -> bool:
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
        return mean > 0 and variance <= (self._rules.deviation_ratio * mean) ** 2
