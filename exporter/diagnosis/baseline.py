"""A device's own await at low load: what its requests take while nothing stands in their way."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

#: Bins grow by 10 %: the median is as exact as that, over 1 µs to 100 s.
_SHORTEST_SECONDS = 1e-6
_LONGEST_SECONDS = 100.0
_GROWTH = math.log(1.1)

#: The median is looked for after so many observations: one more of hundreds does not move it, and
#: looking every second costs as much as all else that is done with a device.
_SETTLES_AFTER = 10


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """When a second counts as calm, and when enough of them have been seen.

    calm_busy_ratio: a second in which the device was busy for less teaches.
    operations: so many operations are pooled into one observation, for the kernel's millisecond
        counters say nothing of one short request.
    observations: so many make a baseline.
    memory: beyond so many, all that was learned loses half its weight, so that the baseline
        follows the device through its life, over weeks.
    """

    calm_busy_ratio: float = 0.3
    operations: int = 50
    observations: int = 60
    memory: int = 200_000


@dataclass(slots=True)
class Baseline:
    """The median await of one direction over calm seconds, learned observation by observation."""

    rules: BaselineRules
    bins: dict[int, float] = field(default_factory=dict)
    _pooled_operations: int = 0
    _pooled_seconds: float = 0.0
    _unsettled: int = 0
    _median: float | None = None

    @classmethod
    def restored(cls, rules: BaselineRules, bins: Iterable[tuple[int, float]]) -> "Baseline":
        """A baseline from what `learned` gave.

        Raises:
            ValueError: a weight or a bin that no observation makes.
        """
        known = dict(bins)
        last = _bin(_LONGEST_SECONDS)
        if not all(0 <= index <= last and 0 < weight < 1e9 for index, weight in known.items()):
            raise ValueError("a bin or a weight out of range")
        baseline = cls(rules, known)
        baseline._settle()
        return baseline

    @property
    def seconds(self) -> float | None:
        """The learned await; None until enough calm was seen."""
        return self._median

    def learned(self) -> Iterator[tuple[int, float]]:
        """What to keep over a restart: bins and their weights."""
        return iter(sorted(self.bins.items()))

    def observe(self, operations: int, seconds: float) -> bool:
        """Take in a calm interval's operations and the time that they took together.

        True where the baseline has changed by it.
        """
        self._pooled_operations += operations
        self._pooled_seconds += seconds
        if self._pooled_operations < self.rules.operations:
            return False
        index = _bin(self._pooled_seconds / self._pooled_operations)
        self.bins[index] = self.bins.get(index, 0.0) + 1.0
        self._pooled_operations, self._pooled_seconds = 0, 0.0
        self._unsettled += 1
        if self._median is not None and self._unsettled < _SETTLES_AFTER:
            return False
        before = self._median
        self._settle()
        return before != self._median

    def _settle(self) -> None:
        self._unsettled = 0
        total = sum(self.bins.values())
        if total > self.rules.memory:
            self.bins = {index: weight / 2 for index, weight in self.bins.items() if weight > 1}
            total = sum(self.bins.values())
        if total >= self.rules.observations:
            self._median = _seconds(_middle(self.bins, total))


@dataclass(slots=True)
class DriveBaselines:
    """What was learned of one drive, per direction."""

    read: Baseline
    write: Baseline


def _middle(bins: dict[int, float], total: float) -> int:
    below = 0.0
    index = 0
    for index in sorted(bins):
        below += bins[index]
        if below >= total / 2:
            break
    return index


def _bin(seconds: float) -> int:
    bounded = min(max(seconds, _SHORTEST_SECONDS), _LONGEST_SECONDS)
    return int(math.log(bounded / _SHORTEST_SECONDS) / _GROWTH)


def _seconds(index: int) -> float:
    """The geometric middle of a bin, to two digits: the bins carry no more."""
    middle = _SHORTEST_SECONDS * math.exp((index + 0.5) * _GROWTH)
    return float(f"{middle:.2g}")
