"""Composed scenes of the baseline: a drive that sleeps while it is learned, and then real load.

A drive is full if its busiest station works for 97 % of the time or more, and has spare throughput
at 80 % or less. Scenes between are drawn again.
"""

import random
from dataclasses import dataclass, replace

from exporter.config.drive_class import VolumeType
from rigs.scenes.composed_host import ComposedHost, Noise, Part
from rigs.scenes.composition import between, flash, strength
from rigs.scenes.drive import Job
from rigs.scenes.kernel import READ, WRITE, IoTicks
from rigs.scenes.stations import Flash
from rigs.scenes.table import OutsideClass

#: The verdict must be shown within this time after the load begins, in seconds.
_WITHIN = 20.0

#: What wakes up, and for how long it makes a request wait: the shortest and longest time in
#: seconds, the idle time after which it sleeps, and the share of the requests that wait.
SLEEPS = {
    "awake": (0.0, 0.0, 1.0, 1.0),
    "C-states": (0.05e-3, 0.3e-3, 0.5e-3, 0.9),
    "ASPM": (0.1e-3, 1e-3, 2e-3, 0.9),
    "SATA link": (1e-3, 8e-3, 10e-3, 0.8),
    "NVMe power state": (5e-3, 9e-3, 50e-3, 0.7),
    "remote": (0.0, 0.0, 1.0, 1.0),
}
#: How the baseline is learned: requests per second, the lowest and the highest rate.
LEARNED = {"sparse": (8.0, 60.0), "some": (60.0, 600.0), "never calm": (0.0, 0.0)}


@dataclass(frozen=True)
class FullOutcome:
    """is_full: the truth. shown: the verdict that was shown longest from 10 to 40 s of the load.

    seen_seconds: when `device` was shown first after the begin of the load; None if never.
    """

    sleep: str
    learned: str
    is_full: bool
    shown: str
    seen_seconds: float | None
    note: str = ""

    @property
    def is_found(self) -> bool:
        return self.is_full and self.seen_seconds is not None and self.seen_seconds <= _WITHIN

    @property
    def is_false(self) -> bool:
        return not self.is_full and self.shown == "device"


def _drive(rng: random.Random, part: str, sleep: str) -> Flash:
    low, high, after, share = SLEEPS[sleep]
    drive = replace(
        flash(rng, part, cached=False),
        flush_mode="cheap",
        wake_seconds=between(low, high, strength(rng, part)) if low else 0.0,
        wake_after_seconds=after,
        wake_share=share,
    )
    while (sleep == "SATA link" and drive.kind != "ssd") or (
        sleep == "NVMe power state" and drive.kind != "nvme"
    ):
        return _drive(rng, part, sleep)
    if sleep == "remote":
        return replace(drive, kind="ssd", command_seconds=rng.uniform(1e-3, 3.5e-3), tags=1023)
    return drive


def _load(rng: random.Random, drive: Flash) -> list[Job]:
    deepest = 8 if drive.command_seconds > 1e-3 else 9
    depth = 2.0 ** rng.uniform(1, deepest if drive.kind == "nvme" else min(deepest, 6))
    kind = rng.choice(["reads", "reads", "writes", "mixed", "changing"])
    read = Job(READ, rng.choice([4096.0, 16384.0]), max(round(depth), 1))
    write = Job(WRITE, 16384, max(round(depth), 1), is_random=True)
    if kind == "reads":
        return [read]
    if kind == "writes":
        return [write]
    if kind == "mixed":
        return [read, replace(write, depth=max(round(depth / 4), 1))]
    return [replace(read, think_seconds=rng.choice([0.0005, 0.002]))]


def full_scene(
    rng: random.Random, part: str, sleep: str | None = None, learned: str | None = None
) -> FullOutcome:
    """Simulates the learning of a baseline, and 40 seconds of load."""
    sleep = sleep or rng.choice(list(SLEEPS))
    learned = learned or rng.choice(list(LEARNED))
    drive = _drive(rng, part, sleep)
    jobs = _load(rng, drive)
    low, high = LEARNED[learned]
    begin = 400.0 if high else 0.0
    parts = [Part(job, begin) for job in jobs]
    if high:
        per_second = between(low, high, rng.random())
        parts += [
            Part(Job(READ, 16384, 64, rate=per_second * 0.6), 0.0, begin),
            Part(Job(WRITE, 16384, 64, rate=per_second * 0.4, is_random=True), 0.0, begin),
        ]
    host = ComposedHost(
        drive,
        rng,
        ticks=rng.choice([IoTicks.START, IoTicks.START, IoTicks.PRECISE]),
        hz=rng.choice([250, 1000]),
        noise=Noise(rng, "white", rng.choice([0.03, 0.1])),
        parts=parts,
        volume=VolumeType.HYPERVISOR if sleep == "remote" else VolumeType.DRIVE,
    )
    host.run(begin, slice_seconds=1.0)
    host.run(begin + 40)
    load = [shown for shown in host.shown if shown.at > begin]
    used = sum(shown.used for shown in load) / len(load)
    if 0.8 < used < 0.97:
        raise OutsideClass
    late = [shown.verdict for shown in load if shown.at > begin + 10]
    seen = next((shown.at - begin for shown in load if shown.verdict == "device"), None)
    shown_most = max(set(late), key=late.count)
    base = host.activity.baselines.read.seconds, host.activity.baselines.write.seconds
    depth = sum(shown.depth for shown in load) / len(load)
    wake = drive.wake_seconds * 1e3
    note = f"{drive.kind} used {used:.2f} in flight {depth:.0f} base {base} wake {wake:.2f} ms"
    return FullOutcome(sleep, learned, used >= 0.97, shown_most, seen, note)
