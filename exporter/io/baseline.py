"""A device's own await at low load: what its requests take while nothing stands in their way.

The baselines of every drive ever seen here, in memory and in the kept state.
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

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
        baseline._update_median()
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
        self._update_median()
        return before != self._median

    def _update_median(self) -> None:
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


log = logging.getLogger(__name__)

#: More drives than any host has, with those that were replaced.
_MOST_DRIVES = 8192


class Baselines:
    """Baselines by the drive's identity, so that they follow it through reboots and renaming.

    `kept` is what `to_state` gave, out of a file that may hold anything.
    """

    def __init__(self, rules: BaselineRules, kept: Any = None) -> None:
        self._rules = rules
        self._by_identity: dict[str, DriveBaselines] = {}
        if not isinstance(kept, Mapping | None):
            log.warning("the kept baselines are not usable: learned anew")
            kept = None
        for identity, directions in (kept or {}).items():
            try:
                self._by_identity[identity] = DriveBaselines(
                    self._restored(directions["read"]), self._restored(directions["write"])
                )
            except (KeyError, TypeError, ValueError, OverflowError) as e:
                log.warning("the kept baseline of %s is not usable (%r): learned anew", identity, e)

    def for_drive(self, identity: str) -> DriveBaselines:
        """The drive's baselines, new ones if it was never seen."""
        found = self._by_identity.pop(identity, None)
        if found is None:
            found = DriveBaselines(Baseline(self._rules), Baseline(self._rules))
        # At the end, so that those not seen for longest are the first to go.
        self._by_identity[identity] = found
        while len(self._by_identity) > _MOST_DRIVES:
            del self._by_identity[next(iter(self._by_identity))]
        return found

    def reconfigure(self, rules: BaselineRules) -> None:
        """The settings were read again."""
        self._rules = rules
        for drive in self._by_identity.values():
            drive.read.rules = drive.write.rules = rules

    def to_state(self) -> dict[str, Any]:
        """Plain values for the state file; drives of which nothing was learned are left out."""
        return {
            identity: {
                "read": [list(pair) for pair in drive.read.learned()],
                "write": [list(pair) for pair in drive.write.learned()],
            }
            for identity, drive in self._by_identity.items()
            if drive.read.bins or drive.write.bins
        }

    def _restored(self, pairs: Any) -> Baseline:
        return Baseline.restored(
            self._rules, [(int(index), float(weight)) for index, weight in pairs]
        )
