"""The load of the intervals around a drop of the write throughput; see `write_falloff`.

This module uses no files, no clock and no logs.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence

from exporter.io.interval import DiskInterval

#: The throughput of this time before a drop is the reference, in seconds.
_WINDOW_SECONDS = 30.0
#: The reference needs at least this many samples, or this time and these bytes.
_WINDOW_SAMPLES, _LEAST_SECONDS, _LEAST_BYTES = 3, 4.0, 10**9
#: Time before and after a drop in which requests are compared, in seconds.
_BEFORE_SECONDS, _AFTER_SECONDS = 2.5, 4.0
#: An interval was slow from its begin if it has at most this multiple of the later speed.
_ALL_SLOW = 1.15
#: An interval is fast if it has this share of the 75th percentile.
_FAST_RATIO = 0.75
#: A larger difference of the request size, as a share, means that an interval has another load.
_SIZE_RATIO = 0.3


class BurstInterval:
    """An interval of a burst.

    before_bytes: the bytes of the burst before it.
    is_gap: samples are missing in it.
    """

    __slots__ = ("before_bytes", "bytes_per_second", "disk", "is_gap")

    def __init__(
        self, before_bytes: int, disk: DiskInterval, bytes_per_second: float, *, is_gap: bool
    ) -> None:
        self.before_bytes = before_bytes
        self.disk = disk
        self.bytes_per_second = bytes_per_second
        self.is_gap = is_gap

    def fast_seconds(self, fast: float, sustained: float) -> float:
        """Returns how long the throughput was `fast`, before it was `sustained`."""
        seconds = (self.disk.written_bytes - sustained * self.disk.seconds) / (fast - sustained)
        return min(max(seconds, 0.0), self.disk.seconds)


class Load:
    """The means of some intervals, at least one.

    bytes_per_second, writes, others: per second; others are reads, flushes and discards.
    in_flight: the mean number of writes in flight.
    busy_ratio: the mean share of the time with requests in flight.
    """

    __slots__ = ("busy_ratio", "bytes_per_second", "in_flight", "others", "writes")

    def __init__(self, samples: Iterable[BurstInterval]) -> None:
        disks = [sample.disk for sample in samples]
        seconds = math.fsum(disk.seconds for disk in disks)
        self.bytes_per_second = sum(disk.written_bytes for disk in disks) / seconds
        self.writes = sum(disk.writes for disk in disks) / seconds
        self.others = sum(disk.reads + disk.flushes + disk.discards for disk in disks) / seconds
        self.in_flight = math.fsum(disk.write_seconds for disk in disks) / seconds
        self.busy_ratio = math.fsum(disk.busy_ratio * disk.seconds for disk in disks) / seconds


class Window:
    """The last intervals before a drop.

    fastest: the largest throughput of one of them.
    """

    __slots__ = ("_seconds", "_written_bytes", "fastest", "samples")

    def __init__(self, samples: Iterable[BurstInterval] = ()) -> None:
        self.samples: deque[BurstInterval] = deque()
        self._seconds, self._written_bytes, self.fastest = 0.0, 0, 0.0
        for sample in samples:
            self.append(sample)

    def append(self, sample: BurstInterval) -> None:
        """Adds an interval, and removes those that are too old."""
        samples = self.samples
        samples.append(sample)
        seconds = self._seconds + sample.disk.seconds
        self._written_bytes += sample.disk.written_bytes
        self.fastest = max(self.fastest, sample.bytes_per_second)
        while (
            seconds - samples[0].disk.seconds >= _WINDOW_SECONDS and len(samples) > _WINDOW_SAMPLES
        ):
            first = samples.popleft()
            seconds -= first.disk.seconds
            self._written_bytes -= first.disk.written_bytes
            if first.bytes_per_second >= self.fastest:
                self.fastest = max(each.bytes_per_second for each in samples)
        self._seconds = seconds

    def is_faster(self, bytes_per_second: float) -> bool:
        """Returns True if the mean throughput of these intervals is higher."""
        return self._written_bytes > bytes_per_second * self._seconds

    def is_enough(self) -> bool:
        """Returns True if the mean of these intervals can be a reference."""
        count = len(self.samples)
        if count >= _WINDOW_SAMPLES:
            return True
        is_much = count > 1 and self._written_bytes >= _LEAST_BYTES
        return is_much or self._seconds >= _LEAST_SECONDS

    def usual(self) -> Load:
        """Returns the load of the intervals that are fast and have the usual request size.

        The first interval may contain the load before the burst, and a disturbance may slow down
        some.
        """
        speeds = sorted(sample.bytes_per_second for sample in self.samples)
        least = _FAST_RATIO * speeds[(3 * len(speeds) - 2) // 4]
        disks = [sample.disk for sample in self.samples]
        sizes = sorted(disk.written_bytes / disk.writes for disk in disks if disk.writes)
        size = sizes[len(sizes) // 2] if sizes else 0.0
        some = [
            sample
            for sample in self.samples
            if sample.bytes_per_second >= least
            and not sample.is_gap
            and abs(sample.disk.written_bytes - size * sample.disk.writes)
            <= _SIZE_RATIO * size * sample.disk.writes
        ]
        return Load(some or self.samples)


def slow_load(after: Sequence[BurstInterval]) -> Load:
    """Returns the load of the intervals since a drop that were slow from their begin.

    One of the first two may be slow only in part, and so may one with missing samples.
    """
    slow = Load([each for each in after[2:] or after[1:] if not each.is_gap] or after[-1:])
    most = _ALL_SLOW * slow.bytes_per_second
    some = [each for each in after[:2] if each.bytes_per_second <= most]
    some += [each for each in after[2:] if not each.is_gap]
    return Load(some) if some else slow


def first_seconds(samples: Sequence[BurstInterval]) -> list[BurstInterval]:
    """Returns the first seconds of these intervals, at least two intervals if there are as many."""
    return _until(samples, _AFTER_SECONDS, 2)


def last_seconds(samples: Sequence[BurstInterval]) -> list[BurstInterval]:
    """Returns the last seconds of these intervals, the last one first; at least one interval."""
    return _until(samples[::-1], _BEFORE_SECONDS, 1)


def _until(
    samples: Sequence[BurstInterval], most_seconds: float, least: int
) -> list[BurstInterval]:
    some: list[BurstInterval] = []
    seconds = 0.0
    for sample in samples:
        some.append(sample)
        seconds += sample.disk.seconds
        if seconds >= most_seconds and len(some) >= least:
            break
    return some
