"""Stores wear observations in an SQLite file, and handles files that cannot be used.

A wear observation contains the wear values of one report of a drive. It is one row of the file. The
file uses a rollback journal and full synchronisation, the defaults of SQLite. After kill -9, a
power cut, or on a full disk, a transaction is therefore either complete or absent. There are only a
few transactions per day. A write-ahead log, with two more files and shared memory, would gain
nothing.
"""

import contextlib
import errno
import logging
import mmap
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TypeVar

from exporter.drives.wear_counter import WearObservation
from exporter.runtime import kept_copy, privileges, untrusted_file
from exporter.runtime.untrusted_file import UnusableFile
from exporter.wear import wear_tables
from exporter.wear.wear_tables import Rows
from exporter.wear.wear_values import usable

log = logging.getLogger(__name__)

_Value = TypeVar("_Value")

#: The name of the file in the state directory.
HISTORY_FILE = "history.sqlite"

#: The largest number of drives in the file.
DRIVES = 4096

#: Limit of the file's size in bytes. 4,096 drives with 1,000 rows each take about as much.
_LARGEST_BYTES = 512 << 20

#: Limit of the copy that a command of root reads, in bytes. 1,000 drives take as much in a year.
_LARGEST_COPY_BYTES = 64 << 20

#: Limit of the work of one call, in instructions of SQLite's virtual machine. The check of the
#: largest file takes about 70 million.
_MAX_INSTRUCTIONS = 500_000_000

#: Number of instructions between two calls of the progress handler.
_INSTRUCTIONS_PER_CALL = 1_000_000

#: The files beside a database that SQLite opens.
_COMPANIONS = ("-journal", "-wal", "-shm")

#: The last bytes of a rollback journal that contains the name of a super-journal. SQLite deletes
#: the file with this name. Only a transaction over several databases creates such a journal
#: (https://www.sqlite.org/fileformat.html#the_rollback_journal, pager.c).
_SUPER_JOURNAL_END = bytes.fromhex("d9d505f920a163d7")

#: Parts of SQLite's messages for errors that are not caused by the contents of the file. SQLite's
#: error codes are not used, because Python 3.10 does not provide them.
_TEMPORARY_ERRORS = ("unable to open", "is full", "locked", "disk I/O error")

#: The place of the write version in the file, and the latest one (sqlite.org/fileformat2.html).
_WRITE_VERSION_OFFSET = 18
_LATEST_WRITE_VERSION = b"\x02"

#: A file counts as damaged if this number of accesses in a row fail, each with a new connection.
_ATTEMPTS = 2

#: What the log advises if the file cannot be used for the moment.
_REPAIR = "repair the disk or the permissions"
_FREE_MEMORY = "free memory, or raise the limit of this process"


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
        #: Device and inode of the file that the connection has opened.
        self._opened_file: tuple[int, int] | None = None
        self._is_reported = False
        #: True if the last access has renamed the file.
        self._was_set_aside = False
        #: True if the last access failed as with a damaged file, and the next one must confirm it.
        self._is_doubted = False
        #: The instructions of the current call, in units of `_INSTRUCTIONS_PER_CALL`.
        self._progress = 0

    def rows(self, key: str) -> tuple[WearObservation, ...] | None:
        """Returns a drive's rows in the order of time; None if the file cannot be used."""
        return self._read(lambda connection: usable(wear_tables.rows(connection, key)))

    def keys(self) -> tuple[str, ...] | None:
        """Returns the keys of all drives with rows; None if the file cannot be used."""
        return self._read(lambda connection: wear_tables.keys(connection, DRIVES))

    def write(
        self,
        later: Mapping[str, float],
        rows: Rows,
        oldest: Mapping[str, float | None],
        sweep: float | None = None,
    ) -> bool:
        """Deletes the rows after `later`, adds `rows`, and deletes old rows, in one transaction.

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
        for _ in range(_ATTEMPTS + 1):  # the last one is for a new file, if the old one is damaged
            with self._guarded():
                connection = self._connect()
                with wear_tables.transaction(connection):
                    wear_tables.write(connection, later, rows, oldest)
                    if sweep is not None:
                        wear_tables.delete_old_rows(connection, sweep, DRIVES)
                if self._is_reported:
                    log.info("%s can be written again; nothing is lost", self._path)
                    self._is_reported = False
                return True
            if not self._is_doubted and not self._was_set_aside:
                break
        return False

    def close(self) -> None:
        """Closes the file. The next access opens it again."""
        if self._connection is not None:
            connection, self._connection, self._opened_file = self._connection, None, None
            connection.close()

    def _read(
        self, values: Callable[[sqlite3.Connection], Iterable[_Value]]
    ) -> tuple[_Value, ...] | None:
        for _ in range(_ATTEMPTS):
            with self._guarded(), self._as_reader() as copy:
                return tuple(values(self._connect(copy)))
            if not self._is_doubted:
                break
        return None

    @contextlib.contextmanager
    def _as_reader(self) -> Iterator[IO[bytes] | None]:
        """Context manager in which a command of root has the rights of the directory's owner.

        It yields a new empty file of root that this owner can read, but neither change nor replace.
        Otherwise it yields None. The daemon does not need it: it does not run as root in a
        directory of another user.
        """
        owner = privileges.foreign_owner(self._path.parent) if self._read_only else None
        if owner is None:
            yield None
            return
        if self._connection is not None:
            with privileges.as_owner_if_permitted(self._path.parent):
                yield None
            return
        with tempfile.NamedTemporaryFile(prefix="ssd-exporter-") as copy:
            with contextlib.suppress(PermissionError):
                os.fchown(copy.fileno(), 0, owner[1])
                os.fchmod(copy.fileno(), 0o640)
            with privileges.as_owner_if_permitted(self._path.parent):
                yield copy

    def _connect(self, copy: IO[bytes] | None = None) -> sqlite3.Connection:
        """Returns the connection.

        copy: an empty file. If it is given, SQLite reads a copy of the file. The owner of the file
            could make SQLite wait for ever: with a pipe in its place, or with a lease (fcntl(2)).
            A copy that was made during a transaction may be damaged, and is then not used.
        """
        if self._connection is not None and copy is None and self._is_replaced():
            self.close()
        if self._connection is None:
            if not self._read_only:
                if problem := privileges.root_problem(self._path.parent):
                    raise PermissionError(errno.EPERM, problem)
                self._make()
            if copy is not None:
                copy.write(untrusted_file.read(self._path, _LARGEST_COPY_BYTES))
                copy.flush()
                self._connection = self._opened(Path(copy.name), "mode=ro&immutable=1")
                return self._connection
            self._check()
            mode = "ro" if self._read_only else "rw"
            self._opened_file = _identity(self._path)
            self._connection = self._opened(self._path, f"mode={mode}")
        return self._connection

    def _is_replaced(self) -> bool:
        """True if a person has put another file in the place of the one that is open."""
        return self._opened_file is not None and self._opened_file != _identity(self._path)

    def _opened(self, path: Path, options: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}",
            uri=True,
            timeout=1.0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=16,
        )
        try:
            connection.set_progress_handler(self._has_worked_too_long, _INSTRUCTIONS_PER_CALL)
            wear_tables.prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _make(self) -> None:
        """Creates an empty file if there is none. One created by SQLite could be read by all users.

        Raises:
            OSError: the file cannot be created.
        """
        with contextlib.suppress(FileExistsError):
            os.close(untrusted_file.create(self._path, 0o600))

    def _check(self) -> None:
        """Checks the files that SQLite opens.

        Raises:
            OSError: there is no file, or its status cannot be read.
            sqlite3.DatabaseError: one of the files is not a regular file, or is too large. Or
                SQLite would delete a further file.
        """
        for path in (self._path, *(Path(f"{self._path}{suffix}") for suffix in _COMPANIONS)):
            try:
                untrusted_file.check(path, _LARGEST_BYTES)
            except UnusableFile as e:
                raise sqlite3.DatabaseError(
                    e.strerror if path == self._path else f"{path.name}: {e.strerror}"
                ) from None
            except FileNotFoundError:
                if path == self._path:
                    raise
        journal = f"{self._path}-journal"
        with contextlib.suppress(FileNotFoundError):
            length = len(_SUPER_JOURNAL_END)
            if untrusted_file.read_part(journal, -length, length) == _SUPER_JOURNAL_END:
                raise sqlite3.DatabaseError("its journal names another file, to be deleted")

    def _has_worked_too_long(self) -> bool:
        self._progress += 1
        return self._progress * _INSTRUCTIONS_PER_CALL > _MAX_INSTRUCTIONS

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        self._progress, self._was_set_aside = 0, False
        try:
            yield
            self._is_doubted = False
        except (sqlite3.Error, OSError, UnicodeDecodeError, MemoryError) as e:
            # UnicodeDecodeError is raised if SQLite's message quotes a name that is not UTF-8.
            why, advice = str(e), _REPAIR
            is_temporary = self._is_temporary(e)
            if isinstance(e, MemoryError):
                why = "it requires too much memory"
                if is_temporary:
                    why, advice = "there is not enough memory", _FREE_MEMORY
            elif isinstance(e, OSError) and e.strerror:
                why = e.strerror
            self.close()
            self._is_doubted = not is_temporary and not self._is_doubted
            if self._is_doubted:
                # SQLite also calls a file damaged of which one read has failed.
                return
            if not self._read_only and not is_temporary:
                try:
                    self._set_aside(why)
                except OSError as failure:
                    why = f"{why}; it cannot be set aside: {failure.strerror or failure}"
                else:
                    self._was_set_aside = True
                    return
            if not self._is_reported:
                meanwhile = (
                    "the wear history is not used"
                    if self._read_only
                    else "new rows of wear are kept in memory until it can be"
                )
                log.warning("%s cannot be used: %s; %s; %s", *(self._path, why, meanwhile, advice))
            self._is_reported = True

    def _is_temporary(self, e: Exception) -> bool:
        """True if the cause is the disk, the permissions or the memory, and not the contents."""
        if isinstance(e, OSError):
            return True
        if isinstance(e, MemoryError):
            return not self._requires_too_much_memory()
        if _is_short_of_memory():
            # SQLite may then report another error, as of a damaged file.
            return True
        if not isinstance(e, sqlite3.OperationalError) or self._path.is_dir():
            return False
        if "readonly" in str(e):
            # SQLite opens a file read-only, too, if opening it for writing failed for any reason.
            return not self._is_marked_read_only()
        return any(words in str(e) for words in _TEMPORARY_ERRORS)

    def _is_marked_read_only(self) -> bool:
        """True if the contents of the file say that this version of SQLite must not write to it."""
        try:
            version = untrusted_file.read_part(self._path, _WRITE_VERSION_OFFSET, 1)
        except OSError:
            return False
        return version > _LATEST_WRITE_VERSION

    def _requires_too_much_memory(self) -> bool:
        """True if SQLite's limit of memory was reached, and not that of this process.

        SQLite allocates no more for a value than the size of the file. So a file below the limit
        cannot be the cause. With a larger one, this process must have as much memory as the limit.
        """
        try:
            if os.stat(self._path, follow_symlinks=False).st_size < wear_tables.HEAP_BYTES:
                return False
            mmap.mmap(-1, wear_tables.HEAP_BYTES).close()
        except (OSError, MemoryError):
            return False
        return True

    def _set_aside(self, why: str) -> None:
        """Renames the file, so that a new one can be created.

        The old journal is renamed too: SQLite must never roll it back into the new file.

        Raises:
            OSError: the file cannot be renamed, or there are too many kept copies.
        """
        aside = kept_copy.set_aside(self._path, _COMPANIONS)
        log.warning(
            "%s is not usable: %s; renamed to %s, a new file is started; `ssd-exporter merge-wear`"
            " merges the rows of a copy that is not damaged",
            *(self._path, why, aside.name),
        )


def _is_short_of_memory() -> bool:
    """True if this process cannot get a megabyte."""
    try:
        mmap.mmap(-1, 1 << 20).close()
    except (OSError, MemoryError):
        return True
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Returns the device and the inode of a file; None if there is none."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino
