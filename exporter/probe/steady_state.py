"""Judges whether a drive is in steady state, and whether it is still at the same level. Pure.

The rule is from SNIA's Solid State Storage Performance Test Specification 2.0.2. Over the last five
rounds, the largest and the smallest value differ by at most 20 % of the average, and the best line
through them rises or falls by at most 10 % of the average.

The rounds are the history of one profile on one drive with equal labels, oldest first, without
aborted and host-limited runs. The caller chooses the value: IOPS, bytes per second, or the mean
latency if the profile caps its rate, because a capped rate does not measure the drive.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

#: Values outside these limits are not measurements. Sums of values within them stay finite.
_MIN_VALUE, _MAX_VALUE = 1e-12, 1e18


class SteadyPhase(str, Enum):
    """The state of a drive.

    transition: not steady yet, on a new drive, firmware or profile.
    unsteady: no longer steady, or steady at a worse level.
    too_few: fewer rounds than the window has.
    """

    TRANSITION = "transition"
    STEADY = "steady"
    UNSTEADY = "unsteady"
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True)
class SteadyStateRules:
    """SNIA's criteria, and when a round is worse than the steady ones.

    All ratios are relative to the average.

    rounds: length of the window.
    range_ratio: limit of the difference between the largest and the smallest value.
    slope_ratio: limit of the rise or fall of the best line over the window.
    worse_ratio, deviations: a round is worse if it differs from the steady average by more than
        this ratio (SNIA's range) and by more than this many standard deviations.
    worse_rounds: this many worse rounds in a row count as a lasting change. Single ones are noise:
        on virtual machines equal runs differ by a factor of two.
    """

    rounds: int = 5
    range_ratio: float = 0.20
    slope_ratio: float = 0.10
    worse_ratio: float = 0.20
    deviations: float = 3.0
    worse_rounds: int = 3


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """Statistics of some rounds, in the unit of their values.

    deviation: standard deviation (n - 1). excursion: rise of the least-squares line from the first
    to the last round; negative if it falls.
    """

    mean: float
    least: float
    most: float
    deviation: float
    excursion: float

    @property
    def range_ratio(self) -> float:
        """The difference between the largest and the smallest value, divided by the average."""
        return (self.most - self.least) / self.mean

    @property
    def slope_ratio(self) -> float:
        """The rise or fall of the best line over the window, divided by the average."""
        return abs(self.excursion) / self.mean

    @property
    def fit(self) -> tuple[float, float]:
        """The values of the best line at the first and the last round."""
        return self.mean - self.excursion / 2, self.mean + self.excursion / 2

    def is_steady(self, rules: SteadyStateRules) -> bool:
        """Returns True if the window meets SNIA's criteria."""
        return self.range_ratio <= rules.range_ratio and self.slope_ratio <= rules.slope_ratio


@dataclass(frozen=True, slots=True)
class Deviation:
    """The distance of the last round from the steady average.

    ratio: 0.1 is 10 % above it; whether above or below is worse depends on the value.
    rounds_worse: number of worse rounds in a row up to the last. is_lasting: True if these are
        enough, see `SteadyStateRules.worse_rounds`.
    """

    ratio: float
    rounds_worse: int
    is_lasting: bool


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The judgement after a round.

    window: the last rounds; None if there are too few.
    baseline: the steady window to compare the next rounds with; the caller stores it.
    deviation: None without a baseline.
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
    """Returns the judgement of these rounds, oldest first.

    baseline: the one of the previous judgement; None for a new drive, firmware or profile. The
        first steady window stays the baseline: a moving baseline would hide a slow decay.
    """
    rounds = _valid(values)
    now = window(rounds, rules)
    if now is None:
        return SteadyState(SteadyPhase.TOO_FEW, None, baseline, None)
    is_steady = now.is_steady(rules)
    if baseline is None and is_steady:
        baseline = now
    if baseline is None:
        return SteadyState(SteadyPhase.TRANSITION, now, None, None)
    distance = deviation(rounds, baseline, lower_is_better=lower_is_better, rules=rules)
    is_worse = distance is not None and distance.is_lasting
    phase = SteadyPhase.STEADY if is_steady and not is_worse else SteadyPhase.UNSTEADY
    return SteadyState(phase, now, baseline, distance)


def window(values: Sequence[float], rules: SteadyStateRules) -> SteadyWindow | None:
    """Returns the statistics of the last rounds; None if there are too few."""
    rounds = _valid(values)[-rules.rounds :]
    if len(rounds) < rules.rounds or len(rounds) < 2:
        return None
    mean = math.fsum(rounds) / len(rounds)
    middle = (len(rounds) - 1) / 2
    points = [(number - middle, value - mean) for number, value in enumerate(rounds)]
    slope = math.fsum(x * y for x, y in points) / math.fsum(x * x for x, _ in points)
    scatter = math.fsum(y * y for _, y in points) / (len(rounds) - 1)
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
    """Returns the distance of the last rounds from the baseline; None without a valid round."""
    rounds = _valid(values)
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


def _valid(values: Sequence[float]) -> list[float]:
    return [value for value in values if _MIN_VALUE <= value <= _MAX_VALUE]
