"""Records and Hypothesis strategies that the tests of `io` share."""

from typing import Any

from hypothesis import strategies as st

from exporter.io.interval import CpuInterval, CpuShare, DiskInterval, disk_interval
from exporter.linux.diskstats import SECTOR_BYTES, TIME_WRAP_MILLISECONDS, DiskStats

#: A new device without any I/O, on a kernel with all counters.
NEW = DiskStats("sdx", "8:0", *[0] * 17)

#: The same on a kernel before 4.18, which has no counters for discards and flushes.
NEW_OF_OLD = DiskStats("sdx", "8:0", *[0] * 11)

#: The kernel's field for each field in base units, and the conversion factor.
_COUNTED = {
    "read_bytes": ("read_sectors", 1 / SECTOR_BYTES),
    "written_bytes": ("written_sectors", 1 / SECTOR_BYTES),
    "discarded_bytes": ("discarded_sectors", 1 / SECTOR_BYTES),
    "read_time_seconds": ("read_milliseconds", 1000),
    "write_time_seconds": ("write_milliseconds", 1000),
    "io_time_seconds": ("io_milliseconds", 1000),
    "io_time_weighted_seconds": ("io_weighted_milliseconds", 1000),
    "discard_time_seconds": ("discard_milliseconds", 1000),
    "flush_requests_time_seconds": ("flush_milliseconds", 1000),
}

#: The value at which the time fields wrap.
WRAP_SECONDS = TIME_WRAP_MILLISECONDS / 1000

_COUNT = st.integers(0, (1 << 64) - 1)
_TIME = st.integers(0, TIME_WRAP_MILLISECONDS - 1)

#: Any record that any kernel could print.
ANY_DISK = st.builds(
    DiskStats,
    device=st.just("sdx"),
    number=st.sampled_from(["8:0", "8:16"]),
    reads_completed=_COUNT,
    reads_merged=_COUNT,
    read_sectors=_COUNT,
    read_milliseconds=_TIME,
    writes_completed=_COUNT,
    writes_merged=_COUNT,
    written_sectors=_COUNT,
    write_milliseconds=_TIME,
    io_now=st.integers(0, (1 << 31) - 1),
    io_milliseconds=_TIME,
    io_weighted_milliseconds=_TIME,
    discards_completed=st.none() | _COUNT,
    discards_merged=st.none() | _COUNT,
    discarded_sectors=st.none() | _COUNT,
    discard_milliseconds=st.none() | _TIME,
    flush_requests=st.none() | _COUNT,
    flush_milliseconds=st.none() | _TIME,
)

#: Any time between two samples, from the shortest interval to a long gap.
ANY_SECONDS = st.floats(1e-6, 1e6)


def as_counted(**base_units: float) -> dict[str, Any]:
    """Convert seconds and bytes to the kernel's units: milliseconds that wrap, and sectors."""
    counted: dict[str, Any] = {}
    for name, value in base_units.items():
        field, factor = _COUNTED.get(name, (name, 1))
        number = round(value * factor)
        counted[field] = number % TIME_WRAP_MILLISECONDS if factor == 1000 else number
    return counted


def grown(then: DiskStats, **differences: float) -> DiskStats:
    """Return a later record: each field increased by a difference in base units."""
    later = {name: getattr(then, name) + value for name, value in differences.items()}
    return then._replace(**as_counted(**later))


def over(then: DiskStats, now: DiskStats, seconds: float = 1.0) -> DiskInterval:
    """Return the interval between two records of the same device."""
    interval = disk_interval(then, now, seconds)
    assert interval is not None
    return interval


def cpus(*shares: CpuShare, iowait: float = 0.0) -> CpuInterval:
    """Return CPUs with these shares; the softirq and idle of the host are their means."""
    count = len(shares)
    host = CpuShare(
        sum(share.softirq for share in shares) / count,
        iowait,
        sum(share.idle for share in shares) / count,
    )
    return CpuInterval(host, dict(enumerate(shares)))


#: Four idle CPUs.
IDLE_CPUS = cpus(*[CpuShare(softirq=0.007, iowait=0.12, idle=0.7)] * 4, iowait=0.12)
