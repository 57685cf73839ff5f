"""I/O load of a simulated MySQL host, minute by minute, with a weekly pattern.

Day 0 is a Saturday, so that the first three nights contain a backup, an ALTER, a scrub and an
fstrim. The values are those of a busy but healthy host.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

MINUTE, HOUR, DAY = 60, 3600, 86_400

MB = 1_000_000

#: The drive with the data directory, and the mirror with system, binary logs and backups.
DATA = "nvme0n1"
MIRROR = ("sda", "sdb")

#: Limit of an md check, and its reduced limit while other I/O runs (speed_limit_max and _min of
#: md(4)); and the write rate of a compressed backup.
_SCRUB_BYTES_PER_SECOND, _SCRUB_BYTES_PER_SECOND_BESIDE = 200 * MB, 10 * MB
_BACKUP_READ_BYTES_PER_SECOND = 600 * MB
_BACKUP_WRITTEN_BYTES_PER_SECOND = 150 * MB


@dataclass(frozen=True, slots=True)
class Demand:
    """Load of one drive in each second of a minute.

    reads, writes: random requests of 16 KiB. streams: bytes of large transfers.
    written_behind: the page cache delays some seconds of the written stream and then writes them at
        once.
    bursts: additional writes of 16 KiB in the first eight seconds of the minute (a checkpoint).
    """

    reads: float = 0.0
    writes: float = 0.0
    flushes: float = 0.0
    bursts: float = 0.0
    discards: float = 0.0
    read_stream_bytes: float = 0.0
    write_stream_bytes: float = 0.0
    written_behind: bool = False


IDLE = Demand()


def _between(second: float, begin: float, minutes: float) -> bool:
    return begin <= second < begin + minutes * MINUTE


def office_hours(second: float) -> float:
    """0 at four in the morning, 1 at four in the afternoon."""
    return 0.5 - 0.5 * math.cos(2 * math.pi * (second - 4 * HOUR) / DAY)


def is_backup(at: float) -> bool:
    """A backup runs every night at 02:00."""
    return _between(at % DAY, 2 * HOUR, 75)


def is_alter(at: float) -> bool:
    """An ALTER copies a table on Sundays at 04:00."""
    return at // DAY % 7 == 1 and _between(at % DAY, 4 * HOUR, 90)


def is_scrub(at: float) -> bool:
    """The md check starts on the first Sunday of a month at 00:57 and runs during the backup."""
    return at // DAY % 28 == 1 and _between(at % DAY, 57 * MINUTE, 160)


def is_trim(at: float) -> bool:
    """fstrim.timer runs on Mondays."""
    return at // DAY % 7 == 2 and _between(at % DAY, 10 * MINUTE, 1)


def reports(at: float) -> bool:
    """A large query runs for 15 minutes, twice on most days."""
    chance = random.Random(f"report {at // DAY}")
    begins = [chance.uniform(8, 19) * HOUR for _ in range(chance.choice((1, 2, 3)))]
    return any(_between(at % DAY, begin, 15) for begin in begins)


def of(at: float) -> Mapping[str, Demand]:
    """Load by drive for the minute that starts at `at` seconds."""
    busy = office_hours(at % DAY) * (0.6 if at // DAY % 7 < 2 else 1.0)
    alter, backup, scrub = is_alter(at), is_backup(at), is_scrub(at)
    data = Demand(
        # At four in the afternoon the drive is at 100 % util, and each read takes 0.1 ms.
        reads=2_000 + 43_000 * busy**2 + (9_000 if reports(at) else 0),
        writes=600 + 5_000 * busy,
        bursts=6_000 if at // MINUTE % 10 == 0 else 0,
        discards=400 if is_trim(at) else 0,
        read_stream_bytes=(_BACKUP_READ_BYTES_PER_SECOND if backup else 0)
        + (250 * MB if alter else 0),
        write_stream_bytes=450 * MB if alter else 0,
    )
    mirror = Demand(
        reads=15 + 60 * busy,
        writes=60 + 400 * busy,
        flushes=20 + 180 * busy,
        discards=200 if is_trim(at) else 0,
        read_stream_bytes=(
            (_SCRUB_BYTES_PER_SECOND_BESIDE if backup else _SCRUB_BYTES_PER_SECOND) if scrub else 0
        ),
        write_stream_bytes=_BACKUP_WRITTEN_BYTES_PER_SECOND if backup else 0,
        written_behind=True,
    )
    # The second drive of the mirror has the same load; only its health is evaluated.
    return {DATA: data, MIRROR[0]: mirror}


def replica(_at: float) -> Demand:
    """Load of a mostly idle drive, constant over the day."""
    return Demand(reads=300, writes=150)


def nightly_copy(at: float) -> Demand:
    """Load of a drive that receives a copy of 60 GB each night within about 30 seconds."""
    second = at % DAY - 2 * HOUR
    return Demand(
        reads=20, writes=40, write_stream_bytes=math.inf if 0 <= second < 2 * MINUTE else 0
    )
