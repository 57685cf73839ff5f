"""The directory through which the two halves speak: written whole by one, read by the other.

What is there is the old document or the new one. The reader believes only what the directory's
owner wrote, and nobody else could have.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from exporter.errors import NotAvailable, ReadError
from exporter.smart.poll_document import LARGEST_BYTES, Heartbeat, PollDocument, encoded, file_name

HEARTBEAT_FILE = "agent.json"

_SUFFIX = ".json"

#: A directory of ours has two files a drive.
_MOST_FILES = 20_000

_READABLE_BY_GROUP = 0o640


class DocumentWriter:
    """Leaves documents in a directory of ours.

    It is written only where we own it and nobody else can write it: whoever could would choose
    what a writer with rights opens.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._holds = False
        #: The directory that is locked; -1 for none.
        self._held = -1

    def hold(self) -> None:
        """Keep other writers out for the life of this process, also when it is made anew.

        Raises:
            BlockingIOError: there is another writer.
            OSError: the directory may not be made or trusted; it is held as soon as it can be.
        """
        self._holds = True
        with self._opened():
            pass

    def close(self) -> None:
        """Release the lock, if this writer holds it."""
        self._holds = False
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def write(self, document: PollDocument | Heartbeat) -> None:
        """Write one document whole; the directory is made anew if it has vanished.

        Raises:
            OSError: the directory is full, or may not be made or written.
        """
        if isinstance(document, Heartbeat):
            self._write(HEARTBEAT_FILE, encoded(document))
            return
        text = encoded(document)
        self._write(file_name(document.path, document.type, is_daily=False), text)
        if document.is_daily:
            self._write(file_name(document.path, document.type, is_daily=True), text)

    def sweep(self, drives: set[tuple[str, str]]) -> None:
        """Remove the documents of drives that are no more."""
        kept = {file_name(*drive, is_daily=daily) for drive in drives for daily in (False, True)}
        with self._opened() as directory:
            for name in os.listdir(directory):
                if name not in kept and name.startswith(("drive-", ".drive-")):
                    os.unlink(name, dir_fd=directory)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """A descriptor of the directory as it is now."""
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
                raise PermissionError(errno.EPERM, f"{problem}: not written to")
            if self._holds and not (
                self._held >= 0 and os.path.samestat(os.fstat(self._held), found)
            ):
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                before, self._held = self._held, os.dup(directory)
                if before >= 0:
                    os.close(before)
            yield directory
        finally:
            os.close(directory)

    def _write(self, name: str, text: bytes) -> None:
        # One temporary name a file, so that what a kill leaves is removed the next time. It has
        # no .json at its end, and no reader looks at it.
        temporary = f".{name}.new"
        with self._opened() as directory:
            descriptor = _created(temporary, directory)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text)
                os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                # Half a document takes room that a full directory has not.
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=directory)
                raise


def _created(name: str, directory: int) -> int:
    """A file made now: whatever has its name, a link, a pipe or a second name, is not opened."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, _READABLE_BY_GROUP, dir_fd=directory)
    except FileExistsError:
        os.unlink(name, dir_fd=directory)
        return os.open(name, flags, _READABLE_BY_GROUP, dir_fd=directory)


class DocumentReader:
    """Finds documents that have changed since it last looked; `names` are those there were."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._seen: dict[str, tuple[int, int, int]] = {}
        self.names: frozenset[str] = frozenset()

    def read_heartbeat(self) -> bytes:
        """The heartbeat's text.

        Raises:
            NotAvailable: nobody has written here.
            ReadError: the directory or the file is not to be trusted, or cannot be read.
        """
        with _Directory(self.directory) as directory:
            return directory.read(HEARTBEAT_FILE)

    def changed(self) -> Iterator[tuple[str, bytes | ReadError]]:
        """Each changed document's name with its text, or why it is refused; daily ones first.

        Raises:
            NotAvailable, ReadError: the directory, as `roll`.
        """
        with _Directory(self.directory) as directory:
            names = [name for name in directory.names() if name.startswith("drive-")]
            self.names = frozenset(names)
            for name in sorted(names, key=lambda name: (".daily" not in name, name)):
                try:
                    version = directory.version(name)
                    if self._seen.get(name) == version:
                        continue
                    self._seen[name] = version
                    yield name, directory.read(name)
                except NotAvailable:
                    # Swept between the listing and the look.
                    self._seen.pop(name, None)
                except ReadError as e:
                    yield name, e
            for gone in self._seen.keys() - self.names:
                del self._seen[gone]


class _Directory:
    """An open directory whose owner alone can write it; the owner is root or ourselves."""

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
        found = os.fstat(self._descriptor)
        problem = _untrusted(found, (0, os.geteuid()))
        if problem:
            os.close(self._descriptor)
            raise ReadError(f"{self._path}: {problem}: not believed")
        self._owner = found.st_uid
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def names(self) -> list[str]:
        names = [name for name in os.listdir(self._descriptor) if name.endswith(_SUFFIX)]
        if len(names) > _MOST_FILES:
            raise ReadError(f"{self._path}: more than {_MOST_FILES} documents")
        return names

    def version(self, name: str) -> tuple[int, int, int]:
        """What is another one when the file was replaced."""
        try:
            found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError as e:
            raise NotAvailable(f"{self._path}/{name}: gone") from e
        except OSError as e:
            raise ReadError(f"{self._path}/{name}: {e.strerror}") from e
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self, name: str) -> bytes:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        where = f"{self._path}/{name}"
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError as e:
            raise NotAvailable(f"{where}: gone") from e
        except OSError as e:
            raise ReadError(f"{where}: {e.strerror}") from e
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            problem = _untrusted(found, (self._owner,))
            if not problem and not stat.S_ISREG(found.st_mode):
                problem = "no ordinary file"
            if not problem and found.st_nlink > 1:
                # A second name elsewhere may be somebody's who can write it; none at all is left
                # where the file has been replaced meanwhile.
                problem = "it has several names"
            if not problem and found.st_size > LARGEST_BYTES:
                problem = f"larger than {LARGEST_BYTES} bytes"
            if problem:
                raise ReadError(f"{where}: {problem}: not believed")
            try:
                return file.read(LARGEST_BYTES + 1)
            except OSError as e:
                raise ReadError(f"{where}: {e.strerror}") from e


def _untrusted(found: os.stat_result, owners: tuple[int, ...]) -> str:
    if found.st_uid not in owners:
        return f"it belongs to user {found.st_uid}"
    if stat.S_IMODE(found.st_mode) & 0o022:
        return "others than its owner can write it"
    return ""
