"""Makes a record of each drive and minute from the samples that the sampler keeps.

The sampler keeps the last 300 samples for the live page. Once a minute, the recorder reads those of
the minute that has ended. So a minute costs no work per second, and no memory of its own. The
records wait in memory, packed as on disk, until they are written. The module uses no files and no
logs.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress

from exporter.history import history_block
from exporter.history.io_summary import IDLE, IoSummary, Period, summary
from exporter.io.recent_activity import MAX_DRIVES, SAMPLES, RecentActivity, verdicts
from exporter.io.sampler import Sampler
from exporter.io.verdict import Verdict

MINUTE_SECONDS = 60.0

#: The largest number of samples that stay unread. With ten samples a second, a minute has more than
#: the sampler keeps, and is read in parts.
_MOST_UNREAD = SAMPLES // 2

#: The most minutes that wait, and their most bytes: three hours of 24 drives. They wait for so long
#: only while the disk is full or read-only. Older ones are dropped.
_MOST_WAITING, _MOST_WAITING_BYTES = 180, 96 << 10

#: The most different drives in the waiting minutes. Drives rarely change within minutes.
_MOST_NAMES = 4 * MAX_DRIVES


class _Minute:
    """The samples of one drive in the current minute."""

    __slots__ = ("columns", "verdicts")

    def __init__(self) -> None:
        # Arrays take a sixth of the memory of lists.
        self.columns = tuple(array("f") for _ in range(4))
        self.verdicts: dict[Verdict, float] = {}

    def add(self, columns: "Iterable[array[float]]", statuses: bytes, interval: float) -> None:
        for known, new in zip(self.columns, columns, strict=True):
            known.extend(new)
        if any(statuses):
            for verdict in verdicts(statuses):
                if verdict is not Verdict.NONE:
                    self.verdicts[verdict] = self.verdicts.get(verdict, 0.0) + interval


class MinuteRecorder:
    """Records the I/O of each drive and minute. Several threads may call the methods.

    sampler (argument): is locked during each call.
    observe (argument): is called with each minute that has ended, and its drives by identity.
    """

    def __init__(
        self,
        sampler: Sampler,
        observe: Callable[[int, dict[str, IoSummary]], None] = lambda _minute, _drives: None,
    ) -> None:
        self._sampler = sampler
        self._observe = observe
        self._number = sampler.recent.number
        self._minute: int | None = None
        self._seconds = 0.0
        self._drives: dict[str, _Minute] = {}
        self._table: dict[str, int] = {}
        self._waiting: list[bytes] = []

    def take(self) -> None:
        """Records the minutes that have ended. Call it several times a minute; it rarely works."""
        at = self._sampler.sampled_at_unix_time
        interval = self._sampler.interval
        if at is None:
            return
        minute = _minute_of(at, interval)
        # Before samples are processed, the number of those that were taken is not known exactly.
        if minute == self._minute and _MOST_UNREAD * interval > MINUTE_SECONDS:
            return
        with self._sampler.flushed():
            at = self._sampler.sampled_at_unix_time or at
            minute = _minute_of(at, interval)
            recent = self._sampler.recent
            unread = min(recent.number - self._number, recent.taken)
            if self._minute is None:
                self._minute = _minute_of(at - max(unread - 1, 0) * interval, interval)
            if minute == self._minute and unread < _MOST_UNREAD:
                return
            for each, back, count in _parts(minute, self._minute, at, interval, unread):
                if each == minute and unread < _MOST_UNREAD:
                    break
                self._add(each, recent, back, count, interval)
                self._number = recent.number - back + count
            if minute != self._minute:
                self._end()
                self._minute = minute

    def waiting(self) -> tuple[dict[str, int], list[bytes]]:
        """Returns the minutes that are not written yet, for `history_block.encoded`.

        The result contains the number of each drive, keyed by identity, and the packed minutes.
        """
        with self._sampler.flushed():
            return dict(self._table), list(self._waiting)

    def forget(self, count: int) -> None:
        """Drops the oldest minutes, which are written now. count: their number."""
        with self._sampler.flushed():
            del self._waiting[:count]
            if not self._waiting:
                self._table = {}

    def _add(
        self, minute: int, recent: RecentActivity, back: int, count: int, interval: float
    ) -> None:
        """Adds samples to a minute. back: the number of samples from the first of them on."""
        if minute != self._minute:
            self._end()
            self._minute = minute
        end = back - count
        sampled = recent.sampled(back)[: back - end]
        self._seconds += sum(sampled) * interval
        is_whole = all(sampled)
        for name, activity in self._sampler.activities.items():
            samples = recent.drive(name) if activity.drive.leaf else None
            if samples is None:
                continue
            columns = [samples.column(index, back)[:count] for index in range(4)]
            statuses = samples.statuses(back)[:count]
            if not is_whole:
                columns = [array("f", compress(column, sampled)) for column in columns]
                statuses = bytes(compress(statuses, sampled))
            self._drives.setdefault(activity.drive.identity, _Minute()).add(
                columns, statuses, interval
            )

    def _end(self) -> None:
        """Ends the current minute, and packs it."""
        minute, seconds, drives = self._minute, self._seconds, self._drives
        self._seconds, self._drives = 0.0, {}
        if minute is None or not seconds:
            return
        found = {
            identity: summary(each.columns, each.verdicts) if any(map(any, each.columns)) else IDLE
            for identity, each in drives.items()
        }
        for activity in self._sampler.activities.values():
            # A drive for which the sampler has no space would look idle.
            if len(found) >= MAX_DRIVES:
                break
            if activity.drive.leaf:
                found.setdefault(activity.drive.identity, IDLE)
        self._observe(minute, found)
        self._waiting.append(history_block.encoded_period(minute, seconds, found, self._table))
        if len(self._table) > _MOST_NAMES:
            self._waiting, self._table = [], {}
        while (
            len(self._waiting) > _MOST_WAITING or sum(map(len, self._waiting)) > _MOST_WAITING_BYTES
        ):
            del self._waiting[0]


def periods(waiting: tuple[Mapping[str, int], list[bytes]], only: str | None) -> list[Period]:
    """Returns the minutes of `MinuteRecorder.waiting`. only: as for `history_block.decoded`."""
    table, packed = waiting
    return history_block.decoded(history_block.encoded_table(table) + b"".join(packed), only)


def _minute_of(at: float, interval: float) -> int:
    """Returns the minute of a sample. It is that of the middle of its interval."""
    return int((at - interval / 2) // MINUTE_SECONDS)


def _parts(
    newest: int, open_minute: int, at: float, interval: float, unread: int
) -> Iterator[tuple[int, int, int]]:
    """Yields the minutes of the unread samples, the oldest first.

    The result contains the minute, the number of samples from its first one to the newest one, and
    the number of its samples. Samples of unknown time are those of the minute that is open.

    at: the Unix time of the newest sample.
    """
    current = min(unread, int((at - interval / 2 - newest * MINUTE_SECONDS) / interval) + 1)
    per_minute = max(round(MINUTE_SECONDS / interval), 1)
    found = [(newest, current, current)]
    minute, back = newest, current
    while back < unread:
        minute -= 1
        count = unread - back if minute == open_minute else min(per_minute, unread - back)
        back += count
        found.append((minute, back, count))
    return reversed(found)
