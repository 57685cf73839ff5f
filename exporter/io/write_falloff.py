"""Did a device become slower in the middle of a long write, while nobody asked less of it?

This is how a drive's write cache ends, or garbage collection begins, under production writes. It
takes a writer that saturates the device for longer than the cache lasts: a restore, a load, an
ALTER TABLE; InnoDB seldom is one otherwise. Samples should be at most 5 seconds apart, for a cache
can be gone in 16. Not for rotational drives and RAID volumes: tracks and controllers do the same.

The falloffs of one drive under production writes, and what slows it down while one lasts.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from exporter.io.interval import DiskInterval
from exporter.io.slowdown import SlowdownEvidence, slowdown_verdict
from exporter.io.verdict import Verdict


@dataclass(frozen=True, slots=True)
class WriteFalloffRules:
    """When a device writes all it can, and when that has become less.

    busy_ratio, read_share: at least so busy, and with less than this share of the bytes read, a
        device is writing all that it can. The queue need not be asked: an interval's busy_ratio is
        never more than its queue_depth, and one request at a time without a pause is all that the
        device can do for a single writer.
    rest_seconds: without such a sample for so long the burst is over.
    reference_bytes, reference_samples, reference_seconds: its speed at first is the 75th percentile
        over so many bytes, or over so many seconds if those come first, and of at least so many
        samples.
    reference_ratio, reference_most_seconds: later samples that are no farther off add to it, until
        it holds so many seconds.
    falloff_ratio: it is slower at so much of that speed. Two thirds: 410 to 260 MB/s counts.
    size_ratio: its requests differ in size by no more than this share, or the writer has changed.
    await_factor: its requests take so many times as long, or less was asked of it.
    lasting_seconds: all of this over so many seconds taken together.
    """

    busy_ratio: float = 0.9
    read_share: float = 0.25
    rest_seconds: float = 30.0
    reference_bytes: int = 10**9
    reference_samples: int = 3
    reference_seconds: float = 10.0
    reference_ratio: float = 0.2
    reference_most_seconds: float = 20.0
    falloff_ratio: float = 0.67
    size_ratio: float = 0.3
    await_factor: float = 1.4
    lasting_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class WriteFalloff:
    """A device became slower in the middle of a burst.

    burst_bytes: what the burst had written until then.
    burst, sustained: the speed at first, and since.
    """

    burst_bytes: int
    burst_bytes_per_second: float
    sustained_bytes_per_second: float

    @property
    def ratio(self) -> float:
        return self.sustained_bytes_per_second / self.burst_bytes_per_second


@dataclass(slots=True)
class _Writes:
    """Some samples taken together."""

    seconds: float = 0.0
    written_bytes: int = 0
    writes: int = 0
    write_seconds: float = 0.0

    def add(self, disk: DiskInterval) -> None:
        self.seconds += disk.seconds
        self.written_bytes += disk.written_bytes
        self.writes += disk.writes
        self.write_seconds += disk.write_seconds

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
    """Slow samples in a row, and what the burst had written before the first of them."""

    before_bytes: int = 0
    first: DiskInterval | None = None


class WriteFalloffDetector:
    """What one device writes, sample by sample; it remembers the burst that it is in.

    is_slow: in this sample the device still is as slow as the falloff left it.
    is_open: it is in a burst; else a sample less busy than the rules' busy_ratio may be left out.
    """

    __slots__ = (
        "_bytes",
        "_first",
        "_first_bytes",
        "_first_seconds",
        "_limit",
        "_reference",
        "_rules",
        "_saturated_at",
        "_slow",
        "_told",
        "is_open",
        "is_slow",
    )

    def __init__(self, rules: WriteFalloffRules) -> None:
        self._rules = rules
        self._saturated_at = -math.inf
        self._bytes = 0
        self._limit = 0.0
        self.is_open = False
        self._begin()

    def observe(self, now: float, disk: DiskInterval) -> WriteFalloff | None:
        """Take in what the device did until `now`, in seconds of any clock that never goes back.

        The falloff, once a burst, in the sample that makes it certain.
        """
        rules = self._rules
        read_bytes, written_bytes = disk.read_bytes, disk.written_bytes
        if disk.busy_ratio < rules.busy_ratio or (
            read_bytes and read_bytes >= rules.read_share * (read_bytes + written_bytes)
        ):
            if self.is_open:
                self._pause(now, disk)
            return None
        if now - disk.seconds - self._saturated_at >= rules.rest_seconds and self.is_open:
            self._begin()
        self.is_open = True
        self._saturated_at = now
        before_bytes = self._bytes
        self._bytes += written_bytes
        reference = self._reference
        if reference is None:
            return self._learn(before_bytes, disk)
        if self._told is not None:
            self.is_slow = written_bytes <= self._told * disk.seconds
            return None
        if self._slow is not None or written_bytes <= self._limit * disk.seconds:
            return self._compare(before_bytes, disk, reference)
        if reference.seconds < rules.reference_most_seconds:
            expected = reference.bytes_per_second * disk.seconds
            if abs(written_bytes - expected) <= rules.reference_ratio * expected:
                reference.add(disk)
                self._limit = rules.falloff_ratio * reference.bytes_per_second
        return None

    def _begin(self) -> None:
        self.is_open = self.is_slow = False
        self._bytes = self._first_bytes = 0
        self._first: list[tuple[int, DiskInterval]] = []
        self._first_seconds = 0.0
        self._reference: _Writes | None = None
        self._slow: _SlowRun | None = None
        self._told: float | None = None

    def _pause(self, now: float, disk: DiskInterval) -> None:
        """The device has room left, but its cache fills on."""
        if now - self._saturated_at >= self._rules.rest_seconds:
            self._begin()
            return
        self._bytes += disk.written_bytes
        self._slow = None
        self.is_slow = False

    def _learn(self, before_bytes: int, disk: DiskInterval) -> WriteFalloff | None:
        rules = self._rules
        self._first.append((before_bytes, disk))
        self._first_seconds += disk.seconds
        self._first_bytes += disk.written_bytes
        is_enough = (
            self._first_bytes >= rules.reference_bytes
            or self._first_seconds >= rules.reference_seconds
        )
        if len(self._first) < rules.reference_samples or not is_enough:
            return None
        first, self._first, self._first_seconds, self._first_bytes = self._first, [], 0.0, 0
        self._reference = reference = _fast([sample for _, sample in first], rules)
        if reference is None:
            return None
        self._limit = rules.falloff_ratio * reference.bytes_per_second
        # A small cache ends among the first samples of a slow drive already.
        for before, sample in first:
            if falloff := self._compare(before, sample, reference):
                return falloff
        return None

    def _compare(
        self, before_bytes: int, disk: DiskInterval, reference: _Writes
    ) -> WriteFalloff | None:
        rules, limit, slow = self._rules, self._limit, self._slow
        if slow is None:
            if disk.written_bytes > limit * disk.seconds:
                return None
            slow = self._slow = _SlowRun(before_bytes=before_bytes, first=disk)
        slow.add(disk)
        if slow.written_bytes > limit * slow.seconds:
            self._slow = None
            return None
        if slow.seconds < rules.lasting_seconds or not slow.writes:
            return None
        if abs(slow.bytes_per_write / reference.bytes_per_write - 1) > rules.size_ratio:
            return None
        if slow.await_seconds <= rules.await_factor * reference.await_seconds:
            return None
        falloff = _falloff(slow, reference)
        self._slow = None
        # Halfway back to the speed at first, the device is slow no more.
        self._told = (falloff.sustained_bytes_per_second + falloff.burst_bytes_per_second) / 2
        self.is_slow = True
        return falloff


def _fast(first: list[DiskInterval], rules: WriteFalloffRules) -> _Writes | None:
    """The samples about the 75th percentile of speed and above; None where nothing was written.

    Not all of them: on a fast drive with a small cache one of three samples is slow already.
    """
    speeds = sorted(disk.written_bytes / disk.seconds for disk in first)
    place = 0.75 * (len(speeds) - 1)
    low, part = int(place), place % 1
    high = min(low + 1, len(speeds) - 1)
    least = rules.falloff_ratio * (speeds[low] * (1 - part) + speeds[high] * part)
    fast = _Writes()
    for disk in first:
        if disk.written_bytes >= least * disk.seconds:
            fast.add(disk)
    return fast if fast.writes and fast.written_bytes else None


def _falloff(slow: _SlowRun, reference: _Writes) -> WriteFalloff:
    """The device became slower somewhere within the first slow sample, not at its beginning."""
    fast, sustained = reference.bytes_per_second, slow.bytes_per_second
    burst_bytes = float(slow.before_bytes)
    if (first := slow.first) is not None and slow.seconds > first.seconds:
        later_seconds = slow.seconds - first.seconds
        later = (slow.written_bytes - first.written_bytes) / later_seconds
        sustained = min(sustained, later)
        seconds = (first.written_bytes - sustained * first.seconds) / (fast - sustained)
        burst_bytes += min(max(seconds, 0.0), first.seconds) * fast
    return WriteFalloff(int(burst_bytes), fast, sustained)


#: A slow drive's condition is asked for again so often: heat may show only later.
_ASK_SECONDS = 10.0


class WriteFalloffTracker:
    """How often the drive became slower in the middle of a write, and the last time.

    busy_ratio, burst: while no burst is open, `observe` need not be called for samples less busy
        than this, as nearly all of a device's seconds are.
    """

    __slots__ = (
        "_asked_at",
        "_cause",
        "_condition",
        "_over_temperature_seconds",
        "burst",
        "busy_ratio",
        "events",
        "last",
    )

    def __init__(self, rules: WriteFalloffRules, condition: Callable[[], SlowdownEvidence]) -> None:
        self._condition = condition
        self.events = 0
        self.last: WriteFalloff | None = None
        self._cause: Verdict | None = None
        self._asked_at = -math.inf
        self._over_temperature_seconds: float | None = None
        self.reconfigure(rules)

    def reconfigure(self, rules: WriteFalloffRules) -> None:
        """The settings were read again; a burst that is open is forgotten."""
        self.busy_ratio = rules.busy_ratio
        self.burst = WriteFalloffDetector(rules)

    def observe(self, now: float, disk: DiskInterval) -> Verdict | None:
        """Take in what the drive did until `now`: what slows it down, if something does."""
        burst = self.burst
        falloff = burst.observe(now, disk)
        if falloff is not None:
            self._note(falloff)
        if not burst.is_slow:
            return None
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at = now
            self._cause = self._explain()
        return self._cause

    def _note(self, falloff: WriteFalloff) -> None:
        self.events += 1
        self.last = falloff
        self._over_temperature_seconds = self._condition().over_temperature_seconds
        self._asked_at = -math.inf

    def _explain(self) -> Verdict | None:
        its = self._condition()
        then, hot = self._over_temperature_seconds, its.over_temperature_seconds
        return slowdown_verdict(
            bytes_per_second=self.last.sustained_bytes_per_second if self.last else None,
            temperature_celsius=its.temperature_celsius,
            warning_celsius=its.warning_celsius,
            over_temperature_seconds=None if then is None or hot is None else hot - then,
            link_bytes_per_second=its.link_bytes_per_second,
            link_max_bytes_per_second=its.link_max_bytes_per_second,
        )
