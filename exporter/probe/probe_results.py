"""When probes ran, so that their seconds are not taken for production's.

What the probes of one directory have found, as the page shows it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from exporter.io.accumulators import WeightedHistogram
from exporter.metrics import probe_families as metrics
from exporter.probe.budget_ledger import WriteLimits
from exporter.probe.fio_report import JobResult, Op, OpResult
from exporter.probe.fio_run import ProfileResult
from exporter.probe.gate import Reason
from exporter.probe.profiles import Profile
from exporter.probe.steady_state import SteadyState

#: The sampler works through what it has read at the latest after 20 s.
_KEPT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ProbeWindow:
    """A run on some devices; `end` is infinite while it is under way."""

    devices: frozenset[str]
    begin: float
    end: float = float("inf")


class ProbeWindows:
    """The runs of late, in monotonic seconds. One thread notes them, others ask."""

    def __init__(self) -> None:
        self._windows: tuple[ProbeWindow, ...] = ()

    def begin(self, devices: Collection[str], now: float) -> None:
        """A run begins on these devices: the one that is probed and the drives below it."""
        kept = tuple(each for each in self._windows if each.end > now - _KEPT_SECONDS)
        self._windows = (*kept, ProbeWindow(frozenset(devices), now))

    def end(self, now: float) -> None:
        self._windows = tuple(
            replace(each, end=now) if each.end == float("inf") else each for each in self._windows
        )

    def covers(self, device: str, begin: float, end: float) -> bool:
        """Whether a probe ran on the device in a part of that time."""
        # Asked of every busy device and second, and hardly ever was there one.
        return bool(self._windows) and any(
            device in each.devices and each.begin < end and begin < each.end
            for each in self._windows
        )

    def is_running(self, device: str) -> bool:
        return any(each.end == float("inf") and device in each.devices for each in self._windows)


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
    runs: dict[ProfileResult, int] = field(default_factory=lambda: dict.fromkeys(ProfileResult, 0))
    skipped: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))
    last_run_at: float | None = None
    last_success_at: float | None = None
    seconds: float | None = None
    latency: dict[Op, WeightedHistogram] = field(default_factory=dict)
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
            latency = self.latency.setdefault(op, WeightedHistogram(metrics.LATENCY))
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
    limits: WriteLimits | None = None
    left: WriteLimits | None = None
