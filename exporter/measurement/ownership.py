"""Runs a measurement as the daemon's user, also if root starts it."""

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
    """As root: run with the rights of the directory's owner inside the context.

    Otherwise root would leave files in the state directory that the daemon cannot read. For another
    user than root nothing changes.

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
        # The real user too: the kernel removes the parent-death signal of a program whose real and
        # effective users differ, and fio would outlive this process (prctl(2), AT_SECURE). The
        # saved user 0 allows to become root again.
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
    """As root: create the directory if it is missing, with mode 0700 and the owner of `state`.

    At the end of the context it is removed if it is empty. Its parent may belong to root.

    Raises:
        ConfigError: it cannot be created.
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
    """Create the directory and change its owner. parent: a descriptor of its parent.

    Raises:
        ConfigError: the directory could not be created, or was removed again.
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
    """Change the owner of the new directory `name` in the directory of the descriptor `parent`.

    The directory must be empty, belong to root and have mode 0700. Otherwise another user may have
    replaced it.

    Raises:
        OSError: it is another directory. Its owner does not change.
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
    """Returns user and group of a directory; None if it is root's or this process is not root."""
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
