"""A line through what a counter did over time, and how far its slope can be trusted."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Student's t at 95 % (a two-sided 90 % interval) for 1 to 30 degrees of freedom; beyond 30 that
#: of 30, which is wide by 3 % at most. NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
_STUDENT_T = (
    *(6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812),
    *(1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725),
    *(1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697),
)

#: The mean increment of a random walk over T varies by variance / T, the slope of a least-squares
#: line through it by 6/5 of that: 144 / T**6 * integral of (t (T - t) / 2)**2 dt = 6 / (5 T).
_WALK_UNDER_A_LINE = 1.2


@dataclass(frozen=True, slots=True)
class Trend:
    """A slope, per second, and the factor 1 + spread by which the true one may lie off it."""

    rate: float
    spread: float


@dataclass(frozen=True, slots=True)
class Point:
    """A counter's value at an instant, in seconds of whatever clock the caller reads."""

    seconds: float
    value: float


def fit_trend(points: Sequence[Point], *, by_value: bool = False) -> Trend | None:
    """The least-squares line through at least three points; None where it does not rise.

    Errors about a line come in two kinds, and the data alone do not tell which: each reading is off
    by itself (then the residuals tell how far the slope is), or the counter wanders, for every day
    writes another amount (then residuals hide it, and the scatter of the increments tells). The
    spread is the larger of both, as a two-sided 90 % interval.

    by_value: the points were taken at given values, as the steps of a counter, and not at given
    instants: it is then the waits that scatter.
    """
    if len(points) < 3:
        return None
    middle_seconds = math.fsum(point.seconds for point in points) / len(points)
    middle_value = math.fsum(point.value for point in points) / len(points)
    away = [(point.seconds - middle_seconds, point.value - middle_value) for point in points]
    width = math.fsum(seconds**2 for seconds, _ in away)
    if width <= 0:
        return None
    rate = math.fsum(seconds * value for seconds, value in away) / width
    if rate <= 0:
        return None
    freedom = len(points) - 2
    residuals = math.fsum((value - rate * seconds) ** 2 for seconds, value in away)
    own_error = math.sqrt(residuals / freedom / width) / rate
    pairs = [(p.value, p.seconds) if by_value else (p.seconds, p.value) for p in points]
    error = max(own_error, math.sqrt(_WALK_UNDER_A_LINE) * _wandering(pairs))
    return Trend(rate, _STUDENT_T[min(freedom, len(_STUDENT_T)) - 1] * error)


def _wandering(pairs: Sequence[tuple[float, float]]) -> float:
    """The relative standard error of the mean increment of y over x, the increments independent."""
    steps = [(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in itertools.pairwise(pairs) if x1 > x0]
    if len(steps) < 2:
        return math.inf
    whole_x = math.fsum(x for x, _ in steps)
    mean = math.fsum(y for _, y in steps) / whole_x
    if mean <= 0:
        return math.inf
    scatter = math.fsum((y - mean * x) ** 2 / x for x, y in steps) / (len(steps) - 1)
    return math.sqrt(scatter / whole_x) / mean
