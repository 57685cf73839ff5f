"""A drive that has answered here before, and how it passes through the kept state."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

_LONGEST_TEXT = 256

#: The year 5138; a damaged number would make a drive the last to go for ever.
_LATEST_UNIX_TIME = 1e11


@dataclass(frozen=True, slots=True)
class KnownDrive:
    """A drive that has answered here before, as it was last seen.

    path, type: its address then. missing: a complete look did not find it.
    """

    label: str
    path: str
    type: str
    first_seen_unix_time: float
    last_seen_unix_time: float
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    wwn: str | None = None
    missing: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be forgotten by: serial number or WWN; where it has none, its label."""
        return tuple(name for name in (self.serial, self.wwn) if name) or (self.label,)

    def to_keep(self) -> dict[str, Any]:
        """Plain values for the state file."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(each.name for each in fields(KnownDrive))


def restored(row: Any) -> KnownDrive | None:
    """The drive of what `to_keep` gave; None where a value is missing or of another kind."""
    if not isinstance(row, Mapping):
        return None
    values: dict[str, Any] = {name: row.get(name) for name in _FIELDS}
    for name, value in values.items():
        if name in ("label", "path", "type"):
            usable = isinstance(value, str) and (value != "" or name == "type")
        elif name.endswith("_unix_time"):
            usable = _is_time(value)
        elif name == "missing":
            usable = isinstance(value, bool)
        else:
            usable = value is None or (isinstance(value, str) and value != "")
        if not usable or (isinstance(value, str) and len(value) > _LONGEST_TEXT):
            return None
    return KnownDrive(**values)


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value < _LATEST_UNIX_TIME
