"""Decides whether a drive is in steady state, and whether its performance is still the same.

A round is the value of one run of a profile. All rounds are from the same drive and from runs with
equal parameters, oldest first. Rounds of aborted runs, and of runs that the host limited, are left
out. The caller chooses the value: the IOPS, the bytes per second, or the mean latency. The mean
latency is used if the profile limits its rate.

The criteria are from SNIA's Solid State Storage Performance Test Specification 2.0.2. A drive is in
steady state if its last five rounds (the window) meet two conditions. The largest and the smallest
value differ by at most 20 % of the average. The least-squares line through the values rises or
falls by at most 10 % of the average. This module does no I/O.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

#: The smallest and the largest valid value of a round. Other values are not measurements and are
#: ignored. Sums of valid values stay finite.
MIN_VALUE, _MAX_VALUE = 1e-12, 1e18


class SteadyPhase(str, Enum):
    """The state of a drive for one profile.

    transition: the drive has never been in steady state with this firmware and profile.
    steady: the drive is in steady state, and not lastingly worse than when it first was.
    unsteady: the drive was in steady state, but now it is not, or it is lastingly worse.
    too_few: there are fewer rounds than the window needs.
    """

    TRANSITION = "transition"
    STEADY = "steady"
    UNSTEADY = "unsteady"
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True)
class SteadyStateRules:
    """SNIA's criteria for steady state, and the conditions for a lasting change to the worse.

    rounds: the number of rounds in the window.
    range_ratio: upper limit of the difference between the largest and the smallest value, as a
        share of the window's average.
    slope_ratio: upper limit of the rise or fall of the least-squares line over the window, as a
        share of the window's average.
    worse_ratio, deviations: the limits for a worse round, compared with the first steady window.
        Its value must be worse than the average of the window by more than `worse_ratio` of the
        average, and by more than `deviations` standard deviations of the window.
    worse_rounds: the number of consecutive worse rounds that is a lasting change. A smaller number
        is noise: on virtual machines, two equal runs can differ by a factor of two.
    """

    rounds: int = 5
    range_ratio: float = 0.20
    slope_ratio: float = 0.10
    worse_ratio: float = 0.20
    deviations: float = 3.0
    worse_rounds: int = 3


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """The statistics of the rounds in the window, in the unit of their values.

    mean, least, most: the average, the smallest and the largest value.
    deviation: the standard deviation of the sample (divided by n - 1).
    excursion: the rise of the least-squares line from the first to the last round; negative if the
        line falls.
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
        """The rise or fall of the least-squares line over the window, divided by the average."""
        return abs(self.excursion) / self.mean

    @property
    def fit(self) -> tuple[float, float]:
        """The values of the least-squares line at the first and at the last round."""
        return self.mean - self.excursion / 2, self.mean + self.excursion / 2

    def is_steady(self, rules: SteadyStateRules) -> bool:
        """Returns True if the window meets SNIA's criteria for steady state."""
        return self.range_ratio <= rules.range_ratio and self.slope_ratio <= rules.slope_ratio


@dataclass(frozen=True, slots=True)
class Deviation:
    """The difference of the last rounds from the first steady window (the baseline).

    ratio: the value of the last round divided by the average of the baseline, minus 1. The ratio
        0.1 means 10 % above the average. Above is worse for a latency, below is worse for a rate.
    rounds_worse: the number of consecutive worse rounds at the end.
    is_lasting: True if `rounds_worse` is at least `SteadyStateRules.worse_rounds`.
    """

    ratio: float
    rounds_worse: int
    is_lasting: bool


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The state of a drive after a round.

    phase: the state of the drive.
    window: the statistics of the last rounds; None if there are too few rounds.
    baseline: the statistics of the first steady window; None if the drive was never in steady
        state. The caller stores it and passes it to the next call of `steady_state`.
    deviation: the difference of the last rounds from the baseline; None means unknown.
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
    """Returns the state of the drive after these rounds.

    values: the values of the rounds, oldest first.
    lower_is_better: True if the values are latencies, False if they are rates.
    baseline: the baseline that the previous call returned; None for a new drive, firmware or
        profile. The first steady window stays the baseline, because a moving baseline would hide a
        slow decay.
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
    """Returns the statistics of the last rounds; None if there are too few valid rounds.

    values: the values of the rounds, oldest first.
    """
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
    """Returns the difference of the last rounds from the baseline; None without a valid round.

    values: the values of the rounds, oldest first.
    lower_is_better: True if the values are latencies, False if they are rates.
    """
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
    return [value for value in values if MIN_VALUE <= value <= _MAX_VALUE]
