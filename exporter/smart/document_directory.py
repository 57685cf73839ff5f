"""Writes and reads the directory through which the agent passes poll documents to the daemon.

A poll document is the result of one poll of one drive, as JSON. The heartbeat is the agent's list
of drives, which it writes regularly. Each file is replaced atomically. The reader trusts only files
that belong to the directory's owner and that no other user can write.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.runtime import untrusted_file
from exporter.runtime.errors import LimitReached, NotAvailable, ReadError
from exporter.runtime.untrusted_file import UnusableFile
from exporter.smart.polling.poll_document import (
    LARGEST_BYTES,
    Heartbeat,
    PollDocument,
    encoded,
    file_name,
)

HEARTBEAT_FILE = "agent.json"

_SUFFIX = ".json"

#: The largest number of files that are read from the directory. Each drive has two files: the last
#: poll, and the last daily poll, which reads more logs.
_MAX_FILES = 20_000

_READABLE_BY_GROUP = 0o640


class UntrustedDocument(ReadError):
    """The directory or a file in it is not trusted: another user could have written it."""


class DocumentWriter:
    """Writes documents to a directory.

    The directory must belong to the user of this process and must not be writable for other users.
    They could otherwise choose which files a privileged process opens.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._must_lock = False
        #: File descriptor of the locked directory; -1 means that no directory is locked.
        self._lock = -1

    def hold(self) -> None:
        """Locks the directory against other writers.

        If the directory is removed, the next write creates it again and locks it again.

        Raises:
            BlockingIOError: another writer holds the lock.
            OSError: the directory cannot be created, or is not trusted. The first write that
                succeeds then locks it.
        """
        self._must_lock = True
        with self._opened():
            pass

    def close(self) -> None:
        """Releases the lock, if this writer holds it."""
        self._must_lock = False
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def write(self, document: PollDocument | Heartbeat) -> None:
        """Writes a poll document or a heartbeat (the poller's list of drives).

        It atomically replaces the earlier file.

        The document of a daily poll is also written to a second file. A missing directory is
        created.

        Raises:
            OSError: the disk is full, or the directory cannot be created, trusted or written.
        """
        if isinstance(document, Heartbeat):
            self._write(HEARTBEAT_FILE, encoded(document))
            return
        text = encoded(document)
        self._write(file_name(document.path, document.type, is_daily=False), text)
        if document.is_daily:
            self._write(file_name(document.path, document.type, is_daily=True), text)

    def write_file(self, name: str, text: bytes) -> None:
        """Atomically replaces another file of the directory. Its name must not begin as a drive's.

        Raises:
            OSError: as `write`.
        """
        self._write(name, text)

    def sweep(self, drives: set[tuple[str, str]]) -> None:
        """Removes the documents of all drives that are not in `drives`.

        drives: the drives to keep, as pairs of path and type.

        Raises:
            OSError: the directory cannot be read, or a file cannot be removed. The other files are
                removed.
        """
        kept = {file_name(*drive, is_daily=daily) for drive in drives for daily in (False, True)}
        problem: OSError | None = None
        with self._opened() as directory:
            for name in os.listdir(directory):
                if name not in kept and name.startswith(("drive-", ".drive-")):
                    try:
                        os.unlink(name, dir_fd=directory)
                    except OSError as e:
                        problem = problem or e
        if problem is not None:
            raise problem

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """Context manager that gives a file descriptor of the directory.

        The directory is created if it is missing, checked, and locked if `hold` was called.
        """
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            directory = os.open(self.directory, flags)
        except FileNotFoundError:
            self.directory.mkdir(mode=0o750, exist_ok=True)
            directory = os.open(self.directory, flags)
        try:
            found = os.fstat(directory)
            problem = _untrusted(found, (os.geteuid(),))
            if problem:
                raise PermissionError(errno.EPERM, f"{problem}: not written")
            if self._must_lock and not (
                self._lock >= 0 and os.path.samestat(os.fstat(self._lock), found)
            ):
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                before, self._lock = self._lock, os.dup(directory)
                if before >= 0:
                    os.close(before)
            yield directory
        finally:
            os.close(directory)

    def _write(self, name: str, text: bytes) -> None:
        # Readers ignore the temporary file, because its name does not end in .json.
        with self._opened() as directory:
            untrusted_file.replace(
                name, text, _READABLE_BY_GROUP, directory=directory, wait_for_disk=False
            )


class DocumentReader:
    """Reads the documents that have changed since the last read.

    names: the file names of all documents that existed at the last read.
    limit: says that there were more documents than are read; None if there were not.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._seen: dict[str, tuple[int, int, int]] = {}
        self.names: frozenset[str] = frozenset()
        self.limit: LimitReached | None = None

    def read_heartbeat(self) -> bytes:
        """Returns the contents of the heartbeat's file: the poller's list of drives.

        Raises:
            NotAvailable: there is no directory or no heartbeat.
            UntrustedDocument: the directory or the file is not trusted.
            ReadError: one of them cannot be read.
        """
        return self.read_file(HEARTBEAT_FILE)

    def read_file(self, name: str) -> bytes:
        """Returns the contents of a file of the directory.

        Raises:
            NotAvailable: there is no directory or no such file.
            UntrustedDocument: the directory or the file is not trusted.
            ReadError: one of them cannot be read.
        """
        with _Directory(self.directory) as directory:
            return directory.read(name)

    def changed(self) -> Iterator[tuple[str, bytes | ReadError]]:
        """Yields the file name of each changed document with its contents or error.

        Daily documents come first. A document that could not be read is read again by the next
        call.

        Raises:
            NotAvailable: there is no directory.
            ReadError: the directory is not trusted or cannot be read.
        """
        try:
            with _Directory(self.directory) as directory:
                yield from self._changed_in(directory)
        except NotAvailable:
            # The files of a new directory may have the inodes, times and sizes of the old ones.
            self._seen.clear()
            raise

    def read_again(self, name: str) -> None:
        """Makes the next call of `changed` yield a document again that has not changed."""
        self._seen.pop(name, None)

    def _changed_in(self, directory: "_Directory") -> Iterator[tuple[str, bytes | ReadError]]:
        names = sorted(
            (name for name in directory.names() if name.startswith("drive-")),
            key=lambda name: (".daily" not in name, name),
        )
        self.limit = None
        if len(names) > _MAX_FILES:
            where = self.directory
            self.limit = LimitReached(
                f"{where}: only {_MAX_FILES} of {len(names)} documents are read"
            )
            names = _first(names, self.names)
        self.names = frozenset(names)
        for name in names:
            try:
                version = directory.version(name)
                if self._seen.get(name) == version:
                    continue
                text = directory.read(name)
            except NotAvailable:
                # The file was removed after the directory was listed.
                self._seen.pop(name, None)
            except ReadError as e:
                self._seen.pop(name, None)
                yield name, e
            except MemoryError:
                self._seen.pop(name, None)
                yield name, ReadError(f"{name}: there is not enough memory to read it")
            else:
                self._seen[name] = version
                yield name, text
        for gone in self._seen.keys() - self.names:
            del self._seen[gone]


class _Directory:
    """Context manager that opens a directory for reading, after checking that it is trusted.

    Its owner must be root or the user of this process, and other users must not be able to write to
    it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._owner = -1

    def __enter__(self) -> "_Directory":  # noqa: PYI034  Self needs Python 3.11
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self._path, flags)
        except FileNotFoundError as e:
            raise NotAvailable(f"{self._path}: no such directory") from e
        except OSError as e:
            raise ReadError(f"{self._path}: {e.strerror}") from e
        try:
            found = os.fstat(self._descriptor)
        except OSError as e:
            os.close(self._descriptor)
            raise ReadError(f"{self._path}: {e.strerror}") from e
        problem = _untrusted(found, (0, os.geteuid()))
        if problem:
            os.close(self._descriptor)
            raise UntrustedDocument(f"{self._path}: {problem}: not trusted")
        self._owner = found.st_uid
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self._descriptor) if name.endswith(_SUFFIX)]
        except OSError as e:
            raise ReadError(f"{self._path}: {e.strerror}") from e

    def version(self, name: str) -> tuple[int, int, int]:
        """Returns a value that changes when the file is replaced.

        It is the inode number, the modification time in nanoseconds, and the size in bytes.
        """
        try:
            found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError as e:
            raise NotAvailable(f"{self._path}/{name}: gone") from e
        except OSError as e:
            raise ReadError(f"{self._path}/{name}: {e.strerror}") from e
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self, name: str) -> bytes:
        where = f"{self._path}/{name}"
        try:
            return untrusted_file.read(
                name, LARGEST_BYTES, directory=self._descriptor, refusal=self._refusal
            )
        except FileNotFoundError as e:
            raise NotAvailable(f"{where}: gone") from e
        except UnusableFile as e:
            raise UntrustedDocument(f"{where}: {e.strerror}: not trusted") from e
        except OSError as e:
            raise ReadError(f"{where}: {e.strerror}") from e

    def _refusal(self, found: os.stat_result) -> str:
        """Returns why a file with this status is not trusted; empty if it is."""
        if problem := _untrusted(found, (self._owner,)):
            return problem
        # With a second name (hard link), another user may be able to change the file. The number of
        # names is 0 if the file was replaced after it was opened.
        return "it has several names" if found.st_nlink > 1 else ""


def _first(names: Sequence[str], known: frozenset[str]) -> list[str]:
    """Returns the names up to the limit: those of the last read come first."""
    kept = frozenset(sorted(names, key=lambda name: name not in known)[:_MAX_FILES])
    return [name for name in names if name in kept]


def _untrusted(found: os.stat_result, owners: tuple[int, ...]) -> str:
    if found.st_uid not in owners:
        return f"it belongs to user {found.st_uid}"
    if stat.S_IMODE(found.st_mode) & 0o022:
        return "other users than its owner can write it"
    return ""
