"""Compares the lifetime counters of successive reports of one drive. Pure.

A lifetime counter of a drive does not decrease, and its increase is limited by the elapsed time. If
one counter violates this, a part of the report is wrong. The other counters may be wrong too, so no
counter is used. If several counters violate it, the report is invalid or of another drive, so no
value is used.

A firmware update, a secure erase or a replaced controller board resets counters. A value that three
successive polls confirm is therefore accepted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from exporter.drives.assessment.log_judgement import MAX_BYTES_PER_SECOND, invalid, unusable
from exporter.drives.health import DriveHealth, RejectedValue, RejectionKind, WrittenBytes

#: The number of successive polls with which a discontinuous value is accepted.
_CONFIRMATIONS = 3
#: The number of discontinuous counters from which on the whole report is held back.
_SEVERAL = 2
#: A counter that was set back or jumped this often since the start, or that jumps in this many
#: successive polls without falling, counts in another way than assumed. It is no longer compared.
_MAX_EPOCHS, _MAX_JUMPS = 3, 10

_HOUR, _DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class _Growth:
    """How much a counter may grow, in its base unit.

    metric: the metric family without `ssd_smart_`.
    least: the growth that is always possible: drives update their counters at any time.
    per_second: the largest growth per second.
    tolerance: how far the value may fall.
    """

    metric: str
    least: float
    per_second: float
    tolerance: float = 0.0


#: The counters of `DriveHealth` that are compared.
_GROWTH: Mapping[str, _Growth] = {
    # Some drives count minutes, which smartctl prints as hours.
    "power_on_seconds": _Growth("power_on_seconds_total", 2 * _HOUR, 60),
    "power_cycles": _Growth("power_cycles_total", 10, 0.5),
    "unsafe_shutdowns": _Growth("unsafe_shutdowns_total", 10, 0.5),
    # Some drives update the byte counters every quarter of an hour.
    **{
        name: _Growth(f"{name}_bytes_total", 900 * MAX_BYTES_PER_SECOND, MAX_BYTES_PER_SECOND)
        for name in ("host_read", "host_written", "nand_written")
    },
    # A drive that fails reports thousands of errors within a minute.
    "media_errors": _Growth("media_errors_total", 1_000_000, 10_000),
    "reallocated_sectors": _Growth("reallocated_sectors_total", 1_000_000, 10_000),
    "program_failures": _Growth("program_failures_total", 100_000, 1000),
    "erase_failures": _Growth("erase_failures_total", 100_000, 1000),
    "controller_busy_seconds": _Growth("controller_busy_seconds_total", 2 * _HOUR, 60),
    "over_temperature_warning_seconds": _Growth("over_temperature_seconds_total", 2 * _HOUR, 60),
    "over_temperature_critical_seconds": _Growth("over_temperature_seconds_total", 2 * _HOUR, 60),
    "error_log_entries": _Growth("error_log_entries_total", 1_000_000, 10_000),
    "interface_errors": _Growth("interface_errors_total", 1_000_000, 10_000),
    "corrected_errors": _Growth("corrected_errors_total", 1e9, 1e6),
    # A 240 GB drive with QLC flash that is written at the speed of its link wears by a third a day.
    "endurance": _Growth("endurance_used_ratio", 0.1, 0.5 / _DAY, 0.021),
}


class _Reading(NamedTuple):
    """The value of a counter, when it was read, and what it is derived from."""

    value: float
    at: float
    name: str
    growth: _Growth
    source: object = None


@dataclass(slots=True)
class _Held:
    """A discontinuous value.

    polls: the number of successive polls that confirm it. rising: those in which it has not fallen.
    """

    last: _Reading
    polls: int = 1
    rising: int = 1


class Continuity:
    """The last accepted lifetime counters of one drive."""

    __slots__ = ("_accepted", "_epochs", "_held")

    def __init__(self) -> None:
        self._accepted: dict[str, _Reading] = {}
        self._held: dict[str, _Held] = {}
        self._epochs: dict[str, int] = {}

    def checked(self, health: DriveHealth, at: float) -> DriveHealth:
        """Returns the health without the values that contradict the previous ones.

        health: the health of the newest report. at: when it was read, in seconds of Unix time.
        """
        if health.unreadable:
            self._held.clear()
            return health
        readings = dict(_readings(health, at))
        broken = {
            name: rejected
            for name, reading in readings.items()
            if (rejected := self._rejected(name, reading)) is not None
        }
        # A counter that this report lacks is judged in the next one that has it.
        self._held = {
            name: held
            for name, held in self._held.items()
            if name in broken or name not in readings
        }
        if not broken:
            self._accepted |= readings
            return health
        return _held_back(health, list(broken.values()))

    def _rejected(self, name: str, now: _Reading) -> RejectedValue | None:
        """Returns why the value does not continue the accepted one; None if it does."""
        before = self._accepted.get(name)
        if before is None or self._epochs.get(name, 0) >= _MAX_EPOCHS:
            return None
        rejected = _discontinuity(before, now)
        if rejected is None or not self._is_confirmed(name, now):
            return rejected
        self._epochs[name] = self._epochs.get(name, 0) + 1
        # The value may be in a report of which another counter is still held back.
        self._accepted[name] = now
        return None

    def _is_confirmed(self, name: str, now: _Reading) -> bool:
        """Counts a poll that confirms a value. True if no further poll is necessary."""
        held = self._held.setdefault(name, _Held(now, 0, 0))
        confirms = _discontinuity(held.last, now) is None
        rises = now.value >= held.last.value and now.source == held.last.source
        held.polls = held.polls + 1 if confirms else 1
        held.rising = held.rising + 1 if rises else 1
        held.last = now
        if held.rising >= _MAX_JUMPS:
            self._epochs[name] = _MAX_EPOCHS
        return held.polls >= _CONFIRMATIONS or held.rising >= _MAX_JUMPS


def _readings(health: DriveHealth, at: float) -> Iterator[tuple[str, _Reading]]:
    """Yields each counter of the report with its name."""
    for name, growth in _GROWTH.items():
        value = getattr(health, name)
        if value is None:
            continue
        # The type is compared first: isinstance(value, Mapping) takes several times as long.
        if type(value) is int or type(value) is float:
            # A SAS drive counts the errors of its link since power on.
            if name != "interface_errors" or health.attributes:
                yield name, _Reading(float(value), at, name, growth)
        elif name == "endurance":
            yield name, _Reading(value.used_ratio, at, name, growth, value.source)
        elif isinstance(value, WrittenBytes):
            source = (value.source, value.unit_bytes)
            yield name, _Reading(float(value.bytes), at, name, growth, source)
        elif isinstance(value, Mapping):
            for key, number in value.items():
                yield f"{name} {key}", _Reading(float(number), at, f"{name} {key}", growth)


def _discontinuity(before: _Reading, now: _Reading) -> RejectedValue | None:
    """Returns why a value does not continue the one before; None if it does.

    Values that are derived from different sources are not compared.
    """
    if before.source != now.source:
        return None
    growth, name = now.growth, now.name
    # After the clock was set back, the elapsed time is unknown: it counts as 0.
    elapsed = max(now.at - before.at, 0.0)
    if now.value < before.value - growth.tolerance:
        reason = f"it was {before.value:.6g} in the previous report"
        return RejectedValue(growth.metric, now.value, name, reason, RejectionKind.FELL)
    if now.value - before.value > growth.least + growth.per_second * elapsed:
        reason = f"it has grown from {before.value:.6g} within {elapsed:.0f} s"
        return RejectedValue(growth.metric, now.value, name, reason, RejectionKind.JUMPED)
    return None


def _held_back(health: DriveHealth, broken: Sequence[RejectedValue]) -> DriveHealth:
    """Returns the health without its counters, and without all values if several broke."""
    rejected = (*health.rejected, *broken)
    if len(broken) < _SEVERAL:
        absent: dict[str, Any] = {**dict.fromkeys(_GROWTH), "corrected_errors": {}}
        return replace(health, rejected=rejected, **absent)
    first = broken[0]
    statement = invalid(
        "comparison with the previous report",
        f"{len(broken)} counters do not continue the previous report, among them {first.rule}: "
        f"it is {first.value:.6g}, and {first.reason}",
    )
    return unusable(health, statement, rejected)
