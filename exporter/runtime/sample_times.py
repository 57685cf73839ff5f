"""The times of the samples: they move through the sampling interval and back.

Many loads are periodic: a page cleaner works once a second, and a throttled volume is refilled ten
times a second. If all samples were exactly a second apart, they would always show the same moment
of such a load, and the requests in flight at that moment would look like requests that hang.
Therefore each sample is moved by an offset. Its changes have the golden ratio to a tenth of the
interval, so the samples show all moments of a load of any period equally often, apart from a
percent. The mean interval does not change.

This module uses no files, no clock and no logs.
"""

from collections.abc import Callable

#: The change of the offset from one sample to the next, as a share of the interval: a tenth of the
#: golden ratio, 1.618. An interval is 0.84 to 1.16 times as long as the configured one.
_STEP = 0.1618033988749895

#: The number of samples after which the offset is nearly the same again (2 / _STEP is 12.4).
CYCLE = 12


def sample_time(number: int, interval: float) -> float:
    """Returns the time of a sample in seconds after the first one, which has the number 0."""
    offset = number * _STEP % 2.0
    return (number + (offset if offset < 1 else 2 - offset)) * interval


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
        interval = self._interval()
        return sample_time(number + 1, interval) - sample_time(number, interval)
