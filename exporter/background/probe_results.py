"""What the probes of one directory have found, as the page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.background.distribution import Distribution
from exporter.background.probe_ledger import Limits
from exporter.background.probe_run import Result
from exporter.diagnosis.probe_gate import Reason
from exporter.diagnosis.steady_state import SteadyState
from exporter.metrics import probe as metrics
from exporter.tools.fio_profiles import Profile
from exporter.tools.fio_report import JobResult, Op, OpResult


@dataclass(slots=True)
class ProfileResults:
    """One profile; None is not known. Times are unix seconds.

    ran: the profile as it ran last, with the engine that there was. engine: its name, for fio's
    engines are not all.
    """

    profile: Profile
    ran: Profile | None = None
    engine: str = ""
    fio_version: str = ""
    runs: dict[Result, int] = field(default_factory=lambda: dict.fromkeys(Result, 0))
    skipped: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))
    last_run_at: float | None = None
    last_success_at: float | None = None
    seconds: float | None = None
    latency: dict[Op, Distribution] = field(default_factory=dict)
    last: Mapping[Op, OpResult] = field(default_factory=dict)
    host_share_ratio: float | None = None
    steady: SteadyState | None = None
    #: Skips in a row, for load.
    skips: int = 0

    def take(self, job: JobResult) -> None:
        """Take in a job that succeeded."""
        self.last = job.ops
        self.seconds = job.seconds
        for op, found in job.ops.items():
            latency = self.latency.setdefault(op, Distribution(metrics.LATENCY))
            for seconds, count in found.bins.items():
                latency.observe(seconds, count)


@dataclass(slots=True)
class DirectoryResults:
    """All profiles of a directory, and its drive; `device` is empty until that is known."""

    profiles: dict[str, ProfileResults]
    device: str = ""
    fstype: str = ""
    mountpoint: str = ""
    written_bytes: int = 0
    limits: Limits | None = None
    left: Limits | None = None
