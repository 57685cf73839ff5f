"""Fits a series of values with one step, or with a straight line, by least squares.

It does no I/O.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FittedLine:
    """The least-squares line through a list of values.

    gain: the rise of the line from the first to the last value; negative if the line falls.
    residual_squares: the sum of the squared distances between the values and the line.
    """

    gain: float
    residual_squares: float


def best_split(values: Sequence[float], least: int) -> int | None:
    """Returns the index at which the values are best divided into two segments of constant value.

    The index is that of the first value of the second segment. It makes the sum of squared
    residuals smallest. Returns None if there are too few values for two segments.

    A split at index k reduces that sum by A**2 n / (k (n - k)). n is the number of values, and A is
    the sum of the deviations of the first k values from the mean of all values.

    least: the minimum length of a segment.
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


def fit_line(values: Sequence[float]) -> FittedLine:
    """Returns the least-squares line through at least two values."""
    count = len(values)
    mean, middle = math.fsum(values) / count, (count - 1) / 2
    product = math.fsum((number - middle) * (value - mean) for number, value in enumerate(values))
    slope = product / (count * (count * count - 1) / 12)
    return FittedLine(slope * (count - 1), max(squared_deviations(values) - slope * product, 0.0))


def squared_deviations(values: Sequence[float]) -> float:
    """Returns the sum of the squared differences of the values from their mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def residual_squares(values: Sequence[float], cuts: Sequence[int]) -> float:
    """Returns the sum of squared residuals if each segment between cuts has a constant value.

    cuts: the indexes at which the second and later segments begin.
    """
    return sum(
        squared_deviations(values[a:b]) for a, b in itertools.pairwise([0, *cuts, len(values)])
    )


def smoothed_logs(speeds: Sequence[float], width: int) -> list[float]:
    """Returns the log speeds after a moving median, which removes stalls of one or two bins.

    width: the number of bins of the median.
    """
    logs = [math.log(speed) for speed in speeds]
    reach = width // 2
    return [
        statistics.median(logs[max(number - reach, 0) : number + reach + 1])
        for number in range(len(logs))
    ]
