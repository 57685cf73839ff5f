"""Defines the values of one refresh of `top`: host, drives, and last five minutes. Pure."""

from dataclasses import dataclass, field
from typing import Any

from exporter.io.drive_now import DriveNow
from exporter.io.services import ServiceRate


@dataclass(frozen=True, slots=True)
class DaemonDrive:
    """The values of one drive from a running daemon. None means unknown.

    temperature_celsius: the temperature of the drive.
    used_ratio: the share of the rated endurance that is used; may exceed 1.
    spare_ratio: the remaining share of the spare blocks.
    media_errors: the number of errors that the drive could not correct.
    read_baseline_seconds, write_baseline_seconds: the await at low load.
    read_slowest_inside_seconds, write_slowest_inside_seconds: the longest latency inside the drive
        in its last windows of some hours, without queues of the host.
    read_slow_inside, write_slow_inside: 1 if such requests were slow inside the drive in the last
        minutes that it reports, 0 if they were slow outside of it.
    """

    temperature_celsius: float | None = None
    used_ratio: float | None = None
    spare_ratio: float | None = None
    media_errors: float | None = None
    read_baseline_seconds: float | None = None
    write_baseline_seconds: float | None = None
    read_slowest_inside_seconds: float | None = None
    write_slowest_inside_seconds: float | None = None
    read_slow_inside: float | None = None
    write_slow_inside: float | None = None


@dataclass(frozen=True, slots=True)
class DriveLine:
    """One drive in the last interval. None means unknown, or that there were no such requests.

    roles: the purposes of the drive, such as "mysql-data".
    mountpoints: the mountpoints of its filesystems.
    services: the busiest services, those with the most bytes first.
    """

    device: str
    model: str | None = None
    capacity_bytes: int | None = None
    roles: tuple[str, ...] = ()
    mountpoints: tuple[str, ...] = ()
    services: tuple[ServiceRate, ...] = ()
    now: DriveNow = field(default_factory=DriveNow)
    known: DaemonDrive = field(default_factory=DaemonDrive)

    @property
    def slowdown(self) -> float | None:
        """The larger ratio of an await to its baseline; None if no baseline is known."""
        pairs = (
            (self.now.read_await, self.known.read_baseline_seconds),
            (self.now.write_await, self.known.write_baseline_seconds),
        )
        return max((a / b for a, b in pairs if a is not None and b), default=None)


@dataclass(frozen=True, slots=True)
class Frame:
    """The state of a host at one time. None means unknown.

    clock: the local time as text. unix_time: the same time in seconds.
    some_ratio: the share of the last interval in which at least one task waited for I/O.
    full_ratio: the share of the last interval in which all tasks waited for I/O.
    hottest_cpu: the number of the CPU with the most interrupts.
    softirq_ratio: the share of the time of this CPU that interrupts used.
    iowait_ratio: the share of iowait in the time of all CPUs.
    observed_seconds: the length of the history, at most 300.
    notes: sentences about missing values, and what to do.
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
    known, now = drive.known, drive.now
    return {
        "device": drive.device,
        "model": drive.model,
        "capacity_bytes": drive.capacity_bytes,
        "roles": list(drive.roles),
        "mountpoints": list(drive.mountpoints),
        "verdict": now.verdict.value,
        "read_bytes_per_second": _rounded(now.read_bytes),
        "written_bytes_per_second": _rounded(now.written_bytes),
        "reads_per_second": _rounded(now.reads),
        "writes_per_second": _rounded(now.writes),
        "read_await_seconds": _rounded(now.read_await),
        "write_await_seconds": _rounded(now.write_await),
        "flush_await_seconds": _rounded(now.flush_await),
        "queue_depth": _rounded(now.queue_depth),
        "busy_ratio": _rounded(now.busy_ratio),
        "saturated_seconds": _rounded(now.saturated_seconds),
        "stalled_seconds": _rounded(now.stalled_seconds),
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
        "read_slowest_inside_seconds": known.read_slowest_inside_seconds,
        "write_slowest_inside_seconds": known.write_slowest_inside_seconds,
        "read_slow_inside_drive": _truth(known.read_slow_inside),
        "write_slow_inside_drive": _truth(known.write_slow_inside),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _truth(value: float | None) -> bool | None:
    return None if value is None else bool(value)
