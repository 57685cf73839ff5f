"""Finds the running MySQL and MariaDB servers with their directories, mounts and control groups.

Reads /proc/<pid>/comm, cmdline, cgroup and mountinfo
(https://man7.org/linux/man-pages/man5/proc_pid.5.html) and the servers' option files.

Command lines and option files may contain passwords. Both are searched for the options in
`mysql_directories.KNOWN_OPTIONS`; everything else is discarded.
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

#: Limits the size of an option file, in bytes. Real ones have a few KiB.
_MAX_OPTION_FILE_BYTES = 1 << 20
#: Limits the number of files that the option files of one server include.
_MAX_INCLUDES = 64

#: Limits the servers that are read. Hosts run fewer, but any user can start processes with such a
#: name.
_MAX_SERVERS = 64

_UNIFIED_CGROUP = re.compile(r"^0::(/.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """The process of a server with its command line.

    The command line may contain passwords, so this record is discarded after parsing.
    """

    pid: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A running server.

    pid: its process ID.
    cgroup: its path in the cgroup v2 hierarchy; None if unknown, or under cgroup v1 alone.
    mounts: the mounts that it sees.
    directories: its directories, in its own view.
    """

    pid: int
    cgroup: str | None
    mounts: tuple[Mount, ...]
    directories: tuple[RoleDirectory, ...]


def read(proc: Path, root: Path, host_mounts: Sequence[Mount]) -> Parsed[tuple[MysqlServer, ...]]:
    """Returns all running servers. Never raises: malformed mounts and option files are faults.

    Option files are read below `root`, at which the host's root filesystem is mounted, if the
    server has the same root filesystem as the host. The option files of a container are not
    accessible, so only its command line counts.
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
    """Returns the processes of servers, except those that have ended or cannot be read."""
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
    """Returns the options of these files and their includes. A later setting overrides an earlier.

    Includes in included files are ignored, and at most 64 included files are read. A file that
    cannot be read has no options.
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
    """Returns the cgroup v2 path in a /proc/<pid>/cgroup; None under cgroup v1 alone.

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
        # ValueError and IndexError: psutil does not check a /proc/<pid>/stat that is cut off.
        except (psutil.Error, OSError, ValueError, IndexError):
            continue


def _escape_surrogates(argument: str) -> str:
    # psutil returns bytes that are not UTF-8 as surrogates. `files.decode` returns escapes.
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
    # The file is absent or cannot be read. ValueError: its path has a null byte.
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
