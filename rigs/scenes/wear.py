"""Scenes of wear: how fast a drive really wears, and what its counter and its bytes show of it.

The true wear of a day is the written bytes times the write amplification of the day. The drive
reports it rounded to its resolution. The truth is the time until the true wear is 1, when the same
process continues; after a change of the load, the new load continues.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.drives.wearout import WearoutRules, estimate_wearout
from rigs.scenes.table import Result, SceneClass

_EPOCH = 1_700_000_000.0
_WARNED = 90 * DAY
_RULES = WearoutRules()

#: The estimate ends at this time, so a longer truth agrees with it.
_LONGEST = _RULES.max_seconds

#: Steps per day of the simulation.
_PARTS = 8


@dataclass
class Scene:
    """One drive.

    per_day: the mean wear of a day.
    load: the factor of the load of a day; `amplification`: that of the wear per byte.
    step: the resolution of the counter. reports: the drive counts the bytes of the host.
    start: the wear at the first observation. days: the length of the history.
    lazy_days: the drive updates its counter only this often.
    off_hours: hours per day without power.
    absent: the share of days without an observation.
    setback: the day at which a new firmware shows less wear, and how much less.
    """

    per_day: float
    start: float
    days: int
    load: Callable[[float], float]
    amplification: Callable[[float], float]
    step: float = 0.01
    reports: bool = True
    lazy_days: float = 0.0
    absent: float = 0.0
    setback: tuple[float, float] | None = None
    bytes_before: float = 1.0


def _shown(wear: float, step: float) -> float:
    return round(min(int(wear / step + 1e-9) * step, 2.55), 6)


def _run(scene: Scene, rng: random.Random) -> Result:
    wear, written = scene.start, 0.0
    tera = 600e12
    written = scene.start * tera * scene.bytes_before
    observations: list[WearObservation] = []
    last_shown: float | None = None
    previous: WearObservation | None = None
    lazy_value, lazy_until = wear, 0.0
    shift = 0.0
    end = scene.days * _PARTS
    for part in range(end + 1):
        day = part / _PARTS
        if wear >= 1:
            return Result(is_hit=True, note="worn out in the history")
        if scene.setback is not None and day >= scene.setback[0]:
            shift = scene.setback[1]
        if scene.lazy_days and day >= lazy_until:
            lazy_value, lazy_until = wear, day + scene.lazy_days
        shown = _shown((lazy_value if scene.lazy_days else wear) - shift, scene.step)
        seen = WearObservation(
            _EPOCH + day * DAY,
            power_on_seconds=1e6 + day * DAY,
            used_ratio=max(shown, 0.0),
            step_ratio=scene.step,
            host_written_bytes=int(written) if scene.reports else None,
        )
        is_daily = part % _PARTS == 0
        stepped = last_shown is not None and shown != last_shown and scene.step >= 0.01
        if (is_daily and rng.random() >= scene.absent) or part == end:
            observations.append(seen)
        elif stepped:
            if previous is not None and previous not in observations[-2:]:
                observations.append(previous)
            observations.append(seen)
        last_shown, previous = shown, seen
        if part < end:
            load = scene.load(day)
            written += scene.per_day * load * tera / _PARTS
            wear += scene.per_day * load * scene.amplification(day) / _PARTS
    true = _remaining_seconds(scene, wear - shift)
    return _compared(observations, _EPOCH + scene.days * DAY, true)


def _compared(observations: list[WearObservation], now: float, true: float) -> Result:
    found = estimate_wearout(observations, now, _RULES)
    note = f"true {true / DAY:.0f} d"
    if found is None:
        # Silence is no wrong bound. It is a missing warning if the end is near.
        unwarned = true < _WARNED
        return Result(is_hit=not unwarned, is_false=unwarned, note=f"{note} none")
    low, high = found.low_seconds, found.high_seconds
    covered = low <= true * 1.0001 and (true <= high * 1.0001 or high >= _LONGEST)
    unwarned = true < _WARNED <= low
    early = low < _WARNED and true > 4 * _WARNED
    note += f" {low / DAY:.0f} {found.mid_seconds / DAY:.0f} {high / DAY:.0f} {found.method.value}"
    return Result(
        is_hit=covered,
        is_false=unwarned or early,
        error=abs(found.mid_seconds - true) / max(true, DAY) if true < _LONGEST else None,
        note=note + (" unwarned" if unwarned else "") + (" early" if early else ""),
    )


def _remaining_seconds(scene: Scene, wear: float) -> float:
    """Returns the true time from the end of the history until the wear is 1."""
    part = first = scene.days * _PARTS
    while wear < 1 and (part - first) / _PARTS < _LONGEST / DAY:
        day = part / _PARTS
        wear += scene.per_day * scene.load(day) * scene.amplification(day) / _PARTS
        part += 1
    return (part - first) / _PARTS * DAY


def _constant(_day: float) -> float:
    return 1.0


def _independent(rng: random.Random, spread: float) -> Callable[[float], float]:
    values: dict[int, float] = {}

    def load(day: float) -> float:
        key = int(day)
        if key not in values:
            values[key] = math.exp(rng.gauss(-(spread**2) / 2, spread))
        return values[key]

    return load


def _correlated(rng: random.Random, spread: float, days: float) -> Callable[[float], float]:
    """A load that wanders around its mean, with a memory of some days."""
    values: list[float] = [rng.gauss(0, spread)]
    keep = math.exp(-1 / days)

    def load(day: float) -> float:
        while len(values) <= int(day):
            noise = rng.gauss(0, spread * math.sqrt(1 - keep**2))
            values.append(values[-1] * keep + noise)
        return math.exp(values[int(day)] - spread**2 / 2)

    return load


def _changing(rng: random.Random, at: float, factor: float) -> Callable[[float], float]:
    noise = _independent(rng, 0.2)
    return lambda day: noise(day) * (factor if day >= at else 1.0)


def _monthly(rng: random.Random) -> Callable[[float], float]:
    """A bulk load once a month, which writes as much as 3 to 20 normal days."""
    extra, day_of_month = rng.uniform(3, 20), rng.randrange(30)
    noise = _independent(rng, 0.2)
    return lambda day: noise(day) * (1.0 + (extra if int(day) % 30 == day_of_month else 0.0))


def _scene(rng: random.Random, **changes: object) -> Scene:
    values: dict[str, object] = {
        "per_day": 10 ** rng.uniform(-3.3, -2.2),
        "start": rng.uniform(0.02, 0.6),
        "days": rng.randrange(60, 400),
        "load": _independent(rng, 0.3),
        "amplification": _constant,
        "bytes_before": rng.uniform(0.6, 1.6),
        "reports": rng.random() < 0.8,
        **changes,
    }
    return Scene(**values)  # type: ignore[arg-type]


def _steady(rng: random.Random) -> Scene:
    return _scene(rng, load=_constant)


def _independent_days(rng: random.Random) -> Scene:
    return _scene(rng, load=_independent(rng, rng.uniform(0.3, 0.8)))


def _correlated_days(rng: random.Random) -> Scene:
    return _scene(rng, load=_correlated(rng, rng.uniform(0.3, 0.5), rng.uniform(5, 30)))


def _drifting_amplification(rng: random.Random) -> Scene:
    period, phase = rng.uniform(60, 300), rng.uniform(0, 6.28)
    return _scene(
        rng, amplification=lambda day: 1 + 0.2 * math.sin(day / period * 6.28 + phase), reports=True
    )


def _slow(rng: random.Random) -> Scene:
    return _scene(rng, per_day=0.0003, days=rng.randrange(200, 400))


def _bulk_loads(rng: random.Random) -> Scene:
    return _scene(rng, load=_monthly(rng))


def _changed_load(rng: random.Random) -> Scene:
    days = rng.randrange(150, 400)
    since = rng.uniform(5, 60)
    return _scene(
        rng,
        days=days,
        load=_changing(rng, days - since, rng.uniform(2, 4)),
        per_day=10 ** rng.uniform(-3.0, -2.6),
        start=rng.uniform(0.1, 0.4),
        reports=True,
    )


def _less_load(rng: random.Random) -> Scene:
    days = rng.randrange(150, 400)
    since = rng.uniform(10, 60)
    return _scene(
        rng, days=days, load=_changing(rng, days - since, rng.uniform(0.25, 0.5)), reports=True
    )


def _fast(rng: random.Random) -> Scene:
    return _scene(
        rng,
        per_day=rng.uniform(0.01, 0.025),
        start=rng.uniform(0.02, 0.3),
        days=rng.randrange(8, 25),
    )


def _very_fast(rng: random.Random) -> Scene:
    return _scene(
        rng,
        per_day=rng.uniform(0.08, 0.15),
        start=rng.uniform(0.0, 0.1),
        days=rng.randrange(3, 6),
        reports=False,
    )


def _fine(rng: random.Random) -> Scene:
    return _scene(rng, step=rng.choice([0.001, 0.0001]))


def _lazy(rng: random.Random) -> Scene:
    return _scene(rng, lazy_days=rng.uniform(1, 7))


def _gaps(rng: random.Random) -> Scene:
    return _scene(rng, absent=rng.uniform(0.2, 0.7))


def _set_back(rng: random.Random) -> Scene:
    days = rng.randrange(150, 400)
    return _scene(
        rng, days=days, start=rng.uniform(0.2, 0.5), setback=(days * rng.uniform(0.2, 0.7), 0.1)
    )


def _amplification_changes(rng: random.Random) -> Scene:
    days = rng.randrange(200, 400)
    at, factor = days - rng.uniform(20, 90), rng.choice([0.5, 2.0])
    return _scene(rng, days=days, amplification=lambda day: factor if day >= at else 1.0)


def _jump(rng: random.Random) -> Scene:
    """A defect of the firmware adds several percent at once, without writes."""
    days, size = rng.randrange(150, 400), rng.uniform(0.04, 0.1)
    at = days * rng.uniform(0.2, 0.9)
    scene = _scene(rng, days=days, per_day=0.001, start=0.1, reports=True)
    extra = size / scene.per_day * _PARTS
    plain = scene.load
    scene.amplification = lambda day: (
        1.0 + (extra / max(plain(day), 0.1) if at <= day < at + 1 / _PARTS else 0.0)
    )
    return scene


def _new_drive(rng: random.Random) -> Scene:
    return _scene(rng, start=rng.uniform(0, 0.02), days=rng.randrange(20, 90))


_SCENES: dict[str, Callable[[random.Random], Scene]] = {
    "steady": _steady,
    "independent days": _independent_days,
    "correlated days": _correlated_days,
    "days without observation": _gaps,
    "amplification drifts by 20 %": _drifting_amplification,
    "amplification halves or doubles": _amplification_changes,
    "0.03 % a day": _slow,
    "1 to 2.5 % a day": _fast,
    "8 to 15 % a day, no host bytes": _very_fast,
    "monthly bulk load": _bulk_loads,
    "2 to 4 times the load since 5 to 60 days": _changed_load,
    "a half or less of the load since 10 to 60 days": _less_load,
    "counter of 0.1 or 0.01 %": _fine,
    "counter updated every 1 to 7 days": _lazy,
    "firmware sets the counter back": _set_back,
    "counter jumps without writes": _jump,
    "new drive": _new_drive,
}


def _of(make: Callable[[random.Random], Scene]) -> Callable[[random.Random], Result]:
    return lambda rng: _run(make(rng), rng)


CLASSES = [
    SceneClass("Wear-out", name, "within the bounds", _of(make)) for name, make in _SCENES.items()
]
