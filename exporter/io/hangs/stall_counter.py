"""Counts the seconds in which requests of one device hang: all of them, some, or one of many.

This module uses no files, no clock and no logs.
"""

import math

from exporter.config.disk_rules import DiskRules
from exporter.io.hangs.partial_hang import PartialHangDetector
from exporter.io.hangs.single_hang import SingleHangDetector
from exporter.io.interval import DiskInterval, hung_share

#: Minimum length of a stall in seconds. It is less than 1.0, because two samples may be slightly
#: less than a second apart. It is more than the shortest interval: a volume that is refilled once a
#: second completes nothing in between.
_STALL_SECONDS = 0.9


class StallCounter:
    """Counts stalls. The detectors exist from the first interval on that needs them.

    total_seconds: the seconds that counted.
    new_seconds: those of them that counted with the last interval.
    is_stalled: True if the last interval was a stall.
    previous: the last interval; None if the device was idle, so that no request can have hung since
        before the next one.
    """

    __slots__ = (
        "_before",
        "_begun_before",
        "_block_size",
        "_counted_seconds",
        "_excesses",
        "_largest_usual",
        "_partial",
        "_rules",
        "_single",
        "_stall_seconds",
        "is_stalled",
        "new_seconds",
        "previous",
        "total_seconds",
    )

    def __init__(self, rules: DiskRules) -> None:
        self._rules = rules
        self.total_seconds = self.new_seconds = 0.0
        self.is_stalled = False
        self.previous: DiskInterval | None = None
        self._before: DiskInterval | None = None
        self._begun_before = 0.0
        #: The length of the present stall, and how much of it counted.
        self._stall_seconds = self._counted_seconds = 0.0
        self._without_detectors()

    def _without_detectors(self) -> None:
        self._partial: PartialHangDetector | None = None
        self._single: SingleHangDetector | None = None
        #: Attributes of the detector of single hangs, which are needed for every interval.
        self._excesses: list[float] = []
        self._largest_usual, self._block_size = -math.inf, 1

    def reconfigure(self, rules: DiskRules) -> None:
        """Applies new settings. If those of hangs have changed, what was observed is discarded."""
        before, self._rules = self._rules, rules
        changed = rules.partial_hang, rules.single_hang
        if changed != (before.partial_hang, before.single_hang):
            self._without_detectors()

    def observe(
        self,
        now: float,
        disk: DiskInterval,
        seconds: float,
        queue_depth: float,
        excess: float | None,
    ) -> bool:
        """Counts an interval; returns True if requests hang that others hide.

        This runs for every busy device and second, so the caller passes what it has unpacked.

        now: the monotonic time of the end of the interval, in seconds.
        seconds, queue_depth, excess: fields of the interval `disk`.
        """
        is_hidden = stalled = False
        partial = self._partial
        if excess:
            if partial is None:
                partial = self._new_detectors()
            if excess > 0.0 or partial.excesses:
                is_hidden = partial.observe(excess, queue_depth, seconds)
            waiting = excess * seconds
            self._excesses.append(waiting)
            if waiting < self._largest_usual or len(self._excesses) >= self._block_size:
                is_hidden |= self._decide(now, seconds, excess + queue_depth)
        else:
            stalled = disk.stalled
            if partial is not None:
                if excess is not None and partial.excesses:
                    partial.observe(0.0, queue_depth, seconds)
                is_hidden = self._observe_other(now, disk, excess)
        if is_hidden or stalled or self._stall_seconds:
            self._count(seconds, stalled=is_hidden or stalled, in_flight=queue_depth)
        self._before, self.previous = self.previous, disk
        return is_hidden

    def observe_gap(self, now: float, disk: DiskInterval, *, is_begun: bool) -> bool:
        """Counts an interval in which samples are missing; returns True if it is a part of a stall.

        is_begun: requests were in flight at the start.
        """
        if self._single is not None:
            self._single.add_other(now, disk.seconds, 0.0, self.total_seconds)
            self._block_size = self._single.block_size
        is_stall = disk.stalled and self.is_stalled and is_begun
        if is_stall:
            self._count(disk.seconds, stalled=True, in_flight=1.0)
        return is_stall

    def _new_detectors(self) -> PartialHangDetector:
        self._partial = PartialHangDetector(self._rules.partial_hang)
        self._single = SingleHangDetector(self._rules.single_hang)
        self._excesses = self._single.excesses
        return self._partial

    def _decide(self, now: float, seconds: float, in_flight: float) -> bool:
        single = self._single
        if single is None:
            return False
        is_block = self._excesses[-1] >= self._largest_usual and not single.hung_seconds
        end = single.end_block if is_block and self._block_size > 1 else single.decide
        hangs = end(now, seconds, in_flight, self.total_seconds)
        self._largest_usual, self._block_size = single.largest_usual, single.block_size
        return hangs

    def _observe_other(self, now: float, disk: DiskInterval, excess: float | None) -> bool:
        """Observes an interval without completions, or with no request in flight at one end."""
        single = self._single
        if single is None or not (excess is None or single.excesses or single.means):
            return False
        # Requests that were in flight at both ends and did not complete may hang.
        standing = disk.queue_depth if disk.stalled and disk.busy_ratio == 1 else 0.0
        hangs = single.add_other(now, disk.seconds, standing, self.total_seconds)
        self._block_size = single.block_size
        return hangs

    def _count(self, seconds: float, *, stalled: bool, in_flight: float) -> None:
        # Consecutive stalled intervals count only if together they last about a second. Otherwise,
        # at ten samples per second, a single slow request would count as a stall.
        before = self.total_seconds
        hangs = [hang for hang in (self._partial, self._single) if hang is not None]
        self.is_stalled = stalled
        if stalled:
            hung = max((hang.hung_seconds for hang in hangs), default=0.0)
            is_partial = hung > 0  # certain after several intervals, which then all count
            if not self._stall_seconds:
                self._begun_before = hung_share(self._before, self.previous, in_flight)
                seconds = hung if is_partial else seconds
            self._stall_seconds += seconds
            if self._stall_seconds >= _STALL_SECONDS:
                if not self._counted_seconds and not is_partial:
                    # Requests also complete in the interval in which a hang begins, and in that in
                    # which it ends. Of the first, the missing share counts; of the last, a half.
                    self.total_seconds += seconds * self._begun_before
                self.total_seconds += self._stall_seconds - self._counted_seconds
                self._counted_seconds = self._stall_seconds
        else:
            if self._counted_seconds and not any(hang.has_ended for hang in hangs):
                self.total_seconds += seconds / 2
            for hang in hangs:
                hang.has_ended = False
            self._stall_seconds = self._counted_seconds = 0.0
        self.new_seconds = self.total_seconds - before
