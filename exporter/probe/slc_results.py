"""Saves the results of write-cache probes in the state directory, one JSON file per drive.

The command and the daemon save results, and the daemon shows them. Each file is replaced as a
whole: after a kill it contains the old or the new result.
"""

import json
import math
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

from exporter.drives.fields import Fields
from exporter.errors import ParseError, ReadError, SourceError
from exporter.linux.files import Parsed
from exporter.probe.cache_cliff import CacheCliff, CliffResult, WritePhase

VERSION = 1

_MAX_BYTES = 1 << 62
_MAX_SECONDS = 1e12
_MAX_PHASES = 16
_MAX_DRIVES = 64
#: Maximum number of idle times in a result; each is a series on the metrics page.
MAX_IDLE_TIMES = 8
#: Maximum idle time, in seconds.
MAX_IDLE_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class SlcResult:
    """The last probe of a drive's write cache.

    drives: the identities of the drives below the directory, usually one. device: its name at that
    time. at: unix seconds. recovered_bytes: recovered part of the cache, by idle time in seconds.
    """

    drives: tuple[str, ...]
    device: str
    at: float
    cliff: CacheCliff
    recovered_bytes: Mapping[int, int] = field(default_factory=dict)


def serialize(result: SlcResult) -> str:
    """Returns the result as JSON."""
    return json.dumps({"version": VERSION, **asdict(result)}, default=_plain, indent=1) + "\n"


def parse(text: str) -> Parsed[SlcResult]:
    """Parses what `serialize` returned; invalid fields are left out and reported as faults.

    Raises:
        ParseError: not a result, another version, or without drives, time or result.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ParseError(f"not JSON: {e}"[:200]) from e
    if not isinstance(found, Mapping) or found.get("version") != VERSION:
        version = found.get("version") if isinstance(found, Mapping) else None
        raise ParseError(f"version {version!r:.20} instead of {VERSION}")
    its = Fields(found)
    drives = _drives(its.get("drives"))
    device, at = its.text("device"), its.number("at", maximum=_MAX_SECONDS)
    word = its.text("cliff", "result")
    result = next((each for each in CliffResult if each.value == word), None)
    if not drives or device is None or at is None or result is None:
        raise ParseError("drives, device, time or result is missing")
    cliff = CacheCliff(
        result,
        its.integer("cliff", "written_bytes", maximum=_MAX_BYTES) or 0,
        tuple(_phases(its)),
        cache_bytes=its.integer("cliff", "cache_bytes", maximum=_MAX_BYTES),
        cache_min_bytes=its.integer("cliff", "cache_min_bytes", maximum=_MAX_BYTES),
        burst_bytes_per_second=_speed(its, "cliff", "burst_bytes_per_second"),
        sustained_bytes_per_second=_speed(its, "cliff", "sustained_bytes_per_second"),
    )
    recovered = dict(_recovered(its))
    return Parsed(
        SlcResult(drives, device, at, cliff, recovered), tuple(map(ParseError, its.faults))
    )


def supersedes(result: SlcResult, earlier: SlcResult | None) -> bool:
    """Returns True if a result replaces an earlier one.

    An aborted probe without a result does not replace an earlier result, whose time shows its age.
    """
    if result.cliff.result is not CliffResult.ABORTED or earlier is None:
        return True
    return earlier.cliff.result is CliffResult.ABORTED


def by_device(results: Iterable[SlcResult], identities: Mapping[str, str]) -> dict[str, SlcResult]:
    """Returns the results of the present drives, by their current device labels.

    identities: by device name. A single drive is found by its identity, whatever its name is now.
    Several drives under one filesystem keep their label while all of them are present.
    """
    names: dict[str, str] = {}
    for name, identity in identities.items():
        names.setdefault(identity, name)
    shown: dict[str, SlcResult] = {}
    for each in sorted(results, key=lambda result: result.at):
        if all(drive in names for drive in each.drives):
            label = names[each.drives[0]] if len(each.drives) == 1 else each.device
            if label in identities:
                shown[label] = each
    return shown


def _phases(its: Fields) -> Iterator[WritePhase]:
    for row in its.rows("cliff", "phases", maximum=_MAX_PHASES):
        begin, speed = (
            row.integer("begin_bytes", maximum=_MAX_BYTES),
            _speed(row, "bytes_per_second"),
        )
        if begin is not None and speed is not None:
            yield WritePhase(begin, speed)


def _recovered(its: Fields) -> Iterator[tuple[int, int]]:
    found = its.get("recovered_bytes")
    if not isinstance(found, Mapping):
        if found is not None:
            its.fault(("recovered_bytes",), found)
        return
    for key in list(found)[:MAX_IDLE_TIMES]:
        seconds = int(key) if key.isascii() and key.isdecimal() and len(key) <= 9 else -1
        size = its.integer("recovered_bytes", key, maximum=_MAX_BYTES)
        if not 0 <= seconds <= MAX_IDLE_SECONDS:
            its.fault(("recovered_bytes",), key)
        elif size is not None:
            yield seconds, size


def _speed(its: Fields, *path: str) -> float | None:
    speed = its.number(*path, maximum=_MAX_BYTES)
    # A speed of 0 is impossible, and the ratio of two speeds must be finite.
    if speed is not None and not (speed > 0 and math.isfinite(1 / speed)):
        its.fault(path, speed)
        return None
    return speed


def _drives(found: object) -> tuple[str, ...]:
    """Returns the identities unchanged, because they are compared; empty if one is invalid."""
    if not isinstance(found, list) or len(found) > _MAX_DRIVES:
        return ()
    drives = tuple(each for each in found if isinstance(each, str) and 0 < len(each) < 1024)
    return drives if len(drives) == len(found) else ()


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else str(value)


_PREFIX, _SUFFIX = "slc-", ".json"
_MAX_FILE_BYTES = 64 << 10
_MAX_FILES = 1024


def save(directory: Path, result: SlcResult) -> Path:
    """Save the result of a drive and replace an earlier one; returns the file.

    Raises:
        OSError: the directory does not exist, is full, or cannot be written.
    """
    path = directory / _name(result.drives)
    parent = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # A fixed name: the next save replaces what a kill left half-written.
        temporary = f".{path.name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        # Readable for all: root may save it for a daemon that runs as another user.
        descriptor = os.open(temporary, flags, 0o644, dir_fd=parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(serialize(result))
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)
    finally:
        os.close(parent)
    return path


def read_result(directory: Path, drives: Sequence[str]) -> SlcResult | None:
    """Returns the result of these drives; None if there is none or it cannot be read."""
    try:
        return _read(directory / _name(drives)).value
    except (SourceError, FileNotFoundError):
        return None


def read_all(directory: Path) -> Parsed[list[SlcResult]]:
    """Returns the results of all drives; an unreadable file is a fault and is left out.

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
    for name in names[:_MAX_FILES]:
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
    """Raises SourceError, or FileNotFoundError without a file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ReadError(f"{path} is not a regular file: remove it")
            content = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as e:
        raise ReadError(f"{path}: {e.strerror or e}; remove it, or correct its permissions") from e
    if len(content) > _MAX_FILE_BYTES:
        raise ParseError(f"{path}: larger than {_MAX_FILE_BYTES} bytes; remove it")
    try:
        return parse(content.decode("utf-8", "replace"))
    except ParseError as e:
        raise ParseError(f"{path}: {e}; the next ssd-exporter slc replaces it") from e


def _name(drives: Sequence[str]) -> str:
    """Returns the file name: a digest, because serial numbers may be long or contain anything."""
    import hashlib  # noqa: PLC0415  it takes 3 MB with libcrypto, and only writers need it

    digest = hashlib.sha256("\0".join(drives).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_PREFIX}{digest[:32]}{_SUFFIX}"


class SlcResultStore:
    """Caches the results of a state directory for the metrics page."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._found: tuple[SlcResult, ...] = ()

    def look(self) -> Parsed[None]:
        """Read all results, on a thread that may wait for a disk.

        Raises:
            ReadError: the directory cannot be listed.
        """
        found = read_all(self._directory)
        with self._lock:
            self._found = tuple(found.value)
        return Parsed(None, found.faults)

    def results(self, identities: Callable[[], Mapping[str, str]]) -> dict[str, SlcResult]:
        """Returns the cached results by current device label.

        identities: returns identities by device name; called only if there is a result.
        """
        with self._lock:
            found = self._found
        return by_device(found, identities()) if found else {}
