"""Composed scenes of a long write whose samples are late or missing, beside nothing else."""

import random

from rigs.scenes.composition import LEFT_OUT, Outcome, falloff_scene

#: How samples of a second are lost, as they are in the part of the space that may shape a rule, and
#: in the other one.
GAPS = ("none", "regular", "at random", "long")

_SAMPLES = 600


def _regular(rng: random.Random, part: str) -> set[int]:
    """3 of 15, or 4 to 8 of 10 to 40 samples are missing."""
    is_left_out = part == LEFT_OUT
    every, count = (rng.randint(10, 40), rng.randint(4, 8)) if is_left_out else (15, 3)
    first = rng.randrange(every)
    return {number for number in range(_SAMPLES) if (number + first) % every < count}


def _at_random(rng: random.Random, part: str) -> set[int]:
    share = 0.3 if part == LEFT_OUT else 0.2
    return {number for number in range(_SAMPLES) if rng.random() < share}


def _long(rng: random.Random, part: str) -> set[int]:
    """The sampler does not run for 10 to 25 seconds, each minute or two."""
    low, high = (10, 25) if part == LEFT_OUT else (8, 15)
    missing, at = set[int](), rng.randint(5, 60)
    while at < _SAMPLES:
        seconds = rng.randint(low, high)
        missing.update(range(at, at + seconds))
        at += seconds + rng.randint(40, 120)
    return missing


_MISSING = {"regular": _regular, "at random": _at_random, "long": _long}


def gap_scene(rng: random.Random, part: str, gaps: str, *, cached: bool = True) -> Outcome:
    """Simulates a write at full speed. The noise is at most 10 %."""
    missing = _MISSING[gaps](rng, part) if gaps in _MISSING else set[int]()
    return falloff_scene(
        rng,
        part,
        names=(),
        cached=cached,
        kind="full speed",
        noise_of=(rng.choice(["none", "white", "wander"]), rng.uniform(0.02, 0.1)),
        interval=1.0,
        missing=frozenset(missing),
    )
