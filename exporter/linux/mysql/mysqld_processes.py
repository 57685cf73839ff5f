"""Finds the processes of MySQL and MariaDB servers, and selects those that are read.

Any user can start a process with the name of a server, with a command line of several megabytes,
and many of them. Therefore the number of selected processes is limited, and the selection uses only
facts that a user cannot choose freely:

1. Another process comes before one that a user started (`ServerCandidate.is_of_user`). systemd
   creates the user slices, and a user cannot leave his own. His cron jobs are outside of it, but
   the kernel records the login of a user for them as well, and he cannot change this.
2. Within both groups each control group gets the same number of processes. Each user slice counts
   as one control group, and so does each systemd unit with the groups below its own. A user cannot
   create a control group outside of his slice. Without control groups (cgroup v1), each owner gets
   the same number.
3. Within a control group, processes that hold a write lock on a file come first: a server locks
   the files of its data directory. Then follow those that systemd has started itself, and then the
   oldest ones. The kernel records all of this. So wrappers that are also called mysqld do not hide
   the server of their unit. Control groups with equally many selected processes have this order.

So a server that systemd or a container engine started is selected, whatever other users start.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files, locks
from exporter.runtime.errors import Faults, LimitReached, NotAvailable, Parsed, ReadError

#: The names of the server processes.
SERVER_NAMES = frozenset({"mysqld", "mysqld-debug", "mariadbd"})

#: The maximum number of servers that are read. Hosts run fewer servers, but any user can start many
#: processes with the name of a server.
MAX_SERVERS = 64

#: The maximum size of a command line that is read, in bytes. That of a server has a few KiB. The
#: kernel allows 6 MiB.
_MAX_ARGUMENT_BYTES = 64 << 10
#: The maximum size of /proc/<pid>/cgroup, in bytes. It has one path per hierarchy.
_MAX_CGROUP_BYTES = 64 << 10
#: The position of the start time in /proc/<pid>/stat, counted after the name of the process:
#: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html (field 22).
_START_FIELD = 19
#: The position of the process ID of the parent (field 4).
_PARENT_FIELD = 1

#: The content of /proc/<pid>/loginuid if the process comes from no login and from no cron job:
#: https://man7.org/linux/man-pages/man5/proc_pid_loginuid.5.html. pam_loginuid(8) sets it once, and
#: changing it requires CAP_AUDIT_CONTROL.
_NO_LOGIN = (1 << 32) - 1

_UNIFIED_CGROUP = re.compile(r"^0::(/.*)$", re.MULTILINE)
_CREDENTIALS = re.compile(r"^(Uid|Gid|Groups):(.*)$", re.ASCII | re.MULTILINE)
_UNIT = re.compile(r"/[^/]+\.(?:service|scope)(?=/|$)")
_USER_SLICE = re.compile(r"/user\.slice(?:/user-\d+\.slice)?(?=/|$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The user and the groups of a process.

    uid: the user ID.
    groups: the group ID and the supplementary groups.
    """

    uid: int
    groups: frozenset[int]


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """The process of a server with its command line.

    The command line may contain passwords, so this record is discarded after parsing.

    pid: the process ID.
    argv: the command line, beginning with the name of the program.
    cgroup: the path of its control group in the cgroup v2 hierarchy. None if it is unknown, or if
        the host uses only cgroup v1.
    credentials: those of the process; None if they are unknown, or if a user may have chosen them.
    is_of_user: as in `ServerCandidate`.
    """

    pid: int
    argv: tuple[str, ...]
    cgroup: str | None
    credentials: Credentials | None = None
    is_of_user: bool = False


@dataclass(frozen=True, slots=True)
class ServerCandidate:
    """A process with the name of a server.

    pid: the process ID.
    cgroup: as in `ServerProcess`.
    owner: the user ID of the process.
    started: the time of its start after the boot, in clock ticks.
    is_of_user: true if it is in a user slice, or was started from a login or by a cron job of a
        user. Processes of systemd units and of containers are not.
    is_main: true if process 1 has started it, as systemd starts the main process of a unit.
    """

    pid: int
    cgroup: str | None
    owner: int
    started: int
    is_of_user: bool = False
    is_main: bool = False


def find_server_processes(proc: Path) -> Parsed[tuple[ServerProcess, ...]]:
    """Returns the selected server processes, at most 64, in the order of their selection.

    Processes that have ended or cannot be read are omitted. `Parsed.faults` reports processes that
    are not selected and command lines that are not read completely.
    """
    faults = Faults()
    groups = _Groups(lambda: locks.read(proc))
    for candidate in _candidates(proc):
        groups.add(candidate)
    selected = groups.selected()
    if groups.size > len(selected):
        faults.add(
            LimitReached(
                f"{groups.size} processes have the name of a MySQL server, and {len(selected)} of "
                "them are read: docs/limits.md explains which"
            )
        )
    processes = []
    for candidate in selected:
        argv = _read_arguments(proc, candidate.pid, faults)
        if argv:
            credentials = _read_credentials(proc, candidate)
            processes.append(
                ServerProcess(
                    candidate.pid, argv, candidate.cgroup, credentials, candidate.is_of_user
                )
            )
    return Parsed(tuple(processes), faults.listed())


def select(
    candidates: Iterable[ServerCandidate], locking: frozenset[int] = frozenset()
) -> tuple[ServerCandidate, ...]:
    """Returns at most 64 of these processes, by the rules of the module docstring.

    locking: the IDs of the processes that hold a write lock on a file.
    """
    groups = _Groups(lambda: locking)
    for candidate in candidates:
        groups.add(candidate)
    return groups.selected()


def parse_cgroup(text: str) -> str | None:
    """Returns the cgroup v2 path from the text of a /proc/<pid>/cgroup file.

    None means that the text has none, because the host uses only cgroup v1.

    https://man7.org/linux/man-pages/man7/cgroups.7.html
    """
    match = _UNIFIED_CGROUP.search(text)
    return match[1] if match else None


def user_slice(cgroup: str) -> str | None:
    """Returns the path of the user slice that contains a control group; None if there is none.

    It is that of one user, such as "/user.slice/user-1000.slice". Only systemd creates it.
    """
    match = _USER_SLICE.search(cgroup)
    return None if match is None else cgroup[: match.end()]


def parse_credentials(text: str) -> Credentials | None:
    """Returns the credentials from the text of a /proc/<pid>/status file.

    None means that the text has none, or that the real, the effective and the saved ID differ. They
    differ in a program with the set-user-ID bit. A user can start one by a link called mysqld.

    https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
    """
    found = {name: value.split() for name, value in _CREDENTIALS.findall(text)}
    try:
        uids, gids = ({int(n) for n in found[name][:3]} for name in ("Uid", "Gid"))
        groups = frozenset(int(n) for n in found.get("Groups", ()))
        (uid,), (gid,) = uids, gids
    except (KeyError, ValueError):
        return None
    return Credentials(uid, groups | {gid})


class _Groups:
    """The candidates by control group. Keeps only those that may be selected.

    read_locking: returns the IDs of the processes that hold a write lock on a file. It is called
        once, and only if there are more candidates than may be selected.

    size: the number of candidates.
    """

    def __init__(self, read_locking: Callable[[], frozenset[int]]) -> None:
        self._by_group: dict[tuple[bool, str], list[ServerCandidate]] = {}
        self._read_locking = read_locking
        self._locking: frozenset[int] | None = None
        self.size = 0

    def add(self, candidate: ServerCandidate) -> None:
        self.size += 1
        members = self._by_group.setdefault(_group(candidate), [])
        members.append(candidate)
        if len(members) >= 2 * MAX_SERVERS:
            members[:] = self._first(members)

    def selected(self) -> tuple[ServerCandidate, ...]:
        ranked = [
            (is_user, rank, self._order(candidate), candidate)
            for (is_user, _), members in self._by_group.items()
            for rank, candidate in enumerate(self._first(members))
        ]
        ranked.sort(key=lambda row: row[:3])
        return tuple(row[3] for row in ranked[:MAX_SERVERS])

    def _first(self, members: list[ServerCandidate]) -> list[ServerCandidate]:
        """Returns the members of a group that are selected first."""
        return sorted(members, key=self._order)[:MAX_SERVERS]

    def _order(self, candidate: ServerCandidate) -> tuple[bool, bool, int, int]:
        if self._locking is None and self.size > MAX_SERVERS:
            self._locking = self._read_locking()
        is_locking = self._locking is not None and candidate.pid in self._locking
        return not is_locking, not candidate.is_main, candidate.started, candidate.pid


def _group(candidate: ServerCandidate) -> tuple[bool, str]:
    """Returns whether a user started the process, and the name of its group."""
    if candidate.cgroup is None:
        return candidate.is_of_user, f"owner {candidate.owner}"
    group = user_slice(candidate.cgroup)
    if group is not None:
        return True, group
    unit = _UNIT.search(candidate.cgroup)
    group = candidate.cgroup if unit is None else candidate.cgroup[: unit.end()]
    return candidate.is_of_user, group


def _candidates(proc: Path) -> Iterator[ServerCandidate]:
    import psutil  # noqa: PLC0415 - the import takes 30 ms, which the agent does not need

    before = psutil.PROCFS_PATH
    psutil.PROCFS_PATH = str(proc)
    try:
        for pid in psutil.pids():
            # psutil's name() reads the whole command line of a process whose name is long.
            if files.read_attribute(f"{proc}/{pid}/comm") in SERVER_NAMES:
                candidate = _read_candidate(proc, pid)
                if candidate is not None:
                    yield candidate
    except (OSError, IndexError):  # IndexError: psutil expects at least one visible process
        return
    finally:
        psutil.PROCFS_PATH = before


def _read_candidate(proc: Path, pid: int) -> ServerCandidate | None:
    try:
        owner = os.stat(f"{proc}/{pid}").st_uid
        # The name of the process may contain spaces and brackets.
        after_name = files.read(f"{proc}/{pid}/stat").rpartition(")")[2].split()
        started, parent = int(after_name[_START_FIELD]), int(after_name[_PARENT_FIELD])
    except (OSError, NotAvailable, ReadError, ValueError, IndexError):
        return None
    try:
        cgroup = parse_cgroup(files.read(f"{proc}/{pid}/cgroup", _MAX_CGROUP_BYTES))
    except (NotAvailable, ReadError):
        cgroup = None
    is_in_slice = cgroup is not None and user_slice(cgroup) is not None
    login = files.read_integer(f"{proc}/{pid}/loginuid")
    is_of_user = is_in_slice or login not in (None, _NO_LOGIN)
    return ServerCandidate(pid, cgroup, owner, started, is_of_user, parent == 1)


def _read_credentials(proc: Path, candidate: ServerCandidate) -> Credentials | None:
    """Returns the credentials of a process, which decide what is read for it.

    The owner of /proc/<pid> is not used, because it is root for a process that is not dumpable.
    """
    try:
        credentials = parse_credentials(files.read(proc / str(candidate.pid) / "status"))
    except (NotAvailable, ReadError):
        return None
    is_outside = candidate.cgroup is not None and not candidate.is_of_user
    # Programs such as sudo run as root, with arguments of the user, before they check a password.
    return credentials if credentials is None or credentials.uid or is_outside else None


def _read_arguments(proc: Path, pid: int, faults: Faults) -> tuple[str, ...]:
    content = files.read_start(proc / str(pid) / "cmdline", _MAX_ARGUMENT_BYTES + 1)
    if len(content) > _MAX_ARGUMENT_BYTES:
        # The last argument is cut off, so it is not used.
        content = content.rpartition(b"\0")[0]
        faults.add(
            LimitReached(
                f"process {pid}: only the first {_MAX_ARGUMENT_BYTES} bytes of the command line "
                "are read"
            )
        )
    arguments = content.removesuffix(b"\0").split(b"\0") if content else []
    # Bytes that are not UTF-8 become escapes, as in `files.decode`.
    return tuple(argument.decode("utf-8", "backslashreplace") for argument in arguments)
