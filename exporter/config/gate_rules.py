"""Defines the limits of the gate and of the guard of probes; `exporter.probe.gate` applies them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateRules:
    """The limits of the gate and the guard. Ratios are 0 to 1.

    The gate decides whether a probe may start. The guard ends a running probe if production needs
    the device, or if a drive is too hot or space is short.

    host_uptime_seconds: no scheduled probe starts in this time after boot, because the host is then
        busy.
    busy_ratio: upper limit of the device's busy time over the last minute.
    pressure_ratio: upper limit of the share of the last 10 s in which at least one task of the host
        waited for I/O (PSI "some").
    cgroup_pressure_ratio: upper limit of the share of the last 10 s in which all tasks of mysqld's
        control group waited for I/O (PSI "full").
    hot_margin_celsius: a drive is too hot if its temperature is at most this far below its own
        warning temperature.
    hot_celsius: a drive that reports no warning temperature is too hot from this temperature on.
    worn_ratio: no probe writes to a drive if at least this share of its endurance is used.
    free_bytes, free_ratio: the space of the filesystem that must stay free, in bytes and as a share
        of its size. The greater of the two applies.
    free_inodes: the number of inodes that must stay free.
    forced_after_skips: after this number of consecutive skips because of load, the gate admits a
        minimal run, which has few operations. After the same number of runs that the guard ended
        because of load, it admits only a minimal run.
    guard_samples: the guard ends a probe because of load in two cases.
        - This number of consecutive samples reach `guard_queue`.
        - mysqld waits, and of the last guard_samples + 1 samples, guard_samples reach one of the
          next three limits. One sample may be below the limits, because a server sometimes waits
          for the CPU.
    guard_queue: the limit of the requests in flight besides the probe's own.
    guard_pressure_ratio: the limit of the share of a sample's time in which at least one task of
        mysqld's control group waited for I/O.
    guard_waiting_ratio: the limit of the share of readings in which a thread of mysqld waited for
        I/O. It is greater than `guard_pressure_ratio`, because a sample has only five readings.
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
    guard_waiting_ratio: float = 0.75
