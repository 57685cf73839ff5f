"""What a drive does not say of itself, and the kernel or the inventory knows.

The drives of this host as their documents tell of them: who is there, who is sick, who is gone.

Documents come from one thread; what is known is read from others, so `lock` is held for both.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.drives.health import DriveHealth, DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux import device_nodes
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import forgetting
from exporter.smart.drive_labels import carried, labels
from exporter.smart.drive_record import DriveRecord, key_of
from exporter.smart.inventory import Inventory, KnownDrive, Sighting
from exporter.smart.poll_document import Heartbeat, PollDocument
from exporter.smart.smartctl import Address
from exporter.smart.wear_recorder import WearRecorder


def named(
    who: DriveIdentity, kernel: DeviceIdentity | None, known: KnownDrive | None
) -> DriveIdentity:
    """Who a drive is, with what it has not said: as the kernel says, else as it was known."""
    if who.serial:
        return who
    other: DeviceIdentity | KnownDrive | None = kernel if kernel and kernel.serial else None
    if other is None and known is not None and who.model in (None, known.model):
        other = known
    if other is None:
        return who
    return replace(
        who,
        model=who.model or other.model,
        serial=other.serial,
        firmware=who.firmware or other.firmware,
        wwn=who.wwn or other.wwn,
    )


def limited(health: DriveHealth | None, kernel: DeviceIdentity | None) -> DriveHealth | None:
    """With the drive's own limits of temperature where smartctl, before 7.4, does not tell them."""
    if health is None or kernel is None:
        return health
    warning, critical = health.temperature_warning_celsius, health.temperature_critical_celsius
    if warning is not None or critical is not None:
        return health
    return replace(
        health,
        temperature_warning_celsius=kernel.temperature_warning_celsius,
        temperature_critical_celsius=kernel.temperature_critical_celsius,
    )


def gone(known: KnownDrive) -> WatchedDrive:
    """A drive that is not there any more, as it was known."""
    return WatchedDrive(
        label=known.label,
        serial=known.serial or "",
        address=str(Address(known.path, known.type)),
        identity=DriveIdentity(
            model=known.model, serial=known.serial, firmware=known.firmware, wwn=known.wwn
        ),
        message="it was here once and is not found any more; if it was taken out, forget it with "
        f"`ssd-exporter forget {known.names[0]}`",
        is_missing=True,
    )


#: A poller that has not been heard of for so many of its own intervals is gone.
_FRESH_INTERVALS = 4


@dataclass(frozen=True, slots=True)
class HostContext:
    """What the rest of the monitor knows of devices.

    disks: who the kernel says that each disk is, by name.
    written_bytes: what it has written to a device since that appeared; None if not known.
    rated_bytes: how much a drive's maker lets be written, where somebody configured it, by label.
    """

    disks: Callable[[], Mapping[str, DeviceIdentity]]
    written_bytes: Callable[[str], int | None]
    rated_bytes: Mapping[str, int] = field(default_factory=dict)


class DriveRegistry:
    """Every drive by its address, and the inventory of all that were ever here.

    `sys` and `root` tell what a drive is called. Ages are taken by wall time, as the documents
    have no other that two processes share.
    """

    def __init__(
        self,
        clock: Clock,
        sys: Path,
        root: Path,
        surroundings: HostContext,
        *,
        inventory: Inventory,
        wear: WearRecorder | None,
        max_age_intervals: float,
    ) -> None:
        self._clock = clock
        self._sys = sys
        self._root = root
        self._around = surroundings
        self._inventory = inventory
        self._wear = wear
        self._max_age_intervals = max_age_intervals
        self._drives: dict[Address, DriveRecord] = {}
        self._roll: Heartbeat | None = None
        self._nodes = DeviceNodes()
        self._labels: dict[Address, str] = {}
        self._carried: dict[Address, tuple[str, ...]] = {}
        self._changed: Callable[[], None] = _nothing
        self._lock = threading.RLock()

    def on_change(self, changed: Callable[[], None]) -> None:
        """Have `changed` called when a drive comes, goes or is another one."""
        self._changed = changed

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The last heartbeat."""
        return self._roll

    def record(self, document: PollDocument) -> None:
        """Take in one poll."""
        address = Address(document.path, document.type)
        with self._lock:
            drive = self._drives.get(address)
            if drive is None:
                drive = self._drives[address] = DriveRecord(document)
            elif document.began_at < drive.document.began_at <= self._clock.wall():
                # What is dated later than now was dated by a clock that was ahead, and is no newer.
                return
            label = self._labels.get(address, "")
            drive.record(document, self._around.written_bytes(label))
            key, seen = key_of(drive.identity), drive.wear()
            if drive.answers and self._wear and key and seen:
                self._wear.record(key, seen, self._around.rated_bytes.get(label))

    def update(self, roll: Heartbeat) -> None:
        """Take in the list of the drives that there are."""
        with self._lock:
            before, self._roll = self._roll, roll
            present = [Address(*each) for each in roll.drives]
            if roll.scanned_at is None:
                # It has just begun, and what it found before it was started again is still there.
                paths = {path for path, _ in roll.drives}
                present += [each for each in self._drives if each.path not in paths]
            for address in self._drives.keys() - set(present):
                del self._drives[address]
            # A look may find a drive as it was that is called otherwise: it has got a namespace.
            looked = before is None or before.scanned_at != roll.scanned_at
            if looked or self._labels.keys() != {*present}:
                self._nodes = device_nodes.read(self._sys, self._root)
                self._labels = labels(present, self._nodes)
            identities = {address: drive.identity for address, drive in self._drives.items()}
            self._carried = carried(identities, self._nodes, self._around.disks())
            self._update_inventory(roll)

    def forget(self, directory: Path, save: Callable[[], None]) -> None:
        """Forget the missing drives that somebody asked to be forgotten in the state directory.

        `save` keeps the inventory; it raises OSError where it cannot, and nothing is forgotten.
        """
        asked = forgetting.requests(directory)
        with self._lock:
            if not asked or not self._inventory.is_complete:
                return
            forgetting.fulfil(self._inventory, asked)
        save()
        forgetting.remove(directory, asked)

    def reconfigure(self, rated_bytes: Mapping[str, int], max_age_intervals: float) -> None:
        """The settings were read again."""
        with self._lock:
            self._around = replace(self._around, rated_bytes=rated_bytes)
            self._max_age_intervals = max_age_intervals

    def to_state(self) -> list[dict[str, object]]:
        """The inventory, for the state file."""
        with self._lock:
            return self._inventory.to_state()

    def identities(self) -> dict[str, DriveIdentity]:
        """Who each drive that has answered says it is, by label."""
        with self._lock:
            return {
                label: drive.identity
                for address, label in self._labels.items()
                if (drive := self._drives.get(address)) is not None and drive.health is not None
            }

    def health_of(self, label: str) -> DriveHealth | None:
        """What a drive last said of its health, if it is recent.

        It waits for nobody, as the sampler must not.
        """
        for address, its_label in self._labels.items():
            drive = self._drives.get(address) if its_label == label else None
            at = None if drive is None else drive.answered_at
            if drive is not None and at is not None:
                if not self._is_recent(drive, at, self._clock.wall()):
                    return None
                return limited(drive.health, self._around.disks().get(label))
        return None

    def watched(self) -> list[WatchedDrive]:
        """Every drive, by label, and after them those that are gone.

        A drive that keeps its poller waiting is asked ever less often, and stays on the page as
        long as the poller lives. Where that is gone, a drive follows when its last poll is too old.
        """
        now = self._clock.wall()
        with self._lock:
            disks = self._around.disks()
            stuck = {Address(*each) for each in self._roll.stuck} if self._roll else set()
            polled = self._polled(now)
            found = [
                self._watched(address, drive, now, disks, is_stuck=address in stuck)
                for address, drive in self._drives.items()
                if address in self._labels
                and (address in polled or self._is_recent(drive, drive.document.began_at, now))
            ]
            missing = [gone(known) for known in self._inventory.missing]
        found.sort(key=lambda drive: (len(drive.label), drive.label))
        # One that has not said who it is may have the name of a missing one.
        there = {(drive.label, drive.serial) for drive in found}
        return found + [each for each in missing if (each.label, each.serial) not in there]

    def _update_inventory(self, roll: Heartbeat) -> None:
        addresses = [Address(*each) for each in roll.drives]
        sightings = []
        for address in addresses:
            drive = self._drives.get(address)
            who = drive.identity if drive and key_of(drive.identity) else None
            label = self._labels.get(address, address.path)
            sightings.append(Sighting(address, label, who))
        complete = roll.scanned_at is not None and all(a in self._drives for a in addresses)
        before = {(drive.names, drive.missing) for drive in self._inventory.drives}
        self._inventory.update(sightings, self._clock.wall(), complete=complete)
        if before != {(drive.names, drive.missing) for drive in self._inventory.drives}:
            self._changed()

    def _polled(self, now: float) -> set[Address]:
        """The drives of a poller that lives."""
        roll = self._roll
        if roll is None or not is_live(roll, now):
            return set()
        return {Address(*each) for each in roll.drives}

    def _is_recent(self, drive: DriveRecord, then: float, now: float) -> bool:
        """How old it is that is dated in the future, nobody knows: a clock has been set back."""
        interval = max(drive.document.interval_seconds, 60.0)
        return abs(now - then) <= self._max_age_intervals * interval

    def _watched(
        self,
        address: Address,
        drive: DriveRecord,
        now: float,
        disks: Mapping[str, DeviceIdentity],
        *,
        is_stuck: bool,
    ) -> WatchedDrive:
        document, label = drive.document, self._labels[address]
        kernel, known = disks.get(label), self._inventory.at(address)
        identity = named(drive.identity, kernel, known)
        at = drive.answered_at
        is_fresh = at is not None and self._is_recent(drive, at, now)
        key = key_of(drive.identity)
        outlook = self._wear.remaining(key, now) if self._wear and key else None
        return WatchedDrive(
            label=label,
            serial=identity.serial or "",
            address=str(address),
            identity=identity,
            up=drive.answers,
            was_reached=drive.was_reached,
            has_log_data=drive.has_log_data,
            health=limited(drive.health, kernel) if is_fresh else None,
            last_success_unix_time=document.last_success_at,
            poll_seconds=document.seconds,
            polls=document.counts,
            message=document.message,
            firmware_issues=drive.firmware_issues,
            wearout_seconds=None if outlook is None else outlook[1],
            wearout_method="" if outlook is None else outlook[0],
            blocks=self._carried.get(address, ()),
            is_stuck=is_stuck,
        )


def is_live(roll: Heartbeat, now: float) -> bool:
    """Whether the poller that said this is still there; `now` is wall time."""
    return abs(now - roll.at) <= _FRESH_INTERVALS * roll.interval_seconds


def _nothing() -> None:
    return
