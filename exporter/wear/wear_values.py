"""The limits of the values in a row of the wear history."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from exporter.drives.wear_counter import WearObservation
from exporter.runtime import untrusted_file

_LARGEST_INTEGER = (1 << 63) - 1

#: Limit of Unix times and power-on times, in seconds. As a Unix time it is the year 5138.
_LATEST_SECONDS = 1e11

#: Limit of the used endurance as a ratio. Drives report up to 2.55.
_LARGEST_RATIO = 10.0


def storable(seen: WearObservation) -> WearObservation:
    """Returns the observation. Values that are implausible or exceed 64 bits are replaced by None.

    Raises:
        ValueError: the time `at` of the observation is invalid.
    """
    if _number(seen.at, _LATEST_SECONDS) is None:
        raise ValueError(f"{seen.at!r} is not a valid instant")
    return WearObservation(
        seen.at,
        _number(seen.power_on_seconds, _LATEST_SECONDS),
        _number(seen.used_ratio, _LARGEST_RATIO),
        _number(seen.step_ratio, 1.0),
        _count(seen.host_written_bytes),
        _count(seen.nand_written_bytes),
    )


def _number(value: object, most: float) -> float | None:
    return untrusted_file.number(value, 0, most)


def _count(value: int | None) -> int | None:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and value is not None and 0 <= value <= _LARGEST_INTEGER else None


def usable(rows: Iterable[tuple[Any, ...]]) -> Iterator[WearObservation]:
    """Yields the observations with a valid time. Rows with an invalid time are left out."""
    for row in rows:
        with contextlib.suppress(ValueError):
            yield storable(WearObservation(*row))
