"""Scenes of long writes: a cache that becomes full, and other reasons for a lower throughput."""

import random
from collections.abc import Callable
from dataclasses import replace

from exporter.config.drive_class import VolumeType
from exporter.io.drive import Drive
from exporter.io.slowdown import SlowdownEvidence
from rigs.scenes import loads
from rigs.scenes.drive import MIB, Job, Model
from rigs.scenes.host import Hang, Host
from rigs.scenes.kernel import DISCARD, READ, WRITE
from rigs.scenes.loads import PAGE
from rigs.scenes.table import Result, SceneClass

#: Largest permitted error of the location, as a share of the bytes before the drop.
_PRECISE = 0.15


def _host(
    rng: random.Random,
    drive: Model,
    *,
    interval: float = 1.0,
    evidence: SlowdownEvidence | None = None,
) -> Host:
    ticks, hz = loads.any_kernel(rng)
    known = evidence or SlowdownEvidence()
    return Host(drive, rng, ticks=ticks, hz=hz, interval=interval, evidence=known)


def _cached(rng: random.Random) -> Model:
    return rng.choice([loads.consumer_nvme, loads.consumer_sata])(rng)


def _restore(rng: random.Random) -> Job:
    return loads.bulk(rng.choice([4, 8, 16]), size=rng.choice([MIB / 4, MIB / 2, MIB]))


def _found(host: Host, begun_bytes: float, *, may_be_silent: bool = False) -> Result:
    """Compares the detected falloff with the bytes at which the cache was full."""
    falloffs = host.sampler.activities["sdx"].falloffs
    assert falloffs is not None
    assert host.fill_at is not None, "the cache was not filled"
    true = host.fill_at - begun_bytes
    if falloffs.last is None:
        return Result(is_hit=may_be_silent, note=f"true {true / 1e9:.1f} GB, none")
    error = abs(falloffs.last.burst_bytes - true) / true
    first = next(second.at for second in host.log if second.falloffs)
    filled = next(second.at for second in host.log if second.written >= host.fill_at)
    return Result(
        is_hit=error <= _PRECISE or not may_be_silent,
        is_false=error > 3 * _PRECISE,
        error=error,
        latency_seconds=first - filled,
        note=f"true {true / 1e9:.1f} GB, {falloffs.last.burst_bytes / 1e9:.1f}",
    )


def _until_full(host: Host, jobs: list[Job], after: float = 60.0) -> None:
    for _ in range(400):
        host.run(5, jobs)
        if host.fill_at is not None:
            break
    host.run(after, jobs)


def _plain(interval: float) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        drive = _cached(rng)
        with _host(rng, drive, interval=interval) as host:
            host.run(20, loads.light(rng, drive))
            begun = host.written
            _until_full(host, [_restore(rng)])
            return _found(host, begun)

    return run


def _small_cache(rng: random.Random) -> Result:
    drive = replace(_cached(rng), cache_bytes=rng.uniform(3, 8) * 1e9)
    with _host(rng, drive) as host:
        host.run(20, loads.light(rng, drive))
        begun = host.written
        _until_full(host, [_restore(rng)])
        return _found(host, begun)


def _three_phases(rng: random.Random) -> Result:
    """The second part of the cache is slower than the first, and the flash slower than that."""
    drive = _cached(rng)
    with _host(rng, drive) as host:
        host.run(20, loads.light(rng, drive))
        begun, job = host.written, _restore(rng)
        _until_full(host, [job], rng.uniform(25, 40))
        host.model = replace(drive, slow_rate=drive.slow_rate * rng.uniform(0.3, 0.6))
        host.run(60, [job])
        return _found(host, begun)


def _beside_reads(least: float, most: float) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        drive = _cached(rng)
        with _host(rng, drive) as host:
            share = rng.uniform(least, most)
            per_second = share * drive.write_rate / (1 + share) / PAGE
            per_second = min(per_second, 0.6 * drive.reads_per_second)
            jobs = [_restore(rng), loads.read_rate(per_second)]
            host.run(15, [jobs[1]])
            begun = host.written
            _until_full(host, jobs)
            return _found(host, begun)

    return run


def _slow_writer(rng: random.Random) -> Result:
    """The writer offers 35 to 85 % of the speed of the cache, and more than the flash can write."""
    drive = _cached(rng)
    drive = replace(drive, slow_rate=drive.write_rate * rng.uniform(0.08, 0.25))
    with _host(rng, drive) as host:
        host.run(20, loads.light(rng, drive))
        begun = host.written
        rate = rng.uniform(0.35, 0.85) * drive.write_rate
        job = Job(WRITE, MIB, rng.choice([16, 32]), rate=rate / MIB, blocks=False)
        _until_full(host, [job])
        return _found(host, begun, may_be_silent=True)


def _bursts(shortest: float, longest: float) -> Callable[[random.Random], Result]:
    """Bursts with rests. An idle drive empties its cache more slowly than it fills."""

    def run(rng: random.Random) -> Result:
        drive = _cached(rng)
        drive = replace(drive, fold_rate=0.0 if longest < 30 else drive.fold_rate)
        drive = replace(drive, cache_bytes=max(drive.cache_bytes, 12 * drive.write_rate))
        with _host(rng, drive) as host:
            job = _restore(rng)
            part = rng.uniform(0.25, 0.45) * drive.cache_bytes / drive.write_rate
            host.run(20, loads.light(rng, drive))
            begun = host.written
            for _ in range(2):
                host.run(part, [job])
                host.run(rng.uniform(shortest, longest), [])
                if longest >= 30:
                    begun = host.written
            _until_full(host, [job])
            return _found(host, begun)

    return run


# No falloff.


def _nothing(host: Host) -> Result:
    falloffs = host.sampler.activities["sdx"].falloffs
    assert falloffs is not None
    last = falloffs.last
    note = "none" if last is None else f"{last.burst_bytes / 1e9:.1f} GB {last.ratio:.2f}"
    return Result(is_hit=falloffs.events == 0, is_false=falloffs.events > 0, note=note)


def _plain_drive(rng: random.Random) -> Model:
    """A drive whose cache does not become full, with or without power-loss protection."""
    consumer = replace(loads.consumer_nvme(rng), cache_bytes=float("inf"))
    return rng.choice([loads.nvme(rng), loads.sata(rng), consumer])


def _change(
    before: Callable[[random.Random, Model], list[Job]],
    after: Callable[[random.Random, Model], list[Job]],
) -> Callable[[random.Random], Result]:
    """A long write, and then something else begins."""

    def run(rng: random.Random) -> Result:
        drive = _plain_drive(rng)
        with _host(rng, drive) as host:
            host.run(rng.uniform(25, 60), before(rng, drive))
            host.run(rng.uniform(40, 70), after(rng, drive))
            return _nothing(host)

    return run


def _hangs(shortest: float, longest: float) -> Callable[[random.Random], Result]:
    def run(rng: random.Random) -> Result:
        drive = _plain_drive(rng)
        with _host(rng, drive) as host:
            jobs = [_restore(rng)]
            host.run(rng.uniform(20, 50), jobs)
            for _ in range(3):
                seconds = rng.uniform(shortest, longest)
                host.run(seconds, jobs, Hang(host.now + seconds))
                host.run(rng.uniform(0.5, 12), jobs)
            host.run(20, jobs)
            return _nothing(host)

    return run


def _same_writer(rng: random.Random, drive: Model) -> list[Job]:
    return [loads.bulk(8, size=MIB / 2)]


def _and_discards(rng: random.Random, drive: Model) -> list[Job]:
    return [*_same_writer(rng, drive), Job(DISCARD, 4096, rng.choice([1, 4, 8]))]


def _and_small_reads(rng: random.Random, drive: Model) -> list[Job]:
    per_second = rng.uniform(0.3, 0.5) * drive.reads_per_second
    return [*_same_writer(rng, drive), loads.read_rate(per_second, size=4096)]


def _and_backup(rng: random.Random, drive: Model) -> list[Job]:
    return [*_same_writer(rng, drive), loads.reads(8, size=MIB)]


def _and_flushes(rng: random.Random, drive: Model) -> list[Job]:
    """Many clients commit beside the writer."""
    return [*_same_writer(rng, drive), loads.commits(rng.choice([8, 32, 64]))]


def _now_flushed(rng: random.Random, drive: Model) -> list[Job]:
    """The writer itself waits for a flush after each write."""
    return [Job(WRITE, MIB / 2, 8, flushes=True)]


def _now_random(rng: random.Random, drive: Model) -> list[Job]:
    return [Job(WRITE, MIB / 2, 8, is_random=True)]


def _less_demand(rng: random.Random, drive: Model) -> list[Job]:
    rate = rng.uniform(0.1, 0.6) * drive.write_rate
    return [Job(WRITE, MIB / 2, 8, rate=rate / (MIB / 2), blocks=False)]


def _fewer_threads(rng: random.Random, drive: Model) -> list[Job]:
    return [loads.bulk(rng.choice([1, 2]), size=MIB / 2)]


def _small_blocks(rng: random.Random, drive: Model) -> list[Job]:
    return [loads.bulk(8, size=PAGE)]


def _and_resync(rng: random.Random, drive: Model) -> list[Job]:
    per_second = 200e6 / (PAGE * 8)
    return [
        *_same_writer(rng, drive),
        Job(READ, PAGE * 8, 64, rate=per_second, blocks=False),
        Job(WRITE, PAGE * 8, 64, rate=per_second / 2, blocks=False),
    ]


def _limited(rng: random.Random, drive: Model) -> list[Job]:
    rate = rng.uniform(0.05, 0.5) * drive.write_rate
    return [loads.bulk(1, size=MIB / 2, think_seconds=MIB / 2 / rate)]


def _cloud_credit(rng: random.Random) -> Result:
    drive = loads.cloud(rng)
    with _host(rng, replace(drive, limit_rate=drive.limit_rate * 4, limit_iops=64e3)) as host:
        host.sampler.update_drives(
            {"sdx": replace(_drive_of(host), volume=True, volume_type=VolumeType.CLOUD)}
        )
        jobs = [loads.bulk(16, size=MIB / 4)]
        host.run(rng.uniform(30, 60), jobs)
        host.model = drive
        host.run(60, jobs)
        activity = host.sampler.activities["sdx"]
        if activity.falloffs is None:
            return Result(is_hit=True, note="not watched")
        return _nothing(host)


def _drive_of(host: Host) -> Drive:
    return host.sampler.activities["sdx"].drive


def _steady(rng: random.Random) -> Result:
    drive = _plain_drive(rng)
    with _host(rng, drive) as host:
        host.jitter = 0.2
        host.run(rng.uniform(60, 120), [_restore(rng)])
        return _nothing(host)


# Heat and slow slopes: the drop is real, but the write cache is not its cause.


def _slope(rng: random.Random, *, evidence: SlowdownEvidence | None = None) -> Result:
    drive = _plain_drive(rng)
    with _host(rng, drive, evidence=evidence) as host:
        jobs = [_restore(rng)]
        host.run(rng.uniform(20, 40), jobs)
        host.run(rng.uniform(60, 150), jobs, slowing_to=rng.uniform(0.25, 0.5))
        host.run(40, jobs)
        labelled = sum(second.verdict == "write_cache" for second in host.log)
        return Result(is_hit=labelled == 0, is_false=labelled > 0, note=f"{labelled} s write_cache")


def _warm(rng: random.Random) -> Result:
    """The drive throttles 3 to 10 K below the temperature of its own warning."""
    limit = 80.0
    evidence = SlowdownEvidence(
        temperature_celsius=limit - rng.uniform(3, 10), warning_celsius=limit
    )
    drive = _plain_drive(rng)
    with _host(rng, drive, evidence=evidence) as host:
        jobs = [_restore(rng)]
        host.run(rng.uniform(30, 60), jobs)
        host.slow_factor = rng.uniform(0.3, 0.55)
        host.run(60, jobs)
        labelled = sum(second.verdict == "write_cache" for second in host.log)
        return Result(is_hit=labelled == 0, is_false=labelled > 0, note=f"{labelled} s write_cache")


_CLIFFS: dict[str, Callable[[random.Random], Result]] = {
    "plain, sample every second": _plain(1.0),
    "plain, sample every 2 s": _plain(2.0),
    "plain, sample every 5 s": _plain(5.0),
    "small cache": _small_cache,
    "three phases": _three_phases,
    "reads are 10 to 20 % of the bytes": _beside_reads(0.1, 0.2),
    "reads are 30 to 50 % of the bytes": _beside_reads(0.3, 0.5),
    "bursts, rests of 35 to 60 s": _bursts(35, 60),
    "bursts, rests of 5 to 25 s": _bursts(5, 25),
}

_NO_CLIFF: dict[str, Callable[[random.Random], Result]] = {
    "hangs of 2 to 8 s": _hangs(2, 8),
    "hangs of 16 to 45 s": _hangs(16, 45),
    "discards begin": _change(_same_writer, _and_discards),
    "small reads begin": _change(_same_writer, _and_small_reads),
    "a backup begins": _change(_same_writer, _and_backup),
    "commits begin": _change(_same_writer, _and_flushes),
    "each write is flushed": _change(_same_writer, _now_flushed),
    "the writes become random": _change(_same_writer, _now_random),
    "less demand": _change(_same_writer, _less_demand),
    "fewer threads": _change(_same_writer, _fewer_threads),
    "small blocks": _change(_same_writer, _small_blocks),
    "RAID resync begins": _change(_same_writer, _and_resync),
    "rate limit": _change(_same_writer, _limited),
    "credit of a cloud volume ends": _cloud_credit,
    "steady, noisy": _steady,
}

CLASSES = [
    *(SceneClass("Falloff", name, "falloff", run) for name, run in _CLIFFS.items()),
    SceneClass("Falloff", "writer at 35 to 85 % of the cache", "located or silent", _slow_writer),
    *(SceneClass("Falloff", name, "none", run) for name, run in _NO_CLIFF.items()),
    SceneClass("Falloff", "gradually slower", "not write_cache", _slope),
    SceneClass("Falloff", "3 to 10 K below the warning", "not write_cache", _warm),
]
