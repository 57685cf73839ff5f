"""Runs a measurement with the rights of the daemon's user if root starts it."""

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.errors import ConfigError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def as_owner(directory: Path) -> Iterator[None]:
    """Context manager in which root has only the rights of the directory's owner.

    Without it, root would create files in the state directory that the daemon cannot read. It does
    nothing if this process does not run as root, or if root owns the directory.

    Raises:
        ConfigError: root may not change its user here.
    """
    owner = _owner(directory)
    if owner is None:
        yield
        return
    user, group = owner
    groups, before = os.getgroups(), os.getegid()
    try:
        os.setgroups(_groups(user, group))
        os.setresgid(group, group, before)
        # The real user changes too. If the real and the effective user of a program differ, the
        # kernel removes its parent-death signal (prctl(2), AT_SECURE), and fio would outlive this
        # process. The saved user stays 0, so that this process can become root again.
        os.setresuid(user, user, 0)
    except OSError as e:
        raise ConfigError(
            f"root cannot change to user {user}, who owns {directory}: {e.strerror}",
            "run this as that user",
        ) from e
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(before, before, before)
        os.setgroups(groups)


@contextmanager
def created_directory(directory: Path, state: Path) -> Iterator[None]:
    """Context manager that creates a missing directory, if this process runs as root.

    The directory gets mode 0700 and the owner of `state`. At the end of the context it is removed
    if it is empty. Its parent directory may belong to root. Nothing is created if this process does
    not run as root, or if root owns `state`.

    Raises:
        ConfigError: the directory cannot be created.
    """
    owner = _owner(state)
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
        _make(parent, directory, owner)
        try:
            yield
        finally:
            with suppress(OSError):
                os.rmdir(directory.name, dir_fd=parent)
    finally:
        os.close(parent)


def _make(parent: int, directory: Path, owner: tuple[int, int]) -> None:
    """Create the directory and change its owner.

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
    """Change the owner of a directory that root has just created.

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


def _owner(directory: Path) -> tuple[int, int] | None:
    """Returns the user ID and the group ID of a directory's owner.

    Returns None if root owns the directory, if this process does not run as root, or if the
    directory does not exist.
    """
    try:
        status = os.stat(directory)
    except OSError:
        return None
    if os.geteuid() != 0 or status.st_uid == 0:
        return None
    try:
        return status.st_uid, pwd.getpwuid(status.st_uid).pw_gid
    except KeyError:
        return status.st_uid, status.st_gid


def _groups(user: int, group: int) -> list[int]:
    try:
        return os.getgrouplist(pwd.getpwuid(user).pw_name, group)
    except KeyError:
        return [group]
