"""Finds the running MySQL and MariaDB servers with their directories, mounts and control groups.

The sources are /proc/<pid>/comm, cmdline, cgroup and mountinfo
(https://man7.org/linux/man-pages/man5/proc_pid.5.html) and the option files of the servers, such as
/etc/my.cnf.

Command lines and option files may contain passwords. Therefore only the options in
`mysql_directories.KNOWN_OPTIONS` are kept, and everything else is discarded.

Any user can start a process with the name of a server, and name any path on its command line.
Therefore only regular files that the server can read are read, and only directories that it can
list are listed. What is read of one server and of all servers is limited.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter import untrusted_file
from exporter.errors import Faults, LimitReached, NotAvailable, ParseError, ReadError
from exporter.linux import files, mountinfo, mysql_directories, mysqld_processes
from exporter.linux.files import Parsed
from exporter.linux.mountinfo import Mount
from exporter.linux.mysql_directories import (
    OptionFiles,
    OptionInclude,
    Options,
    OptionSetting,
    RoleDirectory,
)
from exporter.linux.mysqld_processes import Credentials, ServerProcess
from exporter.untrusted_file import TooLargeFile, UnusableFile

#: The maximum size of an option file, in bytes. Usual option files have a few KiB.
_MAX_OPTION_FILE_BYTES = 256 << 10
#: The maximum size of all option files of one server, and of all servers, in bytes.
_MAX_SERVER_OPTION_BYTES = 1 << 20
_MAX_ALL_OPTION_BYTES = 8 << 20
#: The maximum number of files that the option files of one server, and of all servers, may include.
_MAX_SERVER_INCLUDES = 64
_MAX_ALL_INCLUDES = 512
#: The maximum number of names in the directories that the option files of one server, and of all
#: servers, include. Usual directories have fewer than 20. Listing 20,000 names takes 10 ms.
_MAX_SERVER_NAMES = 2_000
_MAX_ALL_NAMES = 20_000

#: The maximum size of the mounts of a mount namespace other than that of process 1, in bytes, and
#: of all of them together. A container has a few KiB, and any user can create a namespace with
#: 100,000 mounts.
_MAX_NAMESPACE_BYTES = 1 << 20
_MAX_ALL_NAMESPACE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A running MySQL or MariaDB server.

    pid: the process ID.
    cgroup: the path of its control group in the cgroup v2 hierarchy. For a process in a user slice
        it is that of the slice, because the user chooses the names of the groups below. None if it
        is unknown, or if the host uses only cgroup v1.
    mounts: the mounts, as the server sees them, that contain its directories.
    directories: the directories in which the server stores data. The paths are those that the
        server sees.
    port: the TCP port. None for a server of a user, who may choose another one at each start, and
        if it is unknown: for a server in a container whose command line does not contain it.
    is_of_user: as in `mysqld_processes.ServerCandidate`.
    uid: the ID of the user of the process; None if it is unknown.
    """

    pid: int
    cgroup: str | None
    mounts: tuple[Mount, ...]
    directories: tuple[RoleDirectory, ...]
    port: int | None = None
    is_of_user: bool = False
    uid: int | None = None


def read(proc: Path, root: Path, host_mounts: Sequence[Mount]) -> Parsed[tuple[MysqlServer, ...]]:
    """Returns the running servers, at most 64. See `mysqld_processes` for their selection.

    Never raises: malformed mounts and option files add exceptions to `Parsed.faults`, and so does
    each limit that is reached. The option files of a server are read only if its root filesystem is
    that of the host. The option files of a server in a container are not accessible, so only the
    options on its command line are used.

    root: the directory at which the host's root filesystem is mounted for this process.
    host_mounts: the mounts of the host.
    """
    found = mysqld_processes.find_server_processes(proc)
    faults = Faults(found.faults)
    by_namespace: dict[bytes, list[ServerProcess]] = {}
    keys: dict[int, bytes] = {}
    for process in found.value:
        key = keys[process.pid] = mountinfo.read_first_line(proc, process.pid)
        by_namespace.setdefault(key, []).append(process)
    host_key = mountinfo.read_first_line(proc, 1)
    host_root = mountinfo.mount_containing(host_mounts, "/")
    option_files = OptionFileReader(root)
    namespaces = _NamespaceReader(proc)
    mounts_of: dict[bytes, Sequence[Mount]] = {}
    if host_key and host_mounts:
        mounts_of[host_key] = host_mounts
    servers: list[MysqlServer] = []
    # In the order of their selection, so that the processes of users get what remains of a limit.
    for process in found.value:
        key = keys[process.pid]
        if key not in mounts_of:
            pids = [each.pid for each in by_namespace[key]]
            mounts_of[key] = namespaces.read(pids, faults)
        if mounts := mounts_of[key]:
            shares_root = _is_same_root(mountinfo.mount_containing(mounts, "/"), host_root)
            server_root = root if shares_root else None
            servers.append(_server(process, server_root, mounts, option_files, faults))
    servers.sort(key=lambda server: server.pid)
    return Parsed(tuple(servers), faults.listed())


class OptionBudget:
    """The option files that may still be read.

    size_bytes: their total size.
    includes: the number of files that they may include.
    names: the number of names in the directories that they include.
    whole: the budget of all servers, of which this one is a part.
    """

    def __init__(
        self,
        size_bytes: int = _MAX_SERVER_OPTION_BYTES,
        includes: int = _MAX_SERVER_INCLUDES,
        names: int = _MAX_SERVER_NAMES,
        whole: "OptionBudget | None" = None,
    ) -> None:
        self._whole = whole
        self.size_bytes: int = size_bytes if whole is None else min(size_bytes, whole.size_bytes)
        self.includes: int = includes if whole is None else min(includes, whole.includes)
        self.names: int = names if whole is None else min(names, whole.names)

    def subtract(self, *, size_bytes: int = 0, includes: int = 0, names: int = 0) -> None:
        """Subtract what was read, also from the whole."""
        self.size_bytes -= size_bytes
        self.includes -= includes
        self.names -= names
        if self._whole is not None:
            self._whole.subtract(size_bytes=size_bytes, includes=includes, names=names)


class OptionFileReader:
    """Reads the option files of all servers in one search.

    root: the directory at which the host's root filesystem is mounted for this process.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._whole = OptionBudget(_MAX_ALL_OPTION_BYTES, _MAX_ALL_INCLUDES, _MAX_ALL_NAMES)
        #: The names in the directories that were listed. The key contains the credentials, because
        #: another server may not be permitted to list the directory.
        self._listed: dict[tuple[str, Credentials | None], tuple[str, ...]] = {}

    def read(self, sources: OptionFiles, credentials: Credentials | None) -> Parsed[Options]:
        """Returns the options in the option files of one server and in the files they include.

        A later setting overrides an earlier one. Included files cannot include further files. A
        file that is absent or that the server cannot read is treated as empty. Never raises:
        malformed lines, oversized files and reached limits add exceptions to `Parsed.faults`.

        sources: the option files of the server.
        credentials: those of the server. None means that they are unknown, and that only files
            that every user can read are read.
        """
        return _ServerReader(
            self._root, sources.suffix, credentials, OptionBudget(whole=self._whole), self._listed
        ).read(sources)


class _ServerReader:
    """Reads the option files of one server."""

    def __init__(
        self,
        root: Path,
        suffix: str,
        credentials: Credentials | None,
        budget: OptionBudget,
        listed: dict[tuple[str, Credentials | None], tuple[str, ...]],
    ) -> None:
        self._root = root
        self._suffix = suffix
        self._credentials = credentials
        self._budget = budget
        self._listed = listed
        self._faults = Faults()

    def read(self, sources: OptionFiles) -> Parsed[Options]:
        options: dict[str, str | bool] = {}
        budget = self._budget
        for path in sources.paths:
            for item in self._items(path):
                if isinstance(item, OptionSetting):
                    options[item.name] = item.value
                    continue
                too_many = LimitReached(f"{path}: too many included files; the rest is not read")
                if budget.includes <= 0:
                    self._faults.add(too_many)
                    break
                included_paths = self._included_paths(item)
                if len(included_paths) > budget.includes:
                    self._faults.add(too_many)
                included_paths = included_paths[: budget.includes]
                # A line costs at least one, so that lines which include nothing are limited too.
                budget.subtract(includes=max(1, len(included_paths)))
                for included_path in included_paths:
                    for inner in self._items(included_path):
                        if isinstance(inner, OptionSetting):
                            options[inner.name] = inner.value
        return Parsed(options, self._faults.listed())

    def _items(self, path: str) -> tuple[OptionSetting | OptionInclude, ...]:
        budget, faults = self._budget, self._faults
        limit = max(min(_MAX_OPTION_FILE_BYTES, budget.size_bytes), 0)
        try:
            file = files.path_below(self._root, files.resolve_symlinks(self._root, path))
            content = untrusted_file.read_named(file, limit, self._refusal)
        except TooLargeFile:
            faults.add(
                LimitReached(f"{path}: not read: it is larger than the remaining {limit} bytes")
            )
            return ()
        except UnusableFile as e:
            faults.add(ParseError(f"{path}: not read: {e.strerror}"))
            return ()
        # The file is absent or cannot be read. ValueError means that the path has a null byte.
        except (OSError, ValueError):
            return ()
        budget.subtract(size_bytes=len(content))
        text = content.decode("utf-8", "backslashreplace")
        parsed = mysql_directories.parse_option_file(text, self._suffix)
        faults.extend(type(fault)(f"{path}: {fault}") for fault in parsed.faults)
        return parsed.value

    def _included_paths(self, include: OptionInclude) -> tuple[str, ...]:
        if not include.is_directory:
            return (include.path,)
        directory = files.resolve_symlinks(self._root, include.path)
        key = directory, self._credentials
        if key not in self._listed:
            self._listed[key] = self._option_names(include.path, directory)
        return tuple(f"{include.path.rstrip('/')}/{name}" for name in self._listed[key])

    def _option_names(self, path: str, directory: str) -> tuple[str, ...]:
        """Returns the names of the option files in a directory."""
        limit = max(self._budget.names, 0)
        try:
            names = untrusted_file.list_named(
                files.path_below(self._root, directory), limit, self._refusal
            )
        except TooLargeFile:
            self._budget.subtract(names=limit)
            self._faults.add(
                LimitReached(f"{path}: not read: it has more than the remaining {limit} names")
            )
            return ()
        except (OSError, ValueError):
            return ()
        # A directory costs at least one, so that empty ones are limited as well.
        self._budget.subtract(names=max(1, len(names)))
        return tuple(name for name in names if name.endswith(".cnf"))

    def _refusal(self, status: os.stat_result) -> str:
        if not may_read(self._credentials, status):
            # As if this process had no permission either.
            raise PermissionError
        return ""


def may_read(credentials: Credentials | None, status: os.stat_result) -> bool:
    """Returns True if a server can read a file or a directory with this status.

    Access control lists (acl(5)) are not considered.

    credentials: those of the server; None if they are unknown.
    """
    if status.st_mode & stat.S_IROTH:
        return True
    if credentials is None:
        return False
    if credentials.uid in (0, status.st_uid):
        return True
    return bool(status.st_mode & stat.S_IRGRP) and status.st_gid in credentials.groups


class _NamespaceReader:
    """Reads the mounts of mount namespaces, up to a total size."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._remaining_bytes = _MAX_ALL_NAMESPACE_BYTES

    def read(self, pids: Sequence[int], faults: Faults) -> Sequence[Mount]:
        """Returns the mounts of a namespace; empty if they are too large or not readable.

        pids: the processes in the namespace. The first one that has not ended is used.
        """
        for pid in pids:
            limit = min(_MAX_NAMESPACE_BYTES, self._remaining_bytes)
            try:
                text = files.read(self._proc / str(pid) / "mountinfo", limit)
            except LimitReached as e:
                faults.add(e)
                self._remaining_bytes -= limit
                return ()
            except (NotAvailable, ReadError):
                continue
            self._remaining_bytes -= len(text)
            parsed = mountinfo.parse(text)
            faults.extend(parsed.faults)
            return parsed.value
        return ()


def _server(
    process: ServerProcess,
    root: Path | None,
    mounts: Sequence[Mount],
    option_files: OptionFileReader,
    faults: Faults,
) -> MysqlServer:
    """Returns a server. `root` is None if its root filesystem is not that of the host."""
    options: dict[str, str | bool] = {}
    if root is not None:
        sources = mysql_directories.parse_option_file_arguments(process.argv)
        parsed = option_files.read(sources, process.credentials)
        options.update(parsed.value)
        faults.extend(parsed.faults)
    options.update(mysql_directories.parse_arguments(process.argv))
    found = mysql_directories.role_directories(options)
    faults.extend(found.faults)
    directories = found.value
    if root is not None:
        directories = tuple(
            RoleDirectory(item.role, files.resolve_symlinks(root, item.directory))
            for item in directories
        )
    containing = (mountinfo.mount_containing(mounts, item.directory) for item in directories)
    kept = tuple(dict.fromkeys(mount for mount in containing if mount is not None))
    is_port_known = (root is not None or "port" in options) and not process.is_of_user
    port = mysql_directories.server_port(options) if is_port_known else None
    group = None if process.cgroup is None else mysqld_processes.user_slice(process.cgroup)
    return MysqlServer(
        process.pid,
        group or process.cgroup,
        kept,
        directories,
        port,
        process.is_of_user,
        None if process.credentials is None else process.credentials.uid,
    )


def _is_same_root(one: Mount | None, other: Mount | None) -> bool:
    return (
        one is not None
        and other is not None
        and (one.number, one.root) == (other.number, other.root)
    )
