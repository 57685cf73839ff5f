"""The times of the samples: they move through the sampling interval and back.

Many loads are periodic: a page cleaner works once a second, a throttled volume is refilled ten
times a second. If all samples were exactly a second apart, they would always show the same moment
of such a load, and the requests in flight at that moment would look like requests that hang.
Therefore each sample is moved by an offset. In ten intervals every offset occurs twice, and each
time of the second counts the same. The mean interval does not change.

This module uses no files, no clock and no logs.
"""

from collections.abc import Callable

#: The offset of each sample as a share of the interval. Successive offsets differ by a fifth at
#: most, so an interval is 0.8 to 1.2 times as long as the configured one.
_OFFSETS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.8, 0.6, 0.4, 0.2, 0.0)

#: The number of samples after which the offsets repeat.
CYCLE = len(_OFFSETS)


def sample_time(number: int, interval: float) -> float:
    """Returns the time of a sample in seconds after the first one, which has the number 0."""
    return (number + _OFFSETS[number % CYCLE]) * interval


def time_to_next(number: int, interval: float) -> float:
    """Returns the time from the sample `number` to the next one, in seconds."""
    return sample_time(number % CYCLE + 1, interval) - sample_time(number % CYCLE, interval)


class SampleTimes:
    """Counts the samples of a thread.

    interval (argument): returns the mean time between two samples in seconds; it may change.
    """

    def __init__(self, interval: Callable[[], float]) -> None:
        self._interval = interval
        self._number = 0

    def time_to_next(self) -> float:
        """Returns the time from the last sample to the next one. Call it once per sample."""
        number, self._number = self._number, self._number + 1
        return time_to_next(number, self._interval())
