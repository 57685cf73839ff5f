"""How many requests a drive completes, and how long each takes: queues, bandwidth, flash cache.

A drive is one queueing station, its bottleneck resource, and a delay that requests do not share.
A request occupies the station for its demand: the largest of its share of the flash units, of the
bandwidth and of the controller. The mean values are those of a closed queueing network (approximate
mean value analysis of Schweitzer and Bard), with the open classes as background load.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from rigs.scenes.kernel import DISCARD, FLUSH, READ, WRITE

MIB = 1 << 20


@dataclass(frozen=True)
class Model:
    """A drive.

    read_seconds, write_seconds: the time of a 16 KiB request on the idle drive.
    reads_per_second: how many random reads of 16 KiB the flash units serve.
    iops: the most commands of the controller.
    read_rate, write_rate: bandwidth in bytes per second; write_rate while the cache has space.
    slow_rate: bandwidth of writes when the cache is full.
    random_write_ratio: the bandwidth of random writes, as a share of write_rate.
    cache_bytes, fold_rate: the size of the cache, and how fast an idle drive empties it.
    flush_seconds, discard_seconds: the time that one takes.
    blocks_on_discard: discards are not queued: nothing else runs at the same time.
    tags: the most requests in flight. More wait outside, where the kernel does not count them.
    limit_iops, limit_rate: limits of a cloud volume.
    """

    kind: str
    name: str
    read_seconds: float
    write_seconds: float
    reads_per_second: float
    iops: float
    read_rate: float
    write_rate: float
    slow_rate: float
    random_write_ratio: float = 0.5
    cache_bytes: float = float("inf")
    fold_rate: float = 100e6
    flush_seconds: float = 0.0005
    discard_seconds: float = 0.0002
    blocks_on_discard: bool = False
    tags: int = 1023
    limit_iops: float = float("inf")
    limit_rate: float = float("inf")

    def faster(self, factor: float) -> "Model":
        """Returns this drive with all limits raised and all times shortened."""
        return replace(
            self,
            read_seconds=self.read_seconds / factor,
            write_seconds=self.write_seconds / factor,
            reads_per_second=self.reads_per_second * factor,
            iops=self.iops * factor,
            read_rate=self.read_rate * factor,
            write_rate=self.write_rate * factor,
            slow_rate=self.slow_rate * factor,
            flush_seconds=self.flush_seconds / factor,
            discard_seconds=self.discard_seconds / factor,
            limit_iops=self.limit_iops * factor,
            limit_rate=self.limit_rate * factor,
        )


@dataclass(frozen=True)
class Job:
    """One workload.

    depth: the number of requests that it keeps in flight; for an open workload the largest number.
    rate: requests per second of an open workload; None: a new request starts when one completes.
    think_seconds: the pause between two requests of one thread.
    flushes: each write waits for a flush of the drive's cache, as an fdatasync does.
    is_random: writes at random places, which cost the drive garbage collection.
    blocks: the tasks wait in a system call that PSI counts (not io_getevents).
    """

    op: int
    size: float
    depth: float = 1.0
    rate: float | None = None
    think_seconds: float = 0.0
    flushes: bool = False
    is_random: bool = False
    blocks: bool = True


@dataclass(frozen=True)
class Served:
    """What a job gets: requests per second, and the await of each."""

    per_second: float
    wait: float


def demand_and_delay(model: Model, job: Job, *, cache_is_full: bool) -> tuple[float, float]:
    """Returns the time at the drive's bottleneck, and the time that an idle drive takes."""
    if job.op == READ:
        # A flash unit reads a whole page. A large request is split over several of them.
        pages = max(job.size / 16384, 1.0) ** 0.5 / model.reads_per_second
        pages = pages if job.size <= 65536 else 0.0
        demand = max(pages, job.size / model.read_rate)
        delay = model.read_seconds + job.size / model.read_rate
    elif job.op == WRITE:
        rate = model.slow_rate if cache_is_full else model.write_rate
        if job.is_random:
            rate *= model.random_write_ratio
        demand = job.size / rate
        delay = model.write_seconds + job.size / rate
        if job.flushes:
            delay += model.flush_seconds
            demand += model.flush_seconds / 2
    elif job.op == DISCARD:
        demand = model.discard_seconds if model.blocks_on_discard else model.discard_seconds / 32
        delay = model.discard_seconds
    else:
        assert job.op == FLUSH
        demand, delay = model.flush_seconds / 2, model.flush_seconds
    demand = max(demand, 1 / model.iops, 1 / model.limit_iops, job.size / model.limit_rate)
    return demand, max(delay, demand)


@lru_cache(maxsize=256)
def serve(
    model: Model, jobs: tuple[Job, ...], *, cache_is_full: bool
) -> tuple[list[Served], float]:
    """Returns what each job gets, and the utilisation of the drive's bottleneck, 0 to 1."""
    costs = [demand_and_delay(model, job, cache_is_full=cache_is_full) for job in jobs]
    background = 0.0
    closed = []
    for index, (job, (demand, _)) in enumerate(zip(jobs, costs, strict=True)):
        if job.rate is not None and background + job.rate * demand < 0.95:
            background += job.rate * demand
        elif job.depth > 0:
            closed.append(index)
    stretch = 1 / (1 - background)
    queue = {index: jobs[index].depth / max(len(closed), 1) for index in closed}
    rates: dict[int, float] = {}
    stay: dict[int, float] = {}
    for _ in range(40):
        total = sum(queue.values())
        for index in closed:
            demand, delay = costs[index]
            depth = jobs[index].depth
            stay[index] = demand * stretch * (1 + max(total - queue[index] / depth, 0.0))
            rates[index] = depth / (delay - demand + stay[index] + jobs[index].think_seconds)
        queue = {index: rates[index] * stay[index] for index in closed}
    waiting = sum(queue.values())
    served = []
    for index, (job, (demand, delay)) in enumerate(zip(jobs, costs, strict=True)):
        if index in rates:
            served.append(Served(rates[index], delay - demand + stay[index]))
        elif job.depth <= 0:
            served.append(Served(0.0, 0.0))
        else:
            assert job.rate is not None
            spread = background / (1 - background) / 2 + waiting * stretch
            served.append(Served(job.rate, delay + demand * spread))
    used = background + sum(rates[index] * costs[index][0] for index in closed)
    inside = sum(one.per_second * one.wait for one in served)
    if inside > model.tags:
        # The other requests wait for a tag, and the kernel has not started to count them.
        served = [Served(one.per_second, one.wait * model.tags / inside) for one in served]
    return served, min(used, 1.0)
