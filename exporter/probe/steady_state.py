"""Is a drive in steady state, and is it still the one it was in before?

The rule is that of SNIA's Solid State Storage Performance Test Specification, 2.0.2: over the last
five rounds the values stay within 20 % of their average, and the best line through them rises or
falls by no more than 10 % of it over the window.

The rounds are a probe's own history, oldest first: one profile on one drive, every label alike,
none of them aborted or bound by the host. What is judged is up to the caller: IOPS or bytes per
second, or the mean latency where the profile caps its rate, for a capped rate is a constant and
says nothing of the drive.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

#: A value outside is no measurement of anything; and sums of those within stay finite.
_LEAST, _MOST = 1e-12, 1e18


class SteadyPhase(str, Enum):
    """Where a drive stands.

    transition: it has not been steady yet since it, its firmware or its profile is new.
    unsteady: it has been, and is no more, or it is steady at a level that is lastingly worse.
    too_few: there are fewer rounds than the window takes.
    """

    TRANSITION = "transition"
    STEADY = "steady"
    UNSTEADY = "unsteady"
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True)
class SteadyStateRules:
    """SNIA's criteria, and when a round is worse than those that were steady.

    rounds: the window.
    range_ratio: the largest less the smallest value, of the average.
    slope_ratio: what the best line rises or falls by from the first round to the last, of the
        average.
    worse_ratio: a round is outside where it is worse than the steady average by more than this,
        the range that SNIA allows,
    deviations: and by more than so many standard deviations of the steady window.
    worse_rounds: so many in a row make it lasting. One odd round is noise: on virtual machines
        cells of one table differ by a factor of two.
    """

    rounds: int = 5
    range_ratio: float = 0.20
    slope_ratio: float = 0.10
    worse_ratio: float = 0.20
    deviations: float = 3.0
    worse_rounds: int = 3


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """Some rounds in the unit of their values.

    deviation: the standard deviation of the values (n - 1).
    excursion: what the least-squares line gains from the first round to the last; below 0 it falls.
    """

    mean: float
    least: float
    most: float
    deviation: float
    excursion: float

    @property
    def range_ratio(self) -> float:
        return (self.most - self.least) / self.mean

    @property
    def slope_ratio(self) -> float:
        return abs(self.excursion) / self.mean

    @property
    def fit(self) -> tuple[float, float]:
        """The line at the first round and at the last."""
        return self.mean - self.excursion / 2, self.mean + self.excursion / 2

    def is_steady(self, rules: SteadyStateRules) -> bool:
        return self.range_ratio <= rules.range_ratio and self.slope_ratio <= rules.slope_ratio


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far the last round lies off the steady average.

    ratio: 0.1 is a tenth above it, -0.1 below; which of both is worse depends on the value.
    rounds_worse: so many of the last rounds were worse than the steady window allows, in a row.
    is_lasting: they are enough to say so.
    """

    ratio: float
    rounds_worse: int
    is_lasting: bool


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The judgement after one more round.

    window: the last rounds; None where there are too few.
    baseline: the steady window to measure the next rounds against. It is for the caller to keep.
    deviation: None where there is no baseline.
    """

    phase: SteadyPhase
    window: SteadyWindow | None
    baseline: SteadyWindow | None
    deviation: Deviation | None


def steady_state(
    values: Sequence[float],
    *,
    lower_is_better: bool,
    rules: SteadyStateRules,
    baseline: SteadyWindow | None = None,
) -> SteadyState:
    """The phase after these rounds, of which the last comes last.

    baseline: what the judgement before this one gave; None for a drive, a firmware or a profile
        that is new. The first steady window becomes the baseline and stays it: one that moved
        along would take in a slow decay. To accept a new level, pass a steady `window` as the
        baseline, and let the operator see that.
    """
    rounds = _measured(values)
    now = window(rounds, rules)
    if now is None:
        return SteadyState(SteadyPhase.TOO_FEW, None, baseline, None)
    is_steady = now.is_steady(rules)
    if baseline is None and is_steady:
        baseline = now
    if baseline is None:
        return SteadyState(SteadyPhase.TRANSITION, now, None, None)
    off = deviation(rounds, baseline, lower_is_better=lower_is_better, rules=rules)
    is_worse = off is not None and off.is_lasting
    phase = SteadyPhase.STEADY if is_steady and not is_worse else SteadyPhase.UNSTEADY
    return SteadyState(phase, now, baseline, off)


def window(values: Sequence[float], rules: SteadyStateRules) -> SteadyWindow | None:
    """The last rounds and the best line through them; None where there are too few."""
    rounds = _measured(values)[-rules.rounds :]
    if len(rounds) < rules.rounds or len(rounds) < 2:
        return None
    mean = math.fsum(rounds) / len(rounds)
    middle = (len(rounds) - 1) / 2
    away = [(number - middle, value - mean) for number, value in enumerate(rounds)]
    slope = math.fsum(x * y for x, y in away) / math.fsum(x * x for x, _ in away)
    scatter = math.fsum(y * y for _, y in away) / (len(rounds) - 1)
    return SteadyWindow(
        mean=mean,
        least=min(rounds),
        most=max(rounds),
        deviation=math.sqrt(scatter),
        excursion=slope * (len(rounds) - 1),
    )


def deviation(
    values: Sequence[float],
    baseline: SteadyWindow,
    *,
    lower_is_better: bool,
    rules: SteadyStateRules,
) -> Deviation | None:
    """How far the last round lies off the baseline, and for how long; None without a round."""
    rounds = _measured(values)
    if not rounds:
        return None
    allowed = max(rules.worse_ratio * baseline.mean, rules.deviations * baseline.deviation)
    sign = 1 if lower_is_better else -1
    worse = 0
    for value in reversed(rounds):
        if sign * (value - baseline.mean) <= allowed:
            break
        worse += 1
    return Deviation(rounds[-1] / baseline.mean - 1, worse, worse >= rules.worse_rounds)


def _measured(values: Sequence[float]) -> list[float]:
    return [value for value in values if _LEAST <= value <= _MOST]
