"""What came of a profile that a person ran, against what the daemon has kept of it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.background import probe_rounds
from exporter.background.probe_run import Ended, Result, share_outside
from exporter.diagnosis.host_share import HostShareRules, is_host_limited
from exporter.diagnosis.steady_state import SteadyState, SteadyStateRules, deviation
from exporter.tools.fio_profiles import Profile
from exporter.tools.fio_report import JobResult

_SHARE = HostShareRules()
_STEADY = SteadyStateRules()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one profile.

    value: what its history is made of: mean latency, IOPS or bytes per second; None where it was
        not measured. kept: the mean of those that the daemon has kept; of `steady` ones where there
        are. change: of `value` against that. is_worse: by more than the kept ones vary.
    """

    profile: Profile
    result: Result
    job: JobResult | None
    host_share: float | None = None
    value: float | None = None
    kept: float | None = None
    is_kept_steady: bool = False
    change: float | None = None
    is_worse: bool = False

    @property
    def is_host_limited(self) -> bool:
        """It says nothing of the drive."""
        return is_host_limited(self.host_share, _SHARE)


def outcome(
    profile: Profile, ended: Ended, profiles: Sequence[Profile], steady: SteadyState | None
) -> Outcome:
    """profiles: all of the run. steady: of what the daemon has kept; None where it keeps none."""
    job, result = ended.job(profile.name), ended.result_of(profile.name)
    if job is None and result is Result.SUCCESS:
        result = Result.FAILED
    if job is None or result is not Result.SUCCESS:
        return Outcome(profile, result, job)
    share = share_outside(ended, profiles, profile.name, _SHARE)
    value = probe_rounds.measured(profile, job)
    window = (steady.baseline or steady.window) if steady is not None else None
    # A run that the host held up says nothing of the drive.
    if value is None or window is None or is_host_limited(share, _SHARE):
        return Outcome(profile, result, job, share, value)
    lower = probe_rounds.is_latency(profile)
    off = deviation([value], window, lower_is_better=lower, rules=_STEADY)
    return Outcome(
        profile,
        result,
        job,
        share,
        value,
        kept=window.mean,
        is_kept_steady=steady is not None and steady.baseline is not None,
        change=None if off is None else off.ratio,
        is_worse=off is not None and off.rounds_worse > 0,
    )
