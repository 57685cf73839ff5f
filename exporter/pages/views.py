"""The values that the pages show. Each record is a snapshot; None means unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exporter.config.drive_class import DriveClass
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.drive_now import DriveNow
from exporter.io.services import ServiceRate
from exporter.io.verdict import Verdict
from exporter.linux.block import QueueSettings
from exporter.smart.drive_problems import Problem, Status

if TYPE_CHECKING:
    from exporter.drives.nvme_logs.slow_place import SlowPlaces
    from exporter.history.history_events import HistoryEvent


@dataclass(frozen=True, slots=True)
class Mounted:
    """A filesystem on a drive.

    used_ratio: the share of the space that is used, 0 to 1; None if it was not read.
    """

    mountpoint: str
    fstype: str
    readonly: bool = False
    failed: bool = False
    used_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class DriveFacts:
    """The values of a drive that change rarely: identity, place, health, and problems.

    name: the name of the block device, or the label of a drive without one.
    identity: the key of the device's baselines and probe results; empty without a block device.
    kind: the class of the drive; None if it has no block device.
    smart: the state of the drive's SMART data; None if no poll knows the drive.
    problems: the problems that `check` lists, most urgent first, including those of the status
        UNKNOWN.
    problem_times: when the problems were found first, as Unix times keyed by topic. The topic of a
        problem that was found just now may be missing.
    model, serial, firmware: empty if unknown.
    transport: the type of the connection, such as nvme or sata; empty if unknown.
    link_bytes_per_second, link_max_bytes_per_second: the speed of the link now and at most.
    below: names of devices that are built on the drive, such as md0.
    has_drives_behind: True for a volume of a controller. Its drives have their own facts.
    """

    name: str
    identity: str = ""
    kind: DriveClass | None = None
    smart: WatchedDrive | None = None
    problems: tuple[Problem, ...] = ()
    problem_times: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    serial: str = ""
    firmware: str = ""
    capacity_bytes: int | None = None
    transport: str = ""
    roles: tuple[str, ...] = ()
    mounts: tuple[Mounted, ...] = ()
    queue: QueueSettings | None = None
    link_bytes_per_second: float | None = None
    link_max_bytes_per_second: float | None = None
    below: tuple[str, ...] = ()
    has_drives_behind: bool = False

    @property
    def health(self) -> DriveHealth | None:
        """The SMART values of the drive; None without a report."""
        return None if self.smart is None else self.smart.health

    @property
    def has_smart_data(self) -> bool:
        """False if nothing is known about the health of the drive.

        True also for a volume of a controller if the drives behind it are known.
        """
        if self.has_drives_behind:
            return True
        return self.smart is not None and not any(
            problem.status is Status.UNKNOWN for problem in self.problems
        )

    @property
    def is_missing(self) -> bool:
        """True if the drive was present before and is not present now."""
        return self.smart is not None and self.smart.is_missing

    @property
    def carries_mysql(self) -> bool:
        """True if a MySQL server stores data on the drive."""
        return any(role.startswith("mysql-") for role in self.roles)


@dataclass(frozen=True, slots=True)
class Todo:
    """One task for the operator.

    drive: the name of the drive; empty for the exporter itself.
    lead, text: the problem. The lead is shown first and in bold.
    action: what to do. It may contain one command in backquotes.
    """

    status: Status
    drive: str
    lead: str
    text: str
    action: str


@dataclass(frozen=True, slots=True)
class DriveView:
    """A drive with its status.

    facts: the values that change rarely.
    now: the current I/O; None for a missing drive and for a drive without a block device.
    status: the most urgent status of the problems and of the bottleneck.
    todos: the tasks for the operator, most urgent first.
    services: the services that cause its I/O, the busiest first; empty if unknown.
    slow: where its slow requests spent their time; None if unknown.
    """

    facts: DriveFacts
    now: DriveNow | None
    status: Status
    todos: tuple[Todo, ...] = ()
    services: tuple[ServiceRate, ...] = ()
    slow: "SlowPlaces | None" = None

    @property
    def name(self) -> str:
        """The name of the drive."""
        return self.facts.name

    @property
    def verdict(self) -> Verdict:
        """The bottleneck now; NONE for a drive without I/O data."""
        return Verdict.NONE if self.now is None else self.now.verdict


@dataclass(frozen=True, slots=True)
class HostNow:
    """The pressure and the CPUs of the host in the last second. Ratios are 0 to 1.

    number: the number of the last sample.
    window: the number of samples in the columns.
    interval_seconds: the time between two samples.
    hottest: the number of the CPU with the most interrupts.
    """

    number: int = 0
    window: int = 0
    interval_seconds: float = 1.0
    hottest: int | None = None
    requests: float = 0.0
    waiting: Sequence[float] = ()
    stalled: Sequence[float] = ()
    iowait: Sequence[float] = ()
    softirq: Sequence[float] = ()
    transferred: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class RecentEvents:
    """What happened last on the host.

    newest: the last events, the newest first.
    lasting: those of them that are bottlenecks and last until now.
    problem: why the history is incomplete, as text; empty if it is not.
    """

    newest: "tuple[HistoryEvent, ...]" = ()
    lasting: "frozenset[HistoryEvent]" = frozenset()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HostView:
    """The values on the page of a host.

    at: the Unix time of the snapshot.
    facts: short texts about the host for the heading.
    states: short texts about the exporter for the footer.
    links: pairs of address and text: the events, and other programs that the settings name.
    recent: None if no history is kept.
    """

    name: str
    at: float
    now: HostNow
    drives: tuple[DriveView, ...] = ()
    todos: tuple[Todo, ...] = ()
    facts: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    sentence: str = ""
    links: tuple[tuple[str, str], ...] = ()
    recent: RecentEvents | None = None
