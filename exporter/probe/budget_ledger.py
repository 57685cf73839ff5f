"""What probes have written, drive by drive, and what the one that runs may have. Pure.

A reservation stands from before a run until it is settled. One that stands although nothing runs
is of a run that was killed, and is counted in full.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from exporter.errors import ParseError

VERSION = 1

#: What a filesystem adds to what fio writes: 1.5 times and more was measured on ext4 with a sync
#: after each 4 KiB. A limit, not an average.
FILESYSTEM_FACTOR = 2

#: Of the rated life of a drive, a year of scheduled probes.
_RATED_SHARE_A_YEAR = 0.0005
_DAYS_A_YEAR = 365
#: As long as a drive is kept.
_YEARS_OF_LIFE = 10

#: Counts stay below it, whatever a device says that it wrote: a larger one is not read back.
_MOST_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """Bytes that may be written to a drive, or are left of it."""

    day_bytes: int
    life_bytes: int


@dataclass(frozen=True, slots=True)
class SpentBytes:
    """Bytes charged to a drive: by scheduled probes today, and by all of them ever."""

    day_bytes: int = 0
    life_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A run that is under way, or was when it was killed.

    on_demand: somebody asked for it and saw what it writes, or it has the profile `slc` among its
        own: it is charged to the drive's life and not to the day of the scheduled ones.
    boot_id: of the host then. at: unix seconds.
    """

    drive: str
    profile: str
    bytes: int
    on_demand: bool
    boot_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """All of it.

    day: the day that the `day_bytes` are of, in days since 1970 UTC. spent_day: a day that is held
        to be spent by all drives, for what was spent on it is not known.
    unacknowledged: the run during which the host rebooted; no probe runs until someone has looked.
    """

    day: int
    spent: Mapping[str, SpentBytes] = field(default_factory=dict)
    reservation: Reservation | None = None
    spent_day: int | None = None
    unacknowledged: Reservation | None = None


def write_limits(day_bytes: int, rated_bytes: float | None) -> WriteLimits:
    """What may be written to a drive, by the setting and, where it is known, its rated life."""
    day = max(0, day_bytes)
    if rated_bytes is not None:
        day = min(day, int(max(0.0, rated_bytes) * _RATED_SHARE_A_YEAR / _DAYS_A_YEAR))
    return WriteLimits(day, day * _DAYS_A_YEAR * _YEARS_OF_LIFE)


def charge(fio_bytes: int | None, device_bytes: int | None, reserved_bytes: int) -> int:
    """What a run is charged: the greater of twice fio's word and what the device wrote.

    Where fio said nothing, as when it was killed, all that was reserved.
    """
    by_fio = reserved_bytes if fio_bytes is None else FILESYSTEM_FACTOR * max(0, fio_bytes)
    return min(max(by_fio, device_bytes or 0), _MOST_BYTES)


def rolled_over(ledger: Ledger, today: int) -> Ledger:
    """The ledger of today. From a day to come it is not believed: the clock was or is wrong, so
    today is held to be spent.
    """
    if today == ledger.day:
        return ledger
    spent = {drive: replace(each, day_bytes=0) for drive, each in ledger.spent.items()}
    stepped_back = today < ledger.day
    spent_day = today if stepped_back or ledger.spent_day == today else None
    return replace(ledger, day=today, spent=spent, spent_day=spent_day)


def remaining(ledger: Ledger, drive: str, most: WriteLimits) -> WriteLimits:
    """What of `most` is left to a drive, with what is reserved counted as spent."""
    spent = _after(ledger, ledger.reservation).get(drive, SpentBytes())
    day = 0 if ledger.spent_day == ledger.day else most.day_bytes - spent.day_bytes
    life = most.life_bytes - spent.life_bytes
    return WriteLimits(max(0, min(day, life)), max(0, life))


def with_charge(ledger: Ledger, run: Reservation, size: int) -> Ledger:
    """With a run of `size` bytes spent and no longer under way."""
    standing = None if ledger.reservation == run else ledger.reservation
    spent = _after(ledger, replace(run, bytes=size))
    return replace(ledger, spent=spent, reservation=standing)


def with_recovery(ledger: Ledger, boot_id: str, owed_bytes: int = 0) -> Ledger:
    """As it is when nothing can be under way: what stands is of a run that was killed.

    It is counted in full, or by `owed_bytes` where more is known of it. A host that rebooted
    meanwhile may have done so for the probe, and would again; where it cannot be told, it is held
    to have.
    """
    run = ledger.reservation
    if run is None:
        return ledger
    if not boot_id or boot_id != run.boot_id:
        ledger = replace(ledger, unacknowledged=run)
    return with_charge(ledger, run, max(run.bytes, owed_bytes))


def serialize(ledger: Ledger) -> str:
    return json.dumps({"version": VERSION, **asdict(ledger)}, separators=(",", ":"))


def parse(text: str) -> Ledger:
    """What `to_text` made.

    Raises:
        ParseError: it is none, of a later version, or a field of it is not usable. A number that
            cannot be read is not left out: that would be bytes not counted.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ParseError(f"no JSON: {e}") from e
    if not isinstance(found, dict) or found.get("version") != VERSION:
        version = found.get("version") if isinstance(found, dict) else None
        raise ParseError(f"of version {version!r:.20}, not {VERSION}")
    spent = found.get("spent")
    if not isinstance(spent, dict):
        raise ParseError("spent is no object of drives")
    return Ledger(
        day=_count(found, "day"),
        spent={
            drive: SpentBytes(_count(each, "day_bytes"), _count(each, "life_bytes"))
            for drive, each in spent.items()
        },
        reservation=_reservation(found.get("reservation")),
        spent_day=None if found.get("spent_day") is None else _count(found, "spent_day"),
        unacknowledged=_reservation(found.get("unacknowledged")),
    )


def _after(ledger: Ledger, run: Reservation | None) -> Mapping[str, SpentBytes]:
    """What is spent when a run has been charged."""
    if run is None:
        return ledger.spent
    before = ledger.spent.get(run.drive, SpentBytes())
    day = before.day_bytes + (0 if run.on_demand else run.bytes)
    life = before.life_bytes + run.bytes
    return {**ledger.spent, run.drive: SpentBytes(min(day, _MOST_BYTES), min(life, _MOST_BYTES))}


def _reservation(found: Any) -> Reservation | None:
    if found is None:
        return None
    on_demand = found.get("on_demand") if isinstance(found, dict) else None
    if not isinstance(on_demand, bool):
        raise ParseError("a reservation says not whether it was on demand")
    at = found.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at < 1e12:
        raise ParseError("at is no time")
    return Reservation(
        drive=_text(found, "drive"),
        profile=_text(found, "profile"),
        bytes=_count(found, "bytes"),
        on_demand=on_demand,
        boot_id=_text(found, "boot_id"),
        at=float(at),
    )


def _count(found: Any, name: str) -> int:
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_BYTES:
        raise ParseError(f"{name} is no count")
    return value


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise ParseError(f"{name} is no text")
    return value
