"""Simulated drives with write caches, written at full speed and by production."""

import bisect
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from exporter.io.interval import DiskInterval, disk_interval
from exporter.probe.cache_cliff import GIB, TraceSample
from tests.io.records import NEW, as_counted

#: Units that reviews and data sheets use.
MB, GB = 1e6, 1e9

#: The speed of a drive after so many bytes since it rested.
Speed = Callable[[float], float]


def steps(first: float, *later: tuple[float, float]) -> Speed:
    """Returns a speed that is `first` MB/s and changes to `later`: pairs of written GB and MB/s."""
    edges = [gigabytes * GB for gigabytes, _ in later]
    speeds = [first * MB, *(speed * MB for _, speed in later)]
    return lambda written: speeds[bisect.bisect_right(edges, written)]


def ramp(first: float, last: float, gigabytes: float) -> Speed:
    """Returns a speed that falls evenly from the first to the last value, in MB/s."""
    return lambda written: MB * (first + (last - first) * min(written / GB / gigabytes, 1.0))


@dataclass(frozen=True)
class Noise:
    """How uneven a drive is. spread: of its speed. stalls: share of the samples that are slow.

    folding: after the first step the speed swings by this share, every three seconds.
    """

    spread: float = 0.1
    stalls: float = 0.01
    folding: float = 0.0


def active(
    speed: Speed, chance: random.Random, noise: Noise = Noise(), budget: float = 16 * GIB
) -> Iterator[TraceSample]:
    """Returns the samples of a write, about one every 0.1 s."""
    written = seconds = 0.0
    while written < budget:
        duration = 0.1 * chance.uniform(0.6, 1.45)
        luck = chance.lognormvariate(-(noise.spread**2) / 2, noise.spread)
        if chance.random() < noise.stalls:
            luck /= 10
        amount = 0.0
        for _ in range(10):
            now = speed(written + amount)
            if noise.folding and now < speed(0):
                now *= 1 + noise.folding * (1 if int(seconds) % 6 < 3 else -1)
            amount += now * luck * duration / 10
        written += amount
        seconds += duration
        yield TraceSample(duration, amount)


@dataclass(frozen=True)
class Work:
    """What a host does for some seconds.

    wants: MB/s written, however fast the drive could; None is all that it takes.
    depth: requests in flight where it wants everything. size: bytes a write.
    pace: the drive's speed for such writes, of its best.
    reads: MB/s read, at no cost to the writes. is_overcounted: the kernel calls it busy throughout.
    """

    seconds: float
    wants: float | None = None
    depth: int = 8
    size: int = 1 << 20
    pace: float = 1.0
    reads: float = 0.0
    is_overcounted: bool = False


#: The device is looked at in steps of this.
_STEP_SECONDS = 0.05

#: A device keeps so little of an idle time's work that it is back at its first speed.
_RECOVERED_SECONDS = 60.0


@dataclass
class Passive:
    """A drive in production. intervals: the sampler's intervals."""

    speed: Speed
    chance: random.Random
    noise: Noise = Noise()

    def intervals(
        self, work: Sequence[Work], every: float = 1.0
    ) -> Iterator[tuple[float, DiskInterval]]:
        """Yields the time of each sample, and the work since the previous one."""
        counters = dict.fromkeys(("reads", "read_bytes", "writes", "bytes", "await", "busy"), 0.0)
        then, now, due, written, idle = NEW, 0.0, every, 0.0, 0.0
        luck, until = 1.0, 0.0
        for task in work:
            end = now + task.seconds
            while now < end - _STEP_SECONDS / 2:
                if now >= until:
                    luck, until = self._luck(), now + 0.5
                speed = self.speed(written) * luck * task.pace
                wants = speed if task.wants is None else min(task.wants * MB, speed)
                # Little's law. If the drive is fast enough, requests are served at once.
                is_full = wants >= speed
                in_flight = task.depth if is_full else wants / speed
                counters["bytes"] += wants * _STEP_SECONDS
                counters["writes"] += wants * _STEP_SECONDS / task.size
                counters["await"] += in_flight * _STEP_SECONDS
                counters["busy"] += _STEP_SECONDS * (
                    1.0 if is_full or task.is_overcounted else wants / speed
                )
                counters["reads"] += task.reads * MB * _STEP_SECONDS / 16384
                counters["read_bytes"] += task.reads * MB * _STEP_SECONDS
                written += wants * _STEP_SECONDS
                idle = 0.0 if wants else idle + _STEP_SECONDS
                written = 0.0 if idle >= _RECOVERED_SECONDS else written
                now += _STEP_SECONDS
                if now < due - 1e-6:
                    continue
                due += every
                later = NEW._replace(
                    **as_counted(
                        reads_completed=int(counters["reads"]),
                        read_bytes=counters["read_bytes"],
                        read_time_seconds=counters["reads"] * 1e-4,
                        writes_completed=int(counters["writes"]),
                        written_bytes=counters["bytes"],
                        write_time_seconds=counters["await"],
                        io_time_seconds=counters["busy"],
                    )
                )
                interval = disk_interval(then, later, every)
                assert interval is not None
                yield now, interval
                then = later

    def _luck(self) -> float:
        luck = self.chance.lognormvariate(-(self.noise.spread**2) / 2, self.noise.spread)
        return luck / 10 if self.chance.random() < self.noise.stalls else luck
