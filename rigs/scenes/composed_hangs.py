"""Composed scenes of hangs: one request of many does not complete, or none hangs."""

import math
import random
from dataclasses import dataclass

from rigs.scenes.composed_host import Change, ComposedHost, Noise, Part
from rigs.scenes.composed_requests import KINDS, RequestHost, drawn
from rigs.scenes.composition import DISTURBANCES, between, flash, strength
from rigs.scenes.drive import MIB, Job
from rigs.scenes.kernel import READ, WRITE, IoTicks
from rigs.scenes.stations import Flash

#: How the threads of the main load behave.
FLOWS = ("closed", "thinking", "open", "database", "pulses", "changing")
LOADS = (*FLOWS, *KINDS)

#: What may be present beside them.
_BESIDE = ("reads", "backup", "discards", "flushes", "writers", "throttle", "waves", "snapshot")


@dataclass(frozen=True)
class HangOutcome:
    """hung_seconds: the true time. counted_seconds: the seconds that counted as stalled.

    first_seconds: when the first second counted, from the begin of the hang; None if none.
    is_agreed: the verdict `device` was shown within 15 seconds of the first counted second.
    """

    load: str
    hung_seconds: float
    counted_seconds: float
    first_seconds: float | None
    is_agreed: bool
    note: str = ""

    @property
    def is_found(self) -> bool:
        return self.hung_seconds > 0 and self.first_seconds is not None

    @property
    def is_false(self) -> bool:
        return self.counted_seconds > 1.1 * self.hung_seconds + 3 * (self.hung_seconds > 0)


def _parts(rng: random.Random, part: str, drive: Flash, kind: str) -> list[Part]:
    threads = rng.choice([2, 4, 8, 16, 24, 32, 64])
    if kind == "closed":
        return [Part(Job(READ, 16384, threads), 0.0)]
    if kind == "thinking":
        think = between(0.2e-3, 20e-3, strength(rng, part))
        return [Part(Job(READ, 16384, threads, think_seconds=think), 0.0)]
    capacity = min(drive.units / drive.read_seconds, drive.iops)
    background = Job(WRITE, 16384, 64, rate=rng.uniform(50, 2000), is_random=True, blocks=False)
    if kind == "open":
        rate = capacity * (0.02 + 0.6 * strength(rng, part))
        return [Part(Job(READ, 16384, 256, rate=rate), 0.0), Part(background, 0.0)]
    database = [
        Part(Job(READ, 16384, threads, think_seconds=rng.choice([0.5e-3, 2e-3, 2e-2])), 0.0),
        Part(background, 0.0),
        Part(Job(WRITE, 4096, rng.choice([1, 4]), think_seconds=0.005, flushes=True), 0.0),
    ]
    if kind == "pulses":
        cleaner = Job(WRITE, 16384, threads, is_random=True)
        return [*database, Part(cleaner, 0.0, pulse=rng.choice([0.2, 0.4]))]
    if kind == "changing":
        bulk = Job(WRITE, MIB / 2, rng.choice([1, 4, 8]))
        more = Job(READ, 16384, threads)
        database.append(Part(bulk, 0.0, on=rng.uniform(1, 12), off=rng.uniform(1, 12)))
        database.append(Part(more, 3.0, on=rng.uniform(1, 12), off=rng.uniform(1, 12)))
    return database


def hang_scene(
    rng: random.Random, part: str, load: str | None = None, *, hangs: bool | None = None
) -> HangOutcome:
    """Simulates a load of which one request hangs for 30 to 90 s, or none (`hangs` False)."""
    load = load or rng.choice(LOADS)
    hangs = rng.random() < 0.5 if hangs is None else hangs
    begin = rng.uniform(30, 90)
    seconds = rng.uniform(30, 90) if hangs else 0.0
    end = begin + seconds + (12 if hangs else 60)
    changes = [Change("stick", begin, begin + seconds, 1)] if hangs else []
    host = _host(rng, part, load, changes, end)
    host.run(end)
    counted = host.shown[-1].stalled
    times = [shown for shown in host.shown if shown.stalled > 0]
    first = times[0].at - begin if times else None
    agreed = any(shown.verdict == "device" for shown in times if shown.at <= times[0].at + 15)
    depth = sum(shown.depth for shown in host.shown) / len(host.shown)
    note = f"{seconds:.0f} s, counted {counted:.0f}, first {first}, depth {depth:.1f}"
    return HangOutcome(load, seconds, counted, first, agreed, note)


def _host(
    rng: random.Random, part: str, load: str, changes: list[Change], end: float
) -> ComposedHost:
    ticks = rng.choice([IoTicks.START, IoTicks.START, IoTicks.PRECISE])
    hz = rng.choice([250, 1000])
    drive = flash(rng, part, cached=False)
    if load in KINDS:
        host = RequestHost(drive, rng, ticks=ticks, hz=hz, changes=changes)
        return host.load(*drawn(rng, load))
    parts = _parts(rng, part, drive, load)
    changes = list(changes)
    for name in rng.sample(_BESIDE, rng.choices([0, 1, 2, 3], [5, 4, 2, 1])[0]):
        at = rng.uniform(5, end - 10)
        until = math.inf if rng.random() < 0.5 else at + rng.uniform(5, 60)
        one = DISTURBANCES[name](rng, strength(rng, part), drive, at, until)
        parts += one.parts
        changes += one.changes
    return ComposedHost(
        drive,
        rng,
        ticks=ticks,
        hz=hz,
        noise=Noise(rng, rng.choice(["white", "wander", "dips"]), 0.3 * strength(rng, part)),
        parts=parts,
        changes=changes,
    )
