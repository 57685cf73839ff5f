"""As whom a measurement is made: as the daemon's user, also where root asks for it."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.errors import ConfigError


@contextmanager
def of_owner(directory: Path) -> Iterator[None]:
    """As root: with the rights of the directory's owner, until the end; else nothing changes.

    What root left in the daemon's state directory, the daemon could not read.

    Raises:
        ConfigError: root may not become another here.
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
        # The real user too: a program that two users run as loses the signal by which fio dies
        # with us (capabilities(7), AT_SECURE). The saved one leads back.
        os.setresuid(user, user, 0)
    except OSError as e:
        raise ConfigError(
            f"root may not go on as user {user}, who owns {directory}: {e.strerror}",
            "run this as that user",
        ) from e
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(before, before, before)
        os.setgroups(groups)


@contextmanager
def made(directory: Path, state: Path) -> Iterator[None]:
    """As root: the directory is made where it is missing, for the owner of `state` alone.

    It is taken away again where nothing is left in it. Its parent may be root's.

    Raises:
        ConfigError: it cannot be made.
    """
    owner = _owner(state)
    if owner is None or os.path.lexists(directory):
        yield
        return
    try:
        os.mkdir(directory, 0o700)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(directory, flags)
        try:
            os.fchown(descriptor, *owner)
        finally:
            os.close(descriptor)
    except OSError as e:
        raise ConfigError(f"{directory} cannot be made: {e.strerror}") from e
    try:
        yield
    finally:
        with suppress(OSError):
            os.rmdir(directory)


def _owner(directory: Path) -> tuple[int, int] | None:
    """User and group of a directory that is another's than root, for root."""
    try:
        found = os.stat(directory)
    except OSError:
        return None
    if os.geteuid() != 0 or found.st_uid == 0:
        return None
    try:
        return found.st_uid, pwd.getpwuid(found.st_uid).pw_gid
    except KeyError:
        return found.st_uid, found.st_gid


def _groups(user: int, group: int) -> list[int]:
    try:
        return os.getgrouplist(pwd.getpwuid(user).pw_name, group)
    except KeyError:
        return [group]
