"""Saves and reads the results of write-cache probes, one JSON file per drive.

A drive writes first to a fast cache of cells with one bit each (SLC). A write-cache probe measures
the size of this cache. The command `ssd-exporter slc` and the daemon save results in the state
directory, and the daemon shows them as metrics. Each file is replaced as a whole, so after a kill
it contains either the old or the new result.
"""

import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

from exporter.drives.fields import Fields
from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.runtime import untrusted_file
from exporter.runtime.errors import Parsed, ParseError, ReadError, SourceError
from exporter.runtime.untrusted_file import UnusableFile

#: The version of the file format.
VERSION = 1

#: Upper bounds of what is parsed: bytes and bytes per second, unix seconds, parts of a write with
#: constant speed (phases), and drives of a result.
_MAX_BYTES = 1 << 62
_MAX_SECONDS = 1e12
_MAX_PHASES = 16
_MAX_DRIVES = 64
#: Maximum number of idle times in a result. Each becomes a time series on the metrics page.
MAX_IDLE_TIMES = 8
#: Maximum idle time, in seconds.
MAX_IDLE_SECONDS = 86_400

#: The files are named "slc-<digest of the drives' identities>.json".
_PREFIX, _SUFFIX = "slc-", ".json"
#: Maximum number of bytes of a file, and of files of a directory, that are read.
_MAX_FILE_BYTES = 64 << 10
_MAX_FILES = 1024


@dataclass(frozen=True, slots=True)
class SlcResult:
    """The result of the last probe of a drive's write cache.

    drives: the identities of the drives that contain the probed filesystem, usually one.
    device: the device label of the metrics at the time of the probe.
    at: the time of the result, in unix seconds.
    cliff: what the write showed about the cache.
    recovered_bytes: the bytes of the cache that were free again, keyed by the idle time in seconds.
    """

    drives: tuple[str, ...]
    device: str
    at: float
    cliff: CacheCliff
    recovered_bytes: Mapping[int, int] = field(default_factory=dict)


def serialize(result: SlcResult) -> str:
    """Returns the result as JSON text."""
    return json.dumps({"version": VERSION, **asdict(result)}, default=_plain, indent=1) + "\n"


def parse(text: str) -> Parsed[SlcResult]:
    """Returns the result that `serialize` wrote as this text.

    Invalid fields are left out and reported as faults.

    Raises:
        ParseError: the text is not a result, has another version, or lacks drives, device, time or
            result.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ParseError(f"not JSON: {e}"[:200]) from e
    if not isinstance(document, Mapping) or document.get("version") != VERSION:
        version = document.get("version") if isinstance(document, Mapping) else None
        raise ParseError(f"version {version!r:.20} instead of {VERSION}")
    fields = Fields(document)
    drives = _drives(fields.get("drives"))
    device, at = fields.text("device"), fields.number("at", maximum=_MAX_SECONDS)
    word = fields.text("cliff", "result")
    result = next((member for member in CliffResult if member.value == word), None)
    if not drives or device is None or at is None or result is None:
        raise ParseError("drives, device, time or result is missing")
    cliff = CacheCliff(
        result,
        fields.integer("cliff", "written_bytes", maximum=_MAX_BYTES) or 0,
        tuple(_phases(fields)),
        cache_bytes=fields.integer("cliff", "cache_bytes", maximum=_MAX_BYTES),
        cache_min_bytes=fields.integer("cliff", "cache_min_bytes", maximum=_MAX_BYTES),
        burst_bytes_per_second=_speed(fields, "cliff", "burst_bytes_per_second"),
        sustained_bytes_per_second=_speed(fields, "cliff", "sustained_bytes_per_second"),
    )
    recovered = dict(_recovered(fields))
    return Parsed(
        SlcResult(drives, device, at, cliff, recovered), tuple(map(ParseError, fields.faults))
    )


def supersedes(result: SlcResult, earlier: SlcResult | None) -> bool:
    """Returns True if a result must replace the earlier result of the same drives.

    The result of an aborted or disturbed probe does not replace the result of a complete probe.
    """
    return earlier is None or _is_complete(result) or not _is_complete(earlier)


def _is_complete(result: SlcResult) -> bool:
    return result.cliff.result not in (CliffResult.ABORTED, CliffResult.DISTURBED)


def by_device(results: Iterable[SlcResult], identities: Mapping[str, str]) -> dict[str, SlcResult]:
    """Returns the results of the drives that are present, keyed by their current device label.

    The label of a result with one drive is the current name of the drive. A result with several
    drives below one filesystem keeps its label. It is returned only if all its drives are present
    and a device with this name exists.

    identities: the identities of the present devices, keyed by device name.
    """
    names: dict[str, str] = {}
    for name, identity in identities.items():
        names.setdefault(identity, name)
    shown: dict[str, SlcResult] = {}
    for result in sorted(results, key=lambda one: one.at):
        if all(drive in names for drive in result.drives):
            label = names[result.drives[0]] if len(result.drives) == 1 else result.device
            if label in identities:
                shown[label] = result
    return shown


def _phases(fields: Fields) -> Iterator[WritePhase]:
    for row in fields.rows("cliff", "phases", maximum=_MAX_PHASES):
        begin, speed = (
            row.integer("begin_bytes", maximum=_MAX_BYTES),
            _speed(row, "bytes_per_second"),
        )
        if begin is not None and speed is not None:
            yield WritePhase(begin, speed)


def _recovered(fields: Fields) -> Iterator[tuple[int, int]]:
    items = fields.get("recovered_bytes")
    if not isinstance(items, Mapping):
        if items is not None:
            fields.fault(("recovered_bytes",), items)
        return
    for key in list(items)[:MAX_IDLE_TIMES]:
        seconds = int(key) if key.isascii() and key.isdecimal() and len(key) <= 9 else -1
        size = fields.integer("recovered_bytes", key, maximum=_MAX_BYTES)
        if not 0 <= seconds <= MAX_IDLE_SECONDS:
            fields.fault(("recovered_bytes",), key)
        elif size is not None:
            yield seconds, size


def _speed(fields: Fields, *path: str) -> float | None:
    speed = fields.number(*path, maximum=_MAX_BYTES)
    # A speed of 0 is impossible, and the ratio of two speeds must be finite.
    if speed is not None and not (speed > 0 and math.isfinite(1 / speed)):
        fields.fault(path, speed)
        return None
    return speed


def _drives(value: object) -> tuple[str, ...]:
    """Returns the identities of the drives as they are; empty if one of them is invalid."""
    if not isinstance(value, list) or len(value) > _MAX_DRIVES:
        return ()
    drives = tuple(item for item in value if isinstance(item, str) and 0 < len(item) < 1024)
    return drives if len(drives) == len(value) else ()


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else str(value)


def save(directory: Path, result: SlcResult) -> Path:
    """Saves a result, and replaces an earlier result of the same drives. Returns the file's path.

    Raises:
        OSError: the directory does not exist or cannot be written, or the filesystem is full.
    """
    path = directory / _name(result.drives)
    # All users may read the file, because root may save it for a daemon that runs as another user.
    untrusted_file.replace_at(path, serialize(result).encode(), 0o644)
    return path


def read_result(directory: Path, drives: Sequence[str]) -> SlcResult | None:
    """Returns the saved result of these drives; None if there is none or it cannot be read.

    directory: the state directory.
    drives: the identities of the drives.
    """
    try:
        return _read(directory / _name(drives)).value
    except (SourceError, FileNotFoundError):
        return None


def read_all(directory: Path) -> Parsed[list[SlcResult]]:
    """Returns all saved results. Unreadable files are left out and reported as faults.

    directory: the state directory.

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
    results: list[SlcResult] = []
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
        results.append(parsed.value)
        faults += (ParseError(f"{path}: {fault}") for fault in parsed.faults)
    return Parsed(results, tuple(faults))


def _read(path: Path) -> Parsed[SlcResult]:
    """Returns the result in a file. Invalid fields are left out and reported as faults.

    Raises:
        SourceError: the file cannot be read or does not contain a result.
        FileNotFoundError: the file does not exist.
    """
    try:
        content = untrusted_file.read(path, _MAX_FILE_BYTES)
    except FileNotFoundError:
        raise
    except UnusableFile as e:
        raise ReadError(f"{path}: {e.strerror}; remove it") from e
    except OSError as e:
        raise ReadError(f"{path}: {e.strerror or e}; remove it, or correct its permissions") from e
    try:
        return parse(content.decode("utf-8", "replace"))
    except ParseError as e:
        raise ParseError(f"{path}: {e}; the next ssd-exporter slc replaces it") from e


def _name(drives: Sequence[str]) -> str:
    """Returns the name of the result file of these drives.

    It contains a digest of the identities, because serial numbers may be long or contain any
    character.
    """
    import hashlib  # noqa: PLC0415  it takes 3 MB with libcrypto, and only writers need it

    digest = hashlib.sha256("\0".join(drives).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_PREFIX}{digest[:32]}{_SUFFIX}"


class SlcResultStore:
    """Caches the saved results of a state directory for the metrics page.

    Any thread may call its methods.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._results: tuple[SlcResult, ...] = ()

    def refresh(self) -> Parsed[None]:
        """Reads all results into the cache. Returns the faults.

        Call it on a thread that may wait for a disk.

        Raises:
            ReadError: the directory cannot be listed.
        """
        read = read_all(self._directory)
        with self._lock:
            self._results = tuple(read.value)
        return Parsed(None, read.faults)

    def results(self, identities: Callable[[], Mapping[str, str]]) -> dict[str, SlcResult]:
        """Returns the cached results, keyed by the current device label.

        identities: returns the identities of the present devices, keyed by device name. It is
            called only if there is a result.
        """
        with self._lock:
            results = self._results
        return by_device(results, identities()) if results else {}
