"""A simulated drive whose counters advance in real time."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rigs.scenes import loads
from rigs.scenes.drive import Job, Model
from rigs.scenes.host import Host
from rigs.scenes.kernel import BlockDevice, Cpu, IoTicks
from rigs.scenes.loads import GB, PAGE

#: Interval at which the counters are computed, in seconds. The exporter reads them every second.
STEP_SECONDS = 0.1

#: How long every workload is light after the start, in seconds: the exporter learns the await.
CALM_SECONDS = 15.0

#: The workload at each step.
Workload = Iterator[Sequence[Job]]


class LiveDrive(Host):
    """The simulation of a host in rigs/scenes, without the sampler: another process reads it."""

    def __init__(
        self, name: str, model: Model, workload: Callable[["LiveDrive"], Workload]
    ) -> None:
        self.name = name
        self._workload = workload
        super().__init__(model, random.Random(name), ticks=IoTicks.PRECISE, interval=STEP_SECONDS)
        self._jobs = workload(self)

    def __post_init__(self) -> None:
        self.block = BlockDevice(name=self.name, ticks=self.ticks, hz=self.hz)
        self.cpus: list[Cpu] = []
        self._waited = self._phase_begun = self._used = 0.0
        self._held = []
        self._slots = []
        self._free = []
        self._next_sample, self._number = self.interval, 1

    def step(self) -> None:
        """Advances by `STEP_SECONDS`."""
        self.run(STEP_SECONDS, next(self._jobs))

    @property
    def waited_seconds(self) -> float:
        """How long tasks have waited for the drive."""
        return self._waited

    def line(self) -> str:
        """The line in /proc/diskstats."""
        return self.block.line(self.rng)

    def empty_cache(self) -> None:
        """Empties the write cache, as a long idle time does."""
        self.cache_used, self.fill_at = 0.0, None

    def _sample(self, *, log: bool) -> None:
        pass


def _calm(drive: LiveDrive) -> Workload:
    jobs = loads.light(drive.rng, drive.model)
    return itertools.repeat(jobs, round(CALM_SECONDS / STEP_SECONDS))


def light(drive: LiveDrive) -> Workload:
    """A database with little to do."""
    jobs = [loads.read_rate(300), loads.write_rate(200), loads.commits(1, think_seconds=0.02)]
    return itertools.repeat(jobs)


def full(drive: LiveDrive) -> Workload:
    """More reads than the drive can serve."""
    yield from _calm(drive)
    yield from itertools.repeat([loads.reads(128), Job(1, PAGE, 32, is_random=True)])


def few(drive: LiveDrive) -> Workload:
    """A few reads, each of which takes long: the drive fails slowly."""
    yield from _calm(drive)
    drive.slow_factor = 1 / 60
    yield from itertools.repeat([loads.reads(2, think_seconds=0.002)])


def many_short(drive: LiveDrive) -> Workload:
    """Reads that a drive serves easily, and that one CPU must complete."""
    yield from _calm(drive)
    yield from itertools.repeat([loads.reads(12, blocks=False)])


def restores(drive: LiveDrive) -> Workload:
    """Long sequential writes that fill the write cache, with pauses that empty it."""
    yield from _calm(drive)
    while True:
        yield from itertools.repeat([loads.bulk(8)], round(120 / STEP_SECONDS))
        drive.empty_cache()
        yield from itertools.repeat([loads.read_rate(50)], round(35 / STEP_SECONDS))


def limited(drive: LiveDrive) -> Workload:
    """Reads up to the limit of a cloud volume."""
    yield from _calm(drive)
    yield from itertools.repeat([loads.reads(64)])


def nvme(name: str) -> Model:
    """A drive that is a little slower than its link, PCIe 3.0 x4."""
    return replace(loads.nvme(random.Random(name)), read_rate=3.2 * GB)


def cached(name: str) -> Model:
    """A drive with a write cache that is full after 17 s."""
    model = loads.consumer_nvme(random.Random(name))
    return replace(
        model, write_rate=1.2 * GB, slow_rate=0.2 * GB, cache_bytes=20 * GB, fold_rate=0.1 * GB
    )


def slow_link() -> Model:
    """A SATA drive whose link falls to 1.5 Gb/s during a restore."""
    model = loads.sata(random.Random("link"))
    return replace(model, write_rate=510e6, slow_rate=138e6, cache_bytes=8 * GB, fold_rate=1e6)


def cloud(name: str) -> Model:
    return replace(loads.cloud(random.Random(name)), limit_iops=3000, limit_rate=125e6)
