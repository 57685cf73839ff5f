"""Finds the running MySQL and MariaDB servers with their directories, mounts and control groups.

The sources are /proc/<pid>/comm, cmdline, cgroup and mountinfo
(https://man7.org/linux/man-pages/man5/proc_pid.5.html) and the option files of the servers, see
`option_files`.

Command lines may contain passwords. Therefore only the options in
`mysql_directories.KNOWN_OPTIONS` are kept, and everything else is discarded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files, mountinfo
from exporter.linux.mountinfo import Mount
from exporter.linux.mysql import mysql_directories, mysqld_processes
from exporter.linux.mysql.mysql_directories import RoleDirectory
from exporter.linux.mysql.mysqld_processes import ServerProcess
from exporter.linux.mysql.option_files import OptionFileReader
from exporter.runtime.errors import Faults, LimitReached, NotAvailable, Parsed, ReadError

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
    port: the TCP port. None in two cases: `is_of_user` is true, because a user may choose another
        port at each start; or the port is unknown, because the server is in a container and its
        command line does not contain the port.
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


@dataclass(slots=True)
class _NamespaceReader:
    """Reads the mounts of mount namespaces, up to a total size."""

    proc: Path
    _remaining_bytes: int = _MAX_ALL_NAMESPACE_BYTES

    def read(self, pids: Sequence[int], faults: Faults) -> Sequence[Mount]:
        """Returns the mounts of a namespace; empty if they are too large or not readable.

        pids: the processes in the namespace. The first one that has not ended is used.
        """
        for pid in pids:
            limit = min(_MAX_NAMESPACE_BYTES, self._remaining_bytes)
            try:
                text = files.read(self.proc / str(pid) / "mountinfo", limit)
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
