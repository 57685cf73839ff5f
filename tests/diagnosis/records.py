"""Records and strategies that the tests of the judgement share."""

from typing import Any

from hypothesis import strategies as st

from exporter.diagnosis.cpu import CpuInterval, CpuShare
from exporter.diagnosis.interval import DiskInterval, disk_interval
from exporter.linux.diskstats import SECTOR_BYTES, TIME_WRAP_SECONDS, DiskStats

#: A device that has done nothing since it appeared, on a kernel that counts everything.
NEW = DiskStats("sdx", "8:0", 0, 0, 0, 0.0, 0, 0, 0, 0.0, 0, 0.0, 0.0, 0, 0, 0, 0.0, 0, 0.0)

#: The same on a kernel before 4.18, which counts neither discards nor flushes.
NEW_OF_OLD = DiskStats("sdx", "8:0", 0, 0, 0, 0.0, 0, 0, 0, 0.0, 0, 0.0, 0.0)

_COUNT = st.integers(0, (1 << 64) - 1)
_BYTES = _COUNT.map(lambda sectors: sectors * SECTOR_BYTES)
_TIME = st.integers(0, (1 << 32) - 1).map(lambda ms: ms / 1000)

#: Any device that the kernel could print, on any kernel.
ANY_DISK = st.builds(
    DiskStats,
    device=st.just("sdx"),
    number=st.sampled_from(["8:0", "8:16"]),
    reads_completed=_COUNT,
    reads_merged=_COUNT,
    read_bytes=_BYTES,
    read_time_seconds=_TIME,
    writes_completed=_COUNT,
    writes_merged=_COUNT,
    written_bytes=_BYTES,
    write_time_seconds=_TIME,
    io_now=st.integers(0, (1 << 31) - 1),
    io_time_seconds=_TIME,
    io_time_weighted_seconds=_TIME,
    discards_completed=st.none() | _COUNT,
    discards_merged=st.none() | _COUNT,
    discarded_bytes=st.none() | _BYTES,
    discard_time_seconds=st.none() | _TIME,
    flush_requests=st.none() | _COUNT,
    flush_requests_time_seconds=st.none() | _TIME,
)

#: From the shortest interval that can be set to a gap's end, and a clock's worst.
ANY_SECONDS = st.floats(1e-6, 1e6)


def grown(then: DiskStats, **differences: float) -> DiskStats:
    """The device later: each field more by so much, time fields modulo their wrap."""
    later: dict[str, Any] = {}
    for name, difference in differences.items():
        value = getattr(then, name) + difference
        if name.endswith("_seconds"):
            value = round(value % TIME_WRAP_SECONDS, 3)
        later[name] = value
    return then._replace(**later)


def over(then: DiskStats, now: DiskStats, seconds: float = 1.0) -> DiskInterval:
    """What happened in between; the two must be the same device."""
    interval = disk_interval(then, now, seconds)
    assert interval is not None
    return interval


def cpus(*shares: CpuShare, iowait: float = 0.0) -> CpuInterval:
    """CPUs of these shares; the host's softirq and idle are their means."""
    count = len(shares)
    host = CpuShare(
        sum(share.softirq for share in shares) / count,
        iowait,
        sum(share.idle for share in shares) / count,
    )
    return CpuInterval(host, dict(enumerate(shares)))


#: Four CPUs that have nothing to do.
IDLE_CPUS = cpus(*[CpuShare(softirq=0.007, iowait=0.12, idle=0.7)] * 4, iowait=0.12)
