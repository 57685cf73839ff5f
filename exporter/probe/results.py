"""Stores the results of probes, the history of rounds, and when probes ran.

The results are kept per directory, for the metrics. The history of rounds is kept per series over
restarts, for the judgement of steady state.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any

from exporter.io.accumulators import WeightedHistogram
from exporter.metrics import probe_families as metrics
from exporter.probe.budget_ledger import WriteLimits
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.profiles import KIB, Profile, Rw, Sync
from exporter.probe.steady_state import SteadyState, SteadyStateRules, SteadyWindow, steady_state

#: How long a window is kept, in seconds. The sampler processes its readings after 20 s at most.
_WINDOW_KEPT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ProbeWindow:
    """The time of a run on some devices, in monotonic seconds.

    end: infinite while the run is under way.
    """

    devices: frozenset[str]
    begin: float
    end: float = float("inf")


class ProbeWindows:
    """When recent probes ran, so that their load is not counted as production's.

    All times are monotonic seconds. One thread writes, any thread reads.
    """

    def __init__(self) -> None:
        self._windows: tuple[ProbeWindow, ...] = ()

    def begin(self, devices: Collection[str], now: float) -> None:
        """Record the start of a run. devices: the probed device and the drives below it."""
        recent = tuple(
            window for window in self._windows if window.end > now - _WINDOW_KEPT_SECONDS
        )
        self._windows = (*recent, ProbeWindow(frozenset(devices), now))

    def end(self, now: float) -> None:
        """Record the end of the run."""
        self._windows = tuple(
            replace(window, end=now) if window.end == float("inf") else window
            for window in self._windows
        )

    def covers(self, device: str, begin: float, end: float) -> bool:
        """Returns True if a probe ran on the device in a part of that time."""
        # Called for every busy device and second. Nearly always there is no window.
        return bool(self._windows) and any(
            device in window.devices and window.begin < end and begin < window.end
            for window in self._windows
        )

    def is_running(self, device: str) -> bool:
        """Returns True while a probe runs on the device."""
        return any(
            window.end == float("inf") and device in window.devices for window in self._windows
        )


@dataclass(slots=True)
class ProfileResults:
    """The results of one profile; None is unknown. Times are unix seconds.

    last_run_profile: the profile of the last run, with the engine that was used.
    engine, fio_version: of the last run that fio reported; empty before it.
    runs, skipped: counts since the start. skips: number of skips in a row for load.
    seconds, latency, last_operations, host_share_ratio: duration, latency of all runs since the
        start, results by operation, and the host's share of the latency; the last two and the
        duration are of the last successful run.
    """

    profile: Profile
    last_run_profile: Profile | None = None
    engine: str = ""
    fio_version: str = ""
    runs: dict[ProfileResult, int] = field(default_factory=lambda: dict.fromkeys(ProfileResult, 0))
    skipped: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))
    last_run_at: float | None = None
    last_success_at: float | None = None
    seconds: float | None = None
    latency: dict[Op, WeightedHistogram] = field(default_factory=dict)
    last_operations: Mapping[Op, OpResult] = field(default_factory=dict)
    host_share_ratio: float | None = None
    steady_state: SteadyState | None = None
    skips: int = 0

    def record_job(self, job: JobResult) -> None:
        """Record the results of a job that succeeded."""
        self.last_operations = job.ops
        self.seconds = job.seconds
        for op, result in job.ops.items():
            latency = self.latency.setdefault(op, WeightedHistogram(metrics.LATENCY))
            for seconds, count in result.bins.items():
                latency.observe(seconds, count)


@dataclass(slots=True)
class DirectoryResults:
    """The results of all profiles of a directory.

    profiles: by name. device, fstype, mountpoint: empty until the directory is located.
    written_bytes: charged to the budget since the start. limits, left: the budget's limits and what
    is left of them; None before the directory is located.
    """

    profiles: dict[str, ProfileResults]
    device: str = ""
    fstype: str = ""
    mountpoint: str = ""
    written_bytes: int = 0
    limits: WriteLimits | None = None
    left: WriteLimits | None = None


#: How long rounds are kept, in seconds: enough for five weekly rounds.
_ROUND_KEPT_SECONDS = 35 * 86_400.0
#: Upper bounds of the history: rounds of a series, series, and characters of a series' key. They
#: limit memory and the state file.
_MAX_ROUNDS = 64
_MAX_SERIES = 64
_MAX_KEY_LENGTH = 512

#: For blocks of at least this size the throughput is judged, for smaller ones the IOPS.
_THROUGHPUT_BLOCK_BYTES = 128 * KIB


@dataclass(frozen=True, slots=True)
class Round:
    """The judged value of one run, see `round_value`.

    at: unix seconds. is_host_limited: the host and not the drive limited the run.
    """

    at: float
    value: float
    is_host_limited: bool = False


@dataclass(slots=True)
class _Series:
    rounds: list[Round] = field(default_factory=list)
    baseline: SteadyWindow | None = None


class RoundHistory:
    """The rounds of each series, by `series_key`. A new drive, firmware or label starts a series.

    kept: an earlier result of `to_state`; invalid entries are left out.
    """

    def __init__(self, kept: Any = None) -> None:
        self._rules = SteadyStateRules()
        self._series: dict[str, _Series] = {}
        for key, value in kept.items() if isinstance(kept, Mapping) else ():
            series = _parse_series(value)
            if isinstance(key, str) and len(key) <= _MAX_KEY_LENGTH and series is not None:
                self._series[key] = series

    def add(self, key: str, latest: Round, *, lower_is_better: bool) -> SteadyState:
        """Add a round; returns the judgement after it."""
        series = self._series.setdefault(key[:_MAX_KEY_LENGTH], _Series())
        # Remove rounds that are too old, or that a wrong clock dated in the future.
        oldest = latest.at - _ROUND_KEPT_SECONDS
        series.rounds = [one for one in series.rounds if oldest <= one.at <= latest.at]
        series.rounds.append(latest)
        del series.rounds[:-_MAX_ROUNDS]
        judgement = self._judgement(series, lower_is_better=lower_is_better)
        series.baseline = judgement.baseline
        while len(self._series) > _MAX_SERIES:
            del self._series[min(self._series, key=lambda k: self._series[k].rounds[-1].at)]
        return judgement

    def known(self, key: str, *, lower_is_better: bool) -> SteadyState | None:
        """Returns the last judgement; None without a round."""
        series = self._series.get(key[:_MAX_KEY_LENGTH])
        return None if series is None else self._judgement(series, lower_is_better=lower_is_better)

    def last_at(self, key: str) -> float | None:
        """Returns when the last round was, in unix seconds; None without a round."""
        series = self._series.get(key[:_MAX_KEY_LENGTH])
        return series.rounds[-1].at if series and series.rounds else None

    def to_state(self) -> dict[str, object]:
        """Returns JSON values for the state file. Any thread may call it."""
        return {
            key: {
                "rounds": [astuple(one) for one in tuple(series.rounds)],
                "baseline": None if series.baseline is None else asdict(series.baseline),
            }
            for key, series in dict(self._series).items()
        }

    def _judgement(self, series: _Series, *, lower_is_better: bool) -> SteadyState:
        return steady_state(
            [one.value for one in series.rounds if not one.is_host_limited],
            lower_is_better=lower_is_better,
            rules=self._rules,
            baseline=series.baseline,
        )


def main_op(profile: Profile) -> Op:
    """Returns the operation that a profile measures."""
    if profile.sync in (Sync.FSYNC, Sync.FDATASYNC):
        return Op.SYNC
    return Op.WRITE if profile.rw in (Rw.WRITE, Rw.RANDWRITE) else Op.READ


def is_latency_judged(profile: Profile) -> bool:
    """Returns True if the mean latency is judged and not the rate.

    That is the case if the rate is capped and therefore constant, and for syncs, which have no
    rate.
    """
    return profile.is_rate_capped or main_op(profile) is Op.SYNC


def round_value(profile: Profile, job: JobResult) -> float | None:
    """Returns the judged value of a run; None if fio did not report it.

    It is the mean latency in seconds, the IOPS, or the throughput in bytes per second.
    """
    result = job.ops.get(main_op(profile))
    if result is None:
        return None
    if is_latency_judged(profile):
        return result.mean_seconds
    if profile.block_bytes < _THROUGHPUT_BLOCK_BYTES:
        return result.iops
    return result.bytes_per_second


def series_key(drive: str, firmware: str, profile: Profile, engine: str) -> str:
    """Returns the key of a series: all that must be equal for two rounds to be compared."""
    labels = (
        *(drive, firmware, profile.name, engine, profile.rw.value, profile.block_bytes),
        *(profile.depth, profile.jobs, int(profile.direct), profile.sync.value),
        *(profile.size_bytes, profile.rate_iops),
    )
    return "|".join(map(str, labels))


def _parse_series(value: Any) -> _Series | None:
    """Parses a series as `to_state` returns it; None if it is invalid or has no valid round."""
    rows = value.get("rounds") if isinstance(value, Mapping) else None
    if not isinstance(rows, list):
        return None
    rounds = [
        Round(float(row[0]), float(row[1]), row[2])
        for row in rows[-_MAX_ROUNDS:]
        if isinstance(row, list)
        and len(row) == 3
        and _is_number(row[0])
        and _is_number(row[1])
        and isinstance(row[2], bool)
    ]
    kept = value.get("baseline")
    names = ("mean", "least", "most", "deviation", "excursion")
    is_usable = isinstance(kept, Mapping) and all(_is_number(kept.get(name)) for name in names)
    baseline = SteadyWindow(**{name: float(kept[name]) for name in names}) if is_usable else None
    if baseline is not None and not baseline.mean > 0:
        baseline = None
    return _Series(rounds, baseline) if rounds else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e18 and math.isfinite(value)
