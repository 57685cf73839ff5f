"""The running MySQL and MariaDB servers: where their processes, option files and mounts are.

Passwords may stand on a command line and in an option file. Both are looked through for the
options of `mysql_options.KNOWN` and dropped; nothing else of them is kept.
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

SERVER_NAMES = frozenset({"mysqld", "mysqld-debug", "mariadbd"})

#: Far above any real option file, far below what would hurt.
_LARGEST_OPTION_FILE_BYTES = 1 << 20
_MOST_INCLUDES = 64

#: More than a host runs, and few enough for any user to start that call themselves mysqld.
_MOST_SERVERS = 64

_CGROUP = re.compile(r"^0::(/.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A server's process, with its command line for as long as it takes to read it."""

    pid: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A running server: its cgroup v2 path, its mounts, and its directories in that view."""

    pid: int
    cgroup: str | None
    mounts: tuple[Mount, ...]
    directories: tuple[RoleDirectory, ...]


def find_server_processes(proc: Path) -> tuple[ServerProcess, ...]:
    """The servers among the processes; those that end meanwhile or are hidden do not count."""
    import psutil  # noqa: PLC0415 - 30 ms that a smart-agent need not pay

    before = psutil.PROCFS_PATH
    psutil.PROCFS_PATH = str(proc)
    try:
        return tuple(_servers(psutil))
    except (OSError, IndexError):  # IndexError: psutil takes it that some process is in sight
        return ()
    finally:
        psutil.PROCFS_PATH = before


def parse_cgroup(text: str) -> str | None:
    """The cgroup v2 path of /proc/<pid>/cgroup: cgroups(7); None under cgroup v1 alone."""
    match = _CGROUP.search(text)
    return match[1] if match else None


def read(proc: Path, root: Path, host_mounts: Sequence[Mount]) -> Parsed[tuple[MysqlServer, ...]]:
    """All running servers.

    A server's option files are read below `root`, the host's /, if the server has the host's /
    itself; a container's own files are out of reach, and its command line must do.
    """
    servers: list[MysqlServer] = []
    faults: list[SourceError] = []
    host_root = mountinfo.mount_containing(host_mounts, "/")
    for process in islice(find_server_processes(proc), _MOST_SERVERS):
        try:
            mounts = mountinfo.read_process(proc, process.pid)
        except (NotAvailable, ReadError):
            continue
        faults.extend(mounts.faults)
        options: dict[str, str | bool] = {}
        shares_root = _is_same_root(mountinfo.mount_containing(mounts.value, "/"), host_root)
        if shares_root:
            parsed = read_option_files(
                root, mysql_directories.parse_option_file_arguments(process.argv)
            )
            options.update(parsed.value)
            faults.extend(parsed.faults)
        options.update(mysql_directories.parse_arguments(process.argv))
        directories = mysql_directories.role_directories(options)
        if shares_root:
            directories = tuple(
                RoleDirectory(each.role, files.resolve_symlinks(root, each.directory))
                for each in directories
            )
        cgroup = _cgroup(proc, process.pid)
        servers.append(MysqlServer(process.pid, cgroup, mounts.value, directories))
    return Parsed(tuple(servers), tuple(faults))


def read_option_files(root: Path, sources: OptionFiles) -> Parsed[Options]:
    """What the option files say, those they include with them; the last one of a name holds.

    Included files include no further ones, and no more than 64 are read.
    """
    options: dict[str, str | bool] = {}
    faults: list[SourceError] = []
    budget = _MOST_INCLUDES
    for path in sources.paths:
        for item in _read_file(root, path, sources.suffix, faults):
            if isinstance(item, OptionSetting):
                options[item.name] = item.value
                continue
            included = _included(root, item)[:budget]
            budget -= len(included)
            for each in included:
                for inner in _read_file(root, each, sources.suffix, faults):
                    if isinstance(inner, OptionSetting):
                        options[inner.name] = inner.value
    return Parsed(options, tuple(faults))


def _servers(psutil: ModuleType) -> Iterator[ServerProcess]:
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            if process.name() in SERVER_NAMES:
                yield ServerProcess(pid, tuple(_printable(each) for each in process.cmdline()))
        # The last two: psutil takes the columns of a /proc/<pid>/stat that is cut short for given.
        except (psutil.Error, OSError, ValueError, IndexError):
            continue


def _printable(argument: str) -> str:
    # psutil hands on bytes that are no UTF-8 as surrogates; here as everywhere they are escapes.
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _read_file(
    root: Path, path: str, suffix: str, faults: list[SourceError]
) -> tuple[OptionSetting | OptionInclude, ...]:
    place = files.path_below(root, files.resolve_symlinks(root, path))
    try:
        found = os.stat(place)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_OPTION_FILE_BYTES:
            faults.append(ParseError(f"{path}: no option file: not a plain file of up to 1 MiB"))
            return ()
        parsed = mysql_directories.parse_option_file(files.read(place), suffix)
    except (OSError, ValueError, SourceError):  # absent or hidden; ValueError: a null byte
        return ()
    faults.extend(ParseError(f"{path}: {fault}") for fault in parsed.faults)
    return parsed.value


def _included(root: Path, include: OptionInclude) -> tuple[str, ...]:
    if not include.is_directory:
        return (include.path,)
    if "\0" in include.path:
        return ()
    place = files.path_below(root, files.resolve_symlinks(root, include.path))
    names = (name for name in files.list_names(place) if name.endswith(".cnf"))
    return tuple(f"{include.path.rstrip('/')}/{name}" for name in names)


def _is_same_root(one: Mount | None, other: Mount | None) -> bool:
    return (
        one is not None
        and other is not None
        and (one.number, one.root) == (other.number, other.root)
    )


def _cgroup(proc: Path, pid: int) -> str | None:
    try:
        return parse_cgroup(files.read(proc / str(pid) / "cgroup"))
    except (NotAvailable, ReadError):
        return None
