"""``ssd-exporter capture DIR``: this host as a folder of tests, without what tells whose it is.

The folder is one of `tests/hosts`; its README there says what it holds. Names of drives, hosts,
volumes and directories are replaced, each by the same stand-in wherever it occurs. What was
replaced is written nowhere.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TextIO

from exporter.capture import identity_redaction, proc_capture, smartctl_capture, sysfs_capture
from exporter.capture.redactor import Redactor
from exporter.capture.sysfs_capture import Directory, Entry, File
from exporter.config import Paths
from exporter.errors import ConfigError

#: A host of 200 drives makes 2 MB.
_LARGEST_BYTES = 64 << 20

#: A name of a file that stays within its directory.
_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_FILE_NAME = 100

_README = """\
A host on Linux {kernel}, captured with `ssd-exporter capture` and redacted. Its drives: {models}.

The page must show: say here what is odd about this machine, and what it must look like.
"""


def run(paths: Paths, outputs: Mapping[str, bytes], directory: Path, out: TextIO) -> int:
    """Write the folder, and say what to do with it; the exit status is 0.

    paths: where /proc, /sys and / are. outputs: what smartctl printed, by a name for each: "scan",
    and one for each drive.

    Raises:
        ConfigError: the directory is not empty or cannot be written, or there is too much to write.
    """
    _check_size(sum(map(len, outputs.values())))
    captured = dict(_captured(paths, outputs))
    size = sum(map(len, captured.values()))
    _check_size(size)
    _make(directory)
    try:
        for name, content in captured.items():
            _write(directory, name, content)
    except OSError as e:
        raise ConfigError(
            f"{directory} cannot be written: {e.strerror}", "remove what is there of it"
        ) from e
    out.write(
        f"{len(captured)} files, {size / 1024:.0f} KiB, in {directory}\n"
        "Serial numbers, WWNs, UUIDs, the host's name, and names of volumes and directories are "
        "replaced; models, firmware and the kernel's release stay. Look through it before you give "
        "it away: grep for what must not be in it.\n"
        "As a test: move it to tests/hosts/NAME and run python -m tests.hosts NAME\n"
    )
    return 0


def _check_size(size_bytes: int) -> None:
    if size_bytes > _LARGEST_BYTES:
        raise ConfigError(
            f"this host makes {size_bytes} bytes", f"at most {_LARGEST_BYTES} are written"
        )


def _captured(paths: Paths, outputs: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The files by their names in the folder."""
    running = proc_capture.servers(paths.procfs, paths.rootfs)
    groups = [server.cgroup for server in running if server.cgroup is not None]
    found = list(sysfs_capture.entries(paths.sysfs, groups))
    redactor = _redactor(found, outputs, proc_capture.host_names(paths.procfs))
    proc = dict(proc_capture.contents(paths.procfs, running, redactor))
    for name, text in proc.items():
        yield f"proc/{name}", text.encode("utf-8", "surrogateescape")
    redacted = [sysfs_capture.redacted(entry, redactor) for entry in found]
    yield "sys.tree", sysfs_capture.tree(redacted).encode()
    places = proc_capture.mountpoints(paths.procfs, paths.rootfs, running, redactor)
    if places:
        yield "rootfs.tree", sysfs_capture.tree(map(Directory, places)).encode()
    for name, output in _named(outputs, redactor).items():
        yield f"smartctl/{name}.json", smartctl_capture.redacted(output, redactor)
    yield "case.toml", b""
    yield "README.md", _readme(redacted, proc.get("sys/kernel/osrelease", "")).encode()


def _named(outputs: Mapping[str, bytes], redactor: Redactor) -> dict[str, bytes]:
    """The outputs by names for their files, each its own."""
    files: dict[str, bytes] = {}
    for name, output in outputs.items():
        plain = _FILE_NAME.sub("-", redactor.text(name))[:_LONGEST_FILE_NAME].strip("-") or "drive"
        again = count(2)
        file = plain
        while file in files:
            file = f"{plain}-{next(again)}"
        files[file] = output
    return files


def _redactor(
    found: list[Entry], outputs: Mapping[str, bytes], host_names: tuple[str, ...]
) -> Redactor:
    """One that knows every serial number and WWN that any source names."""
    serials: dict[str, None] = {}
    wwns: dict[str, None] = {}
    for entry in found:
        if isinstance(entry, File):
            name = entry.path.rpartition("/")[2]
            serials |= dict.fromkeys(identity_redaction.serials(name, entry.content))
            wwns |= dict.fromkeys(identity_redaction.wwns(name, entry.content))
    for output in outputs.values():
        serials |= dict.fromkeys(smartctl_capture.serials(output))
        wwns |= dict.fromkeys(smartctl_capture.wwns(output))
    return Redactor(tuple(filter(None, serials)), tuple(wwns), host_names)


def _readme(found: list[Entry], kernel: str) -> str:
    models = sorted(
        {
            entry.content.decode("utf-8", "replace").strip()
            for entry in found
            if isinstance(entry, File) and entry.path.endswith("/model")
        }
    )
    shown = ", ".join("".join(c if c.isprintable() else "?" for c in each) for each in models)
    return _README.format(kernel=kernel.strip(), models=shown or "no model named")


def _make(directory: Path) -> None:
    """An empty directory of ours, none that somebody else can fill."""
    try:
        directory.mkdir(mode=0o755)
    except FileExistsError:
        _check_empty(directory)
    except OSError as e:
        raise ConfigError(f"{directory} cannot be made: {e.strerror}", "name another") from e


def _check_empty(directory: Path) -> None:
    try:
        its = directory.lstat()
        is_empty = stat.S_ISDIR(its.st_mode) and not os.listdir(directory)
    except OSError as e:
        raise ConfigError(f"{directory} cannot be read: {e.strerror}", "name another") from e
    if not is_empty or its.st_uid != os.geteuid() or its.st_mode & stat.S_IWOTH:
        raise ConfigError(f"{directory} is there, and no empty directory of yours", "name another")


def _write(directory: Path, name: str, content: bytes) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
        file.write(content)
