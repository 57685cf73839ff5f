"""The ledger of the bytes that probes wrote to each drive, and of the run under way. Pure.

A reservation is made before a run and removed when the run is settled. A reservation that exists
while nothing runs belongs to a run that was killed, and is charged in full.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from exporter.errors import ParseError

#: The version of the file format.
VERSION = 1

#: Upper bound of the bytes written to the device per byte that fio writes. ext4 with a sync after
#: each 4 KiB was measured at 1.5 and more.
FILESYSTEM_FACTOR = 2

#: Share of a drive's rated endurance that scheduled probes may write in a year.
_RATED_SHARE_PER_YEAR = 0.0005
_DAYS_PER_YEAR = 365
#: The assumed life of a drive: its budget is this many years of daily budgets.
_YEARS_OF_LIFE = 10

#: Upper bound of all counts, in bytes or days. Charges are limited to it; `parse` refuses more.
_MAX_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """Bytes that may still be written to a drive: today, and over its life."""

    day_bytes: int
    life_bytes: int


@dataclass(frozen=True, slots=True)
class SpentBytes:
    """Bytes charged to a drive: by scheduled probes today, and by all probes ever."""

    day_bytes: int = 0
    life_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """The bytes reserved for a run that is under way, or that was killed.

    on_demand: charged to the drive's life only and not to the day: a person consented to it, or it
        contains the profile `slc`.
    drive: the drive's identity. profile: the names of the profiles. bytes: at most 2**62.
    boot_id: the kernel's boot id at that time. at: unix seconds.
    """

    drive: str
    profile: str
    bytes: int
    on_demand: bool
    boot_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """The whole ledger.

    day: the day of all `day_bytes`, in days since 1970-01-01 UTC. spent_day: a day whose budget
        counts as spent for all drives, because what was written on it is unknown.
    unacknowledged: the run during which the host rebooted; no probe runs until a person
        acknowledges it.
    """

    day: int
    spent: Mapping[str, SpentBytes] = field(default_factory=dict)
    reservation: Reservation | None = None
    spent_day: int | None = None
    unacknowledged: Reservation | None = None


def write_limits(day_bytes: int, rated_bytes: float | None) -> WriteLimits:
    """Returns a drive's limits.

    day_bytes: the setting of the daily budget. rated_bytes: the drive's rated endurance; None is
    unknown. It limits the daily budget to 0.05 % of it divided by 365.
    """
    day = max(0, day_bytes)
    if rated_bytes is not None:
        day = min(day, int(max(0.0, rated_bytes) * _RATED_SHARE_PER_YEAR / _DAYS_PER_YEAR))
    return WriteLimits(day, day * _DAYS_PER_YEAR * _YEARS_OF_LIFE)


def charge(fio_bytes: int | None, device_bytes: int | None, reserved_bytes: int) -> int:
    """Returns the bytes to charge: twice what fio reports, or what the device wrote if greater.

    fio_bytes: None if fio reported nothing, as after a kill; then all reserved bytes are charged.
    """
    by_fio = reserved_bytes if fio_bytes is None else FILESYSTEM_FACTOR * max(0, fio_bytes)
    return min(max(by_fio, device_bytes or 0), _MAX_BYTES)


def rolled_over(ledger: Ledger, today: int) -> Ledger:
    """Returns the ledger for today, without the bytes of an earlier day.

    If the ledger is dated in the future, the clock was or is wrong; the budget of today counts as
    spent then.
    """
    if today == ledger.day:
        return ledger
    spent = {drive: replace(count, day_bytes=0) for drive, count in ledger.spent.items()}
    stepped_back = today < ledger.day
    spent_day = today if stepped_back or ledger.spent_day == today else None
    return replace(ledger, day=today, spent=spent, spent_day=spent_day)


def remaining(ledger: Ledger, drive: str, limits: WriteLimits) -> WriteLimits:
    """Returns what is left of a drive's limits. Reserved bytes count as spent."""
    spent = _spent_with(ledger, ledger.reservation).get(drive, SpentBytes())
    day = 0 if ledger.spent_day == ledger.day else limits.day_bytes - spent.day_bytes
    life = limits.life_bytes - spent.life_bytes
    return WriteLimits(max(0, min(day, life)), max(0, life))


def with_charge(ledger: Ledger, run: Reservation, size: int) -> Ledger:
    """Returns the ledger with a run charged `size` bytes and no longer reserved."""
    reservation = None if ledger.reservation == run else ledger.reservation
    spent = _spent_with(ledger, replace(run, bytes=size))
    return replace(ledger, spent=spent, reservation=reservation)


def with_recovery(ledger: Ledger, boot_id: str, owed_bytes: int = 0) -> Ledger:
    """Returns the ledger with an open reservation charged; call only while nothing runs.

    boot_id: of the running kernel. If it differs from the reservation's or is unknown, the host
        rebooted during the run, perhaps because of it; the run is then unacknowledged.
    owed_bytes: charged instead of the reservation if greater.
    """
    run = ledger.reservation
    if run is None:
        return ledger
    if not boot_id or boot_id != run.boot_id:
        ledger = replace(ledger, unacknowledged=run)
    return with_charge(ledger, run, max(run.bytes, owed_bytes))


def serialize(ledger: Ledger) -> str:
    """Returns the ledger as JSON."""
    return json.dumps({"version": VERSION, **asdict(ledger)}, separators=(",", ":"))


def parse(text: str) -> Ledger:
    """Parses what `serialize` returned.

    Raises:
        ParseError: the text is not a ledger, has another version, or contains an invalid field.
            An invalid number is not ignored: its bytes would go uncounted.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ParseError(f"not JSON: {e}") from e
    if not isinstance(document, dict) or document.get("version") != VERSION:
        version = document.get("version") if isinstance(document, dict) else None
        raise ParseError(f"version {version!r:.20} instead of {VERSION}")
    spent = document.get("spent")
    if not isinstance(spent, dict):
        raise ParseError("spent is not an object")
    return Ledger(
        day=_count(document, "day"),
        spent={
            drive: SpentBytes(_count(count, "day_bytes"), _count(count, "life_bytes"))
            for drive, count in spent.items()
        },
        reservation=_parse_reservation(document.get("reservation")),
        spent_day=None if document.get("spent_day") is None else _count(document, "spent_day"),
        unacknowledged=_parse_reservation(document.get("unacknowledged")),
    )


def _spent_with(ledger: Ledger, run: Reservation | None) -> Mapping[str, SpentBytes]:
    """Returns the charged bytes of all drives, with a run charged; None charges nothing."""
    if run is None:
        return ledger.spent
    before = ledger.spent.get(run.drive, SpentBytes())
    day = before.day_bytes + (0 if run.on_demand else run.bytes)
    life = before.life_bytes + run.bytes
    return {**ledger.spent, run.drive: SpentBytes(min(day, _MAX_BYTES), min(life, _MAX_BYTES))}


def _parse_reservation(value: Any) -> Reservation | None:
    if value is None:
        return None
    on_demand = value.get("on_demand") if isinstance(value, dict) else None
    if not isinstance(on_demand, bool):
        raise ParseError("a reservation lacks on_demand")
    at = value.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at < 1e12:
        raise ParseError("at is not a time")
    return Reservation(
        drive=_text(value, "drive"),
        profile=_text(value, "profile"),
        bytes=_count(value, "bytes"),
        on_demand=on_demand,
        boot_id=_text(value, "boot_id"),
        at=float(at),
    )


def _count(fields: Any, name: str) -> int:
    value = fields.get(name) if isinstance(fields, dict) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_BYTES:
        raise ParseError(f"{name} is not a count")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ParseError(f"{name} is not a text")
    return value
