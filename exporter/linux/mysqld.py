"""Finds the running MySQL and MariaDB servers with their directories, mounts and control groups.

The sources are /proc/<pid>/comm, cmdline, cgroup and mountinfo
(https://man7.org/linux/man-pages/man5/proc_pid.5.html) and the option files of the servers, such as
/etc/my.cnf.

Command lines and option files may contain passwords. Therefore only the options in
`mysql_directories.KNOWN_OPTIONS` are kept, and everything else is discarded.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import Faults, LimitReached, NotAvailable, ParseError, ReadError, SourceError
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
from exporter.linux.mysqld_processes import ServerProcess

#: The maximum size of an option file, in bytes. Usual option files have a few KiB.
_MAX_OPTION_FILE_BYTES = 256 << 10
#: The maximum size of all option files of one server, and of all servers, in bytes.
_MAX_SERVER_OPTION_BYTES = 1 << 20
_MAX_ALL_OPTION_BYTES = 8 << 20
#: The maximum number of files that the option files of one server, and of all servers, may include.
_MAX_SERVER_INCLUDES = 64
_MAX_ALL_INCLUDES = 512

#: The maximum size of the mounts of a mount namespace other than that of process 1, in bytes, and
#: of all of them together. A container has a few KiB, and any user can create a namespace with
#: 100,000 mounts.
_MAX_NAMESPACE_BYTES = 1 << 20
_MAX_ALL_NAMESPACE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A running MySQL or MariaDB server.

    pid: the process ID.
    cgroup: the path of its control group in the cgroup v2 hierarchy. None if it is unknown, or if
        the host uses only cgroup v1.
    mounts: the mounts, as the server sees them, that contain its directories.
    directories: the directories in which the server stores data. The paths are those that the
        server sees.
    port: the TCP port. None if it is unknown: for a server in a container whose command line does
        not contain it.
    """

    pid: int
    cgroup: str | None
    mounts: tuple[Mount, ...]
    directories: tuple[RoleDirectory, ...]
    port: int | None = None


class OptionBudget:
    """The option files that may still be read.

    size_bytes: their total size.
    includes: the number of files that they may include.
    whole: the budget of all servers, of which this one is a part.
    """

    def __init__(
        self,
        size_bytes: int = _MAX_SERVER_OPTION_BYTES,
        includes: int = _MAX_SERVER_INCLUDES,
        whole: "OptionBudget | None" = None,
    ) -> None:
        self._whole = whole
        self.size_bytes: int = size_bytes if whole is None else min(size_bytes, whole.size_bytes)
        self.includes: int = includes if whole is None else min(includes, whole.includes)

    def subtract(self, *, size_bytes: int = 0, includes: int = 0) -> None:
        """Subtract what was read, also from the whole."""
        self.size_bytes -= size_bytes
        self.includes -= includes
        if self._whole is not None:
            self._whole.subtract(size_bytes=size_bytes, includes=includes)


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
    for process in found.value:
        key = mountinfo.read_first_line(proc, process.pid)
        by_namespace.setdefault(key, []).append(process)
    host_key = mountinfo.read_first_line(proc, 1)
    host_root = mountinfo.mount_containing(host_mounts, "/")
    budget = OptionBudget(_MAX_ALL_OPTION_BYTES, _MAX_ALL_INCLUDES)
    namespaces = _NamespaceReader(proc)
    servers: list[MysqlServer] = []
    for key, processes in by_namespace.items():
        if key and key == host_key and host_mounts:
            mounts = host_mounts
        else:
            mounts = namespaces.read([process.pid for process in processes], faults)
        if not mounts:
            continue
        shares_root = _is_same_root(mountinfo.mount_containing(mounts, "/"), host_root)
        servers.extend(
            _server(process, root if shares_root else None, mounts, budget, faults)
            for process in processes
        )
    servers.sort(key=lambda server: server.pid)
    return Parsed(tuple(servers), faults.listed())


def read_option_files(
    root: Path, sources: OptionFiles, budget: OptionBudget | None = None
) -> Parsed[Options]:
    """Returns the options in these option files and in the files that they include.

    A later setting overrides an earlier one. Included files cannot include further files, and at
    most 64 included files are read. A file that is absent or cannot be read is treated as empty.
    Never raises: malformed lines, oversized files and reached limits add exceptions to
    `Parsed.faults`.

    root: the directory at which the host's root filesystem is mounted for this process.
    sources: the option files of the server.
    budget: what may be read. What is read is subtracted. None means the limits of one server.
    """
    options: dict[str, str | bool] = {}
    faults = Faults()
    budget = OptionBudget() if budget is None else budget
    for path in sources.paths:
        for item in _read_option_file(root, path, sources.suffix, budget, faults):
            if isinstance(item, OptionSetting):
                options[item.name] = item.value
                continue
            if budget.includes <= 0:
                faults.add(LimitReached(f"{path}: too many included files; the rest is not read"))
                break
            included_paths = _included_paths(root, item)
            if len(included_paths) > budget.includes:
                faults.add(LimitReached(f"{path}: too many included files; the rest is not read"))
            included_paths = included_paths[: budget.includes]
            # A line costs at least one, so that lines which include nothing are limited as well.
            budget.subtract(includes=max(1, len(included_paths)))
            for included_path in included_paths:
                for inner in _read_option_file(root, included_path, sources.suffix, budget, faults):
                    if isinstance(inner, OptionSetting):
                        options[inner.name] = inner.value
    return Parsed(options, faults.listed())


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
    budget: OptionBudget,
    faults: Faults,
) -> MysqlServer:
    """Returns a server. `root` is None if its root filesystem is not that of the host."""
    options: dict[str, str | bool] = {}
    if root is not None:
        option_files = mysql_directories.parse_option_file_arguments(process.argv)
        parsed = read_option_files(root, option_files, OptionBudget(whole=budget))
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
    is_port_known = root is not None or "port" in options
    port = mysql_directories.server_port(options) if is_port_known else None
    return MysqlServer(process.pid, process.cgroup, kept, directories, port)


def _read_option_file(
    root: Path, path: str, suffix: str, budget: OptionBudget, faults: Faults
) -> tuple[OptionSetting | OptionInclude, ...]:
    file = files.path_below(root, files.resolve_symlinks(root, path))
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode):
            faults.add(ParseError(f"{path}: not read: not a regular file"))
            return ()
        limit = min(_MAX_OPTION_FILE_BYTES, budget.size_bytes)
        text = files.read(file, limit)
        budget.subtract(size_bytes=len(text))
        parsed = mysql_directories.parse_option_file(text, suffix)
    except LimitReached:
        faults.add(LimitReached(f"{path}: not read: it is larger than the remaining {limit} bytes"))
        return ()
    # The file is absent or cannot be read. ValueError means that its path contains a null byte.
    except (OSError, ValueError, SourceError):
        return ()
    faults.extend(type(fault)(f"{path}: {fault}") for fault in parsed.faults)
    return parsed.value


def _included_paths(root: Path, include: OptionInclude) -> tuple[str, ...]:
    if not include.is_directory:
        return (include.path,)
    if "\0" in include.path:
        return ()
    directory = files.path_below(root, files.resolve_symlinks(root, include.path))
    names = (name for name in files.list_names(directory) if name.endswith(".cnf"))
    return tuple(f"{include.path.rstrip('/')}/{name}" for name in names)


def _is_same_root(one: Mount | None, other: Mount | None) -> bool:
    return (
        one is not None
        and other is not None
        and (one.number, one.root) == (other.number, other.root)
    )
