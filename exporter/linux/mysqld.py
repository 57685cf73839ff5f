"""Finds the running MySQL and MariaDB servers with their directories, mounts and control groups.

The sources are /proc/<pid>/comm, cmdline, cgroup and mountinfo
(https://man7.org/linux/man-pages/man5/proc_pid.5.html) and the option files of the servers, such as
/etc/my.cnf.

Command lines and option files may contain passwords. Therefore only the options in
`mysql_directories.KNOWN_OPTIONS` are kept, and everything else is discarded.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType

from exporter.errors import NotAvailable, ParseError, ReadError, SourceError
from exporter.linux import files, mountinfo, mysql_directories
from exporter.linux.files import Parsed
from exporter.linux.mountinfo import Mount
from exporter.linux.mysql_directories import (
    OptionFiles,
    OptionInclude,
    Options,
    OptionSetting,
    RoleDirectory,
)

#: The names of the server processes.
SERVER_NAMES = frozenset({"mysqld", "mysqld-debug", "mariadbd"})

#: The maximum size of an option file, in bytes. Usual option files have a few KiB.
_MAX_OPTION_FILE_BYTES = 1 << 20
#: The maximum number of files that the option files of one server may include.
_MAX_INCLUDES = 64

#: The maximum number of servers that are read. Hosts run fewer servers, but any user can start many
#: processes with the name of a server.
_MAX_SERVERS = 64

_UNIFIED_CGROUP = re.compile(r"^0::(/.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """The process of a server with its command line.

    The command line may contain passwords, so this record is discarded after parsing.

    pid: the process ID.
    argv: the command line, beginning with the name of the program.
    """

    pid: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A running MySQL or MariaDB server.

    pid: the process ID.
    cgroup: the path of its control group in the cgroup v2 hierarchy. None if it is unknown, or if
        the host uses only cgroup v1.
    mounts: the mounts that the server sees.
    directories: the directories in which the server stores data. The paths are those that the
        server sees.
    """

    pid: int
    cgroup: str | None
    mounts: tuple[Mount, ...]
    directories: tuple[RoleDirectory, ...]


def read(proc: Path, root: Path, host_mounts: Sequence[Mount]) -> Parsed[tuple[MysqlServer, ...]]:
    """Returns the running servers, at most 64.

    Never raises: malformed mounts and option files add exceptions to `Parsed.faults`. The option
    files of a server are read only if its root filesystem is that of the host. The option files of
    a server in a container are not accessible, so only the options on its command line are used.

    root: the directory at which the host's root filesystem is mounted for this process.
    host_mounts: the mounts of the host.
    """
    servers: list[MysqlServer] = []
    faults: list[SourceError] = []
    host_root = mountinfo.mount_containing(host_mounts, "/")
    for process in islice(find_server_processes(proc), _MAX_SERVERS):
        try:
            mounts = mountinfo.read_process(proc, process.pid)
        except (NotAvailable, ReadError):
            continue
        faults.extend(mounts.faults)
        options: dict[str, str | bool] = {}
        shares_root = _is_same_root(mountinfo.mount_containing(mounts.value, "/"), host_root)
        if shares_root:
            option_files = mysql_directories.parse_option_file_arguments(process.argv)
            parsed = read_option_files(root, option_files)
            options.update(parsed.value)
            faults.extend(parsed.faults)
        options.update(mysql_directories.parse_arguments(process.argv))
        directories = mysql_directories.role_directories(options)
        if shares_root:
            directories = tuple(
                RoleDirectory(item.role, files.resolve_symlinks(root, item.directory))
                for item in directories
            )
        cgroup = _read_cgroup(proc, process.pid)
        servers.append(MysqlServer(process.pid, cgroup, mounts.value, directories))
    return Parsed(tuple(servers), tuple(faults))


def find_server_processes(proc: Path) -> tuple[ServerProcess, ...]:
    """Returns the processes of all servers, except those that have ended or cannot be read."""
    import psutil  # noqa: PLC0415 - the import takes 30 ms, which the agent does not need

    before = psutil.PROCFS_PATH
    psutil.PROCFS_PATH = str(proc)
    try:
        return tuple(_server_processes(psutil))
    except (OSError, IndexError):  # IndexError: psutil expects at least one visible process
        return ()
    finally:
        psutil.PROCFS_PATH = before


def read_option_files(root: Path, sources: OptionFiles) -> Parsed[Options]:
    """Returns the options in these option files and in the files that they include.

    A later setting overrides an earlier one. Included files cannot include further files, and at
    most 64 included files are read. A file that is absent or cannot be read is treated as empty.
    Never raises: each malformed line or oversized file adds an exception to `Parsed.faults`.

    root: the directory at which the host's root filesystem is mounted for this process.
    sources: the option files of the server.
    """
    options: dict[str, str | bool] = {}
    faults: list[SourceError] = []
    remaining = _MAX_INCLUDES
    for path in sources.paths:
        for item in _read_option_file(root, path, sources.suffix, faults):
            if isinstance(item, OptionSetting):
                options[item.name] = item.value
                continue
            included_paths = _included_paths(root, item)[:remaining]
            remaining -= len(included_paths)
            for included_path in included_paths:
                for inner in _read_option_file(root, included_path, sources.suffix, faults):
                    if isinstance(inner, OptionSetting):
                        options[inner.name] = inner.value
    return Parsed(options, tuple(faults))


def parse_cgroup(text: str) -> str | None:
    """Returns the cgroup v2 path from the text of a /proc/<pid>/cgroup file.

    None means that the text has none, because the host uses only cgroup v1.

    https://man7.org/linux/man-pages/man7/cgroups.7.html
    """
    match = _UNIFIED_CGROUP.search(text)
    return match[1] if match else None


def _server_processes(psutil: ModuleType) -> Iterator[ServerProcess]:
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            if process.name() in SERVER_NAMES:
                yield ServerProcess(pid, tuple(map(_escape_surrogates, process.cmdline())))
        # psutil raises ValueError or IndexError if /proc/<pid>/stat is cut off.
        except (psutil.Error, OSError, ValueError, IndexError):
            continue


def _escape_surrogates(argument: str) -> str:
    # psutil returns bytes that are not UTF-8 as surrogates. `files.decode` returns escapes for such
    # bytes, and so does this function.
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _read_option_file(
    root: Path, path: str, suffix: str, faults: list[SourceError]
) -> tuple[OptionSetting | OptionInclude, ...]:
    file = files.path_below(root, files.resolve_symlinks(root, path))
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_OPTION_FILE_BYTES:
            faults.append(ParseError(f"{path}: not read: not a regular file of at most 1 MiB"))
            return ()
        parsed = mysql_directories.parse_option_file(files.read(file), suffix)
    # The file is absent or cannot be read. ValueError means that its path contains a null byte.
    except (OSError, ValueError, SourceError):
        return ()
    faults.extend(ParseError(f"{path}: {fault}") for fault in parsed.faults)
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


def _read_cgroup(proc: Path, pid: int) -> str | None:
    try:
        return parse_cgroup(files.read(proc / str(pid) / "cgroup"))
    except (NotAvailable, ReadError):
        return None
