"""A series of values as a step or as a line: which leaves less unexplained?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """The least-squares line through a series.

    gain: what it rises by from the first value to the last. left: the squares that it leaves.
    """

    gain: float
    left: float


def best_split(values: Sequence[float], least: int) -> int | None:
    """Where two segments of constant value fit best, of at least so many values each.

    The index of the first value of the second one; None where there is no room for two. The squares
    that a split at k saves are A**2 n / (k (n - k)), A the sum of the first k values, all taken
    from their mean, so one pass over the sums does.
    """
    count = len(values)
    if count < 2 * least:
        return None
    mean = math.fsum(values) / count
    best, most, above = None, -1.0, 0.0
    for number, value in enumerate(values, 1):
        above += value - mean
        if least <= number <= count - least:
            saved = above * above / (number * (count - number))
            if saved > most:
                best, most = number, saved
    return best


def line(values: Sequence[float]) -> Line:
    """The best line through at least two values."""
    count = len(values)
    mean, middle = math.fsum(values) / count, (count - 1) / 2
    product = math.fsum((number - middle) * (value - mean) for number, value in enumerate(values))
    slope = product / (count * (count * count - 1) / 12)
    return Line(slope * (count - 1), max(scatter(values) - slope * product, 0.0))


def scatter(values: Sequence[float]) -> float:
    """The squares that the mean leaves."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)
