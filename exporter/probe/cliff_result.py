"""Defines the records for the write cache that a long write measured. `cache_cliff` computes them.

The daemon also exports saved results, for which it does not need the code of `cache_cliff`.
"""

from dataclasses import dataclass
from enum import Enum


class CliffResult(str, Enum):
    """What a long write showed about the write cache.

    cliff: the speed fell suddenly and stayed low; this is the end of the cache.
    ramp: the speed declined slowly, because of heat and not because of the end of a cache.
    flat: the speed stayed the same, although more was written than any cache of this drive holds.
    budget: the speed stayed the same until all permitted bytes were written. The cache may be
        larger than that, or it may not have been empty at the start.
    aborted: the write was interrupted, and there was no cliff before.
    disturbed: the speed fell when other processes began to use the drive more.
    """

    CLIFF = "cliff"
    FLAT = "flat"
    RAMP = "ramp"
    ABORTED = "aborted"
    DISTURBED = "disturbed"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class WritePhase:
    """A part of a write in which the speed is nearly constant.

    begin_bytes: the bytes that were written before this part.
    bytes_per_second: the median speed of the part.
    """

    begin_bytes: int
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class CacheCliff:
    """What a long write showed about the write cache. None means unknown.

    written_bytes: the bytes of the whole write.
    phases: the parts with nearly constant speed, in the order of the write. The result `cliff` has
        two to four, `ramp` has none, and the others have one. A very short write has none.
    cache_bytes: the bytes written before the first fall of the speed, for the result `cliff`; else
        None.
    cache_min_bytes: for the results `budget`, `aborted` and `disturbed`: the bytes written before
        the speed fell or the write ended. A cache that was empty at the start has at least this
        size.
    burst_bytes_per_second: the median speed of the first phase.
    sustained_bytes_per_second: the median speed of the last phase.
    """

    result: CliffResult
    written_bytes: int
    phases: tuple[WritePhase, ...] = ()
    cache_bytes: int | None = None
    cache_min_bytes: int | None = None
    burst_bytes_per_second: float | None = None
    sustained_bytes_per_second: float | None = None

    @property
    def falloff_ratio(self) -> float | None:
        """The sustained speed divided by the burst speed; None if one of them is unknown."""
        if self.burst_bytes_per_second is None or self.sustained_bytes_per_second is None:
            return None
        return self.sustained_bytes_per_second / self.burst_bytes_per_second
