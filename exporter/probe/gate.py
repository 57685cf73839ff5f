"""Decides whether a probe may start (the gate) and whether a running probe must stop (the guard).

Production has priority. If the gate does not admit a due probe, the probe is skipped. After many
skips, the gate admits one run with few operations (a minimal run). So there are results from hosts
that are always busy, too. This module does no I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from operator import or_

from exporter.config.gate_rules import GateRules


class Reason(str, Enum):
    """Why a probe did not run or was ended. The values are labels of `ssd_probe_skipped_total`."""

    UNACKNOWLEDGED = "unacknowledged"  # the host rebooted during a probe
    STUCK = "stuck"  # an earlier fio cannot be ended
    LOCKED = "locked"  # another probe runs on this host
    FILESYSTEM = "filesystem"  # unsuitable or read-only, or the file is not safe to use
    TOO_EARLY = "too_early"  # the host has just started
    REBUILDING = "rebuilding"  # an array is being resynced or checked
    WORN = "worn"
    HOT = "hot"
    NO_SPACE = "no_space"
    BUDGET = "budget"
    UNOBSERVED = "unobserved"  # the device's load is unknown
    BUSY = "busy"
    PRESSURE = "pressure"
    CGROUP_PRESSURE = "cgroup_pressure"


#: Reasons that may be permanent on a healthy host with much load. After many skips for one of them,
#: a minimal run is admitted.
_LOAD = (Reason.BUSY, Reason.PRESSURE, Reason.CGROUP_PRESSURE)


@dataclass(frozen=True, slots=True)
class GateState:
    """The state of the host when a probe is due. None means unknown.

    `gate` decides from it whether the probe may run.

    is_unacknowledged: the host rebooted during a probe, and no person has acknowledged that.
    is_stuck: a fio process of an earlier run cannot be ended.
    is_locked: another probe runs on this host.
    is_rebuilding: an array on the same drives is being rebuilt or checked.
    is_on_demand: a person starts the probe, so the delays after a start do not apply.
    unsuitable: a message that says why the directory cannot be probed; empty if it can be probed.
    host_uptime_seconds: the time since the host booted.
    writes: True if the probe writes.
    endurance_used_ratio: the used share of the rated endurance, for the most worn drive.
    temperature_celsius: the temperature of the drive that is closest to its limit.
    warning_celsius: the warning temperature of that drive.
    needed_bytes: the largest number of bytes that the probe may charge to the budget.
    budget_bytes: the remaining bytes of the budget; None counts as 0.
    missing_bytes: the free space that the probes' file needs in addition.
    size_bytes: the size of the filesystem.
    avail_bytes: the free space of the filesystem.
    avail_inodes: the free inodes of the filesystem.
    busy_ratio: the device's busy time over the last minute, 0 to 1.
    pressure_ratio: the share of the last 10 s in which at least one task of the host waited for
        I/O.
    cgroup_pressure_ratio: the share of the last 10 s in which all tasks of mysqld's control group
        waited for I/O; the largest share if there are several groups.
    skips: the number of consecutive skips because of load.
    aborts: the number of runs that the guard ended because of load, since the last complete run.
    unguarded: a message that says why the guard cannot detect that a database waits for I/O. Empty
        if it can, or if the probe limits its own rate.
    """

    is_unacknowledged: bool = False
    is_stuck: bool = False
    is_locked: bool = False
    is_rebuilding: bool = False
    is_on_demand: bool = False
    unsuitable: str = ""
    host_uptime_seconds: float | None = None
    writes: bool = False
    endurance_used_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    needed_bytes: int = 0
    budget_bytes: int | None = None
    missing_bytes: int = 0
    size_bytes: int | None = None
    avail_bytes: int | None = None
    avail_inodes: int | None = None
    busy_ratio: float | None = None
    pressure_ratio: float | None = None
    cgroup_pressure_ratio: float | None = None
    skips: int = 0
    aborts: int = 0
    unguarded: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The decision that the probe may run.

    minimal: True if only a run with few operations is allowed, because the host is always busy.
    """

    minimal: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """The decision that the probe may not run.

    detail: a message with the values that led to the decision.
    """

    reason: Reason
    detail: str

    @property
    def is_for_load(self) -> bool:
        """True if the reason is load. After many such skips, a minimal run is admitted."""
        return is_load(self.reason)


def is_load(reason: Reason) -> bool:
    """Returns True if the reason is load, which may end at any time.

    Other reasons last longer, or a person must remove them.
    """
    return reason in _LOAD


def gate(state: GateState, rules: GateRules) -> Run | Skip:
    """Returns the decision whether a probe may run, with the reason if it may not.

    If several reasons apply, a lasting reason takes precedence over a temporary one.
    """
    skip = _forbidden(state) or _too_early(state, rules) or _harmful(state, rules)
    if skip is not None:
        return skip
    if state.needed_bytes and (state.budget_bytes or 0) < state.needed_bytes:
        left = state.budget_bytes or 0
        detail = f"{state.needed_bytes} bytes are needed, {left} are left of the budget"
        return Skip(Reason.BUDGET, detail)
    if state.unguarded:
        return Skip(Reason.UNOBSERVED, state.unguarded)
    load = _loaded(state, rules)
    if load is None:
        return Run(minimal=state.aborts >= rules.forced_after_skips)
    if load.is_for_load and state.skips >= rules.forced_after_skips:
        return Run(minimal=True)
    return load


def _forbidden(state: GateState) -> Skip | None:
    """Returns a skip if a person must act first, or if another probe runs; None otherwise."""
    if state.is_unacknowledged:
        detail = (
            "the host rebooted during a probe: find out why, then run ssd-exporter probe"
            " --acknowledge"
        )
        return Skip(Reason.UNACKNOWLEDGED, detail)
    if state.is_stuck:
        return Skip(Reason.STUCK, "an earlier fio cannot be ended: it hangs in the kernel")
    if state.is_locked:
        return Skip(Reason.LOCKED, "another probe runs on this host")
    if state.unsuitable:
        return Skip(Reason.FILESYSTEM, state.unsuitable)
    return None


def _too_early(state: GateState, rules: GateRules) -> Skip | None:
    """Returns a skip if the host has just started; None otherwise."""
    if state.is_on_demand:
        return None
    uptime = state.host_uptime_seconds
    if uptime is not None and uptime < rules.host_uptime_seconds:
        return Skip(Reason.TOO_EARLY, f"the host has been up for only {uptime:.0f} s")
    return None


def _harmful(state: GateState, rules: GateRules) -> Skip | None:
    """Returns a skip if a probe would make the condition of the drive worse; None otherwise.

    Such conditions are a rebuild, wear, heat, and too little free space.
    """
    if state.is_rebuilding:
        return Skip(Reason.REBUILDING, "an array on this device is being rebuilt or checked")
    worn, limit = state.endurance_used_ratio, rules.worn_ratio
    if state.writes and worn is not None and worn >= limit:
        return Skip(Reason.WORN, f"{worn:.0%} of its endurance is used; the limit is {limit:.0%}")
    if is_hot(state.temperature_celsius, state.warning_celsius, rules):
        return Skip(Reason.HOT, f"the drive's temperature is {state.temperature_celsius:g} °C")
    if state.avail_bytes is not None:
        least = max(rules.free_bytes, int(rules.free_ratio * (state.size_bytes or 0)))
        if state.avail_bytes - state.missing_bytes < least:
            needed = least + state.missing_bytes
            detail = (
                f"{state.avail_bytes} bytes are free; {needed} are needed: free"
                f" {needed - state.avail_bytes} bytes, name a directory on a larger filesystem, or"
                " lower probe.gate.free_bytes and probe.gate.free_ratio"
            )
            return Skip(Reason.NO_SPACE, detail)
    if state.avail_inodes is not None and state.avail_inodes < rules.free_inodes:
        return Skip(Reason.NO_SPACE, f"only {state.avail_inodes} inodes are free")
    return None


def _loaded(state: GateState, rules: GateRules) -> Skip | None:
    """Returns why a probe must be skipped: the I/O load is too high or unknown. None otherwise."""
    if state.busy_ratio is None:
        return Skip(Reason.UNOBSERVED, "the device's load is unknown: it has not been sampled yet")
    checks = (
        (Reason.BUSY, state.busy_ratio, rules.busy_ratio, "device busy in the last minute"),
        (Reason.PRESSURE, state.pressure_ratio, rules.pressure_ratio, "I/O pressure of the host"),
        (
            Reason.CGROUP_PRESSURE,
            state.cgroup_pressure_ratio,
            rules.cgroup_pressure_ratio,
            "I/O pressure of mysqld",
        ),
    )
    for reason, value, limit, words in checks:
        # The comparison is negated, so that NaN counts as busy.
        if value is not None and not value <= limit:
            return Skip(reason, f"{words}: {value:.0%}; the limit is {limit:.0%}")
    return None


def is_hot(celsius: float | None, warning_celsius: float | None, rules: GateRules) -> bool:
    """Returns True if a drive is too hot for a probe; False if its temperature is unknown."""
    if celsius is None:
        return False
    limit = rules.hot_celsius
    if warning_celsius is not None:
        limit = warning_celsius - rules.hot_margin_celsius
    # The comparison is negated, so that NaN counts as hot.
    return not celsius < limit


@dataclass(frozen=True, slots=True)
class GuardSample:
    """The load while a probe runs, sampled every 0.25 s. None means unknown.

    `guard` decides from the last samples whether the probe must be ended.

    The device's counters include the operations of the probe. The mean latency and the written
    bytes of the device do not show the effect on production, so they are not used.

    in_flight: the number of requests in the device, including the probe's.
    own_in_flight: the largest number of requests that the probe has in flight.
    cgroup_pressure_ratio: the share of the sample's time in which at least one task of mysqld's
        control group waited for I/O, 0 to 1. Of several groups, it is the largest share. The
        pressure of the whole host is not used, because it includes the probe's waits for its own
        I/O.
    server_waiting_ratio: the share of readings in which a thread of mysqld waited for I/O, 0 to 1;
        the largest share if there are several servers. None if the pressure of their control groups
        is known.
    temperature_celsius: the temperature of the drive that is closest to its limit.
    warning_celsius: the warning temperature of that drive.
    avail_bytes: the free space of the filesystem.
    """

    in_flight: int | None = None
    own_in_flight: int = 1
    cgroup_pressure_ratio: float | None = None
    server_waiting_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    avail_bytes: int | None = None


def guard(samples: Sequence[GuardSample], rules: GateRules) -> Reason | None:
    """Returns why a running probe must be ended; None means that it may continue.

    The reasons are load of production, heat, and too little free space. Load must last for
    `guard_samples` samples, so that a single flush of InnoDB does not end a probe. For heat and for
    too little free space, one sample is enough.

    samples: the latest samples, oldest first.
    """
    if not samples:
        return None
    if harm := _harm(samples[-1], rules):
        return harm
    needed = max(1, rules.guard_samples)
    if len(samples) < needed:
        return None
    last, recent = samples[-needed:], samples[-needed - 1 :]
    waits = [_waits(sample, rules) for sample in recent]
    if any(waits) and sum(map(or_, waits, (_is_needed(s, rules) for s in recent))) >= needed:
        return Reason.CGROUP_PRESSURE
    if all(_is_needed(sample, rules) for sample in last):
        return Reason.BUSY
    return None


def _harm(now: GuardSample, rules: GateRules) -> Reason | None:
    """Returns `HOT` or `NO_SPACE` if a drive is too hot or space is short; None otherwise."""
    if is_hot(now.temperature_celsius, now.warning_celsius, rules):
        return Reason.HOT
    # The limit is half of what the gate requires, so that a run that has just passed the gate is
    # not ended.
    if now.avail_bytes is not None and now.avail_bytes < rules.free_bytes // 2:
        return Reason.NO_SPACE
    return None


def _waits(sample: GuardSample, rules: GateRules) -> bool:
    """Returns True if mysqld waited for I/O for most of the sample."""
    return _reaches(sample.cgroup_pressure_ratio, rules.guard_pressure_ratio) or _reaches(
        sample.server_waiting_ratio, rules.guard_waiting_ratio
    )


def _reaches(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _is_needed(sample: GuardSample, rules: GateRules) -> bool:
    """Returns True if production has `guard_queue` or more requests in the device."""
    others = None if sample.in_flight is None else sample.in_flight - sample.own_in_flight
    return _reaches(others, rules.guard_queue)
