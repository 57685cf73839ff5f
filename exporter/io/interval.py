"""What one device did between two samples.

What the CPUs did between two samples.
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.linux.diskstats import SECTOR_BYTES, TIME_WRAP_MILLISECONDS, DiskStats
from exporter.linux.proc_stat import TICKS_PER_SECOND, CpuTimes

#: A difference beyond half the wrap is no time that passed but a counter that went back.
_PLAUSIBLE_MILLISECONDS = TIME_WRAP_MILLISECONDS // 2

#: More than any device completes: beyond it the counters are another device's.
_PLAUSIBLE_OPERATIONS_PER_SECOND = 1e8

# Past the class's own constructor, which costs as much as all the differences.
_new = tuple.__new__


class DiskInterval(NamedTuple):
    """One device between two samples, `seconds` apart: operations, bytes, and seconds of them.

    The kernel credits an operation's time and count when it *completes*
    (https://docs.kernel.org/admin-guide/iostats.html), so a long one lands whole in the interval
    in which it ended. Made by `disk_interval`.

    stalled: nothing completed although something was in flight for most of the interval.
    queue_depth: mean requests in flight.
    busy_ratio: the share of the time in which the device was busy.
    uncredited_seconds: time in flight that the queue depth of silent intervals, up to this one,
        holds and that the kernel has not credited yet; for the next interval.
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


def disk_interval(
    then: DiskStats, now: DiskStats, seconds: float, uncredited_seconds: float = 0.0
) -> DiskInterval | None:
    """The differences, each modulo its own wrap, and what follows from them.

    The queue comes from the sums of request times and never from diskstats' own weighted time,
    which kernels before 5.7 count in whole jiffies (8cd5b8fc0071): 0.035 where 6.43 were in
    flight.

    None where the two are not the same device: its number changed, or a count of operations went
    back or leapt, which only a device that was made anew does
    (https://github.com/sysstat/sysstat/issues/355).
    """
    # Taken apart in one go each: this runs for every busy device and second.
    (
        _,
        number,
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
    ) = then
    _, same, r1, _, rs1, rt1, w1, _, ws1, wt1, in_flight, io1, _, d1, _, _, dt1, f1, ft1 = now
    reads, read_sectors, writes, written_sectors = r1 - r0, rs1 - rs0, w1 - w0, ws1 - ws0
    discards, flushes = (d1 or 0) - (d0 or 0), (f1 or 0) - (f0 or 0)
    if number != same:
        return None
    if (
        reads < 0
        or read_sectors < 0
        or writes < 0
        or written_sectors < 0
        or discards < 0
        or flushes < 0
    ):
        return None
    completions = reads + writes + discards + flushes
    if (
        completions > _PLAUSIBLE_OPERATIONS_PER_SECOND
        and completions > _PLAUSIBLE_OPERATIONS_PER_SECOND * seconds
    ):
        return None
    read_seconds = _elapsed(rt0, rt1)
    write_seconds = _elapsed(wt0, wt1)
    # No flush time here: the request that asked for the flush is counted as a write, with the
    # flush within its time (block/blk-flush.c, block/blk-mq.c; 100 fsyncs alone read as 100 writes
    # and 100 flushes, both with their time). With it one fsync after the other makes a queue of 2.
    ticks = read_seconds + write_seconds + (_elapsed(dt0 or 0, dt1) if dt1 else 0.0)
    io_ratio = min(_elapsed(io0, io1) / seconds, 1.0)
    if completions or not in_flight:
        stalled = False
        # When a long request completes its whole life is credited at once; but none was in
        # flight in this interval for longer than the interval, so the number of requests seen
        # bounds the mean.
        queue_depth = min(ticks / seconds, float(completions + in_flight))
        if uncredited_seconds:
            # What was in flight through silent intervals stands in their queue already.
            ends = (in_flight_before + in_flight) / 2
            queue_depth = min(queue_depth, max(ends, (ticks - uncredited_seconds) / seconds))
            uncredited_seconds = max(0.0, uncredited_seconds - ticks) if in_flight else 0.0
        # Kernels 5.0 to 6.9 count a whole jiffy per request ("10 % now 80 %", mended by
        # 99dc422335d8), but a device is busy for no longer than requests were in flight: by
        # Little's law the mean in flight bounds the utilisation.
        busy_ratio = min(io_ratio, queue_depth)
    else:
        # The tick sums are silent until something completes: what is in flight is the only
        # witness. In flight at both ends it was so throughout, also on kernels whose io_time
        # stands still meanwhile. At the end alone it may have been submitted just now: then
        # io_time must cover half the interval to call it stalled.
        queue_depth = float(in_flight)
        uncredited_seconds += queue_depth * seconds
        busy_ratio = 1.0 if in_flight_before else io_ratio
        stalled = busy_ratio >= 0.5
    values = (
        seconds,
        reads,
        read_seconds,
        read_sectors * SECTOR_BYTES,
        writes,
        write_seconds,
        written_sectors * SECTOR_BYTES,
        flushes,
        _elapsed(ft0 or 0, ft1) if ft1 else 0.0,
        stalled,
        queue_depth,
        busy_ratio,
        uncredited_seconds,
    )
    return _new(DiskInterval, values)


def _elapsed(then: int, now: int) -> float:
    milliseconds = (now - then) % TIME_WRAP_MILLISECONDS
    return milliseconds / 1000 if milliseconds < _PLAUSIBLE_MILLISECONDS else 0.0


class CpuShare(NamedTuple):
    """One CPU's (or all CPUs') time between two samples, as ratios of what passed for it.

    `softirq` counts hard interrupts too: where the driver completes in the interrupt itself, the
    same load shows there.
    """

    softirq: float
    iowait: float
    idle: float


class CpuInterval(NamedTuple):
    """Every CPU between two samples, and all of them together."""

    host: CpuShare
    cpus: dict[int, CpuShare]

    @property
    def hottest(self) -> int | None:
        """The CPU with the largest softirq share; None where no CPU could be compared."""
        return max(self.cpus, key=lambda cpu: self.cpus[cpu].softirq, default=None)

    @property
    def iowait_max(self) -> float | None:
        return max((share.iowait for share in self.cpus.values()), default=None)


def cpu_interval(then: Mapping[int, CpuTimes], now: Mapping[int, CpuTimes]) -> CpuInterval | None:
    """The shares of each CPU that is in both samples; None where no time passed on any.

    iowait and idle step back on idle CPUs (proc_stat(5) calls iowait unreliable), and a CPU that
    was off line begins anew: a time that went back counts as none.
    """
    cpus = {}
    everything = softirq = iowait = idle = 0.0
    for number, times in now.items():
        if (before := then.get(number)) is None:
            continue
        # Whole ticks, without the noise of binary fractions, which would name a hottest CPU.
        passed = [
            round((b - a) * TICKS_PER_SECOND) if b > a else 0
            for a, b in zip(before, times, strict=True)
        ]
        if (total := sum(passed)) <= 0:
            continue
        _, _, _, cpu_idle, cpu_iowait, cpu_irq, cpu_softirq, _ = passed
        cpus[number] = CpuShare(
            (cpu_softirq + cpu_irq) / total, cpu_iowait / total, cpu_idle / total
        )
        everything += total
        softirq += cpu_softirq + cpu_irq
        iowait += cpu_iowait
        idle += cpu_idle
    if not cpus:
        return None
    return CpuInterval(CpuShare(softirq / everything, iowait / everything, idle / everything), cpus)
