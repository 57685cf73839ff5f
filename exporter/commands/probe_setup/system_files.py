"""Writes the files and directories of scheduled probes.

The configuration file and the drop-in of the unit are in directories of root. The probe directory
may be below a directory of another user, who can replace files in that directory at any time. Such
a path is therefore opened one component after the other, without following links. The owner of a
directory is changed only through the descriptor of a new, empty directory.
"""

import contextlib
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.measurement import ownership
from exporter.probe import probe_file
from exporter.runtime import privileges, untrusted_file
from exporter.runtime.errors import ConfigError

#: The drop-in below the root directory, and its first line.
_DROP_IN = "etc/systemd/system/ssd-exporter.service.d/probe.conf"
_DROP_IN_HEAD = (
    "# Written by `ssd-exporter enable-probes`; `ssd-exporter disable-probes` removes it.\n"
)

#: The directory that exists where systemd manages the services (sd_booted(3)).
_BOOTED = "run/systemd/system"

#: Maximum size of the files that are read, in bytes. The packaged configuration has 12 kB.
_MAX_BYTES = 1 << 20

#: The names of the files that probes create in their directory start like this.
_PROBE_FILES = "ssd-exporter-probe-"

#: The beginnings of the lines of a drop-in that name a directory. The second kind is a comment that
#: only `disable-probes` writes. With it, a second call removes the directories after a kill.
_GRANT, _REMOVAL = "ReadWritePaths=-", "# Is being removed: "

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SetupFiles:
    """The files that enable scheduled probes: the configuration file and the drop-in of the unit.

    root: the host's root directory, as this process sees it. The drop-in is below it.
    config: the configuration file of the daemon. It need not be below `root`.
    """

    root: Path
    config: Path

    @property
    def drop_in(self) -> Path:
        """The drop-in that permits the unit to write to the probe directories."""
        return self.root / _DROP_IN

    @property
    def has_systemd(self) -> bool:
        """True if systemd manages the services of this host."""
        return (self.root / _BOOTED).is_dir()


def require_writable(files: SetupFiles) -> None:
    """Checks that this process may write the configuration file and the drop-in. Creates nothing.

    Raises:
        ConfigError: this process may not write a file.
    """
    for path in (files.config, files.drop_in):
        nearest = path.parent
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise ConfigError(f"{path} cannot be written: no permission", "run this as root")


def content_of(path: Path) -> str:
    """Returns the text of a file of root; empty if it does not exist.

    Raises:
        ConfigError: the file cannot be read, or is a link.
    """
    try:
        return untrusted_file.read(path, _MAX_BYTES).decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else e
        raise ConfigError(f"{path} cannot be read: {reason}", "run this as root") from e


def replace_content(path: Path, text: str) -> bool:
    """Replaces a file of root atomically, or removes it if the text is empty.

    The file keeps its owner and its permissions. A new file is readable for everyone. Missing
    directories are created. Returns False if the file has this text already.

    Raises:
        ConfigError: the file cannot be written.
    """
    if content_of(path) == text and (text or not os.path.lexists(path)):
        return False
    try:
        if not text:
            path.unlink()
            return True
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        status = os.stat(path, follow_symlinks=False) if os.path.lexists(path) else None
        with untrusted_file.opened_directory(path.parent) as directory:
            mode = 0o644 if status is None else stat.S_IMODE(status.st_mode)
            owner = (
                (os.geteuid(), os.getegid()) if status is None else (status.st_uid, status.st_gid)
            )
            untrusted_file.replace(path.name, text.encode(), mode, directory=directory, owner=owner)
    except OSError as e:
        raise ConfigError(f"{path} cannot be written: {e.strerror}", "run this as root") from e
    return True


def drop_in_text(directories: Sequence[Path]) -> str:
    """Returns the drop-in that permits the unit to write to these directories."""
    paths = [str(directory) for directory in directories]
    return "".join(
        (
            _DROP_IN_HEAD,
            "[Unit]\n",
            *(f"RequiresMountsFor={path}\n" for path in paths),
            "\n[Service]\n",
            *(f"{_GRANT}{path}\n" for path in paths),
        )
    )


def removal_text(directories: Sequence[Path]) -> str:
    """Returns a drop-in without settings that names the directories to be removed."""
    return _DROP_IN_HEAD + "".join(f"{_REMOVAL}{directory}\n" for directory in directories)


def granted_directories(drop_in: str) -> tuple[Path, ...]:
    """Returns the directories to which the text of a drop-in permits the unit to write."""
    return _named(drop_in, _GRANT)


def removed_directories(drop_in: str) -> tuple[Path, ...]:
    """Returns the directories that an interrupted `disable-probes` still has to remove."""
    return _named(drop_in, _REMOVAL)


def _named(drop_in: str, kind: str) -> tuple[Path, ...]:
    lines = drop_in.splitlines()
    return tuple(Path(line.removeprefix(kind)) for line in lines if line.startswith(kind))


def require_own_drop_in(path: Path) -> None:
    """Checks that there is no drop-in, or that `enable-probes` or `disable-probes` wrote it.

    Raises:
        ConfigError: somebody else wrote it, or it cannot be read.
    """
    text = content_of(path)
    if text and not text.startswith(_DROP_IN_HEAD):
        raise ConfigError(
            f"{path} was not written by enable-probes",
            "remove it, or move its other settings to another drop-in",
        )


@contextlib.contextmanager
def opened_parent(directory: Path) -> Iterator[int]:
    """Context manager that yields a descriptor of the parent of a directory.

    No component of the path may be a link: the owner of the directory with the link could change
    the link at any time.

    Raises:
        ConfigError: a component is missing or a link, or cannot be opened.
    """
    descriptor = os.open("/", _DIRECTORY)
    try:
        so_far = Path("/")
        for part in directory.parent.parts[1:]:
            so_far /= part
            try:
                below = os.open(part, _DIRECTORY, dir_fd=descriptor)
            except OSError as e:
                hint = "create it, or name another directory"
                if os.path.islink(so_far):
                    hint = f"use the path that it points to: {os.path.realpath(so_far)}"
                raise ConfigError(f"{so_far} is not a directory: {e.strerror}", hint) from e
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def create_directory(directory: Path, state: Path, *, is_ours: bool = False) -> bool:
    """Creates a private directory for the owner of the state directory.

    Returns False if the directory exists and belongs to that owner.

    is_ours: True if an earlier call may have created the directory and was killed before it changed
        the owner.

    Raises:
        ConfigError: the directory cannot be created, or another file exists at this path.
    """
    owner = privileges.foreign_owner(state)
    user = os.geteuid() if owner is None else owner[0]
    with opened_parent(directory) as parent:
        try:
            status = os.stat(directory.name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            if owner is not None:
                ownership.make(parent, directory, owner)
                return True
            try:
                os.mkdir(directory.name, 0o700, dir_fd=parent)
            except OSError as e:
                raise ConfigError(f"{directory} cannot be created: {e.strerror}") from e
            return True
        if stat.S_ISDIR(status.st_mode) and status.st_uid == user:
            return False
        if is_ours and owner is not None:
            with contextlib.suppress(OSError):
                ownership.give(parent, directory.name, owner)
                return True
    raise ConfigError(
        f"{directory} exists and is not a directory of user {user}",
        "name a directory that does not exist yet",
    )


def require_reachable(directory: Path, state: Path) -> None:
    """Checks that the daemon's user may enter the parent of a directory.

    Raises:
        ConfigError: the user may not enter the parent.
    """
    with privileges.as_owner(state):
        is_reachable = os.access(directory.parent, os.X_OK, effective_ids=True)
    if not is_reachable and directory.parent.is_dir():
        raise ConfigError(
            f"the exporter's user may not enter {directory.parent}",
            "name a directory on the same filesystem whose parents are open to all users",
        )


def require_owners(directory: Path, owners: Collection[int]) -> None:
    """Checks that all directories above a directory belong to one of these users.

    Otherwise another user could replace the directory.

    Raises:
        ConfigError: a directory belongs to another user or cannot be read. The message contains the
            first such directory.
    """
    for above in reversed(directory.parents):
        try:
            owner = os.stat(above, follow_symlinks=False).st_uid
        except OSError as e:
            raise ConfigError(f"{above} cannot be read: {e.strerror}") from e
        if owner not in owners:
            raise ConfigError(f"{above} belongs to user {owner}, not to root or the server's user")


def remove_directory(directory: Path) -> str:
    """Removes a probe directory with its probe files.

    Returns why the directory was not removed, as text for people. The text is empty if the
    directory was removed or does not exist.
    """
    try:
        with opened_parent(directory) as parent:
            status = os.stat(directory.name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                return f"{directory} is not a directory and stays"
            # With the rights of the owner, who may have replaced files by links.
            with privileges.as_owner(directory):
                names = [name for name in os.listdir(directory) if name.startswith(_PROBE_FILES)]
                for name in names:
                    probe_file.remove(directory, name)
            os.rmdir(directory.name, dir_fd=parent)
    except FileNotFoundError:
        return ""
    except (OSError, ConfigError, probe_file.UnsafeProbeFile) as e:
        reason = (e.strerror or e) if isinstance(e, OSError) else e
        return f"{directory} stays: {reason}"
    return ""
