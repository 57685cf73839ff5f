"""Scenes of a drive that becomes slower over weeks, and of one that does not.

The exporter sees each minute of calm load. An operator compares the baseline with the reference
that was learned first, or sees requests that are slow by the baseline.
"""

import math
import random
from collections.abc import Callable

from exporter.config.disk_rules import BaselineRules
from exporter.io.baseline import Baseline
from rigs.scenes.table import Result, SceneClass

_DAY = 86400.0
_DAYS = 60
#: Time between two calm intervals, in seconds.
_EVERY = 60.0

#: Requests are slow from this multiple of the baseline on.
_SLOW = 3.0
#: A baseline of this multiple of the reference is a drive that became slower.
_GROWN = 2.0


def _run(
    rng: random.Random, factor: Callable[[float], float], *, grows: bool, must_stay_slow: float = 0
) -> Result:
    """Simulates the time of a drive whose await is multiplied by `factor(day)`."""
    await_seconds = 10 ** rng.uniform(-4.2, -2.5)
    baseline = Baseline(BaselineRules())
    flagged_at: float | None = None
    slow_days = 0.0
    at = 0.0
    flags = 0
    while at < _DAYS * _DAY:
        day = at / _DAY
        hourly = 1 + 0.25 * math.sin(day * 2 * math.pi)
        true = await_seconds * factor(day) * hourly * math.exp(rng.gauss(0, 0.15))
        operations = rng.randrange(60, 300)
        baseline.observe(at, operations, operations * true)
        learned, first = baseline.seconds, baseline.reference
        if learned is not None:
            grown = first is not None and learned >= _GROWN * first
            is_slow = true >= _SLOW * learned
            flags += grown or is_slow
            if is_slow:
                slow_days += _EVERY / _DAY
            if flagged_at is None and flags > 60:
                flagged_at = day
        at += _EVERY
    is_flagged = flagged_at is not None
    first = baseline.reference
    error = None if first is None else abs(first / await_seconds - 1)
    hit = is_flagged == grows and slow_days >= must_stay_slow
    note = f"flagged {flagged_at} slow {slow_days:.1f} d reference {first} of {await_seconds:.2g}"
    return Result(
        is_hit=hit,
        is_false=is_flagged and not grows,
        error=error,
        latency_seconds=None if flagged_at is None or not grows else flagged_at * _DAY,
        note=note,
    )


def _grows(percent: float) -> Callable[[random.Random], Result]:
    return lambda rng: _run(rng, lambda day: (1 + percent / 100) ** day, grows=True)


def _steps(rng: random.Random) -> Result:
    """Five times as slow from one day to the next; it must still count as slow a week later."""
    at = rng.uniform(10, 30)
    return _run(rng, lambda day: 5.0 if day >= at else 1.0, grows=True, must_stay_slow=7)


def _stays(rng: random.Random) -> Result:
    return _run(rng, lambda _day: 1.0, grows=False)


def _wanders(rng: random.Random) -> Result:
    """The load of each day changes the await by up to 40 %."""
    values = [math.exp(rng.uniform(-0.34, 0.34)) for _ in range(_DAYS + 1)]
    return _run(rng, lambda day: values[int(day)], grows=False)


CLASSES = [
    *(
        SceneClass("Baseline", f"{percent} % slower every day", "flagged", _grows(percent))
        for percent in (3, 5, 10)
    ),
    SceneClass("Baseline", "5 times as slow at once", "slow for a week", _steps),
    SceneClass("Baseline", "always the same", "not flagged", _stays),
    SceneClass("Baseline", "each day differs by up to 40 %", "not flagged", _wanders),
]
