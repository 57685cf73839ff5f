"""Defines the probe profiles: a closed set of fio parameters with safe bounds.

The configuration may change the built-in profiles and add others, but it cannot contain other fio
arguments, because a single one could make fio write to a device node. Results are compared only
between runs with equal parameters, so all parameters are labels.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from exporter.errors import ConfigError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

#: Operations of a minimal run, on a host that is always busy.
_MINIMAL_OPERATIONS = 32


class Rw(str, Enum):
    """fio's access pattern (option rw); randrw is three reads per write."""

    READ = "read"
    WRITE = "write"
    RANDREAD = "randread"
    RANDWRITE = "randwrite"
    RANDRW = "randrw"


class Sync(str, Enum):
    """When written data is synced: after each write by fsync or fdatasync, or once at the end."""

    NONE = "none"
    FSYNC = "fsync"
    FDATASYNC = "fdatasync"
    END_FSYNC = "end_fsync"


class Engine(str, Enum):
    """fio's I/O engine. psync has one request in flight per job, whatever the depth."""

    PSYNC = "psync"
    LIBAIO = "libaio"
    IO_URING = "io_uring"


#: The engines to try, in order, if this fio or kernel lacks the configured one.
_FALLBACKS = {
    Engine.IO_URING: (Engine.IO_URING, Engine.LIBAIO, Engine.PSYNC),
    Engine.LIBAIO: (Engine.LIBAIO, Engine.PSYNC),
    Engine.PSYNC: (Engine.PSYNC,),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """The parameters of one kind of run.

    depth: requests in flight per job. jobs: threads on the same file.
    number_ios, rate_iops: operations and operations per second of each job; None is no cap. Without
        `number_ios` a job reads or writes the file once.
    size_bytes: length of the file. runtime_seconds: maximum duration.
    interval_seconds: time between two runs; None means on demand only.
    """

    name: str
    rw: Rw
    block_bytes: int
    size_bytes: int
    engine: Engine = Engine.PSYNC
    depth: int = 1
    jobs: int = 1
    direct: bool = True
    sync: Sync = Sync.NONE
    number_ios: int | None = None
    rate_iops: int | None = None
    runtime_seconds: float = 10.0
    interval_seconds: float | None = None

    @property
    def writes(self) -> bool:
        """True if the profile writes."""
        return self.rw not in (Rw.READ, Rw.RANDREAD)

    @property
    def is_rate_capped(self) -> bool:
        """True if the rate is capped; IOPS and throughput are then not measurements."""
        return self.rate_iops is not None

    @property
    def operations_at_most(self) -> int:
        """Upper bound of the operations of all jobs."""
        return self.jobs * (self.number_ios or self.size_bytes // self.block_bytes)

    @property
    def written_bytes_at_most(self) -> int:
        """Upper bound of the bytes that fio writes, without what the filesystem adds."""
        return self.operations_at_most * self.block_bytes if self.writes else 0

    @property
    def writes_whole_file(self) -> bool:
        """True if it writes the file once from end to end. The file then needs no data before."""
        return self.rw is Rw.WRITE and self.number_ios is None

    @property
    def expected_seconds(self) -> float:
        """Expected duration of a run: by its rate cap if it has one, else the maximum."""
        if self.rate_iops and self.number_ios:
            return min(self.number_ios / self.rate_iops, self.runtime_seconds)
        return self.runtime_seconds

    def minimal(self) -> "Profile":
        """Returns the shortest useful run with the same parameters."""
        minimal_ios = max(1, _MINIMAL_OPERATIONS // self.jobs)
        number_ios = self.number_ios or max(1, self.size_bytes // self.block_bytes)
        return replace(self, number_ios=min(number_ios, minimal_ios))


#: The built-in profiles. Block sizes are InnoDB's: pages of 16 KiB, and synced writes of 4 KiB to
#: the redo log. The first three together write 0.3 TB a year, filesystem included.
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "fsync",
            Rw.WRITE,
            4 * KIB,
            64 * MIB,
            direct=False,
            sync=Sync.FDATASYNC,
            number_ios=200,
            rate_iops=100,
            interval_seconds=300.0,
        ),
        Profile(
            "page_read",
            Rw.RANDREAD,
            16 * KIB,
            64 * MIB,
            number_ios=512,
            rate_iops=200,
            interval_seconds=300.0,
        ),
        Profile(
            "page_write",
            Rw.RANDWRITE,
            16 * KIB,
            64 * MIB,
            sync=Sync.END_FSYNC,
            number_ios=100,
            rate_iops=50,
            interval_seconds=900.0,
        ),
        Profile(
            "burst",
            Rw.WRITE,
            MIB,
            256 * MIB,
            Engine.LIBAIO,
            depth=4,
            runtime_seconds=30.0,
            interval_seconds=7 * 86_400.0,
        ),
        Profile(
            "slc",
            Rw.WRITE,
            MIB,
            16 * GIB,
            Engine.LIBAIO,
            depth=8,
            runtime_seconds=600.0,
        ),
    )
}

#: The profiles that run by default. The others write more, and the operator enables them.
ON_BY_DEFAULT = ("fsync", "page_read", "page_write")


def with_engine(profile: Profile, available: Collection[str]) -> Profile:
    """Returns the profile with an engine that this fio has: its own, else the next simpler one.

    available: the engines of this fio. With psync the depth becomes 1: psync has one request in
    flight.
    """
    engine = next(
        (engine for engine in _FALLBACKS[profile.engine] if engine.value in available), Engine.PSYNC
    )
    depth = 1 if engine is Engine.PSYNC else profile.depth
    return replace(profile, engine=engine, depth=depth)


#: A profile's name becomes a label's value and the name of a fio job. In fio a job named "global"
#: sets defaults and does not run.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """rw, block_bytes, size_bytes, engine, depth, jobs, direct, sync, number_ios, rate_iops,
    runtime_seconds, interval_seconds: as in `Profile`. A missing key keeps the value of the
    built-in profile of that name; a new name starts from page_read. 0 removes the caps number_ios
    and rate_iops; interval_seconds = 0 means on demand only.
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

#: Allowed values of the settings, both ends included.
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
    """Returns the profile that the settings describe.

    where: the name of the settings' table, for error messages.

    Raises:
        ConfigError: a value is out of bounds, or a combination would measure something else.
    """
    if not _NAME.fullmatch(name) or name == "global":
        raise ConfigError(
            f"{where} contains a profile named {name!r}",
            "use a letter of a-z, then at most 31 of a-z, 0-9 and _; the name global is reserved",
        )
    given = {field.name: getattr(settings, field.name) for field in fields(settings)}
    changes: dict[str, Any] = {
        key: None if value == 0 and key in _ZERO_IS_NONE else value
        for key, value in given.items()
        if value is not None
    }
    base = PROFILES.get(name, PROFILES["page_read"])
    result = replace(base, name=name, **changes)
    whole = f"{where}.{name}"
    for key, (least, most) in _BOUNDS.items():
        value = getattr(result, key)
        # NaN is not within the bounds, and is refused.
        if value is not None and not least <= value <= most:
            raise ConfigError(f"{whole}.{key} is {value}", f"it must be {least} to {most}")
    for key, wrong, hint in _contradictions(result):
        if wrong:
            raise ConfigError(f"{whole}.{key} is {_shown(getattr(result, key))}", hint)
    return result


def configured(name: str, overrides: Mapping[str, ProfileSettings]) -> Profile:
    """Returns the profile of that name with the operator's changes.

    overrides: the changed profiles by name, the setting `probe.profile`.

    Raises:
        ConfigError: as `profile`.
    """
    return profile(name, overrides.get(name, ProfileSettings()))


def _contradictions(profile: Profile) -> tuple[tuple[str, bool, str], ...]:
    """Returns for each check the key, whether it contradicts other keys, and a hint."""
    job_bytes = (profile.number_ios or 1) * profile.block_bytes
    return (
        ("block_bytes", profile.block_bytes % 512 != 0, "it must be a multiple of 512"),
        (
            "depth",
            profile.depth > 1 and profile.engine is Engine.PSYNC,
            "psync has one request in flight: set engine to libaio, or depth to 1",
        ),
        (
            "direct",
            not profile.direct and profile.engine is Engine.LIBAIO,
            "without it libaio waits for each request: set direct to true, or engine to psync",
        ),
        (
            "sync",
            profile.sync is not Sync.NONE and not profile.writes,
            f"{profile.rw.value} writes nothing: set sync to none",
        ),
        (
            "size_bytes",
            job_bytes > profile.size_bytes,
            "it must be at least number_ios times block_bytes, because fio stops at the file's end",
        ),
    )


def _shown(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
