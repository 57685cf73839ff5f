"""The bounds of a rate that the product calculates from a counter of the kernel.

A test cannot read the counter at the moment at which the product reads it. It reads the counter
before and after. On a machine of any speed, the rate is then between two values.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Around:
    """A counter and the monotonic time in seconds, before and after an action that reads both."""

    counter: tuple[int, int]
    seconds: tuple[float, float]


def around(counter: Callable[[], int], action: Callable[[], object]) -> Around:
    """Returns the counter and the time around the action."""
    first, begun = counter(), time.monotonic()
    action()
    ended, last = time.monotonic(), counter()
    return Around((first, last), (begun, ended))


def rate_bounds(start: Around, end: Around) -> tuple[float, float]:
    """Returns the lowest and the highest possible rate per second between two actions."""
    lowest = (end.counter[0] - start.counter[1]) / (end.seconds[1] - start.seconds[0])
    highest = (end.counter[1] - start.counter[0]) / (end.seconds[0] - start.seconds[1])
    return lowest, highest
