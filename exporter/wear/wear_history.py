"""Keeps the wear of each drive over the last 400 days, for the wear-out estimate.

The wear of a drive needs weeks to increase by one percent, and Prometheus rarely keeps data for
long enough to compute the rate.

A wear observation contains the wear values of one report of a drive. A stored observation is called
a row. A drive has one row per day (UTC). When its wear level (the used part of the rated endurance)
changes, two rows are added: the last observation of the old level, and the first one of the new
level. Other observations are dropped.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.drives.wear_counter import DAY, WearObservation, observations_of_one
from exporter.wear.wear_database import DRIVES, WearDatabase
from exporter.wear.wear_values import storable

log = logging.getLogger(__name__)

#: The age at which rows are deleted, in seconds. It covers the period of the wear-out estimate.
KEPT_SECONDS = 400 * DAY

#: The largest number of rows of a drive per day: two rows for each of four changes of the level.
#: Because of this limit, a level that alternates cannot displace the rows of a year. Three changes
#: in one day are already suspect.
ROWS_PER_DAY = 8

#: The largest number of rows of all drives that are kept in memory while the file cannot be
#: written.
_MAX_WAITING_ROWS = 20_000

#: A wear counter with smaller steps than this changes all the time. For such a counter, one row per
#: day is enough.
_COARSE_STEP_RATIO = 0.01

_MAX_KEY_CHARACTERS = 256


@dataclass(slots=True)
class _Drive:
    """The state of one drive that is needed to choose the next rows.

    row: the last row; None if the drive has no rows.
    seen: the last observation, which may be later than the last row; None before the first one.
    used: the last known wear level, as a ratio; None means unknown.
    rows_today: the number of rows on the day of the last row.
    before: the Unix time of the row before the last one; None if there is none.
    behind_since: the Unix time of the first observation that is earlier than the last row, because
        the clock was set back. None means that the clock is not behind the last row.
    """

    row: WearObservation | None = None
    seen: WearObservation | None = None
    used: float | None = None
    rows_today: int = 0
    before: float | None = None
    behind_since: float | None = None

    def after(self, seen: WearObservation) -> Iterator[WearObservation]:
        """Yields the rows to add for an observation, and records them as the last rows.

        These are no row, the observation, or the previous observation and the observation. The
        previous observation is yielded if the level has changed and it was not stored yet.
        """
        last, self.seen = self.seen, seen
        used = self.used
        self.used = used if seen.used_ratio is None else seen.used_ratio
        fine = seen.step_ratio is not None and seen.step_ratio < _COARSE_STEP_RATIO
        stepped = used not in (None, self.used) and not fine
        row = self.row
        if row is None or row.at // DAY != seen.at // DAY:
            stepped = stepped and row is not None
        elif not stepped or self.rows_today + 2 > ROWS_PER_DAY:
            return
        if stepped and row and last and row.at < last.at < seen.at:
            yield self._add(last)
        if row is None or row.at < seen.at:
            yield self._add(seen)

    def _add(self, row: WearObservation) -> WearObservation:
        same_day = self.row is not None and self.row.at // DAY == row.at // DAY
        self.rows_today = self.rows_today + 1 if same_day else 1
        self.before = self.row.at if self.row else None
        self.row = row
        return row


class WearHistory:
    """The wear of each drive over time. Only one thread at a time may use it.

    While the file cannot be written, new rows are kept in memory. They are written when the file
    can be written again.
    """

    def __init__(self, file: WearDatabase) -> None:
        self._file = file
        self._drives: dict[str, _Drive] = {}
        self._rows: list[tuple[str, WearObservation]] = []
        self._later: dict[str, float] = {}
        self._swept_day: float | None = None

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "WearHistory":
        """Returns the history that is stored in a file. A missing file is created.

        A file that is damaged or has another version is renamed, and the next access creates an
        empty file. If the file cannot be used for another reason, such as missing permissions, new
        rows are kept in memory until the file can be used. In both cases a warning is logged.

        read_only: True for a command that runs at the same time as the daemon. The file is then
            neither created, changed nor renamed.
        """
        history = cls(WearDatabase(path, read_only=read_only))
        history._file.rows("")
        return history

    def record(self, key: str, seen: WearObservation) -> bool:
        """Records an observation of a drive. Returns True if this has added a row.

        Most observations add no row. A row is added on each new day (UTC) and after a clear change
        of the wear: by at least one step of the drive's counter, if its steps are 1 % or larger. A
        day has at most 8 rows. `flush` writes the rows to the file.

        An observation may be earlier than the drive's last row. Either the clock has been set back,
        or it was ahead when that row was recorded. For a day, such observations are dropped. After
        a day of them, the clock is assumed to be correct: all rows after this observation are
        dropped, and the observation is added.

        key: identifies the drive during its whole life (`inventory.KnownDrive`).

        Raises:
            ValueError: the time of the observation is invalid.
        """
        key, seen = _name(key), storable(seen)
        drive = self._drive(key)
        if drive.row and seen.at < drive.row.at:
            if drive.behind_since is None or seen.at < drive.behind_since:
                drive.behind_since = seen.at
            if seen.at - drive.behind_since < DAY:
                return False
            drive = self._drop_later_rows(key, seen.at)
        drive.behind_since = None
        rows = [(key, row) for row in drive.after(seen)]
        self._rows += rows
        del self._rows[:-_MAX_WAITING_ROWS]
        return bool(rows)

    def flush(self) -> None:
        """Writes the new rows in one transaction, if there are any.

        It also deletes rows and drives that are too old. Call it after several calls of `record`.
        """
        if not self._rows and not self._later:
            return
        rows: dict[str, list[WearObservation]] = {}
        for key, row in self._rows:
            rows.setdefault(key, []).append(row)
        # The age of the rows is counted from the row before the last one. If the clock is wrong for
        # one row only, this row thus does not cause the deletion of a year.
        befores = {key: drive.before for key, drive in self._drives.items()}
        oldest = {
            key: None if before is None else before - KEPT_SECONDS
            for key, before in befores.items()
        }
        known = [at for at in oldest.values() if at is not None]
        day = max((row.at // DAY for _, row in self._rows), default=self._swept_day)
        sweep = min(known) if known and day != self._swept_day else None
        if self._file.write(self._later, rows, oldest, sweep):
            if self._later:
                log.warning(
                    "the clock has been behind the last rows of wear for a day; later rows of %d "
                    "drives are dropped",
                    len(self._later),
                )
            self._rows, self._later, self._swept_day = [], {}, day

    def observations(self, key: str, former_key: str = "") -> tuple[WearObservation, ...]:
        """Returns a drive's rows in the order of time, followed by its last observation.

        former_key: a key under which an earlier version stored the rows of this drive and of other
            drives. The result begins with those of its rows that fit the first row of `key`.
        """
        own = self._own_observations(_name(key))
        if not former_key or not own:
            return own
        mixed = self._file.rows(_name(former_key)) or ()
        return (*observations_of_one(mixed, own[0]), *own)

    def _own_observations(self, key: str) -> tuple[WearObservation, ...]:
        kept = self._file.rows(key) or ()
        last = self._later.get(key)
        rows = {row.at: row for row in kept if last is None or row.at <= last}
        rows |= {row.at: row for name, row in self._rows if name == key}
        drive = self._drives.get(key)
        if drive and drive.seen:
            rows[drive.seen.at] = drive.seen
        return tuple(rows[at] for at in sorted(rows))

    def close(self) -> None:
        """Writes the new rows and closes the file."""
        self.flush()
        self._file.close()

    def _drive(self, key: str) -> _Drive:
        if key in self._drives:
            return self._drives[key]
        if len(self._drives) >= DRIVES:
            del self._drives[next(iter(self._drives))]
        waiting = [row for name, row in self._rows if name == key]
        rows = [*(self._file.rows(key) or ()), *waiting]
        drive = self._drives[key] = _Drive()
        if rows:
            known = [row.used_ratio for row in rows if row.used_ratio is not None]
            drive.row = drive.seen = rows[-1]
            drive.used = known[-1] if known else None
            drive.rows_today = sum(row.at // DAY == rows[-1].at // DAY for row in rows)
            drive.before = rows[-2].at if len(rows) > 1 else None
        return drive

    def _drop_later_rows(self, key: str, at: float) -> _Drive:
        """Drops a drive's rows after the Unix time `at`, because a clock that was ahead dated them.

        Returns the new state of the drive.
        """
        self._later[key] = at
        self._rows = [(name, row) for name, row in self._rows if name != key or row.at <= at]
        self._drives[key] = _Drive(used=self._drives[key].used)
        return self._drives[key]


def _name(key: str) -> str:
    """Returns a key that SQLite accepts.

    A drive may report half a surrogate pair, which is replaced, or a long text, which is cut.
    """
    return key[:_MAX_KEY_CHARACTERS].encode("utf-8", "backslashreplace").decode()
