"""How each drive wore over the last year, as the wear-out estimate needs it.

A percent of wear takes weeks, so no scrape can show the rate, and Prometheus seldom keeps as much.
A drive leaves one row on each day (UTC), and two whenever its wear level changes: the last look
at the old level and the first at the new, for the step lies between. Everything else is forgotten.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.smart.wear_database import DRIVES, WearDatabase, storable

log = logging.getLogger(__name__)

#: As far as the wear-out estimate looks back.
KEPT_SECONDS = 400 * DAY

#: Both sides of four steps, so that a level that flaps does not push a year out of the file.
#: Three points in a day are suspect already.
ROWS_PER_DAY = 8

#: Rows that wait while the file cannot be written, over all drives.
_WAITING = 20_000

#: A counter finer than this changes all the time: one row a day tells all.
_COARSE_STEP_RATIO = 0.01

_LONGEST_KEY = 256


@dataclass(slots=True)
class _Drive:
    """What is remembered of one drive between two polls.

    row: the last row; seen: the last look, which may be later; used: the last level known.
    before: when the row before the last was made.
    behind_since: from when on the clock has stood before the last row.
    """

    row: WearObservation | None = None
    seen: WearObservation | None = None
    used: float | None = None
    rows_today: int = 0
    before: float | None = None
    behind_since: float | None = None

    def after(self, seen: WearObservation) -> Iterator[WearObservation]:
        """The rows that this look makes: none, it, or the look before and it."""
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
    """Wear over time, drive by drive. For one thread at a time.

    While the file cannot be written, what is new stays in memory and is written when it can be.
    """

    def __init__(self, file: WearDatabase) -> None:
        self._file = file
        self._drives: dict[str, _Drive] = {}
        self._rows: list[tuple[str, WearObservation]] = []
        self._later: dict[str, float] = {}
        self._swept_day: float | None = None

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "WearHistory":
        """The history in this file, which is made where there is none.

        A file that cannot be understood, or that a later version wrote, is kept aside under
        another name, said, and begun anew. One that cannot be written costs a warning.

        read_only: for a command beside the daemon: the file is left as it is, whatever it is.
        """
        history = cls(WearDatabase(path, read_only=read_only))
        history._file.rows("")
        return history

    def record(self, key: str, seen: WearObservation) -> bool:
        """Remember a report of the drive that is known by this key; True if that made a row.

        Nothing is written before `flush`. While the clock stands before the last row, nothing is
        noted: it was set back and will catch up. Once it has stood there for a day, the later
        rows are dropped, for a clock that ran ahead made them.

        Raises:
            ValueError: it is dated at no instant.
        """
        key, seen = _name(key), storable(seen)
        drive = self._drive(key)
        if drive.row and seen.at < drive.row.at:
            if drive.behind_since is None or seen.at < drive.behind_since:
                drive.behind_since = seen.at
            if seen.at - drive.behind_since < DAY:
                return False
            drive = self._turn_back(key, seen.at)
        drive.behind_since = None
        rows = [(key, row) for row in drive.after(seen)]
        self._rows += rows
        del self._rows[:-_WAITING]
        return bool(rows)

    def flush(self) -> None:
        """Write what is new, in one transaction; after a round of polls. Nothing new costs none."""
        if not self._rows and not self._later:
            return
        rows: dict[str, list[WearObservation]] = {}
        for key, row in self._rows:
            rows.setdefault(key, []).append(row)
        # Old is reckoned from the row before the last, so that a clock that is wrong for one
        # round does not cost a year.
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
                    "the clock stands before what it dated a day ago; rows of wear dated later are "
                    "dropped, for %d drives",
                    len(self._later),
                )
            self._rows, self._later, self._swept_day = [], {}, day

    def observations(self, key: str) -> tuple[WearObservation, ...]:
        """The rows of a drive, by time, and after them the last look at it."""
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
        """Write what is new and let the file go."""
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

    def _turn_back(self, key: str, at: float) -> _Drive:
        """Forget a drive's rows after this, which a clock that ran ahead has made."""
        self._later[key] = at
        self._rows = [(name, row) for name, row in self._rows if name != key or row.at <= at]
        self._drives[key] = _Drive(used=self._drives[key].used)
        return self._drives[key]


def _name(key: str) -> str:
    """A key as SQLite takes it: a drive may print half a surrogate pair, and at any length."""
    return key[:_LONGEST_KEY].encode("utf-8", "backslashreplace").decode()
