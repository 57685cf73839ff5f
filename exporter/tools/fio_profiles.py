"""What a probe asks of fio: a closed set of parameters, so that no setting can hurt.

There are no free arguments of fio: one of them is enough to write to a device node. Results are
compared only between runs of equal parameters, which is why all of them are labels. Profiles out
of the configuration are read by `fio_settings`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

#: Of a run that stands for a full one on a host that never rests.
_SMALLEST_OPERATIONS = 32


class Rw(str, Enum):
    """What is done, in fio's words; randrw is three reads to a write."""

    READ = "read"
    WRITE = "write"
    RANDREAD = "randread"
    RANDWRITE = "randwrite"
    RANDRW = "randrw"


class Sync(str, Enum):
    """When written data are made to last: after each write by either call, or once at the end."""

    NONE = "none"
    FSYNC = "fsync"
    FDATASYNC = "fdatasync"
    END_FSYNC = "end_fsync"


class Engine(str, Enum):
    """How requests reach the kernel. psync has one in flight a job, whatever the depth."""

    PSYNC = "psync"
    LIBAIO = "libaio"
    IO_URING = "io_uring"


#: What takes an engine's place where this fio or this kernel has none of it.
_FALLBACKS = {
    Engine.IO_URING: (Engine.IO_URING, Engine.LIBAIO, Engine.PSYNC),
    Engine.LIBAIO: (Engine.LIBAIO, Engine.PSYNC),
    Engine.PSYNC: (Engine.PSYNC,),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of run.

    depth: requests in flight of each job. jobs: threads, on the same file.
    number_ios, rate_iops: operations, and operations a second, of each job; None is no cap. Without
        `number_ios` a job goes over the file once.
    size_bytes: of the file. runtime_seconds: a ceiling, not the duration.
    interval_seconds: between two runs; None is on demand only.
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
        return self.rw not in (Rw.READ, Rw.RANDREAD)

    @property
    def is_rate_capped(self) -> bool:
        """Its IOPS and throughput are the cap's, and no measurement."""
        return self.rate_iops is not None

    @property
    def operations_at_most(self) -> int:
        return self.jobs * (self.number_ios or self.size_bytes // self.block_bytes)

    @property
    def written_bytes_at_most(self) -> int:
        """What fio writes, without what the filesystem adds."""
        return self.operations_at_most * self.block_bytes if self.writes else 0

    def smallest(self) -> "Profile":
        """The shortest run of the same parameters that still says something."""
        most = max(1, _SMALLEST_OPERATIONS // self.jobs)
        each = self.number_ios or max(1, self.size_bytes // self.block_bytes)
        return replace(self, number_ios=min(each, most))


#: Sizes are InnoDB's own: a page has 16 KiB, the redo log is written in 4 KiB and synced. The
#: first three write 0.3 TB a year together, filesystem included.
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

#: The others are opt-in: they cost bytes.
ON_BY_DEFAULT = ("fsync", "page_read", "page_write")


def with_engine(wanted: Profile, available: Collection[str]) -> Profile:
    """The profile with an engine that this fio has: the wanted one, or the next that is less.

    With psync the depth is 1 whatever was asked, so it is said so.
    """
    engine = next(
        (each for each in _FALLBACKS[wanted.engine] if each.value in available), Engine.PSYNC
    )
    depth = 1 if engine is Engine.PSYNC else wanted.depth
    return replace(wanted, engine=engine, depth=depth)
