"""How much of a probe's latency arises outside the device: in the host, or on the way to it?

A device that answers in 0.2 ms while the probe waits 4.2 ms is not the one that is slow: a CPU full
of interrupts is, or a queue before the driver. Such a run says nothing of the drive.
"""

from dataclasses import dataclass
from typing import Literal

from exporter.io.interval import DiskInterval


@dataclass(frozen=True, slots=True)
class HostShareRules:
    """least_operations_ratio: the probe must have made so many of the device's operations, or the
        device's await is that of others.
    host_limited_ratio: with a larger share outside the device a run is not comparable to others.
    """

    least_operations_ratio: float = 0.5
    host_limited_ratio: float = 0.5


def host_share(
    op: Literal["read", "write"],
    operations: int,
    latency_seconds: float,
    device: DiskInterval,
    rules: HostShareRules,
) -> float | None:
    """The share, 0 to 1, of the probe's mean latency that is not its device's await.

    operations, latency_seconds: what the probe did in one direction, and the mean of what it took
        from submission to completion.
    device: the device in the window of the probe.

    None where the probe made less than half of the device's reads and writes, or either side did
    nothing. For direct I/O: a write into the page cache is none of the device's. Of requests that
    the kernel splits it sees several, and then the probe's look too few.
    """
    if op == "read":
        completed, seconds = device.reads, device.read_seconds
    else:
        completed, seconds = device.writes, device.write_seconds
    everything = device.reads + device.writes
    if completed <= 0 or operations < rules.least_operations_ratio * everything:
        return None
    if not latency_seconds > 0:
        return None
    return min(max(1 - seconds / completed / latency_seconds, 0.0), 1.0)


def is_host_limited(share: float | None, rules: HostShareRules) -> bool:
    """The host, not the device, made most of the latency; never so where that is unknown.

    For queues no deeper than the device takes: the rest of a deeper one waits in the host, and the
    device is the reason.
    """
    return share is not None and share > rules.host_limited_ratio
