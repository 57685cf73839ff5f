"""What a probe of a write cache found, as it is kept: one JSON document for each drive. Pure."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum

from exporter.diagnosis.cache_cliff import CacheCliff, CliffResult, WritePhase
from exporter.drives.fields import Fields
from exporter.errors import ParseError
from exporter.linux.files import Parsed

VERSION = 1

_MOST_BYTES = 1 << 62
_MOST_SECONDS = 1e12
_MOST_PHASES = 16
_MOST_DRIVES = 64
#: Each is a series.
MOST_RUNGS = 8
#: What an idle time may be.
LONGEST_IDLE_SECONDS = 86_400


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


def to_text(result: SlcResult) -> str:
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
    device, at = its.text("device"), its.number("at", most=_MOST_SECONDS)
    word = its.text("cliff", "result")
    result = next((each for each in CliffResult if each.value == word), None)
    if not drives or device is None or at is None or result is None:
        raise ParseError("it does not say which drive it is of, when it was, or what was found")
    cliff = CacheCliff(
        result,
        its.integer("cliff", "written_bytes", most=_MOST_BYTES) or 0,
        tuple(_phases(its)),
        cache_bytes=its.integer("cliff", "cache_bytes", most=_MOST_BYTES),
        cache_min_bytes=its.integer("cliff", "cache_min_bytes", most=_MOST_BYTES),
        burst_bytes_per_second=_speed(its, "cliff", "burst_bytes_per_second"),
        sustained_bytes_per_second=_speed(its, "cliff", "sustained_bytes_per_second"),
    )
    recovered = dict(_recovered(its))
    return Parsed(
        SlcResult(drives, device, at, cliff, recovered), tuple(map(ParseError, its.faults))
    )


def replaces(result: SlcResult, earlier: SlcResult | None) -> bool:
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
    for row in its.rows("cliff", "phases", most=_MOST_PHASES):
        begin, speed = row.integer("begin_bytes", most=_MOST_BYTES), _speed(row, "bytes_per_second")
        if begin is not None and speed is not None:
            yield WritePhase(begin, speed)


def _recovered(its: Fields) -> Iterator[tuple[int, int]]:
    found = its.get("recovered_bytes")
    if not isinstance(found, Mapping):
        if found is not None:
            its.fault(("recovered_bytes",), found)
        return
    for key in list(found)[:MOST_RUNGS]:
        seconds = int(key) if key.isascii() and key.isdecimal() and len(key) <= 9 else -1
        size = its.integer("recovered_bytes", key, most=_MOST_BYTES)
        if not 0 <= seconds <= LONGEST_IDLE_SECONDS:
            its.fault(("recovered_bytes",), key)
        elif size is not None:
            yield seconds, size


def _speed(its: Fields, *path: str) -> float | None:
    speed = its.number(*path, most=_MOST_BYTES)
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
