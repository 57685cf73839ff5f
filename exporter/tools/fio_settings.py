"""Profiles out of the configuration: a changed one of ours, or one of the operator's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from exporter.errors import ConfigError
from exporter.tools.fio_profiles import GIB, MIB, PROFILES, Engine, Profile, Rw, Sync

#: It becomes a label's value and the name of a job; fio reads the name "global" as none.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """rw, block_bytes, size_bytes, engine, depth, jobs, direct, sync, number_ios, rate_iops,
    runtime_seconds, interval_seconds: as in `Profile`. What is left out stays as in the profile of
    that name; a profile of another name begins as page_read. 0 takes the caps number_ios and
    rate_iops away, and as interval_seconds leaves the profile to be run on demand.
    """

    rw: Rw | None = None
    block_bytes: int | None = None
    size_bytes: int | None = None
    engine: Engine | None = None
    depth: int | None = None
    jobs: int | None = None
    direct: bool | None = None
    sync: Sync | None = None
    number_ios: int | None = None
    rate_iops: int | None = None
    runtime_seconds: float | None = None
    interval_seconds: float | None = None


_ZERO_IS_NONE = ("number_ios", "rate_iops", "interval_seconds")

#: What a setting may be, ends included.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "block_bytes": (512, 16 * MIB),
    "size_bytes": (MIB, 64 * GIB),
    "depth": (1, 256),
    "jobs": (1, 16),
    "number_ios": (1, 1_000_000),
    "rate_iops": (1, 1000),
    "runtime_seconds": (1, 600),
    "interval_seconds": (10, 366 * 86_400),
}


def profile(name: str, settings: ProfileSettings, where: str = "probe.profile") -> Profile:
    """The profile that the settings below `where` describe.

    Raises:
        ConfigError: a value out of bounds, or a combination that would measure something else.
    """
    if not _NAME.fullmatch(name) or name == "global":
        raise ConfigError(
            f"{where} has a profile called {name!r}",
            "a name is of a-z, 0-9 and _, begins with a letter, has at most 32, and is not global",
        )
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    changes: dict[str, Any] = {
        key: None if value == 0 and key in _ZERO_IS_NONE else value
        for key, value in given.items()
        if value is not None
    }
    base = PROFILES.get(name, PROFILES["page_read"])
    made = replace(base, name=name, **changes)
    whole = f"{where}.{name}"
    for key, (least, most) in _BOUNDS.items():
        found = getattr(made, key)
        # Not "out of bounds": NaN is neither below nor above.
        if found is not None and not least <= found <= most:
            raise ConfigError(f"{whole}.{key} is {found}", f"it must be {least} to {most}")
    for key, wrong, hint in _contradictions(made):
        if wrong:
            raise ConfigError(f"{whole}.{key} is {_shown(getattr(made, key))}", hint)
    return made


def _contradictions(made: Profile) -> tuple[tuple[str, bool, str], ...]:
    """Keys, whether they contradict the rest, and what to do about it."""
    each = (made.number_ios or 1) * made.block_bytes
    return (
        ("block_bytes", made.block_bytes % 512 != 0, "it must be a multiple of 512"),
        (
            "depth",
            made.depth > 1 and made.engine is Engine.PSYNC,
            "psync has one request in flight: set engine to libaio, or depth to 1",
        ),
        (
            "direct",
            not made.direct and made.engine is Engine.LIBAIO,
            "libaio waits for each request without it: set direct to true, or engine to psync",
        ),
        (
            "sync",
            made.sync is not Sync.NONE and not made.writes,
            f"{made.rw.value} writes nothing: set sync to none",
        ),
        (
            "size_bytes",
            each > made.size_bytes,
            "fio ends at the file's end: it must be at least number_ios times block_bytes",
        ),
    )


def _shown(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
