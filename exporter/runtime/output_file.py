"""Writes files whose path a user gives: an HTML report, a page for the textfile collector.

The file is replaced in one step. Several processes may write the same file at the same time: each
one uses a temporary name of its own, and the last one wins. Only a regular file is replaced. A
link, a pipe, or a device such as /dev/null stays as it is.
"""

import contextlib
import os
import secrets
from pathlib import Path

from exporter.runtime import untrusted_file


def check(path: Path) -> None:
    """Check that the file can be written. Call it before long work. Nothing is left behind.

    Raises:
        UnusableFile: something other than a regular file exists at the path.
        OSError: the file cannot be created.
        ValueError: the path contains a null byte.
    """
    with untrusted_file.opened_directory(path.parent) as directory:
        _require_regular_file(path, directory)
        descriptor, temporary = _created(directory, 0o600)
        os.close(descriptor)
        os.unlink(temporary, dir_fd=directory)


def write(path: Path, content: bytes, mode: int) -> None:
    """Create or replace the file. If this fails, an earlier file is unchanged.

    mode: the permissions, which the umask reduces.

    Raises:
        UnusableFile, ValueError: as for `check`.
        OSError: the file cannot be created or written.
    """
    # The directory stays the same one, also if its owner replaces it by a link meanwhile.
    with untrusted_file.opened_directory(path.parent) as directory:
        _require_regular_file(path, directory)
        descriptor, temporary = _created(directory, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise


def _require_regular_file(path: Path, directory: int) -> None:
    try:
        # The root directory has no name.
        status = os.stat(path.name or ".", dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if reason := untrusted_file.kind_problem(status):
        raise untrusted_file.UnusableFile(reason, path)


def _created(directory: int, mode: int) -> tuple[int, str]:
    """Create a new empty file; returns its descriptor and name."""
    name = f".ssd-exporter.{secrets.token_hex(8)}.new"
    return untrusted_file.create(name, mode, directory=directory), name
