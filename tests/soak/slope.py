"""Fits a slope to measurements that are interrupted by restarts. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

#: A value within this number of standard errors of the slope is possible. It is large, because
#: successive measurements depend on each other, which the standard error does not include.
_STANDARD_ERRORS = 4.0

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
        is_steep = self.per_hour - margin > bound_per_hour and self.seconds >= _MIN_SECONDS
        return Verdict.TOO_STEEP if is_steep else Verdict.UNDECIDED


def slope(runs: Sequence[Sequence[Point]]) -> Slope | None:
    """Returns the common slope of several runs of a process, which start at different values.

    None means that there are too few measurements.
    """
    used = [run for run in runs if len(run) > 1]
    centred = [point for run in used for point in _centred(run)]
    squares = sum(t * t for t, _ in centred)
    freedom = len(centred) - len(used) - 1
    if freedom < 1 or not squares:
        return None
    per_second = sum(t * value for t, value in centred) / squares
    residuals = sum((value - per_second * t) ** 2 for t, value in centred)
    error = math.sqrt(residuals / freedom / squares)
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
