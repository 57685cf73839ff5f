"""Learns each drive's baseline: its await at low load, separately for reads and writes.

Await is the mean time of a request. `Baseline` stores a histogram of awaits and computes their
median; it does no I/O. The baseline follows the drive over months. The reference is the baseline
of the first day and does not change, so that the two together show a drive that becomes slower.

A drive, its link or the CPU may sleep between two requests, and the next one waits until it is
awake. So the await of a few requests per second is not that of the drive. `AwaitBaseline` keeps the
observations of seconds with many requests apart, and prefers them.
`Baselines` holds the baselines of all drives, and converts them to and from
the values of the state file.
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.config.disk_rules import BaselineRules
from exporter.io.interval import DiskInterval
from exporter.runtime import untrusted_file

log = logging.getLogger(__name__)

#: The range of the histogram of awaits, in seconds, and the width of its bins. Each bin is 10 %
#: wider than the one before, so the median is precise to 10 %.
_MIN_SECONDS = 1e-6
_MAX_SECONDS = 100.0
_LOG_BIN_WIDTH = math.log(1.1)

#: The weight of an observation after the baseline is valid. The first observations may all be from
#: one minute, so those of later hours count more.
_LATER_WEIGHT = 5.0

#: The weight of a bin must be smaller than this. The sum of all weights is at most `memory`.
_WEIGHT_END = 1e9

#: Maximum number of drives with a stored baseline. It limits the size of the state file and the
#: memory. No host has so many drives, even if replaced drives are counted.
_MAX_DRIVES = 8192

#: Maximum number of bins of all baselines in the state file: 1,500 drives with 50 bins for reads,
#: and 50 for writes. Each takes three of the 700,000 values that the file may have,
#: and a third of them is left for other values. Usual drives have 20 bins.
_MAX_STORED_BINS = 150_000


@dataclass(slots=True)
class Baseline:
    """The median await of one direction (reads or writes) over intervals with low load.

    bins: the histogram of awaits: the weight of each bin, keyed by the bin's number.
    reference: the baseline of the first day, in seconds; None before the end of that day.
    """

    rules: BaselineRules
    bins: dict[int, float] = field(default_factory=dict)
    reference: float | None = None
    _pooled_operations: int = 0
    _pooled_seconds: float = 0.0
    _next_at: float = -math.inf
    _later_observations: int = 0
    _median: float | None = None

    @classmethod
    def restored(
        cls,
        rules: BaselineRules,
        bins: Iterable[tuple[int, float]],
        reference: float | None = None,
    ) -> "Baseline":
        """Returns a baseline from the pairs that `weights` returned in an earlier run.

        reference: the reference of the earlier run; None if it had none.

        Raises:
            ValueError: a bin, a weight or the reference is out of range.
        """
        weights = dict(bins)
        last = _bin(_MAX_SECONDS)
        if not all(
            0 <= index <= last and 0 < weight < _WEIGHT_END for index, weight in weights.items()
        ):
            raise ValueError("a bin or a weight is out of range")
        baseline = cls(rules, weights, reference)
        baseline._update_median()
        return baseline

    @property
    def seconds(self) -> float | None:
        """The learned await in seconds; None until there are enough observations."""
        return self._median

    def weights(self) -> Iterator[tuple[int, float]]:
        """Returns pairs of bin number and weight, sorted by bin number, for the state file."""
        return iter(sorted(self.bins.items()))

    def observe(self, now: float, operations: int, seconds: float) -> bool:
        """Adds the operations of an interval with low load; returns True if the baseline changed.

        now: monotonic time in seconds.
        operations: the number of operations.
        seconds: the sum of their times.
        """
        if now < self._next_at:
            return False
        self._pooled_operations += operations
        self._pooled_seconds += seconds
        rules = self.rules
        if self._pooled_operations < rules.operations:
            return False
        index = _bin(self._pooled_seconds / self._pooled_operations)
        self._pooled_operations, self._pooled_seconds = 0, 0.0
        before = self._median
        is_later = before is not None
        self.bins[index] = self.bins.get(index, 0.0) + (_LATER_WEIGHT if is_later else 1.0)
        self._update_median()
        if self._median is not None:
            self._next_at = now + rules.interval_seconds
        if is_later and self.reference is None:
            self._later_observations += 1
            if self._later_observations >= rules.reference_observations:
                self.reference = self._median
        return before != self._median

    def _update_median(self) -> None:
        total = sum(self.bins.values())
        most = self.rules.memory * _LATER_WEIGHT
        while total > most:
            self.bins = {index: weight / 2 for index, weight in self.bins.items() if weight > 1}
            total = sum(self.bins.values())
        if total >= self.rules.observations:
            self._median = _bin_seconds(_median_bin(self.bins, total))


class AwaitBaseline:
    """The baseline of one direction, from seconds with many requests, else from those with few.

    many: the histogram of the seconds with many requests.
    few: that of the other seconds; None if there are none, and after `many` is valid.
    is_refuted: requests under load were faster than `few`, which is then not used any more.
    """

    __slots__ = ("_faster_seconds", "few", "is_refuted", "many")

    def __init__(
        self, many: Baseline, few: Baseline | None = None, *, is_refuted: bool = False
    ) -> None:
        self.many = many
        self.few = few
        self.is_refuted = is_refuted
        self._faster_seconds = 0.0

    @property
    def seconds(self) -> float | None:
        """The learned await in seconds; None until there are enough observations."""
        learned = self.many.seconds
        return learned if learned is not None or self.few is None else self.few.seconds

    @property
    def reference(self) -> float | None:
        """The baseline of the first day in seconds; None before the end of that day."""
        if self.few is None or self.many.seconds is not None:
            return self.many.reference
        return self.few.reference

    @property
    def is_doubtful(self) -> bool:
        """True if the await was learned from few requests per second: it may be too large."""
        few = self.few
        return few is not None and few.seconds is not None and self.many.seconds is None

    def observe(self, now: float, operations: int, seconds: float, *, are_many: bool) -> bool:
        """Adds the operations of an interval with low load; returns True if the baseline changed.

        are_many: the requests came so quickly that nothing slept between them. The other arguments
            are those of `Baseline.observe`.
        """
        if are_many:
            changed = self.many.observe(now, operations, seconds)
            self.few = self.few if self.many.seconds is None else None
            return changed
        if self.is_refuted or self.many.seconds is not None:
            return False
        if self.few is None:
            self.few = Baseline(self.many.rules)
        return self.few.observe(now, operations, seconds)

    def observe_load(self, operations: int, total_seconds: float, seconds: float) -> bool:
        """Compares the requests of a second under load; returns True if the baseline changed.

        A request does not become faster because of others that wait. If it does, those that taught
        the baseline had to wake up the drive.

        operations, total_seconds: the number of requests, and the sum of their times.
        seconds: the length of the interval.
        """
        few, rules = self.few, self.many.rules
        if few is None or few.seconds is None or not self.is_doubtful:
            return False
        if operations < rules.operations:
            return False
        if total_seconds >= rules.refuted_ratio * few.seconds * operations:
            self._faster_seconds = 0.0
            return False
        self._faster_seconds += seconds
        if self._faster_seconds < rules.refuted_seconds:
            return False
        self.few, self.is_refuted = None, True
        return True


@dataclass(slots=True)
class DriveBaselines:
    """The baselines of one drive, for reads and for writes."""

    read: AwaitBaseline
    write: AwaitBaseline

    @property
    def is_doubtful(self) -> bool:
        """True if one of them may be too large; see `AwaitBaseline.is_doubtful`."""
        return self.read.is_doubtful or self.write.is_doubtful

    def observe(self, now: float, disk: DiskInterval) -> bool:
        """Adds the requests of an interval with low load; returns True if a baseline changed.

        The await of a large request shows the bandwidth. That of a write beside a flush may include
        the flush. Neither is added.
        """
        rules, reads, writes = self.read.many.rules, disk.reads, disk.writes
        largest, changed = rules.largest_bytes, False
        many = reads + writes >= rules.many_per_second * disk.seconds
        if reads and disk.read_bytes <= largest * reads:
            changed = self.read.observe(now, reads, disk.read_seconds, are_many=many)
        if writes and not disk.flushes and disk.written_bytes <= largest * writes:
            took = disk.write_seconds
            changed = self.write.observe(now, writes, took, are_many=many) or changed
        return changed

    def observe_load(self, disk: DiskInterval) -> bool:
        """Compares the requests of a busy interval; see `AwaitBaseline.observe_load`."""
        seconds = disk.seconds
        changed = self.read.observe_load(disk.reads, disk.read_seconds, seconds)
        return self.write.observe_load(disk.writes, disk.write_seconds, seconds) or changed


class Baselines:
    """The baselines of all drives, keyed by the drive's identity.

    The identity stays the same when the device name changes, so baselines survive reboots.

    stored: the value that `to_state` returned in an earlier run; None if there is none. Damaged
        parts are logged and ignored.
    """

    def __init__(self, rules: BaselineRules, stored: Any = None) -> None:
        self._rules = rules
        self._by_identity: dict[str, DriveBaselines] = {}
        self._is_limit_logged = False
        if not isinstance(stored, Mapping | None):
            log.warning("the stored baselines are not usable; the exporter learns new ones")
            stored = None
        for identity, directions in list((stored or {}).items())[:_MAX_DRIVES]:
            try:
                self._by_identity[identity] = DriveBaselines(
                    self._restored(directions, "read"), self._restored(directions, "write")
                )
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as e:
                log.warning(
                    "the stored baseline of %s is not usable (%r); the exporter learns a new one",
                    identity,
                    e,
                )

    def for_drive(self, identity: str) -> DriveBaselines:
        """Returns the drive's baselines; for a new drive, empty ones that are then stored."""
        baselines = self._by_identity.pop(identity, None)
        if baselines is None:
            baselines = DriveBaselines(
                AwaitBaseline(Baseline(self._rules)), AwaitBaseline(Baseline(self._rules))
            )
        # The entry moves to the end, so that the least recently seen drives are dropped first.
        self._by_identity[identity] = baselines
        while len(self._by_identity) > _MAX_DRIVES:
            del self._by_identity[next(iter(self._by_identity))]
        return baselines

    def reconfigure(self, rules: BaselineRules) -> None:
        """Applies new settings to all baselines."""
        self._rules = rules
        for drive in self._by_identity.values():
            for one in (drive.read, drive.write):
                one.many.rules = rules
                if one.few is not None:
                    one.few.rules = rules

    def to_state(self) -> dict[str, Any]:
        """Returns JSON values for the state file. Drives without an observation are left out.

        Of more baselines than the file can have, the drives that were seen last are returned, and
        the number is logged once.
        """
        kept: list[tuple[str, DriveBaselines]] = []
        left = _MAX_STORED_BINS
        known = [each for each in self._by_identity.items() if _bin_count(each[1])]
        for identity, drive in reversed(known):
            left -= _bin_count(drive)
            if left < 0:
                break
            kept.append((identity, drive))
        if len(kept) < len(known) and not self._is_limit_logged:
            self._is_limit_logged = True
            log.warning(
                "only the baselines of %d of %d drives are saved: others are learned again after a"
                " restart",
                *(len(kept), len(known)),
            )
        return {
            identity: {**_stored("read", drive.read), **_stored("write", drive.write)}
            for identity, drive in reversed(kept)
        }

    def _restored(self, directions: Mapping[str, Any], name: str) -> AwaitBaseline:
        """Returns a baseline from the state file.

        A file of an older version has all observations in one histogram. They are kept, but count
        as those of few requests, because they may be.
        """
        rules, few = self._rules, directions.get(f"{name}_few")
        many, reference = directions[name], directions.get(f"{name}_reference")
        few_reference = directions.get(f"{name}_few_reference")
        if few is None:
            many, few, reference, few_reference = (), many, None, reference
        known, kept = _restored(rules, many, reference), _restored(rules, few, few_reference)
        is_refuted = directions.get(f"{name}_refuted") is True
        used = kept if kept.bins and not is_refuted else None
        return AwaitBaseline(known, used, is_refuted=is_refuted)


def _restored(rules: BaselineRules, pairs: Any, reference: Any) -> Baseline:
    known = untrusted_file.number(reference, _MIN_SECONDS, 2 * _MAX_SECONDS)
    return Baseline.restored(rules, [_parse_bin(*pair) for pair in pairs], known)


def _stored(name: str, baseline: AwaitBaseline) -> dict[str, Any]:
    """Returns the values of one direction; see `Baselines.to_state`."""
    many, few = baseline.many, baseline.few
    values: dict[str, Any] = {
        name: [list(pair) for pair in many.weights()],
        f"{name}_few": [] if few is None else [list(pair) for pair in few.weights()],
    }
    if many.reference is not None:
        values[f"{name}_reference"] = many.reference
    if few is not None and few.reference is not None:
        values[f"{name}_few_reference"] = few.reference
    if baseline.is_refuted:
        values[f"{name}_refuted"] = True
    return values


def _bin_count(drive: DriveBaselines) -> int:
    return sum(
        len(one.many.bins) + (0 if one.few is None else len(one.few.bins))
        for one in (drive.read, drive.write)
    )


def _parse_bin(index: Any, weight: Any) -> tuple[int, float]:
    """Returns a bin number and its weight from values of the state file."""
    number = untrusted_file.number(index, 0, _bin(_MAX_SECONDS))
    kept = untrusted_file.number(weight, 0, _WEIGHT_END)
    if number is None or kept is None or not number.is_integer():
        raise ValueError("a bin or a weight is not a number, or is out of range")
    return int(number), kept


def _median_bin(bins: dict[int, float], total: float) -> int:
    below = 0.0
    index = 0
    for index in sorted(bins):
        below += bins[index]
        if below >= total / 2:
            break
    return index


def _bin(seconds: float) -> int:
    bounded = min(max(seconds, _MIN_SECONDS), _MAX_SECONDS)
    return int(math.log(bounded / _MIN_SECONDS) / _LOG_BIN_WIDTH)


def _bin_seconds(index: int) -> float:
    """Returns the geometric middle of a bin in seconds, rounded to two significant digits.

    More digits would suggest a precision that the bins do not have.
    """
    middle = _MIN_SECONDS * math.exp((index + 0.5) * _LOG_BIN_WIDTH)
    return float(f"{middle:.2g}")
