"""Determines which CPUs complete the requests of block devices.

A driver with a single queue completes requests in the softirq BLOCK. So does the kernel if another
CPU than the one with the interrupt has to complete a request. An NVMe drive that has a queue for
each CPU completes requests in hard interrupts, and no count shows those of one CPU.

This module uses no files, no clock and no logs.
"""

from collections.abc import Mapping

from exporter.linux.files import RawFile
from exporter.linux.softirqs import parse_block

#: Minimum time between two readings that are compared, in seconds. A page may be requested twice in
#: a row.
_LEAST_SECONDS = 0.5


class BlockCompletions:
    """Compares the last two readings of /proc/softirqs.

    The readings are parsed only when `shares` is called, because a CPU is rarely saturated.
    """

    __slots__ = ("_last", "_previous", "_shares")

    def __init__(self) -> None:
        self._previous: tuple[float, RawFile] | None = None
        self._last: tuple[float, RawFile] | None = None
        self._shares: dict[int, float] | None = None

    def observe(self, now: float, raw: RawFile | None) -> None:
        """Records a reading at the monotonic time `now`, in seconds; None is not recorded."""
        if raw is None or (self._last is not None and now - self._last[0] < _LEAST_SECONDS):
            return
        self._previous, self._last, self._shares = self._last, (now, raw), None

    def shares(self, least_per_second: float) -> Mapping[int, float]:
        """Returns the share of each CPU in all completions, 0 to 1, keyed by CPU number.

        The result is empty before the second reading.

        least_per_second: a CPU with fewer BLOCK softirqs per second between the last two readings
            is left out. After a change of this value, the result is that of the old one until the
            next reading.
        """
        if self._previous is None or self._last is None:
            return {}
        if self._shares is None:
            (begin, before), (end, after) = self._previous, self._last
            counts, least = parse_block(before), least_per_second * (end - begin)
            # The count of a CPU that was offline may start again at 0.
            grown = {
                cpu: max(count - counts[cpu], 0)
                for cpu, count in parse_block(after).items()
                if cpu in counts
            }
            total = sum(grown.values())
            self._shares = {
                cpu: count / total for cpu, count in grown.items() if count >= least and total
            }
        return self._shares
