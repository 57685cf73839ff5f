"""The part of /proc that the exporter reads, without what names the host's owner.

Of processes only MySQL servers are taken, and of those the directories that they work in: their
command line is made anew, for passwords may stand on it.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.capture.redactor import Redactor
from exporter.errors import SourceError
from exporter.linux import files, mountinfo, mysqld
from exporter.linux.mountinfo import Mount
from exporter.linux.mysql_directories import RoleDirectory
from exporter.linux.mysqld import MysqlServer

#: Numbers, and the kernel's own words.
_FILES = (
    *("diskstats", "stat", "softirqs", "net/softnet_stat", "sys/kernel/osrelease"),
    *("pressure/cpu", "pressure/io", "pressure/memory", "pressure/irq"),
)
_BOOT_ID = "sys/kernel/random/boot_id"

_HOST_NAME = "sys/kernel/hostname"

#: Where a role's directory is told to a server; the directory itself, or a file's name in it.
_OPTIONS = (
    ("mysql-data", "datadir", ""),
    ("mysql-redo", "innodb_log_group_home_dir", ""),
    ("mysql-undo", "innodb_undo_directory", ""),
    ("mysql-doublewrite", "innodb_doublewrite_dir", ""),
    ("mysql-binlog", "log_bin", "/binlog"),
    ("mysql-relaylog", "relay_log", "/relay"),
)

_OPTIONAL_FIELD = re.compile(r"(?:shared|master|propagate_from):\d+|unbindable", re.ASCII)
_FILESYSTEM = re.compile(r"[a-z][a-z0-9._]{0,30}", re.ASCII)
#: Mount options with a value that says nothing of the host, beside those without a value.
_OPTION = re.compile(
    r"[a-z_0-9]{1,40}|(?:errors|data|size|mode|logbufs|logbsize|subvolid|sunit|swidth|compress"
    r"|nr_inodes|fmask|dmask|codepage|iocharset|shortname)=[a-z0-9:.-]{1,40}",
    re.ASCII,
)
_ESCAPED = re.compile(r"[ \t\n\\]")
_ESCAPE = re.compile(r"\\([0-3][0-7]{2})", re.ASCII)

#: A process of no interest but its name: proc_pid_stat(5), 52 columns.
_STAT = "{pid} ({name}) S 1 {pid} {pid} 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100" + " 0" * 30

#: In place of a line that is none: it must stay one.
_BROKEN_LINE = "broken"


def host_names(proc: Path) -> tuple[str, ...]:
    """What the host calls itself: the whole name, and its first part."""
    name = files.read_attribute(proc / _HOST_NAME) or ""
    return tuple(dict.fromkeys(each for each in (name, name.partition(".")[0]) if each))


def servers(proc: Path, rootfs: Path) -> tuple[MysqlServer, ...]:
    """The running MySQL servers."""
    return mysqld.read(proc, rootfs, _host_mounts(proc)).value


def mountpoints(
    proc: Path, rootfs: Path, running: Sequence[MysqlServer], redactor: Redactor
) -> tuple[str, ...]:
    """Where the host mounts what the servers work on, as directories below the host's /."""
    mounts = _host_mounts(proc)
    numbers = {
        mount.number
        for server in running
        for each in server.directories
        if (mount := mountinfo.mount_containing(server.mounts, each.directory)) is not None
    }
    found = dict.fromkeys(mount.mountpoint for mount in mounts if mount.number in numbers)
    return tuple(
        redactor.path(path.lstrip("/"))
        for path in found
        if path.strip("/") and os.path.isdir(rootfs / path.lstrip("/"))
    )


def contents(
    proc: Path, running: Sequence[MysqlServer], redactor: Redactor
) -> Iterator[tuple[str, str]]:
    """The files by their path below /proc."""
    for name in _FILES:
        if (text := _read(proc / name)) is not None:
            yield name, text
    if (boot := _read(proc / _BOOT_ID)) is not None:
        yield _BOOT_ID, redactor.text(boot)
    mounts = _read(proc / "1" / "mountinfo")
    if mounts is not None:
        yield "1/mountinfo", redacted_mounts(mounts, redactor)
    elif (mounts := _read(proc / "self" / "mountinfo")) is not None:
        yield "self/mountinfo", redacted_mounts(mounts, redactor)
    yield from _process(1, "systemd", ("/sbin/init",), "0::/init.scope\n")
    for server in running:
        yield from _server(proc, server, redactor)


def redacted_mounts(text: str, redactor: Redactor) -> str:
    """A mountinfo whose lines keep what the exporter reads of them, names replaced."""
    return "".join(f"{_mount(line, redactor)}\n" for line in text.split("\n") if line)


def _host_mounts(proc: Path) -> tuple[Mount, ...]:
    try:
        return mountinfo.read(proc).value.mounts
    except SourceError:
        return ()


def _server(proc: Path, server: MysqlServer, redactor: Redactor) -> Iterator[tuple[str, str]]:
    if server.pid == 1:
        # In a container's own /proc; the one process of its number has been written.
        return
    argv = ("/usr/sbin/mysqld", "--no-defaults", *_arguments(server.directories, redactor))
    cgroup = "" if server.cgroup is None else f"0::{redactor.path(server.cgroup)}\n"
    yield from _process(server.pid, "mysqld", argv, cgroup)
    mounts = _read(proc / str(server.pid) / "mountinfo")
    if mounts is not None:
        yield f"{server.pid}/mountinfo", redacted_mounts(mounts, redactor)


def _arguments(directories: Sequence[RoleDirectory], redactor: Redactor) -> Iterator[str]:
    if not directories:
        # One that says where it works by a path that nobody can follow.
        yield "--datadir=."
        return
    known = {each.role: redactor.path(each.directory) for each in directories}
    for role, option, file in _OPTIONS:
        if role in known:
            yield f"--{option}={known[role].rstrip('/')}{file}"
    if "mysql-doublewrite" not in known:
        yield "--innodb_doublewrite=OFF"
    temporary = [redactor.path(d.directory) for d in directories if d.role == "mysql-tmp"]
    if temporary:
        yield f"--tmpdir={':'.join(temporary)}"


def _process(pid: int, name: str, argv: Sequence[str], cgroup: str) -> Iterator[tuple[str, str]]:
    yield f"{pid}/comm", f"{name}\n"
    yield f"{pid}/cmdline", "".join(f"{argument}\0" for argument in argv)
    yield f"{pid}/stat", _STAT.format(pid=pid, name=name) + "\n"
    yield f"{pid}/cgroup", cgroup


def _mount(line: str, redactor: Redactor) -> str:
    fields = line.split(" ")
    try:
        separator = fields.index("-", 6)
        number, parent, device, root, mountpoint, options = fields[:6]
        fstype, source, super_options = fields[separator + 1 : separator + 4]
    except ValueError:
        return _BROKEN_LINE
    if not re.fullmatch(r"\d+:\d+", device) or not mountpoint.startswith("/"):
        return _BROKEN_LINE
    kept = [each for each in fields[6:separator] if _OPTIONAL_FIELD.fullmatch(each)]
    fstype = fstype if _FILESYSTEM.fullmatch(fstype) else "unknown"
    parts = (
        *(_number(number), _number(parent), device),
        *(_path(root, redactor), _path(mountpoint, redactor), _options(options, redactor)),
        *(*kept, "-", fstype, _source(source, fstype, redactor)),
        _options(super_options, redactor),
    )
    return " ".join(parts)


def _number(text: str) -> str:
    return text if text.isascii() and text.isdigit() else "0"


def _path(field: str, redactor: Redactor) -> str:
    path = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)
    return _ESCAPED.sub(lambda match: f"\\{ord(match[0]):03o}", redactor.path(path))


def _source(source: str, fstype: str, redactor: Redactor) -> str:
    """A device, or nothing: other sources name servers, shares and pools."""
    return _path(source, redactor) if source.startswith("/dev/") else fstype


def _options(options: str, redactor: Redactor) -> str:
    kept = []
    for option in options.split(","):
        if option.startswith("subvol="):
            kept.append(f"subvol={_path(option.removeprefix('subvol='), redactor)}")
        elif _OPTION.fullmatch(option):
            kept.append(option)
    return ",".join(kept)


def _read(path: Path) -> str | None:
    try:
        return files.read(path)
    except SourceError:
        return None
