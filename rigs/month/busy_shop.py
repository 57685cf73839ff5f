"""A month of a host on which people work: a replica rebuild, a RAID rebuild and a drive swap.

The nightly backups and the ALTER of every simulated host run as well. None of this may page.
"""

from collections.abc import Mapping
from dataclasses import replace

from rigs.month import demand
from rigs.month.demand import DATA, DAY, HOUR, MB, MINUTE, MIRROR, Demand
from rigs.month.host import Array, Work
from rigs.month.monitored_drive import DriveIdentity, Presence

#: The members of the mirror and the data drive; the last one is the successor of the one before.
DRIVES = (
    DriveIdentity(DATA, "nvme", 50),
    DriveIdentity(MIRROR[0], "sata", 51),
    DriveIdentity(MIRROR[1], "sata", 52),
    DriveIdentity(MIRROR[1], "sata", 53),
)

#: Maximum number of tickets in the month.
MAX_TICKETS = 2

#: Alerts that show that the rules noticed the work: the swapped drive, and both rebuilds.
#: A shorter month does not contain them.
NOTICED = ("SSDDriveReplaced", "SSDRaidRebuilding")

#: On a Wednesday, mysqld is stopped and a copy is restored at nearly the full speed of the drive.
#: Then the replica applies the changes that it has missed.
_RESTORE_AT = 4 * DAY + 10 * HOUR
_RESTORED_AT = _RESTORE_AT + 3 * HOUR
_CAUGHT_UP_AT = _RESTORED_AT + 5 * HOUR
_RESTORE_BYTES_PER_SECOND = 1_950 * MB

#: On a Thursday, a member of the mirror is replaced. Its predecessor is forgotten in the evening.
_SWAP_AT = 12 * DAY + 10 * HOUR + 30 * MINUTE
_SWAP_SECONDS = 8 * MINUTE
_FORGOTTEN_AT = 12 * DAY + 17 * HOUR

#: On a Friday, a loose cable interrupts the same place, and the member is added again.
_LOOSE_AT = 20 * DAY + 14 * HOUR
_LOOSE_SECONDS = 4 * MINUTE

#: Default limit of md(4), speed_limit_max, and the capacity of a member.
_REBUILD_BYTES_PER_SECOND, _MEMBER_BYTES = 200 * MB, 960e9
_REBUILD_SECONDS = _MEMBER_BYTES / _REBUILD_BYTES_PER_SECOND


def array(at: float) -> Array:
    """Returns the state of the mirror at `at` seconds."""
    for lost_at, seconds in ((_SWAP_AT, _SWAP_SECONDS), (_LOOSE_AT, _LOOSE_SECONDS)):
        since = at - lost_at - seconds
        if -seconds <= since < 0:
            return Array(degraded=1)
        if 0 <= since < _REBUILD_SECONDS:
            return Array(1, "recover", since / _REBUILD_SECONDS)
    return Array()


def is_serving(at: float) -> bool:
    """Returns whether mysqld runs."""
    return not _RESTORE_AT <= at < _RESTORED_AT


def of_predecessor(at: float) -> Presence:
    """Returns the presence of the drive that is swapped."""
    if at < _SWAP_AT:
        return Presence.PRESENT
    return Presence.MISSING if at < _FORGOTTEN_AT else Presence.UNKNOWN


def of_successor(at: float) -> Presence:
    """Returns the presence of the drive in its place."""
    if at < _SWAP_AT + _SWAP_SECONDS:
        return Presence.UNKNOWN
    is_loose = _LOOSE_AT <= at < _LOOSE_AT + _LOOSE_SECONDS
    return Presence.MISSING if is_loose else Presence.PRESENT


def asked(at: float) -> Mapping[str, Demand]:
    """Load by drive for the minute that starts at `at` seconds."""
    usual = demand.of(at)
    data, first = usual[DATA], usual[MIRROR[0]]
    if not is_serving(at):
        # The old files are removed first: with the mount option discard, this is I/O.
        discards = 400.0 if at < _RESTORE_AT + 2 * MINUTE else 0.0
        data = Demand(discards=discards, write_stream_bytes=_RESTORE_BYTES_PER_SECOND)
    elif _RESTORED_AT <= at < _CAUGHT_UP_AT:
        data = replace(data, reads=120_000, writes=60_000, write_stream_bytes=200 * MB)
    second = first
    if array(at).action == "recover":
        rate = _REBUILD_BYTES_PER_SECOND
        first = replace(first, read_stream_bytes=first.read_stream_bytes + rate)
        # The rebuild writes directly; only the backup passes the page cache.
        second = replace(first, read_stream_bytes=0.0, write_stream_bytes=rate)
        second = replace(second, written_behind=False)
    return {DATA: data, MIRROR[0]: first, MIRROR[1]: second}


WORK = Work(array, is_serving, {DRIVES[2].serial: of_predecessor, DRIVES[3].serial: of_successor})
