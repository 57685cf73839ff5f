"""What a probe of a write cache found, as it is kept: one JSON document for each drive. Pure.

The results of write-cache probes in the state directory, one file for each drive.

A command leaves them there and a daemon that runs beside it shows them. Each is written whole, so
that whoever is killed leaves the old one or the new one.

What probes of write caches have left, for the page.

Apart from `slc`, which judges them, with statistics, decimal and hashlib: 4 MB that a daemon does
without.
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

_MOST_BYTES = 1 << 62
_MOST_SECONDS = 1e12
_MOST_PHASES = 16
_MOST_DRIVES = 64
#: Each is a series.
MAX_IDLE_TIMES = 8
#: What an idle time may be.
MAX_IDLE_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class SlcResult:
    """The last probe of a drive's write cache.

    drives: the identities of the drives below the directory, most often one. device: the kernel's
    name that they had then. at: unix seconds.
    recovered_bytes: how much of the cache was back, by seconds without a write.
    """

    drives: tuple[str, ...]
    device: str
    at: float
    cliff: CacheCliff
    recovered_bytes: Mapping[int, int] = field(default_factory=dict)


def serialize(result: SlcResult) -> str:
    return json.dumps({"version": VERSION, **asdict(result)}, default=_plain, indent=1) + "\n"


def parse(text: str) -> Parsed[SlcResult]:
    """What `to_text` made; a field that is not usable is left out, and is a fault.

    Raises:
        ParseError: it is none, of a later version, or does not say of which drive or what it is.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ParseError(f"no JSON: {e}"[:200]) from e
    if not isinstance(found, Mapping) or found.get("version") != VERSION:
        version = found.get("version") if isinstance(found, Mapping) else None
        raise ParseError(f"of version {version!r:.20}, not {VERSION}")
    its = Fields(found)
    drives = _drives(its.get("drives"))
    device, at = its.text("device"), its.number("at", maximum=_MOST_SECONDS)
    word = its.text("cliff", "result")
    result = next((each for each in CliffResult if each.value == word), None)
    if not drives or device is None or at is None or result is None:
        raise ParseError("it does not say which drive it is of, when it was, or what was found")
    cliff = CacheCliff(
        result,
        its.integer("cliff", "written_bytes", maximum=_MOST_BYTES) or 0,
        tuple(_phases(its)),
        cache_bytes=its.integer("cliff", "cache_bytes", maximum=_MOST_BYTES),
        cache_min_bytes=its.integer("cliff", "cache_min_bytes", maximum=_MOST_BYTES),
        burst_bytes_per_second=_speed(its, "cliff", "burst_bytes_per_second"),
        sustained_bytes_per_second=_speed(its, "cliff", "sustained_bytes_per_second"),
    )
    recovered = dict(_recovered(its))
    return Parsed(
        SlcResult(drives, device, at, cliff, recovered), tuple(map(ParseError, its.faults))
    )


def supersedes(result: SlcResult, earlier: SlcResult | None) -> bool:
    """Whether a result is kept in place of an earlier one.

    A probe that was ended before it saw anything takes nothing away that one before it has found;
    how old that is, its time says.
    """
    if result.cliff.result is not CliffResult.ABORTED or earlier is None:
        return True
    return earlier.cliff.result is CliffResult.ABORTED


def by_device(results: Iterable[SlcResult], identities: Mapping[str, str]) -> dict[str, SlcResult]:
    """The results of the drives that are there, by the label that each has now.

    identities: of the devices by their names. A drive goes by its identity over all of its names;
    several under one filesystem keep the name that they had, as long as all are there.
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
    for row in its.rows("cliff", "phases", maximum=_MOST_PHASES):
        begin, speed = (
            row.integer("begin_bytes", maximum=_MOST_BYTES),
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
        size = its.integer("recovered_bytes", key, maximum=_MOST_BYTES)
        if not 0 <= seconds <= MAX_IDLE_SECONDS:
            its.fault(("recovered_bytes",), key)
        elif size is not None:
            yield seconds, size


def _speed(its: Fields, *path: str) -> float | None:
    speed = its.number(*path, maximum=_MOST_BYTES)
    # Nothing is written at no speed, and the ratio of two would not be finite.
    if speed is not None and not (speed > 0 and math.isfinite(1 / speed)):
        its.fault(path, speed)
        return None
    return speed


def _drives(found: object) -> tuple[str, ...]:
    """As they are, spaces and all, for they are compared; none where one is not usable."""
    if not isinstance(found, list) or len(found) > _MOST_DRIVES:
        return ()
    drives = tuple(each for each in found if isinstance(each, str) and 0 < len(each) < 1024)
    return drives if len(drives) == len(found) else ()


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else str(value)


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
            file.write(serialize(result))
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)
    finally:
        os.close(parent)
    return path


def read_result(directory: Path, drives: Sequence[str]) -> SlcResult | None:
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
        return parse(content.decode("utf-8", "replace"))
    except ParseError as e:
        raise ParseError(f"{path}: {e}; the next ssd-exporter slc writes it anew") from e


def _name(drives: Sequence[str]) -> str:
    """A serial number may hold anything, and several may be too long for a file's name."""
    import hashlib  # noqa: PLC0415  with libcrypto it takes 3 MB, and only who writes needs it

    digest = hashlib.sha256("\0".join(drives).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_PREFIX}{digest[:32]}{_SUFFIX}"


class SlcResultStore:
    """The results in a state directory, whoever left them there. `results` is for the page."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._found: tuple[SlcResult, ...] = ()

    def look(self) -> Parsed[None]:
        """Read them all; on a thread that may wait for a disk.

        Raises:
            ReadError: the directory cannot be listed.
        """
        found = read_all(self._directory)
        with self._lock:
            self._found = tuple(found.value)
        return Parsed(None, found.faults)

    def results(self, identities: Callable[[], Mapping[str, str]]) -> dict[str, SlcResult]:
        """By the label that each drive has now.

        identities: of the devices by their names; asked only where there is a result.
        """
        with self._lock:
            found = self._found
        return by_device(found, identities()) if found else {}
