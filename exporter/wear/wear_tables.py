"""The tables of the wear history in SQLite, and the statements that change them."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from exporter.drives.wear_counter import WearObservation

VERSION = 1

#: The largest number of rows per drive. It is enough for 400 days with one row each, and for two
#: rows for each of 100 wear levels.
ROWS_PER_DRIVE = 1000

#: The maximum number of characters of a stored key: 256 characters, each replaced by up to 6.
MAX_KEY_CHARACTERS = 1536

_TABLES = {
    "drive": "CREATE TABLE drive (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)",
    "observation": """\
CREATE TABLE observation (
    drive INTEGER NOT NULL,
    at REAL NOT NULL,
    power_on_seconds REAL,
    used_ratio REAL,
    step_ratio REAL,
    host_written_bytes INTEGER,
    nand_written_bytes INTEGER,
    PRIMARY KEY (drive, at)
) WITHOUT ROWID""",
}

#: The rows of sqlite_master in a file that this module created: type, name and definition.
_SCHEMA = sorted(
    [
        *(("table", name, definition) for name, definition in _TABLES.items()),
        ("index", "sqlite_autoindex_drive_1", ""),
    ]
)

_COLUMNS = "at, power_on_seconds, used_ratio, step_ratio, host_written_bytes, nand_written_bytes"

#: The same columns. A text or a blob, which may have hundreds of megabytes, is not read.
_NUMBERS = ", ".join(
    f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN {column} END"
    for column in _COLUMNS.split(", ")
)

_THE_DRIVE = "(SELECT id FROM drive WHERE key = ?1)"

#: Limit of the memory of SQLite in this process, in bytes. The check of the largest file takes
#: 1 MB. A file of another user can contain values of a gigabyte.
HEAP_BYTES = 32 << 20

Rows = Mapping[str, Sequence[WearObservation]]


def prepare(connection: sqlite3.Connection) -> None:
    """Applies SQLite settings, checks the file, and creates the tables if the file is empty.

    A file that another user has written may contain views, triggers, checks and computed columns,
    which SQLite evaluates when the file is used. Only a file that contains exactly the tables of
    this module is therefore used.

    Raises:
        sqlite3.Error: the file is not a database, is damaged, has other tables, or has another
            version.
        MemoryError: the file requires more memory than `HEAP_BYTES`.
    """
    for setting in (
        *("cache_size = -128", "mmap_size = 0", "cell_size_check = ON"),
        *("trusted_schema = OFF", f"hard_heap_limit = {HEAP_BYTES}"),
    ):
        connection.execute(f"PRAGMA {setting}")
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    ((count,),) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchall()
    if not version and not count:
        with transaction(connection):
            for definition in _TABLES.values():
                connection.execute(definition)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        return
    if version != VERSION:
        raise sqlite3.DatabaseError(f"it has version {version}, not {VERSION}")
    _check_tables(connection)
    for row in connection.execute("PRAGMA integrity_check(1)").fetchall():
        if row != ("ok",):
            raise sqlite3.DatabaseError(f"it is damaged: {row[0]}")


def _check_tables(connection: sqlite3.Connection) -> None:
    """Checks that the file has exactly the tables of this module.

    Raises:
        sqlite3.DatabaseError: it has others.
    """
    # The limits keep a long definition out of the memory.
    found = connection.execute(
        "SELECT type, substr(name, 1, 100), substr(ifnull(sql, ''), 1, 1000) FROM sqlite_master"
        " LIMIT 10"
    ).fetchall()
    if sorted(found) != _SCHEMA:
        raise sqlite3.DatabaseError("it has other tables, indexes, views or triggers")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Context manager that commits all changes, or rolls them back after an exception.

    kind: DEFERRED for a transaction that only reads. All its statements see the same file.
    """
    connection.execute(f"BEGIN {kind}")
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
    """Deletes the rows after `later`, adds rows, and deletes old rows, in this order.

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


def keys(connection: sqlite3.Connection, most: int) -> list[str]:
    """Returns the keys of the drives with rows, at most `most`, in the order of their creation.

    Raises: the exceptions of `prepare`, because the file may have been changed since.
    """
    with transaction(connection, "DEFERRED"):
        _check_tables(connection)
        found = connection.execute(
            "SELECT key FROM drive WHERE typeof(key) = 'text' AND length(key) <= ?1"
            " AND id IN (SELECT drive FROM observation) ORDER BY id LIMIT ?2",
            (MAX_KEY_CHARACTERS, most),
        ).fetchall()
    return [key for (key,) in found]


def rows(connection: sqlite3.Connection, key: str) -> list[tuple[Any, ...]]:
    """Returns a drive's last rows in the order of time.

    A row contains the fields of `WearObservation`. A value that is not a number is None.

    Raises: the exceptions of `prepare`, because the file may have been changed since.
    """
    with transaction(connection, "DEFERRED"):
        _check_tables(connection)
        found = connection.execute(
            f"SELECT {_NUMBERS} FROM observation"  # noqa: S608  our own words
            f" WHERE drive = {_THE_DRIVE} ORDER BY at DESC LIMIT ?2",
            (key, ROWS_PER_DRIVE),
        ).fetchall()
    return found[::-1]
