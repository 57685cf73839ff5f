"""Decides whether a probe may start (gate) and whether a running one must stop (guard). Pure.

Production has priority. On a host that is always busy no probe would run, so after many skips the
gate admits one minimal run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Reason(str, Enum):
    """Why a probe did not run or was ended; a label of `ssd_probe_skipped_total`."""

    UNACKNOWLEDGED = "unacknowledged"  # the host rebooted during a probe
    STUCK = "stuck"  # an earlier fio cannot be ended
    LOCKED = "locked"  # another probe runs on this host
    FILESYSTEM = "filesystem"  # unsuitable, read-only, or the file is not ours
    TOO_EARLY = "too_early"  # the host or the daemon has just started
    REBUILDING = "rebuilding"  # an array is being resynced or checked
    WORN = "worn"
    HOT = "hot"
    NO_SPACE = "no_space"
    BUDGET = "budget"
    UNOBSERVED = "unobserved"  # the device's load is unknown
    BUSY = "busy"
    PRESSURE = "pressure"
    CGROUP_PRESSURE = "cgroup_pressure"


#: Reasons that may be permanent on a healthy host. Skips for them lead to a minimal run.
_LOAD = (Reason.BUSY, Reason.PRESSURE, Reason.CGROUP_PRESSURE)


@dataclass(frozen=True, slots=True)
class GateRules:
    """The limits of the gate and the guard. Ratios are 0 to 1.

    host_uptime_seconds: no probe starts in this time after boot, because the host is busy then.
    busy_ratio: the device's busy time over the last minute.
    pressure_ratio: I/O pressure "some" of the host over 10 s (PSI).
    cgroup_pressure_ratio: I/O pressure "full" of mysqld's control group over 10 s (PSI).
    hot_margin_celsius: a drive is too hot from this distance below its own warning temperature on.
    hot_celsius: the limit of a drive that reports no warning temperature.
    worn_ratio: share of a drive's endurance used, from which on no probe writes to it.
    free_bytes, free_ratio, free_inodes: bytes, share of the filesystem and inodes that must stay
        free. Of the first two the greater applies.
    forced_after_skips: after this many skips in a row for load the gate admits one minimal run.
    guard_queue: requests in flight besides the probe's own; guard_pressure_ratio: share of a sample
        in which mysqld's control group waited. The guard ends a probe if either is reached in
        `guard_samples` samples in a row.
    """

    host_uptime_seconds: float = 600.0
    busy_ratio: float = 0.6
    pressure_ratio: float = 0.1
    cgroup_pressure_ratio: float = 0.05
    hot_margin_celsius: float = 5.0
    hot_celsius: float = 65.0
    worn_ratio: float = 0.8
    free_bytes: int = 5 << 30
    free_ratio: float = 0.1
    free_inodes: int = 1000
    forced_after_skips: int = 12
    guard_samples: int = 3
    guard_queue: int = 8
    guard_pressure_ratio: float = 0.5


@dataclass(frozen=True, slots=True)
class GateState:
    """The gate's input when a probe is due; None is unknown.

    unsuitable: why the filesystem or the file cannot be probed, as a message; empty if it can.
    start_seconds: time until the first probe may run; 0 if that has passed.
    writes: the run writes. needed_bytes: what it may charge to the budget; budget_bytes: what is
        left of the budget; missing_bytes: free space that the file still takes.
    size_bytes, avail_bytes, avail_inodes: size and free space of the filesystem.
    is_on_demand: a person starts it, and the delays after a start do not apply.
    skips: number of skips in a row for load.
    """

    is_unacknowledged: bool = False
    is_stuck: bool = False
    is_locked: bool = False
    is_rebuilding: bool = False
    is_on_demand: bool = False
    unsuitable: str = ""
    start_seconds: float = 0.0
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


@dataclass(frozen=True, slots=True)
class Run:
    """The probe may run. minimal: only as its shortest run, because the host is always busy."""

    minimal: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """The probe may not run. detail: a message with the values."""

    reason: Reason
    detail: str

    @property
    def is_for_load(self) -> bool:
        """True if this skip counts towards a minimal run."""
        return self.reason in _LOAD


def gate(state: GateState, rules: GateRules) -> Run | Skip:
    """Returns whether a probe may run. Lasting reasons are checked before temporary ones."""
    skip = _forbidden(state) or _too_early(state, rules) or _harmful(state, rules)
    if skip is not None:
        return skip
    if state.needed_bytes and (state.budget_bytes or 0) < state.needed_bytes:
        left = state.budget_bytes or 0
        detail = f"{state.needed_bytes} bytes are needed, {left} are left of the budget"
        return Skip(Reason.BUDGET, detail)
    load = _loaded(state, rules)
    if load is None:
        return Run()
    if load.is_for_load and state.skips >= rules.forced_after_skips:
        return Run(minimal=True)
    return load


def _forbidden(state: GateState) -> Skip | None:
    """Returns a reason that a person must remove, or another probe; None without one."""
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
    """Returns a skip if the host or the daemon has started shortly before."""
    if state.is_on_demand:
        return None
    if state.start_seconds > 0:
        return Skip(Reason.TOO_EARLY, f"the first probe is due in {state.start_seconds:.0f} s")
    uptime = state.host_uptime_seconds
    if uptime is not None and uptime < rules.host_uptime_seconds:
        return Skip(Reason.TOO_EARLY, f"the host has been up for only {uptime:.0f} s")
    return None


def _harmful(state: GateState, rules: GateRules) -> Skip | None:
    """Returns a skip for a condition of the drive that a probe would make worse."""
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
            detail = f"{state.avail_bytes} bytes are free; {least + state.missing_bytes} are needed"
            return Skip(Reason.NO_SPACE, detail)
    if state.avail_inodes is not None and state.avail_inodes < rules.free_inodes:
        return Skip(Reason.NO_SPACE, f"only {state.avail_inodes} inodes are free")
    return None


def _loaded(state: GateState, rules: GateRules) -> Skip | None:
    """Returns a skip if the device or MySQL is busy, or if the load is unknown."""
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
        # NaN is not below the limit, and counts as busy.
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
    # NaN is not below the limit, and counts as hot.
    return not celsius < limit


@dataclass(frozen=True, slots=True)
class GuardSample:
    """The guard's input, every quarter of a second of a running probe; None is unknown.

    in_flight: requests in the device, of which up to `own_in_flight` are the probe's.
    cgroup_pressure_ratio: share of the sample in which mysqld's control group waited for I/O. The
        host's pressure is not used: it includes the probe's waits for its own I/O.

    The device's counters mix the operations of the probe and of production. Its await and written
    bytes do not show the effect on production and are not used.
    """

    in_flight: int | None = None
    own_in_flight: int = 1
    cgroup_pressure_ratio: float | None = None
    temperature_celsius: float | None = None
    warning_celsius: float | None = None
    avail_bytes: int | None = None


def guard(samples: Sequence[GuardSample], rules: GateRules) -> Reason | None:
    """Returns why a running probe must be ended; None to continue.

    samples: the latest samples, oldest first. Load must last for `guard_samples` samples, so that a
    single flush of InnoDB does not end a probe.
    """
    if not samples:
        return None
    if harm := _harm(samples[-1], rules):
        return harm
    needed = max(1, rules.guard_samples)
    if len(samples) < needed:
        return None
    last = samples[-needed:]
    if all(_reaches(sample.cgroup_pressure_ratio, rules.guard_pressure_ratio) for sample in last):
        return Reason.CGROUP_PRESSURE
    if all(_is_needed(sample, rules) for sample in last):
        return Reason.BUSY
    return None


def _harm(now: GuardSample, rules: GateRules) -> Reason | None:
    """Returns a condition that each request makes worse; one sample is enough."""
    if is_hot(now.temperature_celsius, now.warning_celsius, rules):
        return Reason.HOT
    # Half of what the gate requires, so that a run that just passed the gate is not ended.
    if now.avail_bytes is not None and now.avail_bytes < rules.free_bytes // 2:
        return Reason.NO_SPACE
    return None


def _reaches(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _is_needed(sample: GuardSample, rules: GateRules) -> bool:
    """Returns True if production has too many requests in the device besides the probe's."""
    others = None if sample.in_flight is None else sample.in_flight - sample.own_in_flight
    return _reaches(others, rules.guard_queue)
