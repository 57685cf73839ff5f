"""The drive of composed scenes: flash units, a controller and a link, with several limits at once.

It shares no physics with `drive`. A request occupies three stations: the flash units, the
controller and the link. Each job waits at each of them behind the others. The mean values are those
of a closed queueing network (approximate mean value analysis), with open jobs as background load.
"""

from dataclasses import dataclass
from functools import lru_cache

from rigs.scenes.drive import Job, Served
from rigs.scenes.kernel import DISCARD, READ, WRITE

_PAGE = 16384.0
_STATIONS = range(3)  # flash units, controller, link


@dataclass(frozen=True)
class Flash:
    """The properties of one drive.

    units: the flash units that work in parallel.
    read_seconds: the time of a unit to read 16 KiB.
    fast_rate, slow_rate: bytes per second of writes into the cache, and directly into the flash.
    random_ratio: bandwidth of random writes as a share of sequential ones.
    iops, link_rate: limits of the controller and of the link.
    command_seconds: time of a request on an idle drive outside the flash.
    flush_mode: "cheap", "drain" (holds the flash units) or "block" (holds the controller).
    discard_mode: "units" (each holds one unit), "drive" (nothing else uses the flash meanwhile) or
        "controller" (holds a quarter of it).
    cache_bytes: infinity without a cache.
    fold_rate: bytes per second that an idle drive moves out of the cache.
    fold_seconds, fold_ratio: after the cache is full, the speed alternates between `slow_rate` and
        this multiple of it, each for this time. 0 seconds: it does not.
    wake_seconds, wake_after_seconds, wake_share: after an idle time, this share of the requests
        waits for the drive or the link to wake up.
    tags: the most requests in flight.
    """

    kind: str
    units: int
    read_seconds: float
    fast_rate: float
    slow_rate: float
    random_ratio: float
    iops: float
    link_rate: float
    command_seconds: float
    flush_seconds: float
    flush_mode: str
    discard_seconds: float
    discard_mode: str
    cache_bytes: float = float("inf")
    fold_rate: float = 0.0
    fold_seconds: float = 0.0
    fold_ratio: float = 1.0
    wake_seconds: float = 0.0
    wake_after_seconds: float = 0.1
    wake_share: float = 1.0
    tags: int = 1023


@dataclass(frozen=True)
class State:
    """What changes while the drive works.

    speed: the speed of the flash units, 1 is normal. link: that of the link.
    write_rate: bytes per second of sequential writes.
    """

    speed: float
    link: float
    write_rate: float


def _demands(flash: Flash, job: Job, state: State) -> tuple[tuple[float, float, float], float]:
    """Returns the time at each station, and the delay outside the stations."""
    link = job.size / (flash.link_rate * state.link)
    controller = 1 / flash.iops
    delay = flash.command_seconds
    if job.op == READ:
        pages = max(job.size / _PAGE, 1.0)
        units = flash.read_seconds * pages / flash.units
        delay += flash.read_seconds
    elif job.op == WRITE:
        rate = state.write_rate * (flash.random_ratio if job.is_random else 1.0)
        units = job.size / rate
        delay += link
    elif job.op == DISCARD:
        delay, link, units = flash.discard_seconds, 0.0, 0.0
        if flash.discard_mode != "controller":
            is_alone = flash.discard_mode == "drive"
            units = flash.discard_seconds / (1 if is_alone else flash.units)
        else:
            controller += flash.discard_seconds / 4
    else:
        raise AssertionError(job.op)
    if job.flushes:
        delay += flash.flush_seconds
        if flash.flush_mode == "drain":
            units += flash.flush_seconds / 2
        elif flash.flush_mode == "block":
            controller += flash.flush_seconds
    return (units / state.speed, controller, link), delay


_Cost = tuple[tuple[float, float, float], float]


def _background(jobs: tuple[Job, ...], costs: list[_Cost]) -> tuple[list[float], list[int]]:
    """Returns the load of open jobs on each station, and the jobs that keep a number in flight.

    An open job for which a station has no time left keeps its largest number in flight.
    """
    load, closed = [0.0, 0.0, 0.0], []
    for index, (job, (demand, _)) in enumerate(zip(jobs, costs, strict=True)):
        if job.depth <= 0 or job.rate == 0.0:
            continue
        if job.rate is not None:
            added = [load[k] + job.rate * demand[k] for k in _STATIONS]
            if max(added) < 0.93:
                load = added
                continue
        closed.append(index)
    return load, closed


@lru_cache(maxsize=8192)
def serve_at_stations(
    flash: Flash, jobs: tuple[Job, ...], state: State
) -> tuple[tuple[Served, ...], float]:
    """Returns what each job gets, and the utilisation of the busiest station, 0 to 1."""
    costs = [_demands(flash, job, state) for job in jobs]
    load, closed = _background(jobs, costs)
    stretch = [1 / (1 - load[k]) for k in _STATIONS]
    queue = {i: [jobs[i].depth / 3] * 3 for i in closed}
    rates: dict[int, float] = {}
    stay: dict[int, list[float]] = {}
    for _ in range(30):
        total = [sum(queue[i][k] for i in closed) for k in _STATIONS]
        for i in closed:
            demand, delay = costs[i]
            depth = jobs[i].depth
            stay[i] = [
                demand[k] * stretch[k] * (1 + max(total[k] - queue[i][k] / depth, 0.0))
                for k in _STATIONS
            ]
            rates[i] = depth / (delay + sum(stay[i]) + jobs[i].think_seconds)
        for i in closed:
            queue[i] = [rates[i] * stay[i][k] for k in _STATIONS]
    waiting = [sum(queue[i][k] for i in closed) for k in _STATIONS]
    used = [load[k] + sum(rates[i] * costs[i][0][k] for i in closed) for k in _STATIONS]
    served = []
    for i, (job, (demand, delay)) in enumerate(zip(jobs, costs, strict=True)):
        if i in rates:
            rate = rates[i] if job.rate is None else min(rates[i], job.rate)
            served.append(Served(rate, delay + sum(stay[i])))
        elif job.depth <= 0 or job.rate is None or job.rate == 0.0:
            served.append(Served(0.0, 0.0))
        else:
            spread = sum(demand[k] * (1 + load[k] / 2 + waiting[k]) * stretch[k] for k in _STATIONS)
            served.append(Served(job.rate, delay + spread))
    inside = sum(one.per_second * one.wait for one in served)
    if inside > flash.tags:
        served = [Served(one.per_second, one.wait * flash.tags / inside) for one in served]
    return tuple(served), min(max(used), 1.0)
