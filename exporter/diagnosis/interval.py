"""What one device did between two samples."""

from typing import NamedTuple

from exporter.linux.diskstats import TIME_WRAP_SECONDS, DiskStats

#: A difference beyond half the wrap is no time that passed but a counter that went back.
_PLAUSIBLE_SECONDS = TIME_WRAP_SECONDS / 2

#: More than any device completes: beyond it the counters are another device's.
_PLAUSIBLE_OPERATIONS_PER_SECOND = 1e8


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
    reads = now.reads_completed - then.reads_completed
    writes = now.writes_completed - then.writes_completed
    read_bytes = now.read_bytes - then.read_bytes
    written_bytes = now.written_bytes - then.written_bytes
    discards = (now.discards_completed or 0) - (then.discards_completed or 0)
    flushes = (now.flush_requests or 0) - (then.flush_requests or 0)
    if now.number != then.number or min(reads, writes, read_bytes, written_bytes) < 0:
        return None
    if discards < 0 or flushes < 0:
        return None
    completions = reads + writes + discards + flushes
    if completions > _PLAUSIBLE_OPERATIONS_PER_SECOND * max(seconds, 1.0):
        return None
    read_seconds = _elapsed(then.read_time_seconds, now.read_time_seconds)
    write_seconds = _elapsed(then.write_time_seconds, now.write_time_seconds)
    discard_seconds = _elapsed(then.discard_time_seconds or 0.0, now.discard_time_seconds or 0.0)
    flush_seconds = _elapsed(
        then.flush_requests_time_seconds or 0.0, now.flush_requests_time_seconds or 0.0
    )
    # No flush time here: the request that asked for the flush is counted as a write, with the
    # flush within its time (block/blk-flush.c, block/blk-mq.c; 100 fsyncs alone read as 100 writes
    # and 100 flushes, both with their time). With it one fsync after the other makes a queue of 2.
    ticks = read_seconds + write_seconds + discard_seconds
    io_ratio = min(_elapsed(then.io_time_seconds, now.io_time_seconds) / seconds, 1.0)
    if completions or not now.io_now:
        stalled = False
        # When a long request completes its whole life is credited at once; but none was in
        # flight in this interval for longer than the interval, so the number of requests seen
        # bounds the mean.
        queue_depth = min(ticks / seconds, float(completions + now.io_now))
        if uncredited_seconds:
            # What was in flight through silent intervals stands in their queue already.
            ends = (then.io_now + now.io_now) / 2
            queue_depth = min(queue_depth, max(ends, (ticks - uncredited_seconds) / seconds))
            uncredited_seconds = max(0.0, uncredited_seconds - ticks) if now.io_now else 0.0
        # Kernels 5.0 to 6.9 count a whole jiffy per request ("10 % now 80 %", mended by
        # 99dc422335d8), but a device is busy for no longer than requests were in flight: by
        # Little's law the mean in flight bounds the utilisation.
        busy_ratio = min(io_ratio, queue_depth)
    else:
        # The tick sums are silent until something completes: what is in flight is the only
        # witness. In flight at both ends it was so throughout, also on kernels whose io_time
        # stands still meanwhile. At the end alone it may have been submitted just now: then
        # io_time must cover half the interval to call it stalled.
        queue_depth = float(now.io_now)
        uncredited_seconds += queue_depth * seconds
        busy_ratio = 1.0 if then.io_now else io_ratio
        stalled = busy_ratio >= 0.5
    return DiskInterval(
        seconds,
        reads,
        read_seconds,
        read_bytes,
        writes,
        write_seconds,
        written_bytes,
        flushes,
        flush_seconds,
        stalled,
        queue_depth,
        busy_ratio,
        uncredited_seconds,
    )


def _elapsed(then: float, now: float) -> float:
    # Whole milliseconds: what binary fractions add to a difference would push an await of just
    # 0.5 ms over the edge of its bucket.
    if now >= then:
        return round((now - then) * 1000) / 1000
    wrapped = round((now + TIME_WRAP_SECONDS - then) * 1000) / 1000
    return wrapped if wrapped < _PLAUSIBLE_SECONDS else 0.0
