"""Scenes in which some or all requests of a drive hang, and scenes in which none does."""

import random
from collections.abc import Callable
from dataclasses import replace

from rigs.scenes import loads
from rigs.scenes.drive import MIB, Job, Model
from rigs.scenes.host import Hang, Host
from rigs.scenes.kernel import DISCARD, READ, WRITE
from rigs.scenes.loads import PAGE
from rigs.scenes.table import Result, SceneClass

#: Within this time after its begin, a partial hang must count as a stall, in seconds.
_WITHIN = 10.0

#: Permitted error of the counted seconds: the samples do not begin with the hang.
_ROUNDING = 1.1


def _host(rng: random.Random, drive: Model, *, one_by_one: bool = False) -> Host:
    ticks, hz = loads.any_kernel(rng)
    return Host(drive, rng, ticks=ticks, hz=hz, one_by_one=one_by_one)


def _database(rng: random.Random, drive: Model) -> list[Job]:
    """Readers with pauses, a page cleaner and commits; fast enough that every second has some."""
    think = rng.choice([0.0005, 0.002, 0.02])
    return [
        loads.reads(rng.choice([8, 32, 64]), think_seconds=think),
        Job(WRITE, PAGE, 64, rate=rng.uniform(100, 2000), is_random=True, blocks=False),
        loads.commits(rng.choice([1, 4]), think_seconds=0.005),
    ]


def _counted(host: Host, begun: float) -> float:
    before = [second.stalled for second in host.log if second.at <= begun - 1]
    return host.log[-1].stalled - (before[-1] if before else 0.0)


def _latency(host: Host, begun: float) -> float | None:
    before = [second.stalled for second in host.log if second.at <= begun]
    first = before[-1] if before else 0.0
    return next(
        (s.at - begun for s in host.log if s.at > begun and s.stalled > first + 0.5),
        None,
    )


def _full(
    shortest: float, longest: float, *, missing: bool = False
) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        drive = rng.choice([loads.nvme, loads.sata])(rng)
        with _host(rng, drive) as host:
            jobs = _database(rng, drive)
            host.run(rng.uniform(15, 20), jobs)
            begun, seconds = host.now, rng.uniform(shortest, longest)
            skipped: list[float] = []
            if missing:
                at = rng.uniform(2, seconds - 8)
                skipped = [at + n for n in range(rng.choice([2, 4, 6]))]
            host.run(seconds, jobs, Hang(begun + seconds), skipped)
            host.run(12, jobs)
            counted = _counted(host, begun)
            return Result(
                is_hit=abs(counted - seconds) <= _ROUNDING,
                is_false=counted > seconds + _ROUNDING,
                error=abs(counted - seconds) / seconds,
                latency_seconds=_latency(host, begun),
                note=f"{seconds:.1f} s, counted {counted:.1f}",
            )

    return run


def _partial(
    share: float, ops: tuple[int, ...] = (READ, WRITE), *, shortest: float = 10, longest: float = 90
) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        drive = rng.choice([loads.nvme, loads.nvme, loads.sata])(rng)
        with _host(rng, drive) as host:
            jobs = _database(rng, drive)
            host.run(rng.uniform(20, 40), jobs)
            begun, seconds = host.now, rng.uniform(shortest, longest)
            wander = 10 ** rng.uniform(-2, -0.7)
            host.run(seconds, jobs, Hang(begun + seconds, share, ops, wander))
            host.run(15, jobs)
            late = _latency(host, begun)
            counted = _counted(host, begun)
            return Result(
                is_hit=late is not None and late <= min(_WITHIN, seconds) + _ROUNDING,
                is_false=counted > seconds + 2,
                error=abs(counted - seconds) / seconds,
                latency_seconds=late,
                note=f"{seconds:.1f} s, counted {counted:.1f}",
            )

    return run


def _few_reads_beside_stuck_writes(rng: random.Random) -> Result:
    """All writes hang; two reads a second are answered."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    with _host(rng, drive, one_by_one=True) as host:
        jobs = [
            Job(WRITE, PAGE, rng.choice([1, 8, 31]), think_seconds=0.02),
            loads.read_rate(rng.choice([2, 20, 200])),
        ]
        host.run(20, jobs)
        begun, seconds = host.now, rng.uniform(12, 60)
        host.run(seconds, jobs, Hang(begun + seconds, 1.0, (WRITE,)))
        late = _latency(host, begun)
        counted = _counted(host, begun)
        return Result(
            is_hit=late is not None and late <= _WITHIN + _ROUNDING,
            error=abs(counted - seconds) / seconds,
            latency_seconds=late,
            note=f"{seconds:.1f} s, counted {counted:.1f}",
        )


def _path_loss(rng: random.Random) -> Result:
    """One of two paths is lost. Its requests time out after 30 s and use the other path."""
    return _partial(0.5, shortest=30, longest=32)(rng)


def _spin_up(rng: random.Random) -> Result:
    """A rotating disk in standby: the first requests wait until it runs."""
    with _host(rng, loads.disk(rng), one_by_one=True) as host:
        jobs = [loads.reads(4, think_seconds=0.01)]
        host.run(20, [])
        begun, seconds = host.now, rng.uniform(4, 12)
        host.run(seconds, jobs, Hang(begun + seconds))
        host.run(12, jobs)
        counted = _counted(host, begun)
        return Result(
            is_hit=abs(counted - seconds) <= _ROUNDING,
            error=abs(counted - seconds) / seconds,
            note=f"{seconds:.1f} s, counted {counted:.1f}",
        )


def _healthy(
    make: Callable[[random.Random], tuple[Model, list[Job]]], *, one_by_one: bool = False
) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        drive, jobs = make(rng)
        with _host(rng, drive, one_by_one=one_by_one) as host:
            for _ in range(3):
                host.run(rng.uniform(20, 40), jobs)
                host.run(rng.uniform(2, 8), loads.light(rng, drive))
            counted = host.log[-1].stalled
            return Result(is_hit=counted == 0, is_false=counted > 0, note=f"counted {counted:.1f}")

    return run


def _busy_database(rng: random.Random) -> tuple[Model, list[Job]]:
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    return drive, _database(rng, drive)


def _restless(rng: random.Random) -> Result:
    """A database whose load changes every few seconds, for eight minutes."""
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    with _host(rng, drive) as host:
        host.jitter = rng.choice([0.1, 0.3, 0.6])
        while host.now < 480:
            host.run(rng.uniform(1, 12), _database(rng, drive))
        counted = host.log[-1].stalled
        return Result(is_hit=counted == 0, is_false=counted > 0, note=f"counted {counted:.1f}")


def _overloaded(rng: random.Random) -> tuple[Model, list[Job]]:
    drive = rng.choice([loads.nvme, loads.sata])(rng)
    return drive, [loads.reads(256), Job(WRITE, PAGE, 64, is_random=True), loads.bulk(16)]


def _slow_disk(rng: random.Random) -> tuple[Model, list[Job]]:
    return loads.disk(rng), [loads.reads(rng.choice([1, 8, 31])), loads.bulk(4)]


def _slow_stick(rng: random.Random) -> tuple[Model, list[Job]]:
    """A slow drive with a long queue: each write takes about a second."""
    rate = rng.uniform(15e6, 40e6)
    drive = replace(loads.sata(rng), write_rate=rate, slow_rate=rate)
    return drive, [loads.bulk(rng.choice([8, 30]), size=MIB / 2), loads.read_rate(5)]


def _many_discards(rng: random.Random) -> tuple[Model, list[Job]]:
    drive = replace(loads.sata(rng), discard_seconds=rng.uniform(0.005, 0.1))
    return drive, [Job(DISCARD, 4096, rng.choice([4, 16])), loads.reads(4)]


_STALLED: dict[str, Callable[[random.Random], Result]] = {
    "everything hangs, 2 to 10 s": _full(2, 10),
    "everything hangs, 10 to 45 s": _full(10, 45),
    "everything hangs, samples missing": _full(12, 40, missing=True),
    "1 of 24 queues hangs": _partial(1 / 24),
    "4 of 24 queues hang": _partial(4 / 24),
    "writes hang, reads are answered": _partial(1.0, (WRITE,)),
    "reads hang, writes are answered": _partial(1.0, (READ,)),
    "writes hang, few reads are answered": _few_reads_beside_stuck_writes,
    "one of two paths is lost": _path_loss,
    "disk spins up": _spin_up,
}

_HEALTHY: dict[str, Callable[[random.Random], Result]] = {
    "database": _healthy(_busy_database),
    "database, changing load": _restless,
    "overloaded drive": _healthy(_overloaded),
    "rotating disk": _healthy(_slow_disk, one_by_one=True),
    "slow drive, long queue": _healthy(_slow_stick, one_by_one=True),
    "discards that block": _healthy(_many_discards),
}

CLASSES = [
    *(SceneClass("Stalls", name, "stalled", run) for name, run in _STALLED.items()),
    *(SceneClass("Stalls", name, "no stall", run) for name, run in _HEALTHY.items()),
]
