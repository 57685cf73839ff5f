"""Records the part of /proc that the exporter reads, without identifiers of the host.

Only two kinds of processes are recorded: process 1, and MySQL servers. The command line of a server
is rebuilt from its directories, because the original command line may contain passwords.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.capture.redactor import Redactor
from exporter.linux import files, mountinfo
from exporter.linux.mountinfo import Mount
from exporter.linux.mysql import mysqld
from exporter.linux.mysql.mysql_directories import RoleDirectory
from exporter.linux.mysql.mysqld import MysqlServer
from exporter.runtime.errors import SourceError

#: The files that are recorded unchanged, because they contain only numbers and texts of the kernel.
_UNCHANGED_FILES = (
    *("diskstats", "stat", "softirqs", "net/softnet_stat", "sys/kernel/osrelease"),
    *("pressure/cpu", "pressure/io", "pressure/memory", "pressure/irq"),
)
_BOOT_ID = "sys/kernel/random/boot_id"

_HOST_NAME = "sys/kernel/hostname"

#: The directories of a MySQL server that one option each sets. A row contains the role, the server
#: option that sets the directory, and the base name of files that follows the directory in the
#: value of the option.
_ROLE_OPTIONS = (
    ("mysql-data", "datadir", ""),
    ("mysql-redo", "innodb_log_group_home_dir", ""),
    ("mysql-undo", "innodb_undo_directory", ""),
    ("mysql-doublewrite", "innodb_doublewrite_dir", ""),
    ("mysql-binlog", "log_bin", "/binlog"),
    ("mysql-relaylog", "relay_log", "/relay"),
)

_OPTIONAL_FIELD = re.compile(r"(?:shared|master|propagate_from):\d+|unbindable", re.ASCII)
_FILESYSTEM = re.compile(r"[a-z][a-z0-9._]{0,30}", re.ASCII)
#: Matches the mount options that are recorded: those without a value, and those whose value cannot
#: be an identifier.
_KEPT_OPTION = re.compile(
    r"[a-z_0-9]{1,40}|(?:errors|data|size|mode|logbufs|logbsize|subvolid|sunit|swidth|compress"
    r"|nr_inodes|fmask|dmask|codepage|iocharset|shortname)=[a-z0-9:.-]{1,40}",
    re.ASCII,
)
_ESCAPED = re.compile(r"[ \t\n\\]")
_ESCAPE = re.compile(r"\\([0-3][0-7]{2})", re.ASCII)

#: The template for /proc/<pid>/stat, which has 52 columns (proc_pid_stat(5)). Only the process ID
#: and the name vary.
_STAT = "{pid} ({name}) S 1 {pid} {pid} 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100" + " 0" * 30

#: The replacement for a malformed line of mountinfo. It is malformed too, so that the capture has
#: as many faults as the host.
_BROKEN_LINE = "broken"


def read_host_names(proc: Path) -> tuple[str, ...]:
    """Returns the full name of the host, and the part before the first dot if that is different.

    The result is empty if the name is unknown.
    """
    name = files.read_attribute(proc / _HOST_NAME) or ""
    return tuple(dict.fromkeys(part for part in (name, name.partition(".")[0]) if part))


def read_servers(proc: Path, rootfs: Path) -> tuple[MysqlServer, ...]:
    """Returns the running MySQL servers.

    proc: the directory of /proc.
    rootfs: the root filesystem of the host, from which option files are read.
    """
    return mysqld.read(proc, rootfs, _read_host_mounts(proc)).value


def read_mountpoints(
    proc: Path, rootfs: Path, servers: Sequence[MysqlServer], redactor: Redactor
) -> tuple[str, ...]:
    """Returns the host's mountpoints of the filesystems on which the servers have directories.

    The mountpoints are redacted, and relative to the root directory.
    """
    mounts = _read_host_mounts(proc)
    numbers = {
        mount.number
        for server in servers
        for role in server.directories
        if (mount := mountinfo.mount_containing(server.mounts, role.directory)) is not None
    }
    paths = dict.fromkeys(mount.mountpoint for mount in mounts if mount.number in numbers)
    return tuple(
        redactor.path(path.lstrip("/"))
        for path in paths
        if path.strip("/") and os.path.isdir(rootfs / path.lstrip("/"))
    )


def read_files(
    proc: Path, servers: Sequence[MysqlServer], redactor: Redactor
) -> Iterator[tuple[str, str]]:
    """Yields the path (relative to /proc) and the redacted text of each recorded file."""
    for name in _UNCHANGED_FILES:
        if (text := _read_optional(proc / name)) is not None:
            yield name, text
    if (boot := _read_optional(proc / _BOOT_ID)) is not None:
        yield _BOOT_ID, redactor.text(boot)
    mounts = _read_optional(proc / "1" / "mountinfo")
    if mounts is not None:
        yield "1/mountinfo", redact_mounts(mounts, redactor)
    elif (mounts := _read_optional(proc / "self" / "mountinfo")) is not None:
        yield "self/mountinfo", redact_mounts(mounts, redactor)
    yield from _process_files(1, "systemd", ("/sbin/init",), "0::/init.scope\n")
    for server in servers:
        yield from _server_files(proc, server, redactor)


def redact_mounts(text: str, redactor: Redactor) -> str:
    """Returns the text of a mountinfo file with names replaced and unused fields removed."""
    return "".join(f"{_redact_mount(line, redactor)}\n" for line in text.split("\n") if line)


def _read_host_mounts(proc: Path) -> tuple[Mount, ...]:
    try:
        return mountinfo.read(proc).value.mounts
    except SourceError:
        return ()


def _server_files(proc: Path, server: MysqlServer, redactor: Redactor) -> Iterator[tuple[str, str]]:
    if server.pid == 1:
        # In a container the server can be process 1, whose files are already written.
        return
    argv = ("/usr/sbin/mysqld", "--no-defaults", *_server_arguments(server.directories, redactor))
    cgroup = "" if server.cgroup is None else f"0::{redactor.path(server.cgroup)}\n"
    yield from _process_files(server.pid, "mysqld", argv, cgroup)
    mounts = _read_optional(proc / str(server.pid) / "mountinfo")
    if mounts is not None:
        yield f"{server.pid}/mountinfo", redact_mounts(mounts, redactor)


def _server_arguments(directories: Sequence[RoleDirectory], redactor: Redactor) -> Iterator[str]:
    if not directories:
        # The data directory of this server is a relative path, so its directories are unknown. A
        # relative path in the capture has the same effect.
        yield "--datadir=."
        return
    known = {d.role: redactor.path(d.directory) for d in directories}
    for role, option, file in _ROLE_OPTIONS:
        if role in known:
            yield f"--{option}={known[role].rstrip('/')}{file}"
    if "mysql-doublewrite" not in known:
        yield "--innodb_doublewrite=OFF"
    temporary = [redactor.path(d.directory) for d in directories if d.role == "mysql-tmp"]
    if temporary:
        yield f"--tmpdir={':'.join(temporary)}"


def _process_files(
    pid: int, name: str, argv: Sequence[str], cgroup: str
) -> Iterator[tuple[str, str]]:
    yield f"{pid}/comm", f"{name}\n"
    yield f"{pid}/cmdline", "".join(f"{argument}\0" for argument in argv)
    yield f"{pid}/stat", _STAT.format(pid=pid, name=name) + "\n"
    yield f"{pid}/cgroup", cgroup


def _redact_mount(line: str, redactor: Redactor) -> str:
    fields = line.split(" ")
    try:
        separator = fields.index("-", 6)
        number, parent, device, root, mountpoint, options = fields[:6]
        fstype, source, super_options = fields[separator + 1 : separator + 4]
    except ValueError:
        return _BROKEN_LINE
    if not re.fullmatch(r"\d+:\d+", device) or not mountpoint.startswith("/"):
        return _BROKEN_LINE
    kept = [field for field in fields[6:separator] if _OPTIONAL_FIELD.fullmatch(field)]
    fstype = fstype if _FILESYSTEM.fullmatch(fstype) else "unknown"
    parts = (
        *(_number_or_zero(number), _number_or_zero(parent), device),
        *(_redact_path(root, redactor), _redact_path(mountpoint, redactor)),
        _redact_options(options, redactor),
        *(*kept, "-", fstype, _redact_source(source, fstype, redactor)),
        _redact_options(super_options, redactor),
    )
    return " ".join(parts)


def _number_or_zero(text: str) -> str:
    return text if text.isascii() and text.isdigit() else "0"


def _redact_path(field: str, redactor: Redactor) -> str:
    path = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)
    return _ESCAPED.sub(lambda match: f"\\{ord(match[0]):03o}", redactor.path(path))


def _redact_source(source: str, fstype: str, redactor: Redactor) -> str:
    """Returns the redacted source of a mount.

    If the source is the path of a device, the result is the redacted path. Otherwise it is the type
    of the filesystem, because other sources, such as those of NFS, contain the names of servers and
    shares.
    """
    return _redact_path(source, redactor) if source.startswith("/dev/") else fstype


def _redact_options(options: str, redactor: Redactor) -> str:
    kept = []
    for option in options.split(","):
        if option.startswith("subvol="):
            kept.append(f"subvol={_redact_path(option.removeprefix('subvol='), redactor)}")
        elif _KEPT_OPTION.fullmatch(option):
            kept.append(option)
    return ",".join(kept)


def _read_optional(path: Path) -> str | None:
    try:
        return files.read(path)
    except SourceError:
        return None
