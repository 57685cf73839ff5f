"""The drives of this host as their documents tell of them: who is there, who is sick, who is gone.

Documents come from one thread; what is known is read from others, so `lock` is held for both.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.background import forgetting
from exporter.background.drive_labels import carried, labels
from exporter.background.inventory import Inventory, Sighting
from exporter.background.known_drive import KnownDrive
from exporter.background.same_drive import usable_wwn
from exporter.clock import Clock
from exporter.diagnosis.host_bytes import unit_check
from exporter.diagnosis.wear_counter import WearObservation
from exporter.diagnosis.wearout import WearoutEstimate, WearoutRules, estimate
from exporter.drives import firmware, report
from exporter.drives.health import DriveHealth, DriveIdentity, UnitSource
from exporter.drives.watched import WatchedDrive
from exporter.linux import nodes
from exporter.linux.identity import Identity
from exporter.linux.nodes import Nodes
from exporter.tools.document import PollDocument, Roll
from exporter.tools.outcome import Result
from exporter.tools.smartctl import Address

if TYPE_CHECKING:
    from exporter.background.history import History

log = logging.getLogger(__name__)

#: A poller that has not been heard of for so many of its own intervals is gone.
FRESH_INTERVALS = 4

#: What only the daily set tells is believed for so long.
_DAILY_SECONDS = 2 * 86_400.0

#: An estimate looks through a year of observations, and moves within weeks.
_ESTIMATE_SECONDS = 3600.0

#: What the daily set alone asks for.
_DAILY_FIELDS = ("self_test", "error_log_entries", "interface_errors")

#: Error log entries, self-test errors: the last two of `outcome.EXIT_BITS`.
_DAILY_EXIT_BITS = 0b1100_0000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the rest of the monitor knows of devices.

    disks: who the kernel says that each disk is, by name.
    written_bytes: what it has written to a device since that appeared; None if not known.
    rated_bytes: how much a drive's maker lets be written, where somebody configured it, by label.
    """

    disks: Callable[[], Mapping[str, Identity]]
    written_bytes: Callable[[str], int | None]
    rated_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Drive:
    """What is known of the drive at one address."""

    document: PollDocument
    identity: DriveIdentity = field(default_factory=DriveIdentity)
    health: DriveHealth | None = None
    answered_at: float | None = None
    daily: DriveHealth | None = None
    daily_at: float = 0.0
    wearout: WearoutEstimate | None = None
    estimated_at: float = 0.0
    firmware_issues: tuple[firmware.FirmwareIssue, ...] = ()
    growth_since: tuple[float, int, int] | None = None
    is_unit_wrong: bool = False


class Drives:
    """Every drive by its address, and the inventory of all that were ever here.

    `sys` and `root` tell what a drive is called. Ages are taken by wall time, as the documents
    have no other that two processes share.
    """

    def __init__(
        self,
        clock: Clock,
        sys: Path,
        root: Path,
        surroundings: Surroundings,
        *,
        inventory: Inventory,
        history: "Callable[[], History] | None",
        max_age_intervals: float,
        keeps_history: bool = True,
    ) -> None:
        self._clock = clock
        self._sys = sys
        self._root = root
        self._around = surroundings
        self._inventory = inventory
        self._open_history = history
        self._history: History | None = None
        self._max_age_intervals = max_age_intervals
        self._keeps_history = keeps_history
        self._rules = WearoutRules()
        self._drives: dict[Address, _Drive] = {}
        self._roll: Roll | None = None
        self._nodes = Nodes()
        self._labels: dict[Address, str] = {}
        self._carried: dict[Address, tuple[str, ...]] = {}
        self._changed: Callable[[], None] = _nothing
        self._lock = threading.RLock()

    def on_change(self, changed: Callable[[], None]) -> None:
        """Have `changed` called when a drive comes, goes or is another one."""
        self._changed = changed

    @property
    def roll(self) -> Roll | None:
        """The last heartbeat."""
        return self._roll

    def take(self, document: PollDocument) -> None:
        """Take in one poll."""
        address = Address(document.path, document.type)
        with self._lock:
            drive = self._drives.get(address)
            if drive is None:
                drive = self._drives[address] = _Drive(document)
            elif document.began_at < drive.document.began_at and not document.is_daily:
                return
            drive.document = document
            if document.result == Result.SUCCESS.value:
                self._answered(drive, document)
            elif document.result == Result.STANDBY.value:
                _slept(drive, document)

    def call(self, roll: Roll) -> None:
        """Take in the list of the drives that there are."""
        with self._lock:
            before, self._roll = self._roll, roll
            present = {Address(*each) for each in roll.drives}
            for address in self._drives.keys() - present:
                del self._drives[address]
            if before is None or before.drives != roll.drives:
                self._nodes = nodes.read(self._sys, self._root)
                self._labels = labels([Address(*each) for each in roll.drives], self._nodes)
            identities = {address: drive.identity for address, drive in self._drives.items()}
            self._carried = carried(identities, self._nodes, self._around.disks())
            self._update_inventory(roll)
            if self._history is not None and self._keeps_history:
                self._history.flush()

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

    def close(self) -> None:
        """Keep what is new of the history."""
        with self._lock:
            if self._history is not None and self._keeps_history:
                self._history.close()

    def to_keep(self) -> list[dict[str, object]]:
        """The inventory, for the state file."""
        with self._lock:
            return self._inventory.to_keep()

    def identity(self, label: str) -> DriveIdentity | None:
        """Who the drive of this name says it is."""
        with self._lock:
            for address, name in self._labels.items():
                if name == label and address in self._drives:
                    return self._drives[address].identity
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
            found = [
                self._watched(address, drive, now, disks, is_stuck=address in stuck)
                for address, drive in self._drives.items()
                if address in self._labels
                and (self._is_polled(now) or now - drive.document.began_at <= self._age(drive))
            ]
            missing = [_gone(known) for known in self._inventory.missing]
        found.sort(key=lambda drive: (len(drive.label), drive.label))
        return found + missing

    def _answered(self, drive: _Drive, document: PollDocument) -> None:
        found = report.read(document.report)
        if _key(found.identity) != _key(drive.identity):
            # Another drive in the same place: it has no past here.
            drive.daily, drive.growth_since, drive.is_unit_wrong = None, None, False
            drive.wearout, drive.estimated_at = None, 0.0
        health, at = found.health, document.began_at
        if document.is_daily:
            drive.daily, drive.daily_at = health, at
        elif drive.daily is not None and at - drive.daily_at <= _DAILY_SECONDS:
            health = _completed(health, drive.daily)
        drive.identity, drive.answered_at = found.identity, at
        drive.health = self._checked(drive, health, at)
        drive.firmware_issues = firmware.issues(found.identity, health)
        drive.wearout = self._wearout(drive, at)

    def _checked(self, drive: _Drive, health: DriveHealth, at: float) -> DriveHealth:
        """Without byte counts whose unit the kernel's own count has proven wrong."""
        written = health.host_written
        if written is None or written.source is UnitSource.STANDARD:
            return health
        label = self._labels.get(Address(drive.document.path, drive.document.type), "")
        kernel = self._around.written_bytes(label)
        if kernel is not None:
            if drive.growth_since is None or kernel < drive.growth_since[2]:
                drive.growth_since = (at, written.bytes, kernel)
            then, smart_then, kernel_then = drive.growth_since
            verdict = unit_check(
                written.bytes - smart_then, written.unit_bytes, kernel - kernel_then, at - then
            )
            if verdict is not None:
                drive.is_unit_wrong = not verdict
        if drive.is_unit_wrong:
            return replace(health, host_written=None, host_read=None, nand_written=None)
        return health

    def _wearout(self, drive: _Drive, at: float) -> WearoutEstimate | None:
        key, health = _key(drive.identity), drive.health
        if self._open_history is None or key is None or health is None:
            return None
        if health.endurance is None and health.host_written is None:
            return None
        if self._history is None:
            # Not before: SQLite is 2 MB, and a host of HDDs or virtual disks needs none.
            self._history = self._open_history()
        endurance = health.endurance
        new = self._history.note(
            key,
            WearObservation(
                at,
                health.power_on_seconds,
                endurance.used_ratio if endurance else None,
                endurance.step_ratio if endurance else None,
                health.host_written.bytes if health.host_written else None,
                health.nand_written.bytes if health.nand_written else None,
            ),
        )
        if not new and at - drive.estimated_at < _ESTIMATE_SECONDS:
            return drive.wearout
        drive.estimated_at = at
        label = self._labels.get(Address(drive.document.path, drive.document.type), "")
        return estimate(
            self._history.observations(key), at, self._rules, self._around.rated_bytes.get(label)
        )

    def _update_inventory(self, roll: Roll) -> None:
        addresses = [Address(*each) for each in roll.drives]
        sightings = []
        for address in addresses:
            drive = self._drives.get(address)
            who = drive.identity if drive and _key(drive.identity) else None
            label = self._labels.get(address, address.path)
            sightings.append(Sighting(address, label, who))
        complete = roll.scanned_at is not None and all(a in self._drives for a in addresses)
        before = {(drive.names, drive.missing) for drive in self._inventory.drives}
        self._inventory.update(sightings, self._clock.wall(), complete=complete)
        if before != {(drive.names, drive.missing) for drive in self._inventory.drives}:
            self._changed()

    def _presumed(self, address: Address, kernel: Identity | None) -> DriveIdentity:
        """Who a drive is that has not answered yet: as the kernel says, else as it was known."""
        if kernel is not None and kernel.serial:
            return DriveIdentity(
                model=kernel.model, serial=kernel.serial, firmware=kernel.firmware, wwn=kernel.wwn
            )
        known = self._inventory.at(address)
        if known is None:
            return DriveIdentity()
        return DriveIdentity(
            model=known.model, serial=known.serial, firmware=known.firmware, wwn=known.wwn
        )

    def _is_polled(self, now: float) -> bool:
        roll = self._roll
        return roll is not None and now - roll.at <= FRESH_INTERVALS * roll.interval_seconds

    def _age(self, drive: _Drive) -> float:
        return self._max_age_intervals * max(drive.document.interval_seconds, 60.0)

    def _watched(
        self,
        address: Address,
        drive: _Drive,
        now: float,
        disks: Mapping[str, Identity],
        *,
        is_stuck: bool,
    ) -> WatchedDrive:
        document, label = drive.document, self._labels[address]
        identity = drive.identity
        if identity == DriveIdentity():
            identity = self._presumed(address, disks.get(label))
        is_fresh = drive.answered_at is not None and now - drive.answered_at <= self._age(drive)
        return WatchedDrive(
            label=label,
            serial=identity.serial or "",
            address=str(address),
            identity=identity,
            up=document.result in (Result.SUCCESS.value, Result.STANDBY.value),
            health=drive.health if is_fresh else None,
            last_success_unix_time=document.last_success_at,
            poll_seconds=document.seconds,
            polls=document.counts,
            message=document.message,
            firmware_issues=drive.firmware_issues,
            wearout_seconds=_bounds(drive.wearout, now - drive.estimated_at),
            wearout_method=drive.wearout.method.value if drive.wearout else "",
            blocks=self._carried.get(address, ()),
            is_stuck=is_stuck,
        )


def _bounds(
    wearout: WearoutEstimate | None, passed_seconds: float
) -> tuple[float, float, float] | None:
    """From now on, where the estimate counts from when it was made."""
    if wearout is None:
        return None
    low, mid, high = wearout.low_seconds, wearout.mid_seconds, wearout.high_seconds
    passed = max(passed_seconds, 0.0)
    return max(low - passed, 0.0), max(mid - passed, 0.0), max(high - passed, 0.0)


def _slept(drive: _Drive, document: PollDocument) -> None:
    """It is in standby: what it counts stands still, and its temperature nobody knows."""
    if drive.health is None:
        if drive.identity == DriveIdentity():
            drive.identity = report.read(document.report).identity
        drive.health = DriveHealth(power_mode="standby")
    else:
        drive.health = replace(drive.health, power_mode="standby", temperatures={})
    drive.answered_at = document.began_at


def _completed(health: DriveHealth, daily: DriveHealth) -> DriveHealth:
    missing = {
        name: getattr(daily, name) for name in _DAILY_FIELDS if getattr(health, name) is None
    }
    # Without the daily logs smartctl cannot tell whether these have entries.
    exit_status = health.exit_status | daily.exit_status & _DAILY_EXIT_BITS
    return replace(health, exit_status=exit_status, **missing)


def _key(who: DriveIdentity) -> str | None:
    """What a drive is known by for its life."""
    return usable_wwn(who.wwn) or (f"{who.model or ''} {who.serial}" if who.serial else None)


def _gone(known: KnownDrive) -> WatchedDrive:
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


def _nothing() -> None:
    return
