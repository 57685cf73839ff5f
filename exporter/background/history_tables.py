"""The tables of wear over time, and the SQL that fills, thins and reads them."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from exporter.diagnosis.wear_counter import WearObservation

VERSION = 1

#: 400 days and both sides of 100 steps fit; more says a counter that flaps.
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
    """Settings, checks and, in an empty file, the tables.

    Raises:
        sqlite3.Error: it is no database, a broken one, or of another version.
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
        raise sqlite3.DatabaseError(f"it is of version {version}, not {VERSION}")
    for row in connection.execute("PRAGMA integrity_check(1)").fetchall():
        if row != ("ok",):
            raise sqlite3.DatabaseError(f"it is broken: {row[0]}")
    connection.execute(f"SELECT drive, {_COLUMNS} FROM observation LIMIT 0")  # noqa: S608  ours
    connection.execute("SELECT id, key FROM drive LIMIT 0")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
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
    """By drive: forget what is later, add rows, forget what is older and the oldest of too many."""
    for key, at in later.items():
        connection.execute(
            f"DELETE FROM observation WHERE drive = {_THE_DRIVE} AND at > ?2",  # noqa: S608
            (key, at),
        )
    for key, its in added.items():
        connection.execute("INSERT OR IGNORE INTO drive (key) VALUES (?)", (key,))
        connection.executemany(
            f"INSERT OR REPLACE INTO observation (drive, {_COLUMNS})"  # noqa: S608
            f" VALUES ({_THE_DRIVE}, ?2, ?3, ?4, ?5, ?6, ?7)",
            [(key, *astuple(row)) for row in its],
        )
        connection.execute(
            f"DELETE FROM observation WHERE drive = {_THE_DRIVE} AND (at < ?2 OR at <="  # noqa: S608
            f" (SELECT at FROM observation WHERE drive = {_THE_DRIVE}"
            " ORDER BY at DESC LIMIT 1 OFFSET ?3))",
            (key, oldest.get(key), ROWS_PER_DRIVE),
        )


def sweep(connection: sqlite3.Connection, oldest: float, most: int) -> None:
    """Forget the drives of which nothing was seen since then, and the longest gone of too many."""
    connection.execute(
        "DELETE FROM observation WHERE drive IN"
        " (SELECT drive FROM observation GROUP BY drive HAVING MAX(at) < ?1"
        " UNION SELECT drive FROM (SELECT drive FROM observation"
        " GROUP BY drive ORDER BY MAX(at) DESC LIMIT -1 OFFSET ?2))",
        (oldest, most),
    )
    connection.execute("DELETE FROM drive WHERE id NOT IN (SELECT drive FROM observation)")


def rows(connection: sqlite3.Connection, key: str) -> list[tuple[Any, ...]]:
    """A drive's rows by time, each the fields of a `WearObservation`, of whatever kind."""
    return connection.execute(
        f"SELECT {_COLUMNS} FROM observation"  # noqa: S608  our own words
        f" WHERE drive = {_THE_DRIVE} ORDER BY at",
        (key,),
    ).fetchall()
