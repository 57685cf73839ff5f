"""Fits a slope to measurements that are interrupted by restarts. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

#: A value within this number of standard errors of the slope is possible.
_STANDARD_ERRORS = 3.0

#: A slope of a shorter run in seconds is not too steep, because it shows how caches fill.
_MIN_SECONDS = 1800.0

_HOUR = 3600.0

#: A measurement: the time in seconds, and the value.
Point = tuple[float, float]


class Verdict(str, Enum):
    """The comparison of a slope with its bound. UNDECIDED: a longer run is required."""

    WITHIN = "within"
    UNDECIDED = "undecided"
    TOO_STEEP = "TOO STEEP"


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope per hour, its standard error, and the longest measured run in seconds."""

    per_hour: float
    error_per_hour: float
    seconds: float

    def verdict(self, bound_per_hour: float) -> Verdict:
        """Returns whether the values grow by at most this bound."""
        margin = _STANDARD_ERRORS * self.error_per_hour
        if self.per_hour + margin <= bound_per_hour:
            return Verdict.WITHIN
        is_steep = self.is_above(bound_per_hour) and self.per_hour - margin > bound_per_hour
        return Verdict.TOO_STEEP if is_steep else Verdict.UNDECIDED

    def is_above(self, bound_per_hour: float) -> bool:
        """Returns whether a run that is long enough grew by more, for certain or by one step."""
        return self.per_hour > bound_per_hour and self.seconds >= _MIN_SECONDS


def slope(runs: Sequence[Sequence[Point]]) -> Slope | None:
    """Returns the common slope of several runs of a process, which start at different values.

    None means that there are too few measurements.

    Memory grows in steps and keeps its value between them, so successive measurements are not
    independent. The standard error is that of fewer, independent measurements: their number is
    n * (1 - r) / (1 + r), where r is the correlation of successive residuals (Santer et al. 2000,
    https://doi.org/10.1029/1999JD901105). One step is then no certain slope, but many equal steps
    are.
    """
    used = [run for run in runs if len(run) > 1]
    centred = [_centred(run) for run in used]
    squares = sum(t * t for run in centred for t, _ in run)
    freedom = sum(len(run) for run in centred) - len(centred) - 1
    if freedom < 1 or not squares:
        return None
    per_second = sum(t * value for run in centred for t, value in run) / squares
    residuals = [[value - per_second * t for t, value in run] for run in centred]
    variation = sum(one * one for run in residuals for one in run)
    products = sum(one * after for run in residuals for one, after in pairwise(run))
    # A negative correlation would make the error smaller. It is not used, to be safe.
    correlation = max(products / variation, 0.0) if variation else 0.0
    error = math.sqrt(variation / freedom / squares * (1 + correlation) / (1 - correlation))
    return Slope(per_second * _HOUR, error * _HOUR, max(run[-1][0] - run[0][0] for run in used))


def minima(run: Sequence[Point], seconds: float) -> list[Point]:
    """Returns the smallest value of each window of this length, at the middle of the window.

    A count that rises for moments, such as that of descriptors while a program runs, has a
    constant minimum. A leak raises it. A window that is not complete is omitted.
    """
    windows: dict[int, list[float]] = {}
    for at, value in run:
        windows.setdefault(int((at - run[0][0]) // seconds), []).append(value)
    complete = list(windows.items())[:-1]
    return [(run[0][0] + (number + 0.5) * seconds, min(values)) for number, values in complete]


def _centred(run: Sequence[Point]) -> list[Point]:
    mean_time = sum(t for t, _ in run) / len(run)
    mean_value = sum(value for _, value in run) / len(run)
    return [(t - mean_time, value - mean_value) for t, value in run]
