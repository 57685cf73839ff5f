"""Keeps the inventory of all drives ever seen. It shows also after a reboot which drive is missing.

The inventory also gives each drive the key of its wear history. The module does no I/O: the daemon
saves the inventory in its state file.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from exporter.drives.drive_identity import (
    identity_key,
    identity_keys,
    is_same_identity,
    usable_wwn,
)
from exporter.drives.health import DriveIdentity
from exporter.runtime import untrusted_file
from exporter.smart.smartctl import Address

log = logging.getLogger(__name__)

#: The largest number of drives in the inventory, including replaced ones.
_MAX_DRIVES = 8192

#: The largest length of a text in the state file, in characters. Model names and serial numbers are
#: shorter.
_MAX_TEXT_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class KnownDrive:
    """A drive that has answered before, with the values that were last seen.

    label: its `device` label.
    path, type: its smartctl address.
    first_seen_unix_time, last_seen_unix_time: when the drive first and last answered, in seconds.
    model, serial, firmware, wwn: its identity. None means that the drive has not reported the
        value.
    missing: True if the last complete scan did not find the drive.
    key: the unique key of the drive in the wear history, during its whole life. None before
        `Inventory.assign_keys`, and for a drive that reports too little.
    former_key: the key that an earlier version of the exporter used for this drive and for another
        drive. Empty if there is none.
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
    key: str | None = None
    former_key: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `ssd-exporter forget` accepts for the drive.

        The names are the serial number and the WWN. A drive without a serial number also has its
        label as a name.
        """
        label = None if self.serial else self.label
        return tuple(name for name in (self.serial, self.wwn, label) if name)

    def to_state(self) -> dict[str, Any]:
        """Returns the fields as plain values for the state file, keyed by name."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(field.name for field in fields(KnownDrive))


def restored(row: Any) -> KnownDrive | None:
    """Returns the drive for a result of `to_state`; None if a field is missing or invalid."""
    if not isinstance(row, Mapping):
        return None
    values: dict[str, Any] = {name: row.get(name) for name in _FIELDS}
    for name, value in values.items():
        if name == "former_key" and value is None:
            values[name], usable = "", True  # an earlier version has written the row
        elif name in ("label", "path", "type", "former_key"):
            usable = isinstance(value, str) and (value != "" or name in ("type", "former_key"))
        elif name.endswith("_unix_time"):
            usable = untrusted_file.number(value, 0, untrusted_file.MAX_UNIX_TIME) is not None
        elif name == "missing":
            usable = isinstance(value, bool)
        else:
            usable = value is None or (isinstance(value, str) and value != "")
        if not usable or (isinstance(value, str) and len(value) > _MAX_TEXT_CHARACTERS):
            return None
    drive = KnownDrive(**values)
    # An earlier version stored the wear of drives that share a key under this key.
    is_of_earlier_version = "key" not in row
    return replace(drive, former_key=identity_key(drive) or "") if is_of_earlier_version else drive


@dataclass(frozen=True, slots=True)
class Sighting:
    """A drive that is present.

    address: its smartctl address.
    label: its `device` label.
    identity: the identity that it reported. None means that it has not answered.
    """

    address: Address
    label: str
    identity: DriveIdentity | None = None


class Inventory:
    """All drives that were ever seen and not forgotten. Each drive has one record.

    A drive keeps its record if its address changes (`drive_identity.is_same_identity`). Records
    with neither WWN nor serial number are the same drive if the address is equal.

    kept: the result of `to_state` from the state file. It may be damaged; None means that there is
        no saved inventory.
    """

    def __init__(self, kept: Any = None) -> None:
        rows = kept if isinstance(kept, list) else []
        drives = [drive for row in rows if (drive := restored(row)) is not None]
        if len(drives) < len(rows) or not isinstance(kept, list | None):
            lost = f"{len(rows) - len(drives)} of {len(rows)} drives of" if rows else "all of"
            log.warning(
                "%s the kept inventory cannot be used: they are not reported as missing",
                lost,
            )
        self._drives = _bounded(_with_unique_names(drives))
        self._is_complete = False
        self._index()

    @property
    def is_complete(self) -> bool:
        """True if a complete scan since the start has determined which drives are missing."""
        return self._is_complete

    @property
    def drives(self) -> tuple[KnownDrive, ...]:
        """All drives that were ever seen and not forgotten."""
        return tuple(self._drives)

    @property
    def missing(self) -> tuple[KnownDrive, ...]:
        """The drives that the last complete scan did not find."""
        return tuple(drive for drive in self._drives if drive.missing)

    def named(self, name: str) -> tuple[KnownDrive, ...]:
        """Returns the drives that have this name in `KnownDrive.names`."""
        return tuple(drive for drive in self._drives if name in drive.names)

    def at(self, address: Address) -> KnownDrive | None:
        """Returns the drive at an address, even if it has not answered since the start.

        None means that no drive is known there.
        """
        return self._at.get(address)

    def update(self, sightings: Iterable[Sighting], unix_time: float, *, complete: bool) -> None:
        """Records which drives are present.

        If a drive does not answer, it is assumed to be the drive that was last at its address.

        sightings: one for each drive that is present.
        unix_time: the current time in seconds.
        complete: True if a scan has succeeded and each drive that it found was polled since. The
            drives without a sighting are then missing.
        """
        waiting = list(sightings)
        left = list(self._drives)
        now: list[KnownDrive] = []
        for matches in (_same_there, _same, _silent_there):
            waiting = _assigned(waiting, left, now, matches, unix_time)
        now += (_seen(s, None, unix_time) for s in waiting if s.identity is not None)
        now += (replace(drive, missing=drive.missing or complete) for drive in left)
        self._drives = _bounded(_with_unique_names(now))
        self._is_complete = self._is_complete or complete
        self._index()

    def assign_keys(self) -> None:
        """Gives a key to each drive without a key. Call it after all present drives were polled.

        The key is `drive_identity.identity_key` if no other drive has this value. If several drives
        have it, the serial number is appended, and if they share that too, the address.
        """
        if all(drive.key is not None for drive in self._drives):
            return
        taken = {drive.key for drive in self._drives}
        keys = identity_keys(dict(enumerate(self._drives)))
        for index, drive in enumerate(self._drives):
            key = keys.get(index)
            if drive.key is not None or key is None:
                continue
            key = key[:_MAX_TEXT_CHARACTERS]
            if key in taken:
                place = f" @{drive.path} {drive.type}".rstrip()[:_MAX_TEXT_CHARACTERS]
                key = key[: _MAX_TEXT_CHARACTERS - len(place)] + place
            taken.add(key)
            former = "" if drive.former_key == key else drive.former_key
            self._drives[index] = replace(drive, key=key, former_key=former)
        self._index()

    def forget(self, is_meant: Callable[[KnownDrive], bool]) -> int:
        """Drops the missing drives for which `is_meant` returns True, and returns their number.

        A drive that is present is not dropped, because it would be added again at once.
        """
        before = len(self._drives)
        self._drives = [d for d in self._drives if not (d.missing and is_meant(d))]
        return before - len(self._drives)

    def _index(self) -> None:
        self._at = {
            Address(drive.path, drive.type): drive
            for drive in reversed(self._drives)
            if not drive.missing
        }

    def to_state(self) -> list[dict[str, Any]]:
        """Returns the drives as plain values for the state file."""
        return [drive.to_state() for drive in self._drives]


def _assigned(
    sightings: Iterable[Sighting],
    left: list[KnownDrive],
    now: list[KnownDrive],
    matches: Callable[[Sighting, KnownDrive], bool],
    unix_time: float,
) -> list[Sighting]:
    """Moves the drives that match a sighting from `left` to `now`.

    Returns the sightings that match no drive. matches: the condition.
    """
    by_hint: dict[str, list[KnownDrive]] = {}
    for drive in left:
        for hint in (f"{drive.path} {drive.type}", *drive.names):
            by_hint.setdefault(hint, []).append(drive)
    taken: set[int] = set()
    rest: list[Sighting] = []
    for sighting in sightings:
        near = (drive for hint in _hints(sighting) for drive in by_hint.get(hint, ()))
        match = next((d for d in near if id(d) not in taken and matches(sighting, d)), None)
        if match is None:
            rest.append(sighting)
        else:
            taken.add(id(match))
            now.append(_seen(sighting, match, unix_time))
    left[:] = [drive for drive in left if id(drive) not in taken]
    return rest


def _hints(sighting: Sighting) -> Iterator[str]:
    identity = sighting.identity
    if identity is not None:
        yield from (name for name in (usable_wwn(identity.wwn), identity.serial) if name)
    yield f"{sighting.address.path} {sighting.address.type}"


def _same_there(sighting: Sighting, drive: KnownDrive) -> bool:
    return _same(sighting, drive) and sighting.address == (drive.path, drive.type)


def _same(sighting: Sighting, drive: KnownDrive) -> bool:
    identity = sighting.identity
    if identity is None:
        return False
    if is_same_identity(identity, drive):
        return True
    names = (usable_wwn(identity.wwn), identity.serial, drive.wwn, drive.serial)
    is_model_same = not (identity.model and drive.model and identity.model != drive.model)
    return not any(names) and is_model_same and sighting.address == (drive.path, drive.type)


def _silent_there(sighting: Sighting, drive: KnownDrive) -> bool:
    return sighting.identity is None and sighting.address == (drive.path, drive.type)


def _seen(sighting: Sighting, before: KnownDrive | None, unix_time: float) -> KnownDrive:
    (path, kind), label = sighting.address, sighting.label
    drive = before or KnownDrive(label, path, kind, unix_time, unix_time)
    identity = sighting.identity
    if identity is None:
        return replace(drive, label=label, missing=False)
    return replace(
        drive,
        label=label,
        path=path,
        type=kind,
        last_seen_unix_time=unix_time,
        model=identity.model or drive.model,
        serial=identity.serial or drive.serial,
        firmware=identity.firmware or drive.firmware,
        wwn=usable_wwn(identity.wwn) or drive.wwn,
        missing=False,
    )


def _with_unique_names(drives: Iterable[KnownDrive]) -> list[KnownDrive]:
    """Returns the drives with unique pairs of label and serial number, which the metrics require.

    Of two drives with equal pairs, the one that is present, else the one that was seen later, keeps
    the label. The WWN is appended to the label of the other drive. If that has no WWN, it is
    dropped. In the result the drives that are present come first, then the missing drives, the last
    seen first.
    """
    result: dict[tuple[str, str | None], KnownDrive] = {}
    for drive in sorted(drives, key=lambda d: (d.missing, -d.last_seen_unix_time)):
        shown = drive
        if (drive.label, drive.serial) in result:
            if drive.wwn is None:
                continue
            shown = replace(drive, label=f"{drive.label.partition(' ')[0]} {drive.wwn}")
        result.setdefault((shown.label, shown.serial), shown)
    return list(result.values())


def _bounded(drives: list[KnownDrive]) -> list[KnownDrive]:
    """Returns the drives up to the limit. The drives that are missing for longest are dropped.

    drives: the result of `_with_unique_names`, in which these drives are the last.
    """
    return drives[:_MAX_DRIVES]
