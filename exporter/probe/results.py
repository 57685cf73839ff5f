"""Stores the results of probes, and the values of recent runs.

The results are kept per directory, for the metrics. In addition, each successful run has one value,
for example its mean latency. This value is called a round. A drive is in steady state if the last
rounds differ little. A series consists of the rounds of one drive, firmware and set of profile
parameters. Only these rounds are comparable. The state file keeps the rounds over restarts.
"""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from enum import Enum
from typing import Any

from exporter.config.profiles import KIB, Profile, Rw, Sync
from exporter.families import probe_families as metrics
from exporter.io.accumulators import WeightedHistogram
from exporter.probe.budget_ledger import WriteLimits
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.steady_state import (
    MIN_VALUE,
    SteadyState,
    SteadyStateRules,
    SteadyWindow,
    steady_state,
)
from exporter.runtime import untrusted_file


@dataclass(slots=True)
class ProfileResults:
    """The results of one profile in one directory. None means unknown.

    profile: the profile as configured.
    last_run_profile: the profile of the last run, with the engine that was used.
    engine, fio_version: the engine and fio's version in the last run for which fio printed a
        report; empty before.
    runs: the number of runs since the start of the daemon, keyed by how they ended.
    skipped: the number of runs since the start of the daemon that were skipped, or that
        `gate.guard` ended early, keyed by reason.
    last_run_at, last_success_at: the end of the last run and of the last successful run, in unix
        seconds.
    was_aborted: True if `gate.guard` ended the last run early.
    seconds: the duration of the last successful run.
    latency: the latency of all successful runs since the start of the daemon, keyed by kind of
        operation.
    last_operations: the results of the last successful run, keyed by kind of operation.
    host_share_ratio: the share of the latency of the last successful run that arose outside the
        device, 0 to 1.
    steady_state: whether the drive is in steady state.
    skips: the number of consecutive skips because of load.
    aborts: the number of runs that the guard ended because of load, since the last complete run.
    """

    profile: Profile
    last_run_profile: Profile | None = None
    engine: str = ""
    fio_version: str = ""
    runs: dict[ProfileResult, int] = field(default_factory=lambda: dict.fromkeys(ProfileResult, 0))
    skipped: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))
    last_run_at: float | None = None
    last_success_at: float | None = None
    was_aborted: bool = False
    seconds: float | None = None
    latency: dict[Op, WeightedHistogram] = field(default_factory=dict)
    last_operations: Mapping[Op, OpResult] = field(default_factory=dict)
    host_share_ratio: float | None = None
    steady_state: SteadyState | None = None
    skips: int = 0
    aborts: int = 0

    def record_job(self, job: JobResult) -> None:
        """Records the duration and the operations of a job that succeeded."""
        self.last_operations = job.ops
        self.seconds = job.seconds
        for op, result in job.ops.items():
            latency = self.latency.setdefault(op, WeightedHistogram(metrics.LATENCY))
            for seconds, count in result.bins.items():
                latency.observe(seconds, count)


@dataclass(slots=True)
class DirectoryResults:
    """The results of all profiles of a directory.

    profiles: the results, keyed by profile name.
    device, fstype, mountpoint: the device label, the type and the mount point of the directory's
        filesystem; empty before they are determined.
    written_bytes: the bytes that were counted against the budget since the start of the daemon.
    limits: the limits of the budget; None before the directory's drive is determined.
    left: the remaining bytes of these limits; None before the directory's drive is determined.
    """

    profiles: dict[str, ProfileResults]
    device: str = ""
    fstype: str = ""
    mountpoint: str = ""
    written_bytes: int = 0
    limits: WriteLimits | None = None
    left: WriteLimits | None = None


#: How long rounds are kept, in seconds. This is enough for five weekly rounds.
_ROUND_KEPT_SECONDS = 35 * 86_400.0
#: Maximum number of rounds of a series, of series, and of characters of a series' key. They limit
#: the memory and the size of the state file.
_MAX_ROUNDS = 64
_MAX_SERIES = 64
_MAX_KEY_LENGTH = 512
#: Largest number of the state file. Sums and products of such numbers are finite.
_MAX_NUMBER = 1e18

#: With blocks of at least this size in bytes, the value of a round is the throughput. With smaller
#: blocks, it is the IOPS.
_THROUGHPUT_BLOCK_BYTES = 128 * KIB


@dataclass(frozen=True, slots=True)
class Round:
    """The value of one successful run, which is compared with the values of other runs.

    at: the end of the run, in unix seconds.
    value: the value that `round_value` returned.
    is_host_limited: True if the host and not the drive limited the run.
    """

    at: float
    value: float
    is_host_limited: bool = False


@dataclass(slots=True)
class _Series:
    rounds: list[Round] = field(default_factory=list)
    baseline: SteadyWindow | None = None


class RoundHistory:
    """Stores the rounds of each series, and computes the steady state from them.

    A series contains the rounds of one drive, firmware and set of profile parameters. Its key is
    the result of `series_key`.

    kept: an earlier result of `to_state`. Invalid entries are ignored.
    """

    def __init__(self, kept: Any = None) -> None:
        self._rules = SteadyStateRules()
        self._series: dict[str, _Series] = {}
        for key, value in kept.items() if isinstance(kept, Mapping) else ():
            series = _parse_series(value)
            if isinstance(key, str) and len(key) <= _MAX_KEY_LENGTH and series is not None:
                self._series[key] = series

    def add(self, key: str, latest: Round, *, lower_is_better: bool) -> SteadyState:
        """Adds a round to a series. Returns the steady state after this round.

        lower_is_better: True if the values are latencies, False if they are rates.
        """
        series = self._series.setdefault(key[:_MAX_KEY_LENGTH], _Series())
        # Remove the rounds that are too old, and those that a wrong clock dated in the future.
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
        """Returns the steady state after the last round of a series; None without a round.

        lower_is_better: True if the values are latencies, False if they are rates.
        """
        series = self._series.get(key[:_MAX_KEY_LENGTH])
        return None if series is None else self._judgement(series, lower_is_better=lower_is_better)

    def to_state(self) -> dict[str, object]:
        """Returns all series as JSON values for the state file. Any thread may call it."""
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


class Quantity(str, Enum):
    """The quantity by which a profile is judged; `round_value` returns its value.

    The values of this enumeration are the units in the JSON output.
    """

    LATENCY = "seconds"
    THROUGHPUT = "bytes_per_second"
    RATE = "iops"


def main_op(profile: Profile) -> Op:
    """Returns the kind of operation that a profile measures."""
    if profile.sync in (Sync.FSYNC, Sync.FDATASYNC):
        return Op.SYNC
    return Op.WRITE if profile.rw in (Rw.WRITE, Rw.RANDWRITE) else Op.READ


def is_latency_judged(profile: Profile) -> bool:
    """Returns True if the value of a round is the mean latency, and False if it is the rate.

    The latency is used if the rate is limited and therefore constant. It is also used for syncs,
    which have no rate.
    """
    return profile.is_rate_capped or main_op(profile) is Op.SYNC


def quantity(profile: Profile) -> Quantity:
    """Returns the quantity by which the profile is judged."""
    if is_latency_judged(profile):
        return Quantity.LATENCY
    is_large = profile.block_bytes >= _THROUGHPUT_BLOCK_BYTES
    return Quantity.THROUGHPUT if is_large else Quantity.RATE


def round_value(profile: Profile, job: JobResult) -> float | None:
    """Returns the value of a run that is compared with other runs; None if fio did not report it.

    It is the mean latency in seconds, the IOPS, or the throughput in bytes per second.
    """
    result = job.ops.get(main_op(profile))
    if result is None:
        return None
    return {
        Quantity.LATENCY: result.mean_seconds,
        Quantity.THROUGHPUT: result.bytes_per_second,
        Quantity.RATE: result.iops,
    }[quantity(profile)]


def series_key(drive: str, firmware: str, profile: Profile, engine: str) -> str:
    """Returns the key of a series. Two rounds are comparable only if their keys are equal.

    drive: the identity of the drive.
    firmware: the firmware version of the drive; empty means unknown.
    engine: the engine that fio used.
    """
    labels = (
        *(drive, firmware, profile.name, engine, profile.rw.value, profile.block_bytes),
        *(profile.depth, profile.jobs, int(profile.direct), profile.sync.value),
        *(profile.size_bytes, profile.rate_iops),
    )
    return "|".join(map(str, labels))


def _parse_series(value: Any) -> _Series | None:
    """Returns a series from a value of the state file; None if it has no valid round."""
    rows = value.get("rounds") if isinstance(value, Mapping) else None
    if not isinstance(rows, list):
        return None
    rounds = [one for row in rows[-_MAX_ROUNDS:] if (one := _parse_round(row)) is not None]
    return _Series(rounds, _parse_baseline(value.get("baseline"))) if rounds else None


def _parse_round(row: Any) -> Round | None:
    if not isinstance(row, list) or len(row) != 3 or not isinstance(row[2], bool):
        return None
    at, value = untrusted_file.number(row[0], 0, untrusted_file.MAX_UNIX_TIME), _number(row[1])
    return None if at is None or value is None else Round(at, value, row[2])


def _parse_baseline(kept: Any) -> SteadyWindow | None:
    if not isinstance(kept, Mapping):
        return None
    names = ("mean", "least", "most", "deviation", "excursion")
    numbers = {name: value for name in names if (value := _number(kept.get(name))) is not None}
    # A mean below the smallest valid value would make the ratios to it infinite.
    is_usable = len(numbers) == len(names) and numbers["mean"] >= MIN_VALUE
    return SteadyWindow(**numbers) if is_usable else None


def _number(value: Any) -> float | None:
    return untrusted_file.number(value, -_MAX_NUMBER, _MAX_NUMBER)
