"""Defines what an NVMe drive reports of its own latency: the OCP Latency Monitor, page C3h.

The drive measures each command from the fetch of the command to its completion entry, so without
queues of the host. It counts only commands that take at least the lowest threshold. The counters of
the active buckets are reset when the window ends, and when the firmware is updated. The static
buckets hold the counters of the previous window. (OCP Datacenter NVMe SSD Specification 2.7,
sections 4.8.9 and 22)
"""

from dataclasses import dataclass

#: The commands that the drive counts apart.
OPERATIONS = ("read", "write", "deallocate")


@dataclass(frozen=True, slots=True)
class SlowCommands:
    """The commands of one operation in one bucket.

    count: the number of commands. It stays at 4,294,967,295.
    latency_seconds: the latency of one of them, in steps of 1 ms; None if there was none.
    is_worst: True if this is the highest latency, False if it is the first one of the window.
    at_seconds: when this command ended: Unix time in seconds if `has_wall_clock`, else the
        power-on time of the drive in seconds; None if there was none. The clock of the drive is as
        good as the time that the host last told it.
    has_wall_clock: True if the host has told the drive the time.
    """

    count: int
    latency_seconds: float | None = None
    is_worst: bool = False
    at_seconds: float | None = None
    has_wall_clock: bool = False


@dataclass(frozen=True, slots=True)
class LatencyBucket:
    """The commands whose latency is in a range.

    min_seconds: the lowest latency of the bucket, inclusive.
    max_seconds: the end of the range, exclusive; None for the last bucket, which has none.
    """

    min_seconds: float
    max_seconds: float | None
    read: SlowCommands
    write: SlowCommands
    deallocate: SlowCommands

    def commands(self, operation: str) -> SlowCommands:
        """Returns the commands of one of `OPERATIONS`."""
        commands: SlowCommands = getattr(self, operation)
        return commands


@dataclass(frozen=True, slots=True)
class DriveLatency:
    """The latency monitor of a drive.

    enabled: whether the monitor counts. If not, there are no buckets.
    has_latencies: whether the drive reports latencies and times, and not only counts.
    active: the buckets of the current window, the fastest first; empty if not enabled.
    static: the buckets of the previous window; empty if not enabled or if windows have no end.
    active_seconds: the duration of the current window until now, in steps of 5 minutes.
    window_seconds: the duration after which a window ends; None if it has no end.
    """

    enabled: bool
    has_latencies: bool = False
    active: tuple[LatencyBucket, ...] = ()
    static: tuple[LatencyBucket, ...] = ()
    active_seconds: float = 0.0
    window_seconds: float | None = None

    def slowest(self, operation: str) -> SlowCommands | None:
        """Returns the slowest command of both windows; None if no latency is known."""
        known = [
            commands
            for bucket in (*self.active, *self.static)
            if (commands := bucket.commands(operation)).latency_seconds is not None
        ]
        return max(known, key=lambda commands: commands.latency_seconds or 0.0, default=None)
