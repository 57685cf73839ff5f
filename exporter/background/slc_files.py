"""The results of write-cache probes in the state directory, one file for each drive.

A command leaves them there and a daemon that runs beside it shows them. Each is written whole, so
that whoever is killed leaves the old one or the new one.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from exporter.background import slc_results
from exporter.background.slc_results import SlcResult
from exporter.errors import ParseError, ReadError, SourceError
from exporter.linux.files import Parsed

_PREFIX, _SUFFIX = "slc-", ".json"
_LARGEST_BYTES = 64 << 10
_MOST_FILES = 1024


def save(directory: Path, result: SlcResult) -> Path:
    """Keep the result of a drive, in place of an earlier one.

    Raises:
        OSError: the directory is not there, full, or not to be written.
    """
    path = directory / _name(result.drives)
    parent = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # One name, so that what a kill leaves half written is written over the next time.
        temporary = f".{path.name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        # Root may leave it for a daemon that is somebody else, and is to read it.
        descriptor = os.open(temporary, flags, 0o644, dir_fd=parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(slc_results.to_text(result))
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)
    finally:
        os.close(parent)
    return path


def kept(directory: Path, drives: Sequence[str]) -> SlcResult | None:
    """The result of these drives; None where there is none, or none that can be read."""
    try:
        return _read(directory / _name(drives)).value
    except (SourceError, FileNotFoundError):
        return None


def read_all(directory: Path) -> Parsed[list[SlcResult]]:
    """The results of all drives; a file that cannot be read costs its own only.

    Raises:
        ReadError: the directory cannot be listed.
    """
    try:
        names = sorted(
            name
            for name in os.listdir(directory)
            if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
        )
    except OSError as e:
        raise ReadError(f"{directory}: {e.strerror or e}") from e
    found: list[SlcResult] = []
    faults: list[SourceError] = []
    for name in names[:_MOST_FILES]:
        path = directory / name
        try:
            parsed = _read(path)
        except FileNotFoundError:
            continue
        except SourceError as e:
            faults.append(e)
            continue
        found.append(parsed.value)
        faults += (ParseError(f"{path}: {fault}") for fault in parsed.faults)
    return Parsed(found, tuple(faults))


def _read(path: Path) -> Parsed[SlcResult]:
    """Raises SourceError, and FileNotFoundError where there is none."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ReadError(f"{path} is no regular file: remove it")
            content = file.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as e:
        raise ReadError(f"{path}: {e.strerror or e}; remove it, or mend its rights") from e
    if len(content) > _LARGEST_BYTES:
        raise ParseError(f"{path}: larger than {_LARGEST_BYTES} bytes; remove it")
    try:
        return slc_results.parse(content.decode("utf-8", "replace"))
    except ParseError as e:
        raise ParseError(f"{path}: {e}; the next ssd-exporter slc writes it anew") from e


def _name(drives: Sequence[str]) -> str:
    """A serial number may hold anything, and several may be too long for a file's name."""
    import hashlib  # noqa: PLC0415  with libcrypto it takes 3 MB, and only who writes needs it

    digest = hashlib.sha256("\0".join(drives).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_PREFIX}{digest[:32]}{_SUFFIX}"
