"""Detects falloffs: throughput drops during a long write although the writer did not change.

Causes are a full write cache, garbage collection, heat and a slow link. A falloff is visible only
if a writer saturates the device until its cache is full. A restore, a bulk load or an ALTER TABLE
does so; normal InnoDB load rarely does. Samples should be at most 5 seconds apart, because a cache
can be full after 16 seconds. Do not use this module for rotational drives and RAID volumes: their
throughput also drops on inner tracks and because of the controller's cache.

A burst is a write that saturates the device, with pauses shorter than 30 seconds. The reference is
the throughput at the start of a burst. A falloff is confirmed when the throughput stays below 67 %
of the reference for 15 seconds. `WriteFalloffRules` can change these values.

`falloff_tracker` counts the falloffs and determines their cause. This module uses no files, no
clock and no logs.
"""

import math
from dataclasses import dataclass

from exporter.config.disk_rules import WriteFalloffRules
from exporter.io.interval import DiskInterval

#: So few more reads, flushes and discards per second never explain a drop of the throughput.
_OTHERS_PER_SECOND = 5.0

#: If the first slow interval was fast for less than this time, the drop was in the one before it.
_FEW_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class WriteFalloff:
    """One detected falloff.

    burst_bytes: the bytes that were written in the burst before the throughput dropped.
    burst_bytes_per_second: the throughput before the drop.
    sustained_bytes_per_second: the throughput after the drop.
    is_sudden: True if the throughput fell in one step.
    """

    burst_bytes: int
    burst_bytes_per_second: float
    sustained_bytes_per_second: float
    is_sudden: bool = True

    @property
    def ratio(self) -> float:
        """The throughput after the drop divided by the throughput before; below 1."""
        return self.sustained_bytes_per_second / self.burst_bytes_per_second


@dataclass(slots=True)
class _Writes:
    """The sums of the writes of several intervals."""

    seconds: float = 0.0
    written_bytes: int = 0
    writes: int = 0
    write_seconds: float = 0.0
    others: int = 0

    def add(self, disk: DiskInterval) -> None:
        self.seconds += disk.seconds
        self.written_bytes += disk.written_bytes
        self.writes += disk.writes
        self.write_seconds += disk.write_seconds
        self.others += disk.reads + disk.flushes + disk.discards

    @property
    def bytes_per_second(self) -> float:
        return self.written_bytes / self.seconds

    @property
    def bytes_per_write(self) -> float:
        return self.written_bytes / self.writes

    @property
    def await_seconds(self) -> float:
        return self.write_seconds / self.writes


@dataclass(slots=True)
class _SlowRun(_Writes):
    """Consecutive intervals with slow throughput.

    before_bytes: the bytes that were written in the burst before the first of these intervals.
    first: the first of these intervals.
    last_fast: the interval before them, and the bytes before it, if it was fast only in part.
    is_after_gap: True if the first of these intervals is a gap.
    """

    before_bytes: int = 0
    first: DiskInterval | None = None
    last_fast: tuple[int, DiskInterval] | None = None
    is_after_gap: bool = False

    @property
    def lasting_seconds(self) -> float:
        """How long the throughput was low for certain: it may have fallen late in a gap."""
        if self.is_after_gap and self.first is not None:
            return self.seconds - self.first.seconds
        return self.seconds


class WriteFalloffDetector:
    """Detects falloffs in the intervals of one device.

    is_open: True while a burst is in progress. While it is False, the caller may skip intervals
        whose busy ratio is below that of the rules.
    before_bytes_per_second: the throughput in the seconds before the burst. The caller sets it.
    begin_bytes: the bytes of the interval in which the burst began, if that was not yet a
        saturating write. The caller sets it.
    is_slow: True if a falloff was detected in this burst and the last interval was still slow.
    """

    __slots__ = (
        "_bytes",
        "_first",
        "_first_bytes",
        "_first_seconds",
        "_last_fast",
        "_limit",
        "_middle_seconds",
        "_recovery_limit",
        "_reference",
        "_rules",
        "_saturated_at",
        "_slow",
        "before_bytes_per_second",
        "begin_bytes",
        "is_open",
        "is_slow",
    )

    def __init__(self, rules: WriteFalloffRules) -> None:
        self._rules = rules
        self._saturated_at = -math.inf
        self._bytes = 0
        self._limit = 0.0
        self._slow: _SlowRun | None = None
        self._last_fast: tuple[int, DiskInterval] | None = None
        self._middle_seconds = 0.0
        self.before_bytes_per_second = 0.0
        self.begin_bytes = 0
        self.is_open = False
        self._reset()

    def observe(
        self, now: float, disk: DiskInterval, *, is_gap: bool = False
    ) -> WriteFalloff | None:
        """Records an interval; returns the falloff that it confirms, else None.

        A burst has at most one falloff.

        now: the end of the interval in seconds of any monotonic clock.
        is_gap: the interval has missing samples. Its bytes count, and its mean shows no falloff.
        """
        rules = self._rules
        written_bytes = disk.written_bytes
        if disk.stalled:
            # No request or only a part of them completes. This is not the speed of the drive, and
            # does not count as slow. A drive that moves its cached data may also pause for seconds.
            self.is_slow = False
            self._bytes += written_bytes if self.is_open else 0
            return None
        if disk.busy_ratio < rules.busy_ratio or self._is_mostly_reads(disk):
            if self.is_open:
                self._pause(now, disk)
            return None
        if now - disk.seconds - self._saturated_at >= rules.rest_seconds and self.is_open:
            self._reset()
        if not self.is_open:
            self.is_open = True
            self._bytes = self.begin_bytes
        self._saturated_at = now
        before_bytes = self._bytes
        self._bytes += written_bytes
        reference = self._reference
        if reference is None:
            return self._build_reference(before_bytes, disk, is_gap=is_gap)
        if self._recovery_limit is not None:
            self.is_slow = written_bytes <= self._recovery_limit * disk.seconds
            return None
        if self._slow is not None or written_bytes <= self._limit * disk.seconds:
            return self._compare(before_bytes, disk, reference, is_gap=is_gap)
        self._extend_reference(before_bytes, disk, reference, is_gap=is_gap)
        return None

    def _is_mostly_reads(self, disk: DiskInterval) -> bool:
        read_bytes = disk.read_bytes
        if not read_bytes or self._reference is not None:
            return False
        return read_bytes >= self._rules.read_share * (read_bytes + disk.written_bytes)

    def _extend_reference(
        self, before_bytes: int, disk: DiskInterval, reference: _Writes, *, is_gap: bool
    ) -> None:
        """Records an interval that is not slow."""
        rules, written_bytes = self._rules, disk.written_bytes
        expected = reference.bytes_per_second * disk.seconds
        is_near = written_bytes >= rules.near_ratio * expected
        self._last_fast = None if is_near else (before_bytes, disk)
        if is_near:
            self._middle_seconds = 0.0
        elif not is_gap:
            self._middle_seconds += disk.seconds
        if (
            reference.seconds < rules.reference_most_seconds
            and abs(written_bytes - expected) <= rules.reference_ratio * expected
        ):
            reference.add(disk)
            self._limit = rules.falloff_ratio * reference.bytes_per_second

    def _reset(self) -> None:
        self.is_open = self.is_slow = False
        self._bytes = self._first_bytes = 0
        self._first: list[tuple[int, DiskInterval, tuple[int, DiskInterval] | None]] = []
        self._first_seconds = self._middle_seconds = 0.0
        self._reference: _Writes | None = None
        self._slow = self._last_fast = None
        self._recovery_limit: float | None = None

    def _pause(self, now: float, disk: DiskInterval) -> None:
        """Records an interval of the burst that is not a saturating write.

        Its bytes are counted, because they also fill the write cache.
        """
        if now - self._saturated_at >= self._rules.rest_seconds:
            self._reset()
            return
        self._bytes += disk.written_bytes
        self._slow = self._last_fast = None
        self.is_slow = False

    def _build_reference(
        self, before_bytes: int, disk: DiskInterval, *, is_gap: bool
    ) -> WriteFalloff | None:
        rules = self._rules
        if is_gap:
            # The cache may have become full in it, so its mean is not the speed of the cache.
            self._last_fast = before_bytes, disk
            return None
        self._first.append((before_bytes, disk, self._last_fast))
        self._last_fast = None
        self._first_seconds += disk.seconds
        self._first_bytes += disk.written_bytes
        is_enough = (
            self._first_bytes >= rules.reference_bytes
            or self._first_seconds >= rules.reference_seconds
        )
        if len(self._first) < rules.reference_samples or not is_enough:
            return None
        first, self._first, self._first_seconds, self._first_bytes = self._first, [], 0.0, 0
        self._reference = reference = _reference_writes([sample for _, sample, _ in first], rules)
        if reference is None:
            return None
        self._limit = rules.falloff_ratio * reference.bytes_per_second
        # A small cache may be full before the reference is complete, so the first intervals are
        # compared too.
        for before, sample, self._last_fast in first:
            if falloff := self._compare(before, sample, reference):
                return falloff
        return None

    def _compare(
        self, before_bytes: int, disk: DiskInterval, reference: _Writes, *, is_gap: bool = False
    ) -> WriteFalloff | None:
        rules, limit, slow = self._rules, self._limit, self._slow
        if slow is None:
            if disk.written_bytes > limit * disk.seconds:
                return None
            slow = self._slow = _SlowRun(
                before_bytes=before_bytes,
                first=disk,
                last_fast=self._last_fast,
                is_after_gap=is_gap,
            )
            self._last_fast = None
        slow.add(disk)
        if slow.written_bytes > limit * slow.seconds:
            self._slow = None
            return None
        if slow.lasting_seconds < rules.lasting_seconds or not slow.writes:
            return None
        if not _is_same_load(slow, reference, rules):
            return None
        if self.before_bytes_per_second >= rules.before_ratio * reference.bytes_per_second:
            return None
        is_sudden = self._middle_seconds <= rules.sudden_seconds
        falloff = _falloff(slow, reference, is_sudden=is_sudden)
        self._slow = None
        # The device counts as slow until its throughput is halfway back to the reference.
        self._recovery_limit = (
            falloff.sustained_bytes_per_second + falloff.burst_bytes_per_second
        ) / 2
        self.is_slow = True
        return falloff


def _reference_writes(first: list[DiskInterval], rules: WriteFalloffRules) -> _Writes | None:
    """Returns the sums of the fast intervals; None if they contain no writes.

    An interval is fast if its throughput is at least `falloff_ratio` times the 75th percentile.
    Slower intervals are left out: on a fast drive with a small cache, the cache may be full within
    the first three intervals. Intervals with another request size than most are left out, too: the
    first interval may also contain the load before the burst.
    """
    speeds = sorted(disk.written_bytes / disk.seconds for disk in first)
    position = 0.75 * (len(speeds) - 1)
    low, part = int(position), position % 1
    high = min(low + 1, len(speeds) - 1)
    min_speed = rules.falloff_ratio * (speeds[low] * (1 - part) + speeds[high] * part)
    sizes = sorted(disk.written_bytes / disk.writes for disk in first if disk.writes)
    usual_size = sizes[len(sizes) // 2] if sizes else 0.0
    fast = _Writes()
    for disk in first:
        size_change = abs(disk.written_bytes - usual_size * disk.writes)
        if (
            disk.written_bytes >= min_speed * disk.seconds
            and size_change <= rules.size_ratio * usual_size * disk.writes
        ):
            fast.add(disk)
    return fast if fast.writes and fast.written_bytes else None


def _is_same_load(slow: _SlowRun, reference: _Writes, rules: WriteFalloffRules) -> bool:
    """Returns True if the drive became slower, and neither the writer nor other requests changed.

    If the await has not grown, the writer became slower and not the drive.
    """
    if abs(slow.bytes_per_write / reference.bytes_per_write - 1) > rules.size_ratio:
        return False
    others = rules.other_factor * reference.others + rules.other_share * reference.writes
    if slow.others / slow.seconds > others / reference.seconds + _OTHERS_PER_SECOND:
        return False
    return slow.await_seconds > rules.await_factor * reference.await_seconds


def _falloff(slow: _SlowRun, reference: _Writes, *, is_sudden: bool) -> WriteFalloff:
    """Returns the falloff between the reference and the slow intervals.

    The throughput dropped at an unknown time within the first slow interval, or within a long one
    before it. That time is computed from the bytes of the interval, so that only the bytes before
    the drop count for the burst.
    """
    fast, sustained = reference.bytes_per_second, slow.bytes_per_second
    burst_bytes = float(slow.before_bytes)
    if (first := slow.first) is not None and slow.seconds > first.seconds:
        later_seconds = slow.seconds - first.seconds
        later = (slow.written_bytes - first.written_bytes) / later_seconds
        sustained = min(sustained, later)
        seconds = _fast_seconds(first, fast, sustained)
        burst_bytes += seconds * fast
        if slow.last_fast is not None and seconds < _FEW_SECONDS:
            before_bytes, last = slow.last_fast
            burst_bytes = before_bytes + _fast_seconds(last, fast, sustained) * fast
    return WriteFalloff(int(burst_bytes), fast, sustained, is_sudden)


def _fast_seconds(disk: DiskInterval, fast: float, sustained: float) -> float:
    """Returns how long the throughput in an interval was `fast`, before it was `sustained`."""
    seconds = (disk.written_bytes - sustained * disk.seconds) / (fast - sustained)
    return min(max(seconds, 0.0), disk.seconds)
