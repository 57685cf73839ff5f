"""Records this host as a folder of files for tests: the command ``ssd-exporter capture DIR``.

The folder has the format of the folders in `tests/hosts`, which README.md in that directory
describes. The identifiers of drives and the names of hosts, volumes and directories are replaced
with placeholders. The original of a placeholder is not written to any file.
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
from exporter.capture.sysfs_capture import Directory, File, TreeEntry
from exporter.config.settings import Paths
from exporter.runtime import untrusted_file
from exporter.runtime.errors import ConfigError

#: The largest size of a capture, in bytes. The capture of a host with 200 drives has 2 MB.
_MAX_CAPTURE_BYTES = 64 << 20

#: Matches the characters that a file name must not contain.
_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
#: The largest length of a file name without its suffix, in characters. File systems allow 255 bytes
#: with the suffix.
_MAX_FILE_NAME_LENGTH = 100

_README = """\
A host with Linux {kernel}, captured with `ssd-exporter capture` and redacted. Drives: {models}.

What the page must show: describe here what is special about this host, and its expected page.
"""


def run(paths: Paths, outputs: Mapping[str, bytes], directory: Path, out: TextIO) -> int:
    """Writes the folder, and prints a summary to `out`. Returns 0, the exit status of the command.

    paths: the directories of /proc, /sys and the root filesystem.
    outputs: the outputs of smartctl, keyed by name: "scan" for the scan, and one name per drive.
    directory: the folder. It must not exist yet, or it must be empty.
    out: the stream for the summary.

    Raises:
        ConfigError: the directory is not empty or cannot be written, or the capture is too large.
    """
    _check_size(sum(map(len, outputs.values())))
    contents = dict(_captured_files(paths, outputs))
    size = sum(map(len, contents.values()))
    _check_size(size)
    _create_directory(directory)
    try:
        for name, content in contents.items():
            _write(directory, name, content)
    except OSError as e:
        raise ConfigError(
            f"cannot write to {directory}: {e.strerror}", "remove the incomplete capture there"
        ) from e
    out.write(
        f"Wrote {len(contents)} files, {size / 1024:.0f} KiB, to {directory}.\n"
        "Serial numbers, WWNs, UUIDs, the host name, and names of volumes and directories are "
        "replaced. Models, firmware versions and the kernel release are kept. Before you publish "
        "the folder, search it with grep for everything that must not be in it.\n"
        "To use it as a test, move it to tests/hosts/NAME and run: python -m tests.hosts NAME\n"
    )
    return 0


def _check_size(size_bytes: int) -> None:
    if size_bytes > _MAX_CAPTURE_BYTES:
        raise ConfigError(
            f"the capture of this host has {size_bytes} bytes",
            f"at most {_MAX_CAPTURE_BYTES} bytes are allowed",
        )


def _captured_files(paths: Paths, outputs: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yields the path (relative to the folder) and the redacted content of each file."""
    servers = proc_capture.read_servers(paths.procfs, paths.rootfs)
    cgroups = [server.cgroup for server in servers if server.cgroup is not None]
    entries = list(sysfs_capture.read_entries(paths.sysfs, cgroups))
    redactor = _redactor(entries, outputs, proc_capture.read_host_names(paths.procfs))
    proc = dict(proc_capture.read_files(paths.procfs, servers, redactor))
    for name, text in proc.items():
        yield f"proc/{name}", text.encode("utf-8", "surrogateescape")
    redacted = [sysfs_capture.redact_entry(entry, redactor) for entry in entries]
    yield "sys.tree", sysfs_capture.format_tree(redacted).encode()
    mountpoints = proc_capture.read_mountpoints(paths.procfs, paths.rootfs, servers, redactor)
    if mountpoints:
        yield "rootfs.tree", sysfs_capture.format_tree(map(Directory, mountpoints)).encode()
    for name, output in _by_file_name(outputs, redactor).items():
        yield f"smartctl/{name}.json", smartctl_capture.redact_output(output, redactor)
    yield "case.toml", b""
    yield "README.md", _readme(redacted, proc.get("sys/kernel/osrelease", "")).encode()


def _by_file_name(outputs: Mapping[str, bytes], redactor: Redactor) -> dict[str, bytes]:
    """Returns the same outputs, keyed by unique names for their files, without ".json".

    Each name is redacted, and characters that are invalid in file names are replaced. The outputs
    themselves are not redacted.
    """
    files: dict[str, bytes] = {}
    for name, output in outputs.items():
        plain = _NOT_IN_FILE_NAMES.sub("-", redactor.text(name))
        plain = plain[:_MAX_FILE_NAME_LENGTH].strip("-") or "drive"
        suffixes = count(2)
        file = plain
        while file in files:
            file = f"{plain}-{next(suffixes)}"
        files[file] = output
    return files


def _redactor(
    entries: list[TreeEntry], outputs: Mapping[str, bytes], host_names: tuple[str, ...]
) -> Redactor:
    """Returns a redactor that knows the serial numbers, WWNs and host names of all sources."""
    serials: dict[str, None] = {}
    wwns: dict[str, None] = {}
    for entry in entries:
        if isinstance(entry, File):
            name = entry.path.rpartition("/")[2]
            serials |= dict.fromkeys(identity_redaction.serials(name, entry.content))
            wwns |= dict.fromkeys(identity_redaction.wwns(name, entry.content))
    for output in outputs.values():
        serials |= dict.fromkeys(smartctl_capture.serials(output))
        wwns |= dict.fromkeys(smartctl_capture.wwns(output))
    return Redactor(tuple(filter(None, serials)), tuple(wwns), host_names)


def _readme(entries: list[TreeEntry], kernel: str) -> str:
    models = sorted(
        {
            entry.content.decode("utf-8", "replace").strip()
            for entry in entries
            if isinstance(entry, File) and entry.path.endswith("/model")
        }
    )
    shown = ", ".join("".join(c if c.isprintable() else "?" for c in model) for model in models)
    return _README.format(kernel=kernel.strip(), models=shown or "no model known")


def _create_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o755)
    except FileExistsError:
        _check_empty(directory)
    except OSError as e:
        raise ConfigError(
            f"cannot create {directory}: {e.strerror}", "name another directory"
        ) from e


def _check_empty(directory: Path) -> None:
    """Checks that the directory is empty, belongs to this user, and is not writable by everyone.

    Raises:
        ConfigError: it does not meet these conditions, or cannot be read.
    """
    try:
        status = directory.lstat()
        is_empty = stat.S_ISDIR(status.st_mode) and not os.listdir(directory)
    except OSError as e:
        raise ConfigError(f"cannot read {directory}: {e.strerror}", "name another directory") from e
    if not is_empty or status.st_uid != os.geteuid() or status.st_mode & stat.S_IWOTH:
        raise ConfigError(
            f"{directory} exists and is not an empty directory that only you can write to",
            "name another directory",
        )


def _write(directory: Path, name: str, content: bytes) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(untrusted_file.create(path, 0o644), "wb") as file:
        file.write(content)
