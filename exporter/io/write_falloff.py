"""Detects falloffs: throughput drops during a long write although the writer did not change.

Causes are a full write cache, garbage collection, heat and a slow link. A falloff is visible only
if a writer asks for more than the drive can write after its cache is full. A restore, a bulk load
or an ALTER TABLE does so; normal InnoDB load rarely does. Samples should be at most 5 seconds
apart, because a cache can be full after 16 seconds. Do not use this module for rotational drives
and RAID volumes: their throughput also drops on inner tracks and because of the controller's cache.

The throughput is compared with that of the half minute before. When it drops, the first seconds
after the drop show whether the drive has become slower: as many writes as before are in flight,
they have the same size, fewer of them complete, and no other requests began. This must last for 15
seconds. What begins later, such as a backup, does not matter. If the throughput returns without a
rest, the drop was a disturbance, and the falloff is withdrawn.

A drop that takes more than a few seconds is gradual. It is visible only in comparison with the best
half minute of the burst. A burst is a long write, with pauses shorter than 30 seconds.

`falloff_tracker` counts the falloffs and determines their cause. This module uses no files, no
clock and no logs.
"""

import math
from collections import deque
from dataclasses import dataclass

from exporter.config.disk_rules import WriteFalloffRules
from exporter.io.falloff_load import (
    BurstInterval,
    Load,
    Window,
    first_seconds,
    last_seconds,
    slow_load,
)
from exporter.io.interval import DiskInterval

#: A write of this many bytes per second is a long write, even if it does not saturate the device.
#: A cache takes 200 MB/s and more.
MUCH_BYTES = 50_000_000

#: A drop may begin with an interval that is slow only in part, as a share of the reference.
_PARTLY_SLOW, _NEARLY_FAST = 0.8, 0.85
#: Fewer writes in flight than this share mean that the writer asks for less.
_LEAST_IN_FLIGHT = 0.8
#: The mean size of the missing writes, as a multiple of the mean size before.
_LOST_SIZE = 0.6, 8.0
#: So few more reads, flushes and discards per second never explain a drop of the throughput.
_OTHERS_PER_SECOND = 5.0
#: A drop is sudden if this share of it, on a logarithmic scale, takes a few seconds.
_SUDDEN_SHARE = 0.6
#: The throughput has returned if it is this share of the reference for this time in seconds.
_RETURNED_RATIO, _RETURNED_SECONDS = 0.75, 5.0
#: A drop to a throughput that the burst already had for a moment is part of its usual variation.
_USUAL_RATIO = 0.85
#: A pause of this length in seconds is a rest, in which the drive may empty its cache.
_REST_SECONDS = 3.0
#: Before a burst, a load with a smaller busy ratio and a quarter of its throughput is light.
_LIGHT_BUSY_RATIO, _LIGHT_SHARE = 0.5, 0.25
#: An interval that was fast for less than this time is slow.
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
class _Drop:
    """A drop that is not confirmed yet.

    before: the load before it. others: the other requests per second in the seconds before it.
    step: the throughput in the seconds before it; None if it is compared with the best of the
        burst, and therefore gradual.
    last_fast: the interval before the first slow one, if it was fast only in part.
    after: the intervals since then.
    """

    before: Load
    others: float
    step: float | None
    last_fast: BurstInterval | None
    after: list[BurstInterval]


class WriteFalloffDetector:
    """Detects falloffs in the intervals of one device.

    is_open: True while a burst is in progress. While it is False, the caller may skip intervals
        whose busy ratio is below that of the rules and that write less than `MUCH_BYTES`.
    is_slow: True if a falloff was detected in this burst and the last interval was still slow.
    withdrawn: the number of falloffs after which the throughput returned without a rest.
    """

    __slots__ = (
        "_at",
        "_best",
        "_bytes",
        "_drop",
        "_falloff",
        "_lowest",
        "_paused_seconds",
        "_recent",
        "_rules",
        "_window",
        "is_open",
        "is_slow",
        "withdrawn",
    )

    def __init__(self, rules: WriteFalloffRules) -> None:
        self._rules = rules
        self.withdrawn = 0
        self._reset()

    def _reset(self) -> None:
        self.is_open = self.is_slow = False
        self._at = -math.inf
        self._bytes = 0
        self._paused_seconds = 0.0
        self._window = Window()
        self._recent: deque[BurstInterval] = deque()
        self._best: Load | None = None
        self._drop: _Drop | None = None
        self._falloff: WriteFalloff | None = None
        self._lowest = math.inf

    def observe(
        self, now: float, disk: DiskInterval, *, is_gap: bool = False
    ) -> WriteFalloff | None:
        """Records an interval; returns the falloff that it confirms, else None.

        A burst has at most one sudden falloff that is not withdrawn.

        now: the end of the interval in seconds of any monotonic clock.
        is_gap: the interval has missing samples. Its bytes count, and its mean shows no falloff.
        """
        written_bytes = disk.written_bytes
        if disk.stalled:
            # No request or only a part of them completes. This is not the speed of the drive, and
            # does not count as slow. A drive that moves its cached data may also pause for seconds.
            self.is_slow = False
            self._bytes += written_bytes if self.is_open else 0
            return None
        seconds = disk.seconds
        if written_bytes < MUCH_BYTES * seconds and (
            disk.busy_ratio < self._rules.busy_ratio or not disk.writes
        ):
            if self.is_open:
                self._pause(now, disk)
            return None
        speed = written_bytes / seconds
        self._open(now, disk, speed)
        sample = BurstInterval(self._bytes, disk, speed, is_gap=is_gap)
        self._bytes += written_bytes
        if self._falloff is not None:
            self._follow(sample, self._falloff)
            if self._falloff is None or self._falloff.is_sudden:
                return None
        best = self._best
        if (
            self._drop is None
            and best is not None
            and speed >= _PARTLY_SLOW * self._window.fastest
            and speed >= self._rules.falloff_ratio * best.bytes_per_second
        ):
            # Nearly all intervals end here: they are neither a sudden nor a gradual drop.
            self._extend(sample)
            return None
        return self._compare(sample)

    def _open(self, now: float, disk: DiskInterval, speed: float) -> None:
        """Begins a burst, or goes on with it."""
        if now - disk.seconds - self._at >= self._rules.rest_seconds:
            self._reset()
        if self._paused_seconds >= _REST_SECONDS:
            self._falloff = None
        if self._window.samples and self._falloff is None:
            last = self._window.samples[-1]
            if (
                last.bytes_per_second < _LIGHT_SHARE * speed
                and last.disk.busy_ratio < _LIGHT_BUSY_RATIO
            ):
                # A light load before the burst leaves the drive time to empty its cache.
                self._reset()
        self.is_open, self._at, self._paused_seconds = True, now, 0.0

    def _compare(self, sample: BurstInterval) -> WriteFalloff | None:
        """Compares an interval with those before it."""
        drop = self._drop
        if drop is None or drop.step is None:
            # A sudden drop may begin during a gradual one.
            sudden = self._sudden_drop(sample)
            if sudden is not None:
                self._drop = sudden
                return None
            self._extend(sample)
        if drop is not None:
            return self._confirm(sample, drop)
        self._drop = self._gradual_drop(sample)
        return None

    def _pause(self, now: float, disk: DiskInterval) -> None:
        """Records an interval of the burst that writes little.

        Its bytes are counted, because they also fill the write cache.
        """
        if now - self._at >= self._rules.rest_seconds:
            self._reset()
            return
        self._bytes += disk.written_bytes
        self._paused_seconds += disk.seconds
        self._drop = None
        self.is_slow = False
        if self._paused_seconds >= _REST_SECONDS:
            self._window = Window()

    def _extend(self, sample: BurstInterval) -> None:
        window, best = self._window, self._best
        window.append(sample)
        if (best is None or window.is_faster(best.bytes_per_second)) and window.is_enough():
            self._best = window.usual()

    def _sudden_drop(self, sample: BurstInterval) -> _Drop | None:
        """Returns the drop that begins with this interval; None if it is not slow."""
        window, speed = self._window, sample.bytes_per_second
        if speed >= _PARTLY_SLOW * window.fastest or not window.is_enough():
            return None
        before = window.usual()
        if speed >= _PARTLY_SLOW * before.bytes_per_second:
            return None
        recent = list(window.samples)
        last = recent[-1]
        is_partly_slow = last.bytes_per_second < _NEARLY_FAST * before.bytes_per_second
        fast = recent[:-1] if is_partly_slow and len(recent) > 1 else recent
        return _Drop(
            before,
            Load(last_seconds(recent)).others,
            Load(last_seconds(fast)).bytes_per_second,
            last if is_partly_slow else None,
            [sample],
        )

    def _gradual_drop(self, sample: BurstInterval) -> _Drop | None:
        best = self._best
        if (
            best is None
            or self._falloff is not None
            or sample.bytes_per_second >= self._rules.falloff_ratio * best.bytes_per_second
        ):
            return None
        return _Drop(best, best.others, None, None, [sample])

    def _confirm(self, sample: BurstInterval, drop: _Drop) -> WriteFalloff | None:
        rules, after, fast = self._rules, drop.after, drop.before.bytes_per_second
        after.append(sample)
        slow = slow_load(after)
        last_two = Load(after[-2:]) if len(after) > 2 else Load(after[-1:])
        is_fast = last_two.bytes_per_second > _NEARLY_FAST * fast
        if is_fast or slow.bytes_per_second > rules.falloff_ratio * fast:
            if drop.step is not None:
                # Without the last two, which have recovered.
                some = (Load(after[n : n + 3]) for n in range(len(after) - 4))
                self._lowest = min([self._lowest, *(load.bytes_per_second for load in some)])
            self._end_drop(drop)
            return None
        seconds = math.fsum(each.disk.seconds for each in after)
        # The throughput may have fallen late in a gap.
        if seconds - after[0].disk.seconds * after[0].is_gap < rules.lasting_seconds:
            return None
        falloff = self._judge(drop, slow)
        if falloff is None:
            if seconds >= 2 * rules.lasting_seconds:
                self._end_drop(drop)
            return None
        self._end_drop(drop)
        self._falloff = falloff
        self._recent = deque(after[-1:])
        self.is_slow = True
        return falloff

    def _end_drop(self, drop: _Drop) -> None:
        """Lets the load since a sudden drop be the one with which later intervals are compared."""
        self._drop = None
        if drop.step is not None:
            for sample in drop.after:
                self._extend(sample)

    def _judge(self, drop: _Drop, slow: Load) -> WriteFalloff | None:
        """Returns the falloff, if the drive and not the load has changed."""
        first = first_seconds(drop.after[1:])
        fast, sustained = drop.before.bytes_per_second, slow.bytes_per_second
        if not _is_same_load(drop, Load(first), self._rules):
            return None
        if sustained > _USUAL_RATIO * self._lowest:
            return None
        is_sudden = False
        if drop.step and sustained > 0:
            step = math.log(drop.step / max(Load(first[:3]).bytes_per_second, 1.0))
            is_sudden = step >= _SUDDEN_SHARE * math.log(fast / sustained)
        if not is_sudden and self._falloff is not None:
            return None
        return WriteFalloff(int(_burst_bytes(drop, fast, sustained)), fast, sustained, is_sudden)

    def _follow(self, sample: BurstInterval, falloff: WriteFalloff) -> None:
        """Records an interval after a falloff: the drive is still slow, or has recovered."""
        fast, sustained = falloff.burst_bytes_per_second, falloff.sustained_bytes_per_second
        # The device counts as slow until its throughput is halfway back.
        self.is_slow = sample.bytes_per_second <= (fast + sustained) / 2
        recent = self._recent
        recent.append(sample)
        seconds = math.fsum(each.disk.seconds for each in recent)
        while seconds - recent[0].disk.seconds >= _RETURNED_SECONDS:
            seconds -= recent.popleft().disk.seconds
        speed = sum(each.disk.written_bytes for each in recent) / seconds
        if seconds >= _RETURNED_SECONDS - 1 and speed >= _RETURNED_RATIO * fast:
            self.withdrawn += falloff.is_sudden
            self._lowest = min(self._lowest, sustained)
            self._falloff, self._window = None, Window(recent)


def _is_same_load(drop: _Drop, first: Load, rules: WriteFalloffRules) -> bool:
    """Returns True if the drive became slower, and neither the writer nor other requests changed.

    first: the load of the first seconds after the drop.
    """
    before = drop.before
    fast = before.bytes_per_second
    if first.bytes_per_second > rules.falloff_ratio * fast or first.busy_ratio < rules.busy_ratio:
        return False
    # Fewer writes complete, although as many are in flight, and those that are missing had the
    # usual size.
    if not 0 < first.writes < before.writes:
        return False
    if first.in_flight < _LEAST_IN_FLIGHT * before.in_flight:
        return False
    lost_size = (fast - first.bytes_per_second) / (before.writes - first.writes)
    least, most = (factor * fast / before.writes for factor in _LOST_SIZE)
    others = rules.other_factor * drop.others + rules.other_share * before.writes
    return least <= lost_size <= most and first.others <= others + _OTHERS_PER_SECOND


def _burst_bytes(drop: _Drop, fast: float, sustained: float) -> float:
    """Returns the bytes of the burst before the drop.

    The throughput dropped at an unknown time within one of the first slow intervals, or in the one
    before them. That time is computed from the bytes of the interval.
    """
    first = drop.after[0]
    burst_bytes = first.before_bytes + first.fast_seconds(fast, sustained) * fast
    some = drop.after[:2] if drop.last_fast is None else [drop.last_fast, *drop.after[:2]]
    for sample in some:
        seconds = sample.fast_seconds(fast, sustained)
        if seconds >= _FEW_SECONDS or sample is drop.last_fast:
            burst_bytes = sample.before_bytes + seconds * fast
    return burst_bytes
