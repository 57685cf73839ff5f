"""Fits a straight line through the values of a counter over time.

The slope of the line is the rate of the counter. The error of the slope is estimated, too.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Student's t at 95 %, for a two-sided interval of 90 %, for 1 to 30 degrees of freedom
#: (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2). For more degrees of freedom the
#: value for 30 is used, which makes the interval at most 3 % too wide.
_STUDENT_T = (
    *(6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812),
    *(1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725),
    *(1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697),
)

#: Two estimates of the rate of a random walk over the time T are the least-squares slope and the
#: mean increment. This is the variance of the first divided by the variance of the second. The
#: variance of the slope is proportional to 144 / T**6 * integral of (t (T - t) / 2)**2 dt =
#: 6 / (5 T). The variance of the mean increment is proportional to 1 / T.
_RANDOM_WALK_SLOPE_FACTOR = 1.2


@dataclass(frozen=True, slots=True)
class Trend:
    """The rate at which a counter increases, with its error.

    rate: the increase of the counter per second; above 0.
    spread: the relative error of the rate. The true rate is between rate / (1 + spread) and
        rate * (1 + spread) with a probability of 90 %.
    """

    rate: float
    spread: float


@dataclass(frozen=True, slots=True)
class Point:
    """The value of a counter at one time.

    seconds: the time, on any clock that all points share.
    value: the value of the counter.
    """

    seconds: float
    value: float


def fit_trend(points: Sequence[Point], *, by_value: bool = False) -> Trend | None:
    """Returns the slope of the least-squares line through the points, with its error.

    None for fewer than three points, if all have the same time, and if the line does not rise.

    The error of the slope is estimated in two ways, and the larger error is used. The first
    estimate assumes that each reading has an independent error. It uses the distances of the points
    from the line. The second estimate assumes that the counter is a random walk, because a
    different amount is written every day. It uses the differences between the increments.

    points: sorted by time.
    by_value: True if the points were taken at fixed values, such as the increases of a counter by
        one unit. The values are then exact, and the times between the points vary. False if the
        points were taken at any times.
    """
    if len(points) < 3:
        return None
    middle_seconds = math.fsum(point.seconds for point in points) / len(points)
    middle_value = math.fsum(point.value for point in points) / len(points)
    deviations = [(point.seconds - middle_seconds, point.value - middle_value) for point in points]
    width = math.fsum(seconds**2 for seconds, _ in deviations)
    if width <= 0:
        return None
    rate = math.fsum(seconds * value for seconds, value in deviations) / width
    if rate <= 0:
        return None
    freedom = len(points) - 2
    residuals = math.fsum((value - rate * seconds) ** 2 for seconds, value in deviations)
    own_error = math.sqrt(residuals / freedom / width) / rate
    pairs = [(p.value, p.seconds) if by_value else (p.seconds, p.value) for p in points]
    error = max(own_error, math.sqrt(_RANDOM_WALK_SLOPE_FACTOR) * _increment_error(pairs))
    return Trend(rate, _STUDENT_T[min(freedom, len(_STUDENT_T)) - 1] * error)


def _increment_error(pairs: Sequence[tuple[float, float]]) -> float:
    """Returns the relative standard error of the mean increase of y per unit of x.

    pairs: (x, y), sorted by x. Successive increments are assumed to be independent.

    Infinite if there are fewer than two increments, or if y does not increase.
    """
    steps = [(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in itertools.pairwise(pairs) if x1 > x0]
    if len(steps) < 2:
        return math.inf
    whole_x = math.fsum(x for x, _ in steps)
    mean = math.fsum(y for _, y in steps) / whole_x
    if mean <= 0:
        return math.inf
    # Unlike math.fsum, sum() of very large numbers is infinite and no error.
    scatter = sum((y - mean * x) ** 2 / x for x, y in steps) / (len(steps) - 1)
    return math.sqrt(scatter / whole_x) / mean
