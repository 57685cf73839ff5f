"""Must a running probe be ended? Looked at four times a second while one runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.diagnosis.probe_gate import GateRules, Reason, is_hot


@dataclass(frozen=True, slots=True)
class GuardSample:
    """A quarter of a second of a running probe; None is not known.

    in_flight: requests in the device, of which `own_in_flight` may be the probe's.
    cgroup_pressure_ratio: the share of the sample in which mysqld's control group waited for I/O.
        Not the host's: a probe waits for its own I/O, and would end itself.

    The device's own counters hold the probe's operations among production's, so neither its await
    nor what it has written says how production fares.
    """

    in_flight: int | None = None
    own_in_flight: int = 1
    cgroup_pressure_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    avail_bytes: int | None = None


def guard(samples: Sequence[GuardSample], rules: GateRules) -> Reason | None:
    """Why a running probe must be ended, by its last samples, the newest last; None to go on.

    Load must hold through `guard_samples` of them: a single flush of InnoDB is no reason.
    """
    if not samples:
        return None
    if harm := _harm(samples[-1], rules):
        return harm
    needed = max(1, rules.guard_samples)
    if len(samples) < needed:
        return None
    last = samples[-needed:]
    if all(_waits(sample.cgroup_pressure_ratio, rules.guard_pressure_ratio) for sample in last):
        return Reason.CGROUP_PRESSURE
    if all(_is_needed(sample, rules) for sample in last):
        return Reason.BUSY
    return None


def _harm(now: GuardSample, rules: GateRules) -> Reason | None:
    """What a probe makes worse with each request, so that one sample is enough."""
    if is_hot(now.temperature_celsius, now.warning_celsius, rules):
        return Reason.HOT
    # Half of what the gate wants: where it let a run begin, that alone is no reason to end it.
    if now.avail_bytes is not None and now.avail_bytes < rules.free_bytes // 2:
        return Reason.NO_SPACE
    return None


def _waits(found: float | None, limit: float) -> bool:
    return found is not None and found >= limit


def _is_needed(sample: GuardSample, rules: GateRules) -> bool:
    """Production has requests in the device besides the probe's."""
    others = None if sample.in_flight is None else sample.in_flight - sample.own_in_flight
    return _waits(others, rules.guard_queue)
