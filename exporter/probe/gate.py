"""May a probe run now? `probe_guard` says whether one that runs must be ended.

Production comes first: a probe measures only where it disturbs nobody. One that never runs is
blind just when it is needed, so on a host that never rests a smallest run is let through at times.

Must a running probe be ended? Looked at four times a second while one runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Reason(str, Enum):
    """Why a probe did not run, or was ended: the labels of `ssd_probe_skipped_total`."""

    UNACKNOWLEDGED = "unacknowledged"  # the host rebooted during a probe
    STUCK = "stuck"  # an earlier fio cannot be ended
    LOCKED = "locked"  # another probe runs on this host
    FILESYSTEM = "filesystem"  # of the wrong kind, read-only, or the file is not ours
    TOO_EARLY = "too_early"  # the host or the daemon has just started
    REBUILDING = "rebuilding"  # an array is resynced or checked
    WORN = "worn"
    HOT = "hot"
    NO_SPACE = "no_space"
    BUDGET = "budget"
    UNOBSERVED = "unobserved"  # nothing is known of the device's load
    BUSY = "busy"
    PRESSURE = "pressure"
    CGROUP_PRESSURE = "cgroup_pressure"


#: What a host may be for ever without anything being wrong.
_LOAD = (Reason.BUSY, Reason.PRESSURE, Reason.CGROUP_PRESSURE)


@dataclass(frozen=True, slots=True)
class GateRules:
    """When a probe may run. Ratios are 0 to 1.

    host_uptime_seconds: so long after boot nothing is probed; a host is busy then.
    busy_ratio: of the device over the last minute.
    pressure_ratio: PSI, I/O, some, avg10 of the host.
    cgroup_pressure_ratio: PSI, I/O, full, avg10 of mysqld's control group.
    hot_margin_celsius: below the drive's own warning; hot_celsius where it names none.
    worn_ratio: endurance used, from which on nothing is written.
    free_bytes, free_ratio, free_inodes: what must stay free; the greater of the first two.
    forced_after_skips: after so many skips in a row for load, one smallest run.
    guard_queue: requests in flight besides the probe's own, in `guard_samples` samples in a row,
        at which production needs the device; guard_pressure_ratio: the share of a sample in which
        mysqld's control group waited.
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
    """What is known when a probe is due; None is not known.

    unsuitable: why the filesystem or the file cannot be probed, for people; empty where it can.
    start_seconds: until the first probe may run, as splayed for this host; 0 where that is past.
    writes: the run writes. needed_bytes: what it may charge to the budget; missing_bytes: what the
        file still takes of the free space.
    is_on_demand: somebody asked for it now: the times after a start do not hold it up.
    skips: in a row, for load.
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
    """It may run; `minimal` on a host that never rests."""

    minimal: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """It may not; `detail` is for people."""

    reason: Reason
    detail: str

    @property
    def is_for_load(self) -> bool:
        """It counts towards a smallest run."""
        return self.reason in _LOAD


def gate(state: GateState, rules: GateRules) -> Run | Skip:
    """May a probe run? What is lasting is said before what passes."""
    skip = _forbidden(state) or _too_early(state, rules) or _harmful(state, rules)
    if skip is not None:
        return skip
    if state.needed_bytes and (state.budget_bytes or 0) < state.needed_bytes:
        detail = f"{state.needed_bytes} bytes are needed, {state.budget_bytes or 0} are left"
        return Skip(Reason.BUDGET, detail)
    load = _loaded(state, rules)
    if load is None:
        return Run()
    if load.is_for_load and state.skips >= rules.forced_after_skips:
        return Run(minimal=True)
    return load


def _forbidden(state: GateState) -> Skip | None:
    if state.is_unacknowledged:
        detail = "the host rebooted during a probe: look why, then ssd-exporter probe --acknowledge"
        return Skip(Reason.UNACKNOWLEDGED, detail)
    if state.is_stuck:
        return Skip(Reason.STUCK, "an earlier fio cannot be ended: the drive does not answer it")
    if state.is_locked:
        return Skip(Reason.LOCKED, "another probe runs on this host")
    if state.unsuitable:
        return Skip(Reason.FILESYSTEM, state.unsuitable)
    return None


def _too_early(state: GateState, rules: GateRules) -> Skip | None:
    if state.is_on_demand:
        return None
    if state.start_seconds > 0:
        return Skip(Reason.TOO_EARLY, f"the first probe is due in {state.start_seconds:.0f} s")
    uptime = state.host_uptime_seconds
    if uptime is not None and uptime < rules.host_uptime_seconds:
        return Skip(Reason.TOO_EARLY, f"the host has been up for {uptime:.0f} s only")
    return None


def _harmful(state: GateState, rules: GateRules) -> Skip | None:
    """What a probe would make worse."""
    if state.is_rebuilding:
        return Skip(Reason.REBUILDING, "an array on this device is being rebuilt or checked")
    worn, limit = state.endurance_used_ratio, rules.worn_ratio
    if state.writes and worn is not None and worn >= limit:
        return Skip(Reason.WORN, f"{worn:.0%} of its endurance is used; the limit is {limit:.0%}")
    if is_hot(state.temperature_celsius, state.warning_celsius, rules):
        return Skip(Reason.HOT, f"it has {state.temperature_celsius:g} °C")
    if state.avail_bytes is not None:
        least = max(rules.free_bytes, int(rules.free_ratio * (state.size_bytes or 0)))
        if state.avail_bytes - state.missing_bytes < least:
            detail = f"{state.avail_bytes} bytes are free; {least + state.missing_bytes} are needed"
            return Skip(Reason.NO_SPACE, detail)
    if state.avail_inodes is not None and state.avail_inodes < rules.free_inodes:
        return Skip(Reason.NO_SPACE, f"{state.avail_inodes} inodes are free")
    return None


def _loaded(state: GateState, rules: GateRules) -> Skip | None:
    if state.busy_ratio is None:
        return Skip(Reason.UNOBSERVED, "the device's load is not known: it has not been sampled")
    looks = (
        (Reason.BUSY, state.busy_ratio, rules.busy_ratio, "busy in the last minute"),
        (Reason.PRESSURE, state.pressure_ratio, rules.pressure_ratio, "tasks wait for I/O"),
        (
            Reason.CGROUP_PRESSURE,
            state.cgroup_pressure_ratio,
            rules.cgroup_pressure_ratio,
            "mysqld waits for I/O",
        ),
    )
    for reason, found, limit, words in looks:
        if found is not None and not found <= limit:
            return Skip(reason, f"{words}: {found:.0%}; the limit is {limit:.0%}")
    return None


def is_hot(celsius: float | None, warning_celsius: float | None, rules: GateRules) -> bool:
    if celsius is None:
        return False
    limit = rules.hot_celsius
    if warning_celsius is not None:
        limit = warning_celsius - rules.hot_margin_celsius
    # Not "at least": NaN is neither.
    return not celsius < limit


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
