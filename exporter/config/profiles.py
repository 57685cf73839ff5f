"""Defines the probe profiles: the parameters of each kind of fio run, with safe bounds.

The configuration may change the built-in profiles and add new profiles. It cannot contain any other
fio option, because a single option could make fio write to a device node. Only results of runs with
equal parameters are compared, so the parameters are labels of the metrics.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from exporter.runtime.errors import ConfigError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

#: Number of operations of a minimal run, which is used on a host that is always busy.
_MINIMAL_OPERATIONS = 32


class Rw(str, Enum):
    """fio's access pattern (option rw). randrw makes three reads per write."""

    READ = "read"
    WRITE = "write"
    RANDREAD = "randread"
    RANDWRITE = "randwrite"
    RANDRW = "randrw"


class Sync(str, Enum):
    """When fio syncs the written data.

    none: fio does not sync the data.
    fsync, fdatasync: fio makes this call after each write.
    end_fsync: fio calls fsync once at the end.
    """

    NONE = "none"
    FSYNC = "fsync"
    FDATASYNC = "fdatasync"
    END_FSYNC = "end_fsync"


class Engine(str, Enum):
    """fio's I/O engine. psync always has only one request in flight per job."""

    PSYNC = "psync"
    LIBAIO = "libaio"
    IO_URING = "io_uring"


#: The engines to try for each configured engine, in this order. The first that the installed fio
#: has is used.
_FALLBACKS = {
    Engine.IO_URING: (Engine.IO_URING, Engine.LIBAIO, Engine.PSYNC),
    Engine.LIBAIO: (Engine.LIBAIO, Engine.PSYNC),
    Engine.PSYNC: (Engine.PSYNC,),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """The parameters of one kind of run.

    name: the name of the profile and of its fio job.
    rw: the access pattern.
    block_bytes: the size of each request.
    size_bytes: the length of the file.
    engine: fio's I/O engine.
    depth: the number of requests in flight per job.
    jobs: the number of threads, which all use the same file.
    direct: True if the requests bypass the page cache (O_DIRECT).
    sync: when the written data is synced.
    number_ios: the number of operations of each job. None means no limit: a job reads or writes the
        file once.
    rate_iops: the maximum number of operations per second of each job; None means no limit.
    runtime_seconds: the maximum duration.
    interval_seconds: the time between two runs; None means that the profile runs on demand only.
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
        """True if the profile writes data."""
        return self.rw not in (Rw.READ, Rw.RANDREAD)

    @property
    def is_rate_capped(self) -> bool:
        """True if the rate is limited. IOPS and throughput then do not measure the drive."""
        return self.rate_iops is not None

    @property
    def operations_at_most(self) -> int:
        """The maximum number of operations of one run, as the sum over its jobs."""
        return self.jobs * (self.number_ios or self.size_bytes // self.block_bytes)

    @property
    def written_bytes_at_most(self) -> int:
        """The largest number of bytes that fio writes, without the writes of the filesystem."""
        return self.operations_at_most * self.block_bytes if self.writes else 0

    @property
    def writes_whole_file(self) -> bool:
        """True if the profile writes the whole file once.

        The file then does not have to contain data before the run.
        """
        return self.rw is Rw.WRITE and self.number_ios is None

    @property
    def expected_seconds(self) -> float:
        """The expected duration of a run in seconds.

        With `rate_iops` and `number_ios`, it is the time for `number_ios` operations at this rate,
        but at most `runtime_seconds`. Otherwise it is `runtime_seconds`.
        """
        if self.rate_iops and self.number_ios:
            return min(self.number_ios / self.rate_iops, self.runtime_seconds)
        return self.runtime_seconds

    def minimal(self) -> "Profile":
        """Returns the same profile with the smallest useful number of operations."""
        minimal_ios = max(1, _MINIMAL_OPERATIONS // self.jobs)
        number_ios = self.number_ios or max(1, self.size_bytes // self.block_bytes)
        return replace(self, number_ios=min(number_ios, minimal_ios))


#: The built-in profiles, keyed by name. Block sizes of the first three are those of InnoDB: synced
#: writes of 4 KiB to the redo log, and pages of 16 KiB. These three together write 0.3 TB a year,
#: including what the filesystem adds.
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

#: The profiles that run by default. The others write more, so the operator must enable them.
ON_BY_DEFAULT = ("fsync", "page_read", "page_write")


def with_engine(profile: Profile, available: Collection[str]) -> Profile:
    """Returns the profile with an engine of the installed fio.

    If fio lacks the engine of the profile, the next simpler engine is used. With psync the depth is
    set to 1, because psync has only one request in flight.

    available: the names of the engines of the installed fio.
    """
    engine = next(
        (engine for engine in _FALLBACKS[profile.engine] if engine.value in available), Engine.PSYNC
    )
    depth = 1 if engine is Engine.PSYNC else profile.depth
    return replace(profile, engine=engine, depth=depth)


#: The pattern of a profile's name, which becomes the value of a label and the name of a fio job.
#: The name "global" is not allowed, because in fio such a job sets defaults and does not run.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """The operator's settings of one profile.

    rw, block_bytes, size_bytes, engine, depth, jobs, direct, sync, number_ios, rate_iops,
    runtime_seconds, interval_seconds: the values of the fields of `Profile` with the same names.
    None means not set: the value of the built-in profile with this name is used. For a new name,
    the value of page_read is used. 0 in number_ios or rate_iops means no limit. 0 in
    interval_seconds means that the profile runs on demand only.
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

#: The smallest and the largest allowed value of each setting, in the unit of the setting.
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
    """Returns the profile with this name and these settings.

    where: the name of the table that contains the settings, for error messages.

    Raises:
        ConfigError: the name is invalid, a value is out of bounds, or two values contradict each
            other.
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
        # The comparison is negated, so that NaN is refused.
        if value is not None and not least <= value <= most:
            raise ConfigError(f"{whole}.{key} is {value}", f"it must be {least} to {most}")
    for key, wrong, hint in _contradictions(result):
        if wrong:
            raise ConfigError(f"{whole}.{key} is {_shown(getattr(result, key))}", hint)
    return result


def configured(name: str, overrides: Mapping[str, ProfileSettings]) -> Profile:
    """Returns the profile with this name, including the operator's changes.

    overrides: the operator's settings, keyed by profile name (the setting `probe.profile`).

    Raises:
        ConfigError: the name is invalid, a value is out of bounds, or two values contradict each
            other.
    """
    return profile(name, overrides.get(name, ProfileSettings()))


def _contradictions(profile: Profile) -> tuple[tuple[str, bool, str], ...]:
    """Returns one tuple per check of values that may contradict each other.

    A tuple contains the name of the setting, True if its value is wrong, and a hint for the error
    message.
    """
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
