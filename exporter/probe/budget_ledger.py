"""Computes the ledger: the bytes that probes wrote to each drive, and the current run.

Before a run its bytes are reserved. After the run the reservation is removed, and the written bytes
are charged to the drive. If a reservation exists while no probe runs, its run was killed, and all
reserved bytes are charged. This module does no I/O.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from exporter.runtime.errors import ParseError

#: The version of the file format.
VERSION = 1

#: Upper bound of the bytes that the device writes for each byte that fio writes. On ext4 with a
#: sync after each 4 KiB, 1.5 bytes and more were measured.
FILESYSTEM_FACTOR = 2

#: Share of a drive's rated endurance that scheduled probes may write in a year.
_RATED_SHARE_PER_YEAR = 0.0005
_DAYS_PER_YEAR = 365
#: The assumed life of a drive in years. The budget for its life is the daily budget of that time.
_YEARS_OF_LIFE = 10

#: The same in seconds.
LIFE_SECONDS = _YEARS_OF_LIFE * _DAYS_PER_YEAR * 86_400.0

#: Upper bound of all counts, in bytes or days. Charges are limited to it, and `parse` refuses
#: larger numbers.
_MAX_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """The bytes that probes may write to a drive, or the remaining bytes of these limits.

    day_bytes: the bytes for one day (UTC).
    life_bytes: the bytes for the whole life of the drive.
    """

    day_bytes: int
    life_bytes: int


@dataclass(frozen=True, slots=True)
class SpentBytes:
    """The bytes that were charged to a drive: counted against its budget.

    day_bytes: the bytes of scheduled probes today, without those of the profile `slc`.
    life_bytes: the bytes of all probes ever.
    """

    day_bytes: int = 0
    life_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """The bytes reserved for the current run, or for a run that was killed.

    drive: the drive's identity.
    profile: the names of the profiles, for messages.
    bytes: the reserved bytes, at most 2**62.
    on_demand: True if the bytes count only against the budget for the drive's life, and not against
        that of the day. The reason is that a person consented to the run, or that it contains the
        profile `slc`.
    boot_id: the kernel's boot id at the time of the reservation; empty means unknown.
    at: the time of the reservation, in unix seconds.
    """

    drive: str
    profile: str
    bytes: int
    on_demand: bool
    boot_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """The bytes that were charged to each drive (counted against its budget), and the current run.

    day: the day to which all `day_bytes` belong, in days since 1970-01-01 UTC.
    spent: the charged bytes, keyed by drive identity.
    reservation: the current run or a killed run; None without one.
    spent_day: a day on which the number of written bytes is unknown. Its budget counts as spent for
        all drives. None without such a day.
    unacknowledged: the run during which the host rebooted; no probe runs until a person
        acknowledges the reboot. None without one.
    is_life_unknown: True if the file and its copy were unusable, so that the number of bytes over
        the drives' life is unknown. No probe may write then.
    """

    day: int
    spent: Mapping[str, SpentBytes] = field(default_factory=dict)
    reservation: Reservation | None = None
    spent_day: int | None = None
    unacknowledged: Reservation | None = None
    is_life_unknown: bool = False


def write_limits(day_bytes: int, rated_bytes: float | None) -> WriteLimits:
    """Returns the bytes that probes may write to a drive, per day and over ten years of life.

    day_bytes: the configured daily budget.
    rated_bytes: the drive's rated endurance in bytes; None means unknown. If it is known, the daily
        budget is at most 0.05 % of it, divided by 365. Probes then write at most 0.05 % of it in a
        year.
    """
    day = max(0, day_bytes)
    if rated_bytes is not None:
        day = min(day, int(max(0.0, rated_bytes) * _RATED_SHARE_PER_YEAR / _DAYS_PER_YEAR))
    return WriteLimits(day, day * _DAYS_PER_YEAR * _YEARS_OF_LIFE)


def charge(fio_bytes: int | None, device_bytes: int | None, reserved_bytes: int) -> int:
    """Returns the bytes to charge for a run: twice fio's bytes, or the device's bytes if greater.

    fio_bytes: the bytes that fio reports as written. None means that fio reported nothing, as after
        a kill. The reserved bytes are then used instead of twice fio's bytes.
    device_bytes: the bytes that the device wrote during the run; None means unknown.
    reserved_bytes: the size of the run's reservation.
    """
    by_fio = reserved_bytes if fio_bytes is None else FILESYSTEM_FACTOR * max(0, fio_bytes)
    return min(max(by_fio, device_bytes or 0), _MAX_BYTES)


def rolled_over(ledger: Ledger, today: int) -> Ledger:
    """Returns the ledger for today. In a ledger of another day, the daily counts are set to 0.

    If the given ledger is of a later day than today, the clock was set back, or was ahead. Today's
    budget then counts as spent, because the bytes that were written today are unknown.

    today: days since 1970-01-01 UTC.
    """
    if today == ledger.day:
        return ledger
    spent = {drive: replace(count, day_bytes=0) for drive, count in ledger.spent.items()}
    stepped_back = today < ledger.day
    spent_day = today if stepped_back or ledger.spent_day == today else None
    return replace(ledger, day=today, spent=spent, spent_day=spent_day)


def remaining(ledger: Ledger, drive: str, limits: WriteLimits) -> WriteLimits:
    """Returns how many bytes probes may still write to a drive. Reserved bytes count as written.

    limits: the bytes that they may write in total.
    """
    if ledger.is_life_unknown:
        return WriteLimits(0, 0)
    spent = _spent_with(ledger, ledger.reservation).get(drive, SpentBytes())
    day = 0 if ledger.spent_day == ledger.day else limits.day_bytes - spent.day_bytes
    life = limits.life_bytes - spent.life_bytes
    return WriteLimits(max(0, min(day, life)), max(0, life))


def with_charge(ledger: Ledger, run: Reservation, size: int) -> Ledger:
    """Returns the ledger after a run: `size` bytes are charged, and its reservation is removed."""
    reservation = None if ledger.reservation == run else ledger.reservation
    spent = _spent_with(ledger, replace(run, bytes=size))
    return replace(ledger, spent=spent, reservation=reservation)


def with_recovery(ledger: Ledger, boot_id: str, owed_bytes: int = 0) -> Ledger:
    """Returns the ledger in which the reserved bytes of a killed run count as written.

    Call it only while no probe runs. Without a reservation the ledger is returned unchanged.

    boot_id: the boot id of the running kernel; empty means unknown. If it is unknown or differs
        from that of the reservation, the host probably rebooted during the run. The run may be the
        cause, so it is stored as `unacknowledged`.
    owed_bytes: a known charge of the run; this number is used if it is greater than the
        reservation.
    """
    run = ledger.reservation
    if run is None:
        return ledger
    if not boot_id or boot_id != run.boot_id:
        ledger = replace(ledger, unacknowledged=run)
    return with_charge(ledger, run, max(run.bytes, owed_bytes))


def serialize(ledger: Ledger) -> str:
    """Returns the ledger as JSON, for the budget's file."""
    return json.dumps({"version": VERSION, **asdict(ledger)}, separators=(",", ":"))


def parse(text: str) -> Ledger:
    """Returns the ledger that `serialize` wrote as this text.

    Raises:
        ParseError: the text is not a ledger, has another version, or contains an invalid field.
            An invalid number is an error, because otherwise its bytes would not be counted.
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
        is_life_unknown=bool(document.get("is_life_unknown")),
    )


def _spent_with(ledger: Ledger, run: Reservation | None) -> Mapping[str, SpentBytes]:
    """Returns the charged bytes, keyed by drive identity, after the run is charged.

    run: the run to charge; None charges nothing.
    """
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
