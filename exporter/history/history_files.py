"""Keeps the I/O of each drive on disk: minutes in a file per day, hours in one per month.

The files are in the folder `history` of the state directory. Events are in those of the hours.
Blocks are appended, without fsync. kill -9 loses the minutes that were not written yet, and a power
failure also what the kernel has not written. Neither damages older blocks (`history_block`). The
number of files and the size of each are limited. If a file cannot be written, one warning is
logged, the minutes wait in memory, and the next call tries again.
"""

import contextlib
import logging
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from exporter.history import history_block
from exporter.history.history_block import EVENTS, HOURS, MINUTES, Block
from exporter.history.io_summary import Period, combined_period
from exporter.history.minute_recorder import MinuteRecorder
from exporter.runtime import privileges, untrusted_file
from exporter.runtime.untrusted_file import TooLargeFile, UnusableFile

log = logging.getLogger(__name__)

#: The name of the folder in the state directory.
FOLDER = "history"

#: The largest size of a file in bytes. A day of 256 busy drives has about 5 MB.
MAX_FILE_BYTES = 16 << 20

#: The number of minutes that are written at once, and the smaller one after a bottleneck, which a
#: crash may follow. `save` is called every ten minutes. Each write costs about 15 kB: pages of
#: 4 KiB, and the journal of the file system.
_MINUTES_AT_ONCE, _MINUTES_AFTER_BOTTLENECK = 18, 8

#: The most early writes in a day. With them 24 busy drives stay below 2 MB a day.
_EARLY_WRITES = 36

#: Hours that have ended are looked for in this number of hours before the current one.
_HOURS_BACK = 24

_MINUTES_PER_HOUR, _MINUTES_PER_DAY, _MINUTE_SECONDS = 60, 1440, 60

#: The names of the files: a day or a month (UTC).
_NAME = re.compile(r"(?:minutes-(\d{4})-(\d{2})-(\d{2})|hours-(\d{4})-(\d{2}))\.io")


class HistoryFiles:
    """The files of a state directory. One thread calls `save`; any thread may call the others.

    directory (argument): the state directory.
    days: the number of days before today for which minutes are kept.
    months: the number of months before this one for which hours and events are kept.
    """

    def __init__(
        self, directory: Path, recorder: MinuteRecorder, *, days: int, months: int
    ) -> None:
        self._state_directory = directory
        self._directory = directory / FOLDER
        self._recorder = recorder
        self._days, self._months = days, months
        #: The hours that are in the files; None before they have been read.
        self._hours: set[int] | None = None
        self._is_pruned = False
        #: The day of the last early write, and the number of early writes in it.
        self._early = (0, 0)
        #: Why a file cannot be written, keyed by the begin of its name.
        self._problems: dict[str, str] = {}

    @property
    def problem(self) -> str:
        """Why a file cannot be written; empty if all can."""
        return next(iter(self._problems.values()), "")

    def save(self, now: float, *, at_end: bool = False) -> None:
        """Writes the waiting minutes if there are enough of them, and the hours that have ended.

        An error is logged once and raises no exception.

        now: the Unix time. at_end: the process ends, so all waiting minutes are written.
        """
        self._recorder.take()
        table, waiting = self._recorder.waiting()
        if waiting and (at_end or self._is_due(waiting)):
            self._guarded("minutes", partial(self._save_minutes, table, waiting))
            _, waiting = self._recorder.waiting()
        oldest = min((_index(each) for each in waiting), default=int(now // _MINUTE_SECONDS))
        if not at_end:
            self._guarded("hours", partial(self._save_hours, oldest // _MINUTES_PER_HOUR))

    def minutes(self, first: int, last: int, only: str | None = None) -> Iterator[Period]:
        """Yields the minutes of a time that are in the files, in no order.

        first, last: minutes since 1970. At most `days` + 2 files are read.
        only: the identity of a drive; None for all drives.
        """
        days = range(first // _MINUTES_PER_DAY, last // _MINUTES_PER_DAY + 1)
        for day in days[-self._days - 2 :]:
            yield from self._periods(_day_name(day), MINUTES, first, last, only)

    def hours(self, first: int, last: int, only: str | None = None) -> dict[int, Period]:
        """Returns the hours of a time that are in the files, keyed by hours since 1970.

        If an hour is there twice, because the clock was set back, the later block has all of it.
        """
        names = dict.fromkeys(_month_name(hour) for hour in (*range(first, last, 24), last))
        return {
            period.ordinal: period
            for name in list(names)[-self._months - 2 :]
            for period in self._periods(name, HOURS, first, last, only)
        }

    def bodies(self, kind: int, now: float) -> Iterator[bytes]:
        """Yields the bodies of the blocks of a kind in the files of this month and the last one."""
        hour = int(now // 3600)
        for name in dict.fromkeys((_month_name(hour - 24 * 31), _month_name(hour))):
            with self._opened(name) as (read, size):
                for block in history_block.blocks(read, size):
                    plain = history_block.body(read, block) if block.kind == kind else None
                    if plain is not None:
                        yield plain

    def append_events(self, at: float, plain: bytes) -> bool:
        """Appends events to the file of their month. Returns True if they are written."""
        minute = int(at // _MINUTE_SECONDS)
        block = history_block.encoded(EVENTS, minute, minute, plain)
        name = _month_name(minute // _MINUTES_PER_HOUR)
        return self._guarded("hours", partial(self._append, name, block))

    def _is_due(self, waiting: list[bytes]) -> bool:
        if len(waiting) >= _MINUTES_AT_ONCE:
            return True
        if len(waiting) < _MINUTES_AFTER_BOTTLENECK:
            return False
        if not any(map(history_block.has_bottleneck, waiting)):
            return False
        day = _index(waiting[-1]) // _MINUTES_PER_DAY
        count = self._early[1] + 1 if self._early[0] == day else 1
        self._early = (day, count)
        return count <= _EARLY_WRITES

    def _save_minutes(self, table: dict[str, int], waiting: list[bytes]) -> None:
        names = history_block.encoded_table(table)
        while waiting:
            day = _index(waiting[0]) // _MINUTES_PER_DAY
            count = next(
                (n for n, each in enumerate(waiting) if _index(each) // _MINUTES_PER_DAY != day),
                len(waiting),
            )
            part, waiting = waiting[:count], waiting[count:]
            indices = list(map(_index, part))
            block = history_block.encoded(
                MINUTES, min(indices), max(indices), names + b"".join(part)
            )
            self._append(_day_name(day), block)
            self._recorder.forget(count)
            if self._hours is not None:
                self._hours -= {index // _MINUTES_PER_HOUR for index in indices}

    def _save_hours(self, current: int) -> None:
        """Writes the hours that have ended. current: the first hour that has not."""
        begin = current - _HOURS_BACK
        if self._hours is None:
            self._hours = {
                block.first
                for name in dict.fromkeys((_month_name(begin), _month_name(current)))
                for block in self._blocks(name, HOURS)
            }
        self._hours = {hour for hour in self._hours if begin <= hour < current}
        for hour in range(begin, current):
            if hour in self._hours:
                continue
            first = hour * _MINUTES_PER_HOUR
            found = list(self.minutes(first, first + _MINUTES_PER_HOUR - 1))
            if found:
                whole = combined_period(hour, found)
                table: dict[str, int] = {}
                packed = history_block.encoded_period(hour, whole.seconds, whole.drives, table)
                plain = history_block.encoded_table(table) + packed
                self._append(_month_name(hour), history_block.encoded(HOURS, hour, hour, plain))
            self._hours.add(hour)

    def _guarded(self, kind: str, work: Callable[[], None]) -> bool:
        """Returns True if the work is done. kind: the begin of the names of the files."""
        try:
            work()
        except OSError as e:
            reason = e.strerror or str(e)
            if kind not in self._problems and reason not in self._problems.values():
                log.warning(
                    "%s cannot be written: %s; the last minutes are kept in memory until it can be;"
                    " repair the disk or the permissions",
                    *(self._directory, reason),
                )
            self._problems[kind] = reason
            return False
        return True

    def _append(self, name: str, block: bytes) -> None:
        """Appends a block to a file. If it cannot be written as a whole, nothing is appended.

        Raises:
            OSError: it cannot be written.
        """
        if problem := privileges.root_problem(self._state_directory):
            raise PermissionError(1, problem)
        with contextlib.suppress(FileExistsError):
            self._directory.mkdir(0o700)
        if not stat.S_ISDIR(self._directory.lstat().st_mode):
            raise UnusableFile("it is not a directory", self._directory)
        path = self._directory / name
        try:
            descriptor = untrusted_file.opened(path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            descriptor = untrusted_file.create(path, 0o600)
            self._is_pruned = False
        try:
            size = os.fstat(descriptor).st_size
            if size + len(block) > MAX_FILE_BYTES:
                raise TooLargeFile(f"{name} would be larger than {MAX_FILE_BYTES} bytes", path)
            try:
                left = memoryview(block)
                while left:
                    left = left[os.write(descriptor, left) :]
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)
        if self._problems.pop(name.partition("-")[0], "") and not self._problems:
            log.info("%s can be written again", path)
        if not self._is_pruned:
            self._prune(name)
            self._is_pruned = True

    def _prune(self, newest: str) -> None:
        """Deletes old files. Those furthest from the newest one go first.

        So a clock that was years ahead for an hour costs one file, and not all of them.
        """
        names = [name for name in os.listdir(self._directory) if _NAME.fullmatch(name)]
        # Either the clock is right now, and the others are measured from today; or it is wrong, and
        # each file that is written deletes one at most.
        for begin, most in (("minutes", self._days + 1), ("hours", self._months + 1)):
            of_kind = [name for name in names if name.startswith(begin)]
            place = _days(newest)
            of_kind.sort(key=lambda name: abs(_days(name) - place))
            for name in of_kind[most:]:
                with contextlib.suppress(OSError):
                    os.unlink(self._directory / name)

    def _periods(
        self, name: str, kind: int, first: int, last: int, only: str | None
    ) -> Iterator[Period]:
        with self._opened(name) as (read, size):
            for block in history_block.blocks(read, size):
                if block.kind != kind or block.last < first or block.first > last:
                    continue
                plain = history_block.body(read, block)
                for period in () if plain is None else history_block.decoded(plain, only):
                    if first <= period.ordinal <= last:
                        yield period

    def _blocks(self, name: str, kind: int) -> list[Block]:
        with self._opened(name) as (read, size):
            return [each for each in history_block.blocks(read, size) if each.kind == kind]

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Callable[[int, int], bytes], int]]:
        """Context manager that yields a function that reads a file, and the size of the file.

        A file that cannot be read counts as empty.
        """
        try:
            descriptor = untrusted_file.opened(self._directory / name, os.O_RDONLY)
        except OSError:
            yield (lambda _offset, _count: b""), 0
            return
        try:
            size = min(os.fstat(descriptor).st_size, MAX_FILE_BYTES)

            def read(offset: int, count: int) -> bytes:
                try:
                    return os.pread(descriptor, count, offset)
                except OSError:
                    return b""

            yield read, size
        finally:
            os.close(descriptor)


def _index(packed: bytes) -> int:
    """Returns the minute of a packed period."""
    return int.from_bytes(packed[:4], "little")


def _day_name(day: int) -> str:
    return _named("minutes-%Y-%m-%d.io", day * 86400)


def _month_name(hour: int) -> str:
    return _named("hours-%Y-%m.io", hour * 3600)


def _named(form: str, unix_time: float) -> str:
    return time.strftime(form, time.gmtime(min(max(unix_time, 0), untrusted_file.MAX_UNIX_TIME)))


def _days(name: str) -> int:
    """Returns about how many days a file is after the year 0; exact within a month."""
    found = _NAME.fullmatch(name)
    parts = [int(part) for part in found.groups() if part] if found else [0, 0]
    year, month, *day = parts
    return year * 372 + month * 31 + (day[0] if day else 0)
