"""The I/O of one drive in the last second and the last five minutes, for pages and `top`."""

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.io.activity import DiskActivity
from exporter.io.recent_activity import PROBED, SATURATED, STALLED, RecentActivity, counted
from exporter.io.verdict import Verdict


@dataclass(frozen=True, slots=True)
class DriveNow:
    """The I/O of a drive in the last sample and in the last samples, at most `SAMPLES`.

    verdict: the bottleneck that lasted longest in the last ten seconds.
    read_bytes, written_bytes, reads, writes: per second.
    read_await, write_await, flush_await: seconds; None without such a request in the last sample.
    read_base, write_base: the learned usual awaits in seconds; None until they are learned.
    read_limit, write_limit: the smallest awaits that count as slow, in seconds.
    busy_ratio, queue_depth: as in `DiskInterval`.
    worst_await: the largest await of a second in the last minute, in seconds.
    saturated_seconds, stalled_seconds: of the last samples.
    is_stalled: True if requests hung in the last sample, all in flight or some of them.
    peak_bytes, peak_await: the highest rate, in bytes per second, and the longest await of a
        sample, in seconds, of the last samples.
    is_probed: True if a probe ran on the drive in the last sample.
    read_column, …: the columns of the last samples, the oldest first; empty without I/O.
    """

    verdict: Verdict = Verdict.NONE
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    read_await: float | None = None
    write_await: float | None = None
    flush_await: float | None = None
    read_base: float | None = None
    write_base: float | None = None
    read_limit: float = 1.0
    write_limit: float = 1.0
    busy_ratio: float = 0.0
    queue_depth: float = 0.0
    worst_await: float | None = None
    saturated_seconds: float = 0.0
    stalled_seconds: float = 0.0
    peak_bytes: float = 0.0
    peak_await: float = 0.0
    is_probed: bool = False
    is_stalled: bool = False
    read_column: Sequence[float] = ()
    written_column: Sequence[float] = ()
    read_await_column: Sequence[float] = ()
    write_await_column: Sequence[float] = ()
    statuses: bytes = b""

    @property
    def read_factor(self) -> float | None:
        """The read await as a multiple of the usual one; None if one of them is unknown."""
        return _factor(self.read_await, self.read_base)

    @property
    def write_factor(self) -> float | None:
        """The write await as a multiple of the usual one; None if one of them is unknown."""
        return _factor(self.write_await, self.write_base)

    @property
    def worst_factor(self) -> float | None:
        """The larger one of both factors; None if both are unknown."""
        factors = (self.read_factor, self.write_factor)
        return max((factor for factor in factors if factor is not None), default=None)

    @property
    def is_read_slow(self) -> bool:
        """True if the reads of the last sample count as slow."""
        return self.read_await is not None and self.read_await >= self.read_limit

    @property
    def is_write_slow(self) -> bool:
        """True if the writes of the last sample count as slow."""
        return self.write_await is not None and self.write_await >= self.write_limit


def drive_now(
    name: str, activity: DiskActivity, recent: RecentActivity, now: float, interval_seconds: float
) -> DriveNow:
    """Returns the I/O of a drive, without its usual awaits, limits and `worst_await`.

    Call it while the sampler is locked.

    now: the monotonic time. interval_seconds: the time between two samples.
    """
    verdict, samples = activity.verdict.value(now), recent.drive(name)
    if samples is None:
        return DriveNow(verdict)
    columns = [samples.column(index, recent.taken) for index in range(4)]
    statuses = samples.statuses(recent.taken)
    last = samples.last if samples.last_number == recent.number else None
    return DriveNow(
        verdict,
        read_bytes=last.read_bytes / last.seconds if last else 0.0,
        written_bytes=last.written_bytes / last.seconds if last else 0.0,
        reads=last.reads / last.seconds if last else 0.0,
        writes=last.writes / last.seconds if last else 0.0,
        read_await=last.read_seconds / last.reads if last and last.reads else None,
        write_await=last.write_seconds / last.writes if last and last.writes else None,
        flush_await=last.flush_seconds / last.flushes if last and last.flushes else None,
        busy_ratio=last.busy_ratio if last else 0.0,
        queue_depth=last.queue_depth if last else 0.0,
        saturated_seconds=counted(statuses, SATURATED) * interval_seconds,
        stalled_seconds=counted(statuses, STALLED) * interval_seconds,
        peak_bytes=max(*columns[0], *columns[1]),
        peak_await=max(*columns[2], *columns[3]),
        is_probed=bool(statuses[-1] & PROBED),
        is_stalled=bool(statuses[-1] & STALLED),
        read_column=columns[0],
        written_column=columns[1],
        read_await_column=columns[2],
        write_await_column=columns[3],
        statuses=statuses,
    )


def _factor(seconds: float | None, base: float | None) -> float | None:
    return None if seconds is None or not base else seconds / base
