"""Creates the directory of a measurement for the daemon's user, if root starts the measurement."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.runtime.errors import ConfigError
from exporter.runtime.privileges import foreign_owner

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def created_directory(directory: Path, state: Path) -> Iterator[None]:
    """Context manager that creates a missing directory, if this process runs as root.

    The directory gets mode 0700 and the owner of `state`. At the end of the context it is removed
    if it is empty. Its parent directory may belong to root. Nothing is created if this process does
    not run as root, or if root owns `state`.

    Raises:
        ConfigError: the directory cannot be created.
    """
    owner = foreign_owner(state)
    if owner is None or os.path.lexists(directory):
        yield
        return
    try:
        parent = os.open(directory.parent, _DIRECTORY)
    except OSError as e:
        if os.path.islink(directory.parent):
            hint = "name the directory that it points to"
            raise ConfigError(f"{directory.parent} is a link", hint) from e
        raise ConfigError(f"{directory} cannot be created: {e.strerror}") from e
    try:
        make(parent, directory, owner)
        try:
            yield
        finally:
            with suppress(OSError):
                os.rmdir(directory.name, dir_fd=parent)
    finally:
        os.close(parent)


def make(parent: int, directory: Path, owner: tuple[int, int]) -> None:
    """Creates the directory with mode 0700 and changes its owner. This process runs as root.

    parent: a file descriptor of the parent directory.
    owner: user ID and group ID.

    Raises:
        ConfigError: the directory could not be created, or its owner could not be changed. In the
            second case the directory is removed again.
    """
    name = directory.name
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except OSError as e:
        raise ConfigError(f"{directory} cannot be created: {e.strerror}") from e
    is_done = False
    try:
        give(parent, name, owner)
        is_done = True
    except OSError as e:
        raise ConfigError(f"{directory} cannot be created: {e.strerror}") from e
    finally:
        if not is_done:
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)


def give(parent: int, name: str, owner: tuple[int, int]) -> None:
    """Changes the owner of a directory that root has just created.

    The directory must be empty, belong to root and have mode 0700. Otherwise another user may have
    replaced it, and its owner is not changed.

    parent: a file descriptor of the parent directory.
    name: the name of the directory in its parent.
    owner: the new user ID and group ID.

    Raises:
        OSError: the directory is not as described above, or its owner cannot be changed.
    """
    descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        is_new = status.st_uid == 0 and stat.S_IMODE(status.st_mode) & 0o777 == 0o700
        if not is_new or os.listdir(descriptor):
            raise PermissionError(errno.EPERM, "another directory took its place")
        os.fchown(descriptor, *owner)
    finally:
        os.close(descriptor)
