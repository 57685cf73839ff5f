"""What one refresh of `top` shows: the host, its drives, and their last five minutes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from exporter.io.services import ServiceRate
from exporter.io.verdict import Verdict


@dataclass(frozen=True, slots=True)
class DaemonDrive:
    """What a running daemon knows about one drive. None means unknown.

    temperature_celsius: the temperature of the drive.
    used_ratio: the share of the rated endurance that is used; may exceed 1.
    spare_ratio: the remaining share of the spare blocks.
    media_errors: the number of errors that the drive could not correct.
    read_baseline_seconds, write_baseline_seconds: the await at low load.
    """

    temperature_celsius: float | None = None
    used_ratio: float | None = None
    spare_ratio: float | None = None
    media_errors: float | None = None
    read_baseline_seconds: float | None = None
    write_baseline_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The last samples of a drive, the oldest first. All sequences have the same length.

    read_bytes, written_bytes: bytes per second.
    read_await, write_await: mean awaits in seconds; 0 without requests.
    verdicts: the verdict of each sample.
    """

    read_bytes: Sequence[float] = ()
    written_bytes: Sequence[float] = ()
    read_await: Sequence[float] = ()
    write_await: Sequence[float] = ()
    verdicts: Sequence[Verdict] = ()


@dataclass(frozen=True, slots=True)
class DriveLine:
    """One drive in the last interval. None means unknown, or no such request.

    roles: the purposes of the drive, such as "mysql-data".
    mountpoints: the mountpoints of its filesystems.
    verdict: the verdict that lasted longest in the last ten seconds.
    read_bytes, written_bytes, reads, writes: per second.
    read_await, write_await, flush_await: mean times of the requests that completed, in seconds.
    queue_depth, busy_ratio: as in `DiskInterval`.
    saturated_seconds, stalled_seconds: within the observed time of `Frame`.
    services: the busiest services, those with the most bytes first.
    """

    device: str
    model: str | None = None
    capacity_bytes: int | None = None
    roles: tuple[str, ...] = ()
    mountpoints: tuple[str, ...] = ()
    verdict: Verdict = Verdict.NONE
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    read_await: float | None = None
    write_await: float | None = None
    flush_await: float | None = None
    queue_depth: float = 0.0
    busy_ratio: float = 0.0
    saturated_seconds: float = 0.0
    stalled_seconds: float = 0.0
    services: tuple[ServiceRate, ...] = ()
    history: History = field(default_factory=History)
    known: DaemonDrive = field(default_factory=DaemonDrive)

    @property
    def slowdown(self) -> float | None:
        """The larger ratio of an await to its baseline; None if no baseline is known."""
        pairs = (
            (self.read_await, self.known.read_baseline_seconds),
            (self.write_await, self.known.write_baseline_seconds),
        )
        return max((a / b for a, b in pairs if a is not None and b), default=None)


@dataclass(frozen=True, slots=True)
class Frame:
    """The state of a host at one time. None means unknown.

    clock: the local time as text. unix_time: the same time in seconds.
    some_ratio, full_ratio: the shares of the last interval in which some task, and in which all
        tasks waited for I/O.
    hottest_cpu, softirq_ratio: the CPU with the most interrupts, and their share of its time.
    iowait_ratio: the share of iowait of all CPUs.
    observed_seconds: the length of the history, at most 300.
    notes: what is missing, and what to do.
    """

    host: str
    clock: str
    unix_time: float
    interval_seconds: float
    drives: tuple[DriveLine, ...] = ()
    some_ratio: float | None = None
    full_ratio: float | None = None
    hottest_cpu: int | None = None
    softirq_ratio: float | None = None
    iowait_ratio: float | None = None
    observed_seconds: float = 0.0
    notes: tuple[str, ...] = ()


def as_json(frame: Frame) -> dict[str, Any]:
    """Returns the frame as JSON values. The keys are stable; unknown values are null."""
    return {
        "host": frame.host,
        "unix_time": round(frame.unix_time, 3),
        "interval_seconds": frame.interval_seconds,
        "observed_seconds": frame.observed_seconds,
        "io_pressure_some_ratio": _rounded(frame.some_ratio),
        "io_pressure_full_ratio": _rounded(frame.full_ratio),
        "softirq_hottest_cpu": frame.hottest_cpu,
        "softirq_ratio": _rounded(frame.softirq_ratio),
        "iowait_ratio": _rounded(frame.iowait_ratio),
        "drives": [_drive_json(drive) for drive in frame.drives],
        "notes": list(frame.notes),
    }


def _drive_json(drive: DriveLine) -> dict[str, Any]:
    known = drive.known
    return {
        "device": drive.device,
        "model": drive.model,
        "capacity_bytes": drive.capacity_bytes,
        "roles": list(drive.roles),
        "mountpoints": list(drive.mountpoints),
        "verdict": drive.verdict.value,
        "read_bytes_per_second": _rounded(drive.read_bytes),
        "written_bytes_per_second": _rounded(drive.written_bytes),
        "reads_per_second": _rounded(drive.reads),
        "writes_per_second": _rounded(drive.writes),
        "read_await_seconds": _rounded(drive.read_await),
        "write_await_seconds": _rounded(drive.write_await),
        "flush_await_seconds": _rounded(drive.flush_await),
        "queue_depth": _rounded(drive.queue_depth),
        "busy_ratio": _rounded(drive.busy_ratio),
        "saturated_seconds": _rounded(drive.saturated_seconds),
        "stalled_seconds": _rounded(drive.stalled_seconds),
        "services": [
            {
                "service": rate.service,
                "read_bytes_per_second": _rounded(rate.read_bytes),
                "written_bytes_per_second": _rounded(rate.written_bytes),
                "reads_per_second": _rounded(rate.reads),
                "writes_per_second": _rounded(rate.writes),
            }
            for rate in drive.services
        ],
        "temperature_celsius": known.temperature_celsius,
        "endurance_used_ratio": known.used_ratio,
        "spare_ratio": known.spare_ratio,
        "media_errors": known.media_errors,
        "read_await_baseline_seconds": known.read_baseline_seconds,
        "write_await_baseline_seconds": known.write_baseline_seconds,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
