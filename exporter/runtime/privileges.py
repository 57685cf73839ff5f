"""Gives up the rights of root for files in a directory that belongs to another user.

The state directory usually belongs to the daemon's user, and root runs commands that use it. The
owner of a directory can put a link or a database of his own there while root reads it. Root
therefore becomes the owner of the directory before it opens a file in it: a file can then cause no
more than the owner could cause himself.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter.runtime.errors import ConfigError


@contextmanager
def as_owner(directory: Path) -> Iterator[None]:
    """Context manager in which root has only the rights of the directory's owner.

    Files that are created in it belong to that owner, so that the daemon can read them. It does
    nothing if this process does not run as root, or if root owns the directory. All threads of the
    process change their user.

    Raises:
        ConfigError: root may not change its user here.
    """
    owner = foreign_owner(directory)
    if owner is None:
        yield
        return
    groups, before = os.getgroups(), os.getegid()
    try:
        _become(*owner)
    except OSError as e:
        _restore(before, groups)
        raise ConfigError(
            f"root cannot change to user {owner[0]}, who owns {directory}: {e.strerror}",
            "run this as that user",
        ) from e
    try:
        yield
    finally:
        _restore(before, groups)


@contextmanager
def as_owner_if_permitted(directory: Path) -> Iterator[None]:
    """Context manager that does the same as `as_owner`, for files that are only read.

    Root keeps its user if it may not change it, as in a container without the capability
    CAP_SETUID.
    """
    owner = foreign_owner(directory)
    groups, before = os.getgroups(), os.getegid()
    try:
        if owner is not None:
            _become(*owner)
    except OSError:
        _restore(before, groups)
        owner = None
    try:
        yield
    finally:
        if owner is not None:
            _restore(before, groups)


def foreign_owner(directory: Path) -> tuple[int, int] | None:
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


def root_problem(directory: Path) -> str:
    """Returns why a daemon that runs as root must not keep its state in a directory.

    The text is empty if the directory does not exist, or if only root can write to it. It is also
    empty if this process does not run as root. In a directory of another user, SQLite would delete
    a file of that user's choice: a rollback journal contains the name of a file that SQLite deletes
    (https://www.sqlite.org/fileformat.html#the_rollback_journal).
    """
    if os.geteuid() != 0:
        return ""
    try:
        status = os.stat(directory)
    except OSError:
        return ""
    if status.st_uid != 0:
        try:
            name = f"{pwd.getpwuid(status.st_uid).pw_name} ({status.st_uid})"
        except KeyError:
            name = str(status.st_uid)
        return f"it belongs to user {name}, and this process runs as root"
    if stat.S_IMODE(status.st_mode) & 0o022:
        return "other users can write to it, and this process runs as root"
    return ""


def foreign_parent(directory: Path) -> Path | None:
    """Returns the nearest directory above in which another user can replace `directory`.

    None if there is no such directory, or if this process does not run as root. In a directory with
    the sticky bit, such as /tmp, users cannot replace what belongs to others. The user who called
    sudo(8) counts as root, because sudo already gives this user root's rights.
    """
    if os.geteuid() != 0:
        return None
    trusted = {"0", os.environ.get("SUDO_UID", "0")}
    for parent in Path(os.path.realpath(directory)).parents:
        try:
            status = os.stat(parent)
        except OSError:
            continue
        others_write = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
        if str(status.st_uid) not in trusted or others_write:
            return parent
    return None


def _become(user: int, group: int) -> None:
    os.setgroups(_groups(user, group))
    os.setresgid(group, group, os.getegid())
    # The real user changes too. If the real and the effective user of a program differ, the kernel
    # removes its parent-death signal (prctl(2), AT_SECURE), and fio would outlive this process. The
    # saved user stays 0, so that this process can become root again.
    os.setresuid(user, user, 0)


def _restore(group: int, groups: list[int]) -> None:
    if os.geteuid() != 0:
        os.setresuid(0, 0, 0)
    if os.getegid() != group:
        os.setresgid(group, group, group)
    if os.getgroups() != groups:
        os.setgroups(groups)


def _groups(user: int, group: int) -> list[int]:
    try:
        return os.getgrouplist(pwd.getpwuid(user).pw_name, group)
    except KeyError:
        return [group]
