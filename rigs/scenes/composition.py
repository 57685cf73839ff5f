"""Draws composed scenes: a drive, a main writer and zero to four disturbances, with their truth.

Each disturbance has a strength between 0 and 1. The space has two parts: rules are chosen on
"shown" scenes and scored on "left out" ones. They differ in the strengths and in the pairs of
disturbances.
"""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from exporter.io.slowdown import SlowdownEvidence
from rigs.scenes.composed_host import Change, ComposedHost, Noise, Part
from rigs.scenes.drive import MIB, Job
from rigs.scenes.kernel import DISCARD, READ, WRITE, IoTicks
from rigs.scenes.stations import Flash, State, serve_at_stations

#: Scenes of this seed and part may shape a rule; the table uses LEFT_OUT.
SHOWN, LEFT_OUT = "shown", "left out"


def strength(rng: random.Random, part: str) -> float:
    """Returns a strength of this part of the space: two bands of a quarter each."""
    band = rng.choice([0.0, 0.5]) + (0.25 if part == LEFT_OUT else 0.0)
    return band + rng.random() / 4


def between(low: float, high: float, share: float) -> float:
    """Returns the value at this share of a logarithmic scale."""
    return low * math.exp(math.log(high / low) * share)


NOISES = ("none", "white", "wander", "swing", "dips", "levels")


def flash(rng: random.Random, part: str, *, cached: bool) -> Flash:
    """Draws a drive."""
    is_nvme = rng.random() < 0.6
    size = strength(rng, part)
    fast = between(0.8e9, 5e9, size) if is_nvme else between(250e6, 520e6, size)
    units = rng.choice([8, 16, 32, 64, 128]) if is_nvme else rng.choice([4, 8, 16, 32])
    ratio = rng.uniform(0.1, 0.6)
    folds = cached and rng.random() < 0.25
    return Flash(
        kind="nvme" if is_nvme else "ssd",
        units=units,
        read_seconds=rng.uniform(50e-6, 130e-6),
        fast_rate=fast,
        slow_rate=fast * ratio if cached else fast,
        random_ratio=rng.uniform(0.3, 0.9),
        iops=rng.uniform(200e3, 900e3) if is_nvme else rng.uniform(50e3, 95e3),
        link_rate=rng.uniform(1.2, 2.0) * fast if is_nvme else 560e6,
        command_seconds=rng.uniform(8e-6, 30e-6) if is_nvme else rng.uniform(30e-6, 80e-6),
        flush_seconds=between(0.1e-3, 6e-3, rng.random()),
        flush_mode=rng.choice(["cheap", "drain", "drain", "block"]),
        discard_seconds=between(0.3e-3, 8e-3, rng.random()),
        discard_mode=rng.choice(["units", "drive", "drive", "controller"]),
        # The writer fills the cache after 6 to 60 seconds of its full speed.
        cache_bytes=fast * between(4, 60, rng.random()) if cached else math.inf,
        fold_rate=fast * rng.uniform(0.02, 0.3),
        fold_seconds=between(2, 20, rng.random()) if folds else 0.0,
        fold_ratio=rng.uniform(1.2, 1.8) if folds else 1.0,
        tags=1023 if is_nvme else rng.choice([32, 64]),
    )


@dataclass(frozen=True)
class Writer:
    """The main writer: what it does, and its demand in bytes per second (infinity: closed)."""

    kind: str
    job: Job
    demand: float
    on: float = 0.0
    off: float = 0.0


def writer(rng: random.Random, part: str, drive: Flash) -> Writer:
    size = rng.choice([MIB / 8, MIB / 4, MIB / 2, MIB])
    depth = rng.choice([1, 2, 4, 8, 16, 32])
    kind = rng.choices(["full speed", "partial demand", "bursts"], [6, 3, 2])[0]
    if kind == "partial demand":
        share = 0.3 + 0.6 * strength(rng, part)
        rate = share * drive.fast_rate
        job = Job(WRITE, size, rng.choice([8, 16, 32]), rate=rate / size, blocks=False)
        return Writer(kind, job, rate)
    job = Job(WRITE, size, depth)
    if kind == "bursts":
        fill = drive.cache_bytes / drive.fast_rate if math.isfinite(drive.cache_bytes) else 20.0
        return Writer(kind, job, math.inf, max(25.0, 1.6 * fill), rng.uniform(10, 60))
    return Writer(kind, job, math.inf)


@dataclass
class Disturbance:
    """What one disturbance adds to a scene."""

    parts: list[Part]
    changes: list[Change]
    evidence: Callable[[float], SlowdownEvidence] | None = None


def _reads(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    capacity = drive.units / drive.read_seconds
    if rng.random() < 0.5:
        job = Job(READ, 16384, 256, rate=min(0.1 + 0.8 * s, 0.9) * min(capacity, drive.iops))
    else:
        job = Job(READ, rng.choice([4096.0, 16384.0]), max(1, round(between(2, 128, s))))
    return Disturbance([Part(job, t, end)], [])


def _backup(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    job = Job(READ, rng.choice([MIB / 4, MIB]), max(1, round(between(1, 16, s))))
    return Disturbance([Part(job, t, end)], [])


def _discards(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    share = 0.15 + 0.55 * s
    stations = {"units": drive.units, "drive": 1, "controller": 4}[drive.discard_mode]
    rate = share * stations / drive.discard_seconds
    job = Job(DISCARD, rng.choice([4096.0, MIB, 32 * MIB]), 64, rate=rate)
    return Disturbance([Part(job, t, end)], [])


def _flushes(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    size = rng.choice([4096.0, 16384.0])
    if rng.random() < 0.5:
        # Commits at a fixed rate, which hold the drive for this share of the time.
        holds = {"cheap": 0.0, "drain": 0.5, "block": 1.0}[drive.flush_mode] * drive.flush_seconds
        rate = (0.1 + 0.55 * s) / max(holds, 1e-4)
        return Disturbance([Part(Job(WRITE, size, 64, rate=rate, flushes=True), t, end)], [])
    clients = max(1, round(between(1, 64, s)))
    think = rng.choice([0.0, 0.002, 0.01])
    job = Job(WRITE, size, clients, think_seconds=think, flushes=True)
    return Disturbance([Part(job, t, end)], [])


def _writers(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    job = Job(WRITE, 16384, max(1, round(between(2, 64, s))), is_random=True)
    return Disturbance([Part(job, t, end)], [])


def _throttle(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    """A patrol read, a power cap or a neighbour on the drive; it ends while the writer goes on."""
    return Disturbance([], [Change("speed", t, t + rng.uniform(10, 40), 0.8 - 0.55 * s)])


def _heat(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    lasting, factor = rng.uniform(30, 150), 0.65 - 0.4 * s
    change = Change("ramp", t, t + lasting, factor)
    kind = rng.choice(["unknown", "no limit", "limit"])

    def evidence(at: float) -> SlowdownEvidence:
        if kind == "unknown":
            return SlowdownEvidence()
        # The last SMART poll is up to a minute old.
        part = min(max((at // 60 * 60 - t) / lasting, 0.0), 1.0)
        celsius = 48 + 28 * part
        return SlowdownEvidence(celsius, 80.0 if kind == "limit" else None)

    return Disturbance([], [change], evidence)


def _hang(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    return Disturbance([], [Change("hang", t, t + between(1.5, 30, s))])


def _link(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    factor = rng.choice([0.25, 0.5])

    def evidence(at: float) -> SlowdownEvidence:
        now = drive.link_rate * (factor if at >= t else 1.0)
        return SlowdownEvidence(
            link_bytes_per_second=now, link_max_bytes_per_second=drive.link_rate
        )

    return Disturbance([], [Change("link", t, math.inf, factor)], evidence)


def _waves(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    job = Job(WRITE, rng.choice([16384.0, MIB / 8]), max(1, round(between(4, 64, s))))
    return Disturbance([Part(job, t, end, rng.uniform(2, 8), rng.uniform(3, 20))], [])


def _snapshot(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    """Each overwritten block is read and copied."""
    rate = (0.1 + 0.5 * s) * drive.fast_rate / 65536 / 2
    copies = [Job(op, 65536, 64, rate=rate, blocks=False) for op in (READ, WRITE)]
    return Disturbance([Part(job, t, end) for job in copies], [])


def _random(rng: random.Random, s: float, drive: Flash, t: float, end: float) -> Disturbance:
    return Disturbance([], [])


DISTURBANCES = {
    "reads": _reads,
    "backup": _backup,
    "discards": _discards,
    "flushes": _flushes,
    "writers": _writers,
    "throttle": _throttle,
    "heat": _heat,
    "hang": _hang,
    "link": _link,
    "waves": _waves,
    "snapshot": _snapshot,
    "random": _random,
}
_NAMES = tuple(DISTURBANCES)


def is_of(names: tuple[str, ...], part: str) -> bool:
    """Returns True if this combination belongs to the part; single ones belong to both."""
    if len(names) < 2:
        return True
    pairs = itertools.combinations(sorted(_NAMES.index(name) for name in names), 2)
    return (sum(a + 2 * b for a, b in pairs) % 2 == 1) == (part == LEFT_OUT)


def combination(rng: random.Random, part: str) -> tuple[str, ...]:
    count = rng.choices([0, 1, 2, 3, 4], [3, 9, 4, 2, 1])[0]
    while True:
        names = tuple(sorted(rng.sample(_NAMES, count)))
        if is_of(names, part):
            return names


@dataclass(frozen=True)
class Outcome:
    """What the exporter made of one composed scene.

    labels: the disturbances that were present.
    kind: the kind of the main writer.
    noise: the shape of the noise.
    cliffs, found: the ends of the cache at full demand, and how many of them were claimed.
    is_cached: the cache became full in the scene.
    claims, false_claims: the falloffs that the exporter counted, and those that were none and were
        not withdrawn. withdrawn: the others that were none.
    blamed_seconds: seconds with the verdict `write_cache` while the cache was not full.
    error: the relative error of the location of the first cliff; None if unknown.
    is_deep: the writer has less than half of its speed after the cliff.
    """

    labels: tuple[str, ...]
    kind: str
    noise: str
    cliffs: int
    found: int
    is_cached: bool
    claims: int
    false_claims: int
    blamed_seconds: float
    error: float | None = None
    withdrawn: int = 0
    note: str = ""
    is_deep: bool = False

    @property
    def is_false(self) -> bool:
        return self.false_claims > 0


#: A claim belongs to a cliff if it comes within this time after it, in seconds.
_CLAIM_SECONDS = 60.0
#: A writer must go on for this long after the cliff, so that it can be found.
_LEAST_SECONDS = 35.0
#: A cliff counts if the throughput of the writer falls by at least this factor.
_DEMAND = 1.25


def falloff_scene(
    rng: random.Random,
    part: str,
    *,
    names: tuple[str, ...] | None = None,
    cached: bool | None = None,
    kind: str | None = None,
    noise_of: tuple[str, float] | None = None,
    interval: float | None = None,
    missing: frozenset[int] | None = None,
) -> Outcome:
    """Simulates a long write, and compares the claims with the state of the drive."""
    drive = flash(rng, part, cached=rng.random() < 0.5 if cached is None else cached)
    main = writer(rng, part, drive)
    while kind is not None and main.kind != kind:
        main = writer(rng, part, drive)
    labels = combination(rng, part) if names is None else names
    noise = rng.choice(NOISES), 0.03 + 0.37 * strength(rng, part) ** 2
    noise = noise_of or noise
    ticks = rng.choice([IoTicks.START, IoTicks.START, IoTicks.PRECISE])
    begin = rng.uniform(15, 30)
    demand = min(main.demand, drive.fast_rate)
    fill = drive.cache_bytes / demand if math.isfinite(drive.cache_bytes) else rng.uniform(15, 70)
    end = begin + fill + rng.uniform(60, 120)
    if main.on:
        end = begin + 3 * (main.on + main.off)
    job = main.job
    parts = [Part(job, begin, end, main.on, main.off)]
    light = (
        Job(READ, 16384, 64, rate=rng.uniform(10, 300)),
        Job(WRITE, 16384, 64, rate=rng.uniform(5, 100), blocks=False),
    )
    parts += [Part(one, 0.0) for one in light]
    changes, evidence = [], None
    for name in labels:
        at = begin + rng.uniform(0.2, 1.0) * (fill + 30)
        until = math.inf if rng.random() < 0.5 else at + rng.uniform(15, 80)
        one = DISTURBANCES[name](rng, strength(rng, part), drive, at, until)
        if name == "random":
            parts[0] = replace(parts[0], end=at)
            parts.append(Part(replace(job, is_random=True), at, end))
        parts += one.parts
        changes += one.changes
        evidence = one.evidence or evidence
    step = interval or rng.choices([1.0, 2.0, 5.0], [8, 1, 1])[0]
    host = ComposedHost(
        drive,
        rng,
        ticks=ticks,
        hz=rng.choice([250, 1000]),
        interval=step,
        noise=Noise(rng, *noise),
        parts=parts,
        changes=changes,
        missing=_missing(rng) if missing is None else missing,
    )
    at = 0.0
    events: list[tuple[float, int, float | None]] = []
    while at < end:
        at += 5.0
        host.run(at)
        if evidence is not None:
            host.evidence = evidence(at)
    seen = 0
    for shown in host.shown:
        if shown.falloffs > seen:
            seen = shown.falloffs
            events.append((shown.at, seen, None))
    return _outcome(host, main, labels, noise[0], begin=begin, end=end, events=events)


def _missing(rng: random.Random) -> frozenset[int]:
    if rng.random() >= 0.1:
        return frozenset()
    return frozenset(n for n in range(400) if rng.random() < 0.05)


def _outcome(
    host: ComposedHost,
    main: Writer,
    labels: tuple[str, ...],
    noise: str,
    *,
    begin: float,
    end: float,
    events: list[tuple[float, int, float | None]],
) -> Outcome:
    drive = host.flash
    slow = drive.slow_rate * (drive.fold_ratio + 1) / 2
    rates = [
        serve_at_stations(drive, (main.job,), State(1.0, 1.0, rate))[0][0].per_second
        for rate in (drive.fast_rate, slow)
    ]
    is_demanding = rates[0] >= _DEMAND * rates[1]
    cliffs, found, used = 0, 0, set()
    for at, _ in host.fills:
        stop = end
        if main.on:
            cycle = main.on + main.off
            stop = begin + (at - begin) // cycle * cycle + main.on
        matching = [n for n, (t, _, _) in enumerate(events) if at - 2 <= t <= at + _CLAIM_SECONDS]
        used.update(matching)
        if is_demanding and stop - at >= _LEAST_SECONDS:
            cliffs += 1
            found += bool(matching)
    full = [(at - 2, at + 400) for at, _ in host.fills]
    blamed = sum(
        shown.verdict == "write_cache" and not any(a <= shown.at <= b for a, b in full)
        for shown in host.shown
    )
    verdicts = {shown.verdict for shown in host.shown}
    explained = bool(verdicts & {"thermal", "link"}) and bool({"heat", "link"} & set(labels))
    falloffs = host.activity.falloffs
    assert falloffs is not None
    wrong = len(events) - len(used)
    withdrawn = min(falloffs.withdrawn, wrong)
    false = 0 if explained else wrong - withdrawn
    error = None
    if host.fills and falloffs.last is not None and falloffs.events == 1 and 0 in used:
        true = host.fills[0][1] - next(
            (shown.written for shown in reversed(host.shown) if shown.at <= begin), 0.0
        )
        error = abs(falloffs.last.burst_bytes - true) / true
    note = f"fills {[round(at) for at, _ in host.fills]} events {[round(t) for t, _, _ in events]}"
    return Outcome(
        labels,
        main.kind,
        noise,
        cliffs,
        found,
        bool(host.fills),
        len(events),
        false,
        float(blamed),
        error,
        withdrawn,
        note,
        is_deep=rates[1] < 0.5 * rates[0],
    )
