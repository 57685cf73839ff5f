"""Keeps the wear of each drive over the last year for the wear-out estimate.

A percent of wear takes weeks: no scrape shows the rate, and Prometheus rarely keeps as much data.
A drive has one row per day (UTC), and two when its wear level changes: the last observation of the
old level and the first of the new one. Other observations are dropped.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.smart.wear_database import DRIVES, WearDatabase, storable

log = logging.getLogger(__name__)

#: The period that the wear-out estimate uses.
KEPT_SECONDS = 400 * DAY

#: Limit of a drive's rows per day: both sides of four steps. A level that alternates must not push
#: a year out of the file. Three steps in a day are suspect already.
ROWS_PER_DAY = 8

#: Limit of rows of all drives that wait while the file cannot be written.
_MAX_WAITING_ROWS = 20_000

#: A counter with smaller steps changes all the time; one row per day is enough.
_COARSE_STEP_RATIO = 0.01

_MAX_KEY_CHARACTERS = 256


@dataclass(slots=True)
class _Drive:
    """The state of one drive between two polls.

    row: the last row. seen: the last observation, which may be later. used: the last known level.
    before: the instant of the row before the last one.
    behind_since: since when the clock is behind the last row.
    """

    row: WearObservation | None = None
    seen: WearObservation | None = None
    used: float | None = None
    rows_today: int = 0
    before: float | None = None
    behind_since: float | None = None

    def after(self, seen: WearObservation) -> Iterator[WearObservation]:
        """The rows to add for this observation: none, itself, or the one before and itself."""
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
    """Wear over time for each drive. For one thread at a time.

    While the file cannot be written, new rows stay in memory and are written later.
    """

    def __init__(self, file: WearDatabase) -> None:
        self._file = file
        self._drives: dict[str, _Drive] = {}
        self._rows: list[tuple[str, WearObservation]] = []
        self._later: dict[str, float] = {}
        self._swept_day: float | None = None

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "WearHistory":
        """The history in a file, which is created if missing.

        A file that is damaged, or of a later version, is renamed, a warning is logged, and an empty
        file replaces it. If the file cannot be written, a warning is logged.

        read_only: for a command beside the daemon; the file is not changed.
        """
        history = cls(WearDatabase(path, read_only=read_only))
        history._file.rows("")
        return history

    def record(self, key: str, seen: WearObservation) -> bool:
        """Record an observation of the drive with this key; True if it added a row.

        Nothing is written before `flush`. While the clock is behind the last row, nothing is
        recorded: it was set back and will catch up. After a day the later rows are dropped, because
        a clock that was ahead dated them.

        Raises:
            ValueError: the observation has an invalid date.
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
        """Write the new rows in one transaction, if there are any; after a round of polls."""
        if not self._rows and not self._later:
            return
        rows: dict[str, list[WearObservation]] = {}
        for key, row in self._rows:
            rows.setdefault(key, []).append(row)
        # The age is counted from the row before the last one, so that a clock that is wrong for one
        # round does not delete a year.
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

    def observations(self, key: str) -> tuple[WearObservation, ...]:
        """The rows of a drive in order of time, followed by the last observation."""
        key = _name(key)
        kept = self._file.rows(key) or ()
        last = self._later.get(key)
        rows = {row.at: row for row in kept if last is None or row.at <= last}
        rows |= {row.at: row for name, row in self._rows if name == key}
        drive = self._drives.get(key)
        if drive and drive.seen:
            rows[drive.seen.at] = drive.seen
        return tuple(rows[at] for at in sorted(rows))

    def close(self) -> None:
        """Write the new rows and close the file."""
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
        """Drop a drive's rows after an instant, which a clock that was ahead has dated."""
        self._later[key] = at
        self._rows = [(name, row) for name, row in self._rows if name != key or row.at <= at]
        self._drives[key] = _Drive(used=self._drives[key].used)
        return self._drives[key]


def _name(key: str) -> str:
    """A key that SQLite accepts: a drive may report half a surrogate pair, and any length."""
    return key[:_MAX_KEY_CHARACTERS].encode("utf-8", "backslashreplace").decode()
