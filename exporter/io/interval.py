"""Computes the difference of two samples: the I/O of a device, and the time of the CPUs.

A sample is one reading of the kernel's counters. This module uses no files, no clock and no logs.
"""

from collections.abc import Mapping
from operator import sub
from typing import NamedTuple

from exporter.linux.diskstats import SECTOR_BYTES, TIME_WRAP_MILLISECONDS, DiskStats
from exporter.linux.pressure import Pressure
from exporter.linux.proc_stat import CpuTicks

#: Upper limit for the difference of two time counters, in bits of milliseconds: half of the range.
#: The difference is computed modulo the counter's range, so a counter that decreased shows a
#: difference of nearly the whole range. Such a difference counts as 0.
_ELAPSED_BITS = 31

#: Maximum plausible number of operations per second. No device completes more. A larger difference
#: means that the two records are of different devices.
_MAX_OPERATIONS_PER_SECOND = 1e8

#: A device with requests in flight at both ends of an interval and at least this mean number of
#: requests in flight was busy all the time. Kernels 5.0 to 6.9 count too little of that time: a
#: request that starts discards the time since the last one ended (block/blk-core.c).
_BUSY_QUEUE_DEPTH = 4.0

#: A request that hung may be the last one in flight. Its time is more than this, in seconds.
_LONG_WAIT_SECONDS = 10.0

#: A smaller decrease of the completions per second may be a change of the load.
_LEAST_MISSING_SHARE = 0.3

# Creates a named tuple without calling the class's own constructor, which takes as long as
# computing all differences.
_new = tuple.__new__


class DiskInterval(NamedTuple):
    """The I/O of one device between two samples; the result of `disk_interval`.

    The kernel adds an operation and its time to its counters when the operation *completes*
    (https://docs.kernel.org/admin-guide/iostats.html). A long operation therefore counts entirely
    in the interval in which it ended.

    seconds: the time between the samples.
    reads, writes, flushes, discards: the number of completed operations.
    read_seconds, write_seconds, flush_seconds: the sum of the times of these operations; more than
        `seconds` if they overlapped.
    read_bytes, written_bytes: the number of bytes that these operations transferred.
    stalled: True if requests were in flight for most of the interval and none completed.
    queue_depth: the mean number of requests in flight.
    busy_ratio: the share of the time with at least one request in flight, 0 to 1.
    uncredited_seconds: time of requests that stalled and are still in flight. The queue depths of
        the stalled intervals already include this time, but the kernel adds it to its counters only
        when the requests complete. The caller passes it to the next call of `disk_interval`, so
        that it is not counted twice.
    excess_requests: the mean number of requests in flight at both ends, minus the queue depth of
        the completed requests; 0 if no request was in flight at one of the ends, unless requests of
        more than ten seconds completed. None if requests
        were in flight and none completed.
    """

    seconds: float
    reads: int
    read_seconds: float
    read_bytes: int
    writes: int
    write_seconds: float
    written_bytes: int
    flushes: int
    flush_seconds: float
    stalled: bool
    queue_depth: float
    busy_ratio: float
    uncredited_seconds: float = 0.0
    excess_requests: float | None = None
    discards: int = 0


_STALLED = DiskInterval._fields.index("stalled")


def disk_interval(
    previous: DiskStats, current: DiskStats, seconds: float, uncredited_seconds: float = 0.0
) -> DiskInterval | None:
    """Returns the I/O of a device between two records of its counters, corrected for wraps.

    Returns None if the two records are of different devices. This is the case if the device number
    changed, or if an operation count decreased or grew impossibly fast. A count does that only when
    the device was created again (https://github.com/sysstat/sysstat/issues/355).

    seconds: the time between the records.
    uncredited_seconds: the value of the device's previous interval.

    The queue depth is computed from the request times and not from the weighted time of diskstats,
    because kernels before 5.7 count the weighted time in whole jiffies (commit 8cd5b8fc0071). In
    one case it gave a queue depth of 0.035 while 6.43 requests were in flight.
    """
    # One statement unpacks each record, for speed: this runs for every busy device and second.
    (
        _,
        previous_number,
        r0,
        _,
        rs0,
        rt0,
        w0,
        _,
        ws0,
        wt0,
        in_flight_before,
        io0,
        _,
        d0,
        _,
        _,
        dt0,
        f0,
        ft0,
    ) = previous
    _, number, r1, _, rs1, rt1, w1, _, ws1, wt1, in_flight, io1, _, d1, _, _, dt1, f1, ft1 = current
    reads, read_sectors, writes, written_sectors = r1 - r0, rs1 - rs0, w1 - w0, ws1 - ws0
    discards, flushes = (d1 or 0) - (d0 or 0), (f1 or 0) - (f0 or 0)
    # The bitwise OR is negative if one of the numbers is.
    is_less = (reads | read_sectors | writes | written_sectors | discards | flushes) < 0
    if is_less or number != previous_number:
        return None
    completions = reads + writes + discards + flushes
    if (
        completions > _MAX_OPERATIONS_PER_SECOND
        and completions > _MAX_OPERATIONS_PER_SECOND * seconds
    ):
        return None
    read_time, write_time, io_time = rt1 - rt0, wt1 - wt0, io1 - io0
    # The flush time is not added. The time of a write that requires a flush already includes the
    # flush, and the kernel counts the flush again separately (block/blk-flush.c, block/blk-mq.c).
    # With both times, sequential fsyncs would show a queue depth of 2.
    discard_time, flush_time = dt1 - (dt0 or 0) if dt1 else 0, ft1 - (ft0 or 0) if ft1 else 0
    # One condition shows whether all differences are between 0 and the limit, for speed.
    if (read_time | write_time | io_time | discard_time | flush_time) >> _ELAPSED_BITS:
        read_time, write_time, io_time = (
            _elapsed(read_time),
            _elapsed(write_time),
            _elapsed(io_time),
        )
        discard_time, flush_time = _elapsed(discard_time), _elapsed(flush_time)
    read_seconds, write_seconds, io_seconds = read_time / 1000, write_time / 1000, io_time / 1000
    discard_seconds, flush_seconds = discard_time / 1000, flush_time / 1000
    request_seconds = read_seconds + write_seconds + discard_seconds
    io_ratio = io_seconds / seconds if io_seconds < seconds else 1.0
    if completions or not in_flight:
        stalled = False
        # When a request completes, the kernel adds its whole time, including the part before this
        # interval. So the quotient may be too large. The mean number of requests in flight cannot
        # exceed the number of requests that were in flight at any time of the interval.
        credited = request_seconds / seconds
        queue_depth = credited
        if queue_depth > completions + in_flight:
            queue_depth = float(completions + in_flight)
        excess = 0.0
        if in_flight_before and (in_flight or request_seconds > _LONG_WAIT_SECONDS):
            excess = (in_flight_before + in_flight) / 2 - credited
        if uncredited_seconds:
            # The queue depths of the stalled intervals already include these requests.
            ends = (in_flight_before + in_flight) / 2
            queue_depth = min(
                queue_depth, max(ends, (request_seconds - uncredited_seconds) / seconds)
            )
            uncredited_seconds = (
                max(0.0, uncredited_seconds - request_seconds) if in_flight else 0.0
            )
        # In kernels 5.0 to 6.9 io_time is too large, because each request counts at least a whole
        # jiffy (fixed by commit 99dc422335d8). The busy ratio cannot exceed the mean number of
        # requests in flight, so that number limits it.
        if queue_depth >= _BUSY_QUEUE_DEPTH and in_flight_before and in_flight:
            busy_ratio = 1.0
        else:
            # The comparison takes a third of the time of min().
            busy_ratio = io_ratio if io_ratio < queue_depth else queue_depth  # noqa: FURB136
    else:
        # No request completed, so the request times did not grow. The number of requests in flight
        # is used as the queue depth. If requests were also in flight at the start, the device was
        # busy all the time; io_time is not used, because some kernels do not advance it during a
        # stall. Otherwise the requests may be new, and the interval is a stall only if io_time
        # covers at least half of it.
        queue_depth = float(in_flight)
        uncredited_seconds += queue_depth * seconds
        busy_ratio = 1.0 if in_flight_before else io_ratio
        stalled = busy_ratio >= 0.5
        excess = None
    values: tuple[float | None, ...] = (
        seconds,
        reads,
        read_seconds,
        read_sectors * SECTOR_BYTES,
        writes,
        write_seconds,
        written_sectors * SECTOR_BYTES,
        flushes,
        flush_seconds,
        stalled,
        queue_depth,
        busy_ratio,
        uncredited_seconds,
        excess,
        discards,
    )
    return _new(DiskInterval, values)


def stalled_interval(disk: DiskInterval) -> DiskInterval:
    """Returns the interval as one in which the device stalled, although some requests completed."""
    return _new(DiskInterval, (*disk[:_STALLED], True, *disk[_STALLED + 1 :]))


def hung_share(
    before: DiskInterval | None, interval: DiskInterval | None, in_flight: float
) -> float:
    """Returns the share of an interval in which a device hung, if it hung at the end of it.

    before, interval: two consecutive intervals; None if the device was idle, or if it is unknown.
    in_flight: the number of requests that hung.

    If the queue was as deep before the hang, it is the share of the request time that is missing.
    Otherwise the requests in flight at the start of the interval may be a coincidence, for example
    the moment when many threads submit together. Then it is the share of the completions that are
    missing, compared with the interval before; 0 if that is too small to be significant.
    """
    if interval is None or not in_flight:
        return 0.0
    excess = interval.excess_requests
    if excess is None:
        # No request completed, so the requests were in flight for an unknown part of the interval.
        excess = interval.queue_depth / 2
    elif not excess or (before is not None and before.queue_depth < in_flight / 2):
        return _missing_share(before, interval)
    return min(max(excess / in_flight, 0.0), 1.0)


def _missing_share(before: DiskInterval | None, interval: DiskInterval) -> float:
    if before is None or not before.reads + before.writes:
        return 0.0
    rate = (interval.reads + interval.writes) / interval.seconds
    share = 1 - rate * before.seconds / (before.reads + before.writes)
    return share if share >= _LEAST_MISSING_SHARE else 0.0


def _elapsed(difference: int) -> int:
    """Returns the milliseconds between two values of a time counter; 0 if it decreased."""
    milliseconds = difference % TIME_WRAP_MILLISECONDS
    return 0 if milliseconds >> _ELAPSED_BITS else milliseconds


class CpuShare(NamedTuple):
    """How one CPU, or all CPUs together, spent the time between two samples.

    Each field is a share of the total time, 0 to 1.

    softirq: time in soft and hard interrupts. Hard interrupts are included, because some drivers
        complete requests in them.
    iowait: idle time while a task that last ran on the CPU waited for I/O.
    idle: other idle time.
    """

    softirq: float
    iowait: float
    idle: float


class CpuInterval(NamedTuple):
    """How the CPUs spent the time between two samples.

    host: the shares of all CPUs together.
    cpus: the shares of each CPU, keyed by CPU number.
    """

    host: CpuShare
    cpus: dict[int, CpuShare]

    @property
    def hottest(self) -> int | None:
        """The number of the CPU with the largest softirq share; None if `cpus` is empty."""
        return max(self.cpus, key=lambda cpu: self.cpus[cpu].softirq, default=None)

    @property
    def iowait_max(self) -> float | None:
        """The largest iowait share of a single CPU, 0 to 1; None if `cpus` is empty."""
        return max((share.iowait for share in self.cpus.values()), default=None)


def cpu_interval(
    previous: Mapping[int, CpuTicks], current: Mapping[int, CpuTicks]
) -> CpuInterval | None:
    """Returns the shares of each CPU that is in both samples; None if no time passed on any CPU.

    A time that decreased counts as 0. idle and iowait sometimes decrease on idle CPUs; proc_stat(5)
    calls iowait unreliable. All times of a CPU that was offline start again at 0.

    previous, current: the ticks of each CPU, keyed by CPU number.
    """
    cpus = {}
    total_ticks = softirq = iowait = idle = 0
    for number, now in current.items():
        if (before := previous.get(number)) is None:
            continue
        elapsed = list(map(sub, now, before))
        if min(elapsed) < 0:
            elapsed = [max(each, 0) for each in elapsed]
        if (ticks := sum(elapsed)) <= 0:
            continue
        _, _, _, cpu_idle, cpu_iowait, cpu_irq, cpu_softirq, _ = elapsed
        shares = (cpu_softirq + cpu_irq) / ticks, cpu_iowait / ticks, cpu_idle / ticks
        cpus[number] = _new(CpuShare, shares)
        total_ticks += ticks
        softirq += cpu_softirq + cpu_irq
        iowait += cpu_iowait
        idle += cpu_idle
    if not cpus:
        return None
    return CpuInterval(
        CpuShare(softirq / total_ticks, iowait / total_ticks, idle / total_ticks), cpus
    )


def pressure_ratios(
    before: Pressure | None, now: Pressure | None, seconds: float
) -> tuple[float | None, float | None]:
    """Returns the shares of the time in which some and in which all tasks waited, 0 to 1.

    A share is None if one of its totals is unknown.
    """
    if before is None or now is None:
        return None, None
    return (
        _time_ratio(before.waiting_seconds, now.waiting_seconds, seconds),
        _time_ratio(before.stalled_seconds, now.stalled_seconds, seconds),
    )


def _time_ratio(before: float | None, now: float | None, seconds: float) -> float | None:
    if before is None or now is None:
        return None
    return min(max((now - before) / seconds, 0.0), 1.0)
