"""Stores wear observations in an SQLite file, and handles files that cannot be used.

A wear observation contains the wear values that one report of a drive contained; it is one row of
the file. The file uses a rollback journal and full synchronisation, the defaults of SQLite. After
kill -9, a power cut, or on a full disk, a transaction is therefore either complete or absent. There
are only a few transactions per day. A write-ahead log, with two more files and shared memory, would
gain nothing.
"""

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from exporter.drives.wear_counter import WearObservation

VERSION = 1

#: The largest number of rows per drive. It is enough for 400 days with one row each, and for two
#: rows for each of 100 wear levels.
ROWS_PER_DRIVE = 1000

_SCHEMA = f"""
CREATE TABLE drive (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE observation (
    drive INTEGER NOT NULL,
    at REAL NOT NULL,
    power_on_seconds REAL,
    used_ratio REAL,
    step_ratio REAL,
    host_written_bytes INTEGER,
    nand_written_bytes INTEGER,
    PRIMARY KEY (drive, at)
) WITHOUT ROWID;
PRAGMA user_version = {VERSION}
"""

_COLUMNS = "at, power_on_seconds, used_ratio, step_ratio, host_written_bytes, nand_written_bytes"

_THE_DRIVE = "(SELECT id FROM drive WHERE key = ?1)"

Rows = Mapping[str, Sequence[WearObservation]]


def prepare(connection: sqlite3.Connection) -> None:
    """Applies SQLite settings, checks the file, and creates the tables if the file is empty.

    Raises:
        sqlite3.Error: the file is not a database, is damaged, or has another version.
    """
    for setting in ("cache_size = -128", "mmap_size = 0", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {setting}")
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    ((tables,),) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchall()
    if not version and not tables:
        with transaction(connection):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
        return
    if version != VERSION:
        raise sqlite3.DatabaseError(f"it has version {version}, not {VERSION}")
    for row in connection.execute("PRAGMA integrity_check(1)").fetchall():
        if row != ("ok",):
            raise sqlite3.DatabaseError(f"it is damaged: {row[0]}")
    connection.execute(f"SELECT drive, {_COLUMNS} FROM observation LIMIT 0")  # noqa: S608  ours
    connection.execute("SELECT id, key FROM drive LIMIT 0")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Context manager that commits all changes, or rolls them back after an exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def write(
    connection: sqlite3.Connection,
    later: Mapping[str, float],
    added: Rows,
    oldest: Mapping[str, float | None],
) -> None:
    """Deletes later rows, adds rows, and deletes old rows, in this order.

    Of the drives with added rows, the oldest rows above the limit of `ROWS_PER_DRIVE` are deleted.

    later: the Unix time after which a drive's rows are deleted, keyed by drive.
    added: the rows to add, keyed by drive.
    oldest: the Unix time before which a drive's rows are deleted, keyed by drive. It applies only
        to drives with added rows. None means that no row is too old.
    """
    for key, at in later.items():
        connection.execute(
            f"DELETE FROM observation WHERE drive = {_THE_DRIVE} AND at > ?2",  # noqa: S608
            (key, at),
        )
    for key, observations in added.items():
        connection.execute("INSERT OR IGNORE INTO drive (key) VALUES (?)", (key,))
        connection.executemany(
            f"INSERT OR REPLACE INTO observation (drive, {_COLUMNS})"  # noqa: S608
            f" VALUES ({_THE_DRIVE}, ?2, ?3, ?4, ?5, ?6, ?7)",
            [(key, *astuple(row)) for row in observations],
        )
        connection.execute(
            f"DELETE FROM observation WHERE drive = {_THE_DRIVE} AND (at < ?2 OR at <="  # noqa: S608
            f" (SELECT at FROM observation WHERE drive = {_THE_DRIVE}"
            " ORDER BY at DESC LIMIT 1 OFFSET ?3))",
            (key, oldest.get(key), ROWS_PER_DRIVE),
        )


def delete_old_rows(connection: sqlite3.Connection, oldest: float, most: int) -> None:
    """Deletes the drives without a recent row, and the oldest drives above the limit.

    oldest: the Unix time; drives without a row since this time are deleted.
    most: the largest number of drives. The drives whose last row is newest are kept.
    """
    connection.execute(
        "DELETE FROM observation WHERE drive IN"
        " (SELECT drive FROM observation GROUP BY drive HAVING MAX(at) < ?1"
        " UNION SELECT drive FROM (SELECT drive FROM observation"
        " GROUP BY drive ORDER BY MAX(at) DESC LIMIT -1 OFFSET ?2))",
        (oldest, most),
    )
    connection.execute("DELETE FROM drive WHERE id NOT IN (SELECT drive FROM observation)")


def rows(connection: sqlite3.Connection, key: str) -> list[tuple[Any, ...]]:
    """Returns a drive's rows in the order of time.

    A row contains the fields of `WearObservation`. The types of the values are not checked.
    """
    return connection.execute(
        f"SELECT {_COLUMNS} FROM observation"  # noqa: S608  our own words
        f" WHERE drive = {_THE_DRIVE} ORDER BY at",
        (key,),
    ).fetchall()


log = logging.getLogger(__name__)

#: The largest number of drives in the file.
DRIVES = 4096

#: Limit of the file's size in bytes. 4,096 drives with 1,000 rows each take about as much.
_LARGEST_BYTES = 512 << 20

_LARGEST_INTEGER = (1 << 63) - 1

#: Limit of Unix times and power-on times, in seconds. As a Unix time it is the year 5138.
_LATEST_SECONDS = 1e11

#: Limit of the used endurance as a ratio. Drives report up to 2.55.
_LARGEST_RATIO = 10.0

#: Parts of SQLite's messages for errors that are not caused by the contents of the file. SQLite's
#: error codes are not used, because Python 3.10 does not provide them.
_TEMPORARY_ERRORS = ("unable to open", "is full", "locked", "disk I/O error")


class WearDatabase:
    """The rows of each drive, in an SQLite file. An error is logged once and raises no exception.

    path: the path of the file.
    read_only: True for a command that runs at the same time as the daemon, possibly as another
        user. The file is then not created, repaired or renamed, and `write` does nothing.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._connection: sqlite3.Connection | None = None
        self._is_reported = False

    def rows(self, key: str) -> tuple[WearObservation, ...] | None:
        """Returns a drive's rows in the order of time; None if the file cannot be used."""
        with self._guarded():
            return tuple(_usable(rows(self._connect(), key)))
        return None

    def write(
        self,
        later: Mapping[str, float],
        rows: Rows,
        oldest: Mapping[str, float | None],
        sweep: float | None = None,
    ) -> bool:
        """Deletes later rows, adds rows and deletes old rows, in one transaction.

        Returns True if the transaction is complete, False if nothing was written.

        later: the Unix time after which a drive's rows are deleted, keyed by drive.
        rows: the rows to add, keyed by drive.
        oldest: the Unix time before which a drive's rows are deleted, keyed by drive. None means
            that no row is too old.
        sweep: the drives without a row since this Unix time are deleted. None means that no drive
            is deleted.
        """
        if self._read_only:
            return False
        for _ in range(2):  # the second attempt is for a new file, if the old one is damaged
            with self._guarded():
                connection = self._connect()
                with transaction(connection):
                    write(connection, later, rows, oldest)
                    if sweep is not None:
                        delete_old_rows(connection, sweep, DRIVES)
                if self._is_reported:
                    log.info("%s can be written again; nothing is lost", self._path)
                    self._is_reported = False
                return True
            if self._is_reported:
                break
        return False

    def close(self) -> None:
        """Closes the file. The next access opens it again."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            if not self._read_only:
                self._make()
            mode = "ro" if self._read_only else "rw"
            connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=1.0,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=16,
            )
            try:
                prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _make(self) -> None:
        """Creates an empty file if there is none. One created by SQLite could be read by all users.

        Raises:
            OSError: the file cannot be created.
            sqlite3.DatabaseError: there is a file, and it is too large.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.close(os.open(self._path, flags, 0o600))
        except FileExistsError:
            if self._path.stat().st_size > _LARGEST_BYTES:
                raise sqlite3.DatabaseError(f"it is larger than {_LARGEST_BYTES} bytes") from None

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as e:
            # UnicodeDecodeError is raised if SQLite's message quotes a name that is not UTF-8.
            self.close()
            if not self._read_only and not self._is_temporary(e) and self._set_aside(str(e)):
                return
            if not self._is_reported:
                meanwhile = (
                    "the wear history is not used"
                    if self._read_only
                    else "new rows of wear are kept in memory until it can be"
                )
                log.warning(
                    "%s cannot be used: %s; %s; repair the disk or the permissions",
                    self._path,
                    e,
                    meanwhile,
                )
            self._is_reported = True

    def _is_temporary(self, e: Exception) -> bool:
        """True if the cause is the disk or the permissions, and not the contents of the file."""
        if isinstance(e, OSError):
            return True
        if not isinstance(e, sqlite3.OperationalError) or self._path.is_dir():
            return False
        if "readonly" in str(e):
            # If this process has the write permissions, the contents of the file mark it as
            # read-only. This is not temporary.
            return not (os.access(self._path, os.W_OK) and os.access(self._path.parent, os.W_OK))
        return any(words in str(e) for words in _TEMPORARY_ERRORS)

    def _set_aside(self, why: str) -> bool:
        """Renames the file, so that a new one can be created. Returns False if this fails."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = self._path.with_name(f"{self._path.name}.kept-{stamp}")
        try:
            os.replace(self._path, aside)
        except OSError:
            return False
        # The old journal is renamed too: SQLite must never roll it back into the new file.
        with contextlib.suppress(OSError):
            os.replace(f"{self._path}-journal", f"{aside}-journal")
        log.warning(
            "%s is not usable: %s; renamed to %s, a new file is started",
            self._path,
            why,
            aside.name,
        )
        return True


def storable(seen: WearObservation) -> WearObservation:
    """Returns the observation with None for values that are implausible or exceed 64 bits.

    Raises:
        ValueError: the time `at` of the observation is invalid.
    """
    if _number(seen.at, _LATEST_SECONDS) is None:
        raise ValueError(f"{seen.at!r} is not a valid instant")
    return WearObservation(
        seen.at,
        _number(seen.power_on_seconds, _LATEST_SECONDS),
        _number(seen.used_ratio, _LARGEST_RATIO),
        _number(seen.step_ratio, 1.0),
        _count(seen.host_written_bytes),
        _count(seen.nand_written_bytes),
    )


def _number(value: float | None, most: float) -> float | None:
    return value if isinstance(value, float | int) and 0 <= value <= most else None


def _count(value: int | None) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= _LARGEST_INTEGER else None


def _usable(rows: Iterable[tuple[Any, ...]]) -> Iterator[WearObservation]:
    """Yields the observations with a valid time. Rows with an invalid time are left out."""
    for row in rows:
        with contextlib.suppress(ValueError):
            yield storable(WearObservation(*row))
