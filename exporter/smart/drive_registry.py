"""Keeps the state of all drives of this host, from poll documents and heartbeats.

A poll document is the result of one poll of a drive. A heartbeat is the poller's list of drives,
which it sends regularly. The inventory is the list of all drives ever seen. Documents are recorded
on one thread, and other threads read the state. A lock protects it.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.drives.health import DriveHealth, DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux import device_nodes
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import forgetting
from exporter.smart.answer_log import AnswerLog
from exporter.smart.drive_labels import blocks_behind, labels
from exporter.smart.drive_record import (
    DriveRecord,
    completed_identity,
    key_of,
    missing_drive,
    with_kernel_limits,
)
from exporter.smart.inventory import Inventory, Sighting
from exporter.smart.poll_document import Heartbeat, PollDocument
from exporter.smart.smartctl import Address
from exporter.wear.wear_recorder import WearRecorder

#: If no heartbeat arrives during this number of heartbeat intervals, the poller is considered to
#: have ended.
_FRESH_INTERVALS = 4


@dataclass(frozen=True, slots=True)
class HostContext:
    """Values about devices that other parts of the monitor provide.

    disks: returns the kernel's identity of each disk, keyed by name.
    written_bytes: returns the bytes that the kernel has written to the device with a given name
        since it appeared; None means unknown.
    rated_bytes: the configured rated endurance in bytes, keyed by label.
    """

    disks: Callable[[], Mapping[str, DeviceIdentity]]
    written_bytes: Callable[[str], int | None]
    rated_bytes: Mapping[str, int] = field(default_factory=dict)


class DriveRegistry:
    """The state of each drive, keyed by address, and the inventory of all drives ever seen.

    Ages are differences of wall time, because the poller may be another process.

    sys: the path of /sys.
    root: the path of the / that contains the device nodes. Labels are derived from `sys` and
        `root`.
    wear: records the wear of the drives; None means that wear is not recorded.
    max_age_intervals: the number of poll intervals after which a result is too old.
    first_answer_seconds: a drive without a poll document for this time is not answering. The
        default is for commands, which poll each drive themselves and wait for the result.
    answer_log: logs which drives stop answering; None means that nothing is logged.
    """

    def __init__(
        self,
        clock: Clock,
        sys: Path,
        root: Path,
        context: HostContext,
        *,
        inventory: Inventory,
        wear: WearRecorder | None,
        max_age_intervals: float,
        first_answer_seconds: float = math.inf,
        answer_log: AnswerLog | None = None,
    ) -> None:
        self._clock = clock
        self._sys = sys
        self._root = root
        self._context = context
        self._inventory = inventory
        self._wear = wear
        self._max_age_intervals = max_age_intervals
        self._first_answer_seconds = first_answer_seconds
        self._answer_log = answer_log
        self._drives: dict[Address, DriveRecord] = {}
        #: When a heartbeat first listed each drive that has no document, in monotonic seconds.
        self._without_document: dict[Address, float] = {}
        self._heartbeat: Heartbeat | None = None
        self._nodes = DeviceNodes()
        self._labels: dict[Address, str] = {}
        self._blocks: dict[Address, tuple[str, ...]] = {}
        self._changed: Callable[[], None] = _nothing
        self._lock = threading.RLock()

    def on_change(self, changed: Callable[[], None]) -> None:
        """Sets the function that is called when a drive is added, removed or replaced."""
        self._changed = changed

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The last heartbeat; None before the first one."""
        return self._heartbeat

    def record(self, document: PollDocument) -> None:
        """Updates the state of a drive with the result of one poll.

        A document that is older than the last one of the same address is ignored.
        """
        address = Address(document.path, document.type)
        with self._lock:
            drive = self._drives.get(address)
            if drive is None:
                drive = self._drives[address] = DriveRecord(document)
            elif document.began_at < drive.document.began_at <= self._clock.wall():
                # The last document is newer. A last document with a date in the future does not
                # count: a clock that was ahead has dated it.
                return
            label = self._labels.get(address, "")
            drive.record(document, self._context.written_bytes(label))
            if label:
                self._log_poll(address)
            key, seen = key_of(drive.identity), drive.wear()
            if drive.answers and self._wear and key and seen:
                self._wear.record(key, seen, self._context.rated_bytes.get(label))

    def update(self, heartbeat: Heartbeat) -> None:
        """Replaces the list of drives by that of a heartbeat, and updates the inventory."""
        with self._lock:
            before, self._heartbeat = self._heartbeat, heartbeat
            present = [Address(*each) for each in heartbeat.drives]
            if heartbeat.scanned_at is None:
                # The poller has just started and has not scanned yet. The drives that were known
                # before remain.
                paths = {path for path, _ in heartbeat.drives}
                present += [each for each in self._drives if each.path not in paths]
            for address in self._drives.keys() - set(present):
                del self._drives[address]
            # A label can change while the address stays the same, for example if an NVMe
            # controller has a new namespace.
            scanned = before is None or before.scanned_at != heartbeat.scanned_at
            if scanned or self._labels.keys() != {*present}:
                self._nodes = device_nodes.read(self._sys, self._root)
                new = [address for address in present if address not in self._labels]
                self._labels = labels(present, self._nodes)
                for address in new:
                    self._log_poll(address)
            now = self._clock.monotonic()
            self._without_document = {
                address: self._without_document.get(address, now)
                for address in present
                if address not in self._drives
            }
            for address, since in self._without_document.items():
                if now - since >= self._first_answer_seconds:
                    self._log_answer(address, answers=False, message=_no_result(now - since))
            if self._answer_log is not None:
                self._answer_log.keep(present)
            identities = {address: drive.identity for address, drive in self._drives.items()}
            self._blocks = blocks_behind(identities, self._nodes, self._context.disks())
            self._update_inventory(heartbeat)

    def forget(self, directory: Path, save: Callable[[], None]) -> None:
        """Drops the missing drives that are named by requests in the state directory.

        Nothing is done until a complete scan has determined which drives are missing.

        directory: the state directory.
        save: writes the inventory. If it raises OSError, the requests are kept.
        """
        names = forgetting.requests(directory)
        with self._lock:
            if not names or not self._inventory.is_complete:
                return
            forgetting.fulfil(self._inventory, names)
        save()
        forgetting.remove(directory, names)

    def reconfigure(
        self,
        rated_bytes: Mapping[str, int],
        max_age_intervals: float,
        first_answer_seconds: float,
    ) -> None:
        """Applies settings that were reloaded.

        rated_bytes: the configured rated endurance in bytes, keyed by label.
        max_age_intervals, first_answer_seconds: as in the constructor.
        """
        with self._lock:
            self._context = replace(self._context, rated_bytes=rated_bytes)
            self._max_age_intervals = max_age_intervals
            self._first_answer_seconds = first_answer_seconds

    def to_state(self) -> list[dict[str, object]]:
        """Returns the inventory as plain values for the state file."""
        with self._lock:
            return self._inventory.to_state()

    def identities(self) -> dict[str, DriveIdentity]:
        """Returns the identity of each drive that has answered, keyed by label."""
        with self._lock:
            return {
                label: drive.identity
                for address, label in self._labels.items()
                if (drive := self._drives.get(address)) is not None and drive.health is not None
            }

    def health_of(self, label: str) -> DriveHealth | None:
        """Returns the last health of a drive; None if it is too old or the drive is not known.

        The method takes no lock, because the thread that samples I/O counters must not wait.
        """
        for address, shown in self._labels.items():
            drive = self._drives.get(address) if shown == label else None
            at = None if drive is None else drive.answered_at
            if drive is not None and at is not None:
                if not self._is_recent(drive, at, self._clock.wall()):
                    return None
                return with_kernel_limits(drive.health, self._context.disks().get(label))
        return None

    def watched(self) -> list[WatchedDrive]:
        """Returns all drives in the order of their labels, followed by the missing drives.

        While the poller sends heartbeats, all its drives are in the result. This includes drives
        that time out, which are polled less and less often, and drives for which no document
        arrived in time. Without a poller, a drive is in the result until its last poll is too old.
        """
        now = self._clock.wall()
        with self._lock:
            disks = self._context.disks()
            stuck = {Address(*each) for each in self._heartbeat.stuck} if self._heartbeat else set()
            polled = self._polled(now)
            found = [
                self._watched(address, drive, now, disks, is_stuck=address in stuck)
                for address, drive in self._drives.items()
                if address in self._labels
                and (address in polled or self._is_recent(drive, drive.document.began_at, now))
            ]
            found += self._silent(polled, stuck, disks)
            missing = [missing_drive(known) for known in self._inventory.missing]
        found.sort(key=lambda drive: (len(drive.label), drive.label))
        # A drive that has not reported an identity may have the label of a missing drive. The
        # missing drive is then left out, because labels and serial numbers must be unique.
        shown = {(drive.label, drive.serial) for drive in found}
        return found + [each for each in missing if (each.label, each.serial) not in shown]

    def _update_inventory(self, heartbeat: Heartbeat) -> None:
        addresses = [Address(*each) for each in heartbeat.drives]
        sightings = []
        for address in addresses:
            drive = self._drives.get(address)
            who = drive.identity if drive and key_of(drive.identity) else None
            label = self._labels.get(address, address.path)
            sightings.append(Sighting(address, label, who))
        now = self._clock.monotonic()
        # A drive for which no document arrives must not prevent other drives from being found to be
        # missing.
        complete = heartbeat.scanned_at is not None and all(
            now - since >= self._first_answer_seconds for since in self._without_document.values()
        )
        before = {(drive.names, drive.missing) for drive in self._inventory.drives}
        self._inventory.update(sightings, self._clock.wall(), complete=complete)
        if before != {(drive.names, drive.missing) for drive in self._inventory.drives}:
            self._changed()

    def _polled(self, now: float) -> set[Address]:
        """Returns the addresses in the last heartbeat; empty if the poller has ended."""
        heartbeat = self._heartbeat
        if heartbeat is None or not is_live(heartbeat, now):
            return set()
        return {Address(*each) for each in heartbeat.drives}

    def _silent(
        self, polled: set[Address], stuck: set[Address], disks: Mapping[str, DeviceIdentity]
    ) -> Iterator[WatchedDrive]:
        """Yields the drives for which no document arrived in time, with the kernel's identity.

        The agent may be unable to write their documents, or the documents are not valid, or many
        other drives on the same host adapter hang and are polled before.
        """
        now = self._clock.monotonic()
        for address, since in self._without_document.items():
            is_stuck = address in stuck
            if address not in polled or address not in self._labels or address in self._drives:
                continue
            if now - since < self._first_answer_seconds and not is_stuck:
                continue
            label = self._labels[address]
            identity = completed_identity(
                DriveIdentity(), disks.get(label), self._inventory.at(address)
            )
            yield WatchedDrive(
                label=label,
                serial=identity.serial or "",
                address=str(address),
                identity=identity,
                message=_no_result(now - since),
                is_stuck=is_stuck,
            )

    def _log_poll(self, address: Address) -> None:
        """Passes the last poll of a drive to the log of answers.

        The label must be known, because the identity that the kernel reports is found by it.
        """
        drive = self._drives.get(address)
        if drive is not None and drive.was_reached:
            self._log_answer(address, answers=drive.answers, message=drive.document.message)

    def _log_answer(self, address: Address, *, answers: bool, message: str) -> None:
        if self._answer_log is not None:
            self._answer_log.record(
                address, answers=answers, message=message, name=lambda: self._name(address)
            )

    def _name(self, address: Address) -> str:
        """Returns the address of a drive, with its model and serial number as far as known."""
        drive, label = self._drives.get(address), self._labels.get(address, "")
        identity = completed_identity(
            drive.identity if drive else DriveIdentity(),
            self._context.disks().get(label),
            self._inventory.at(address),
        )
        known = (identity.model, identity.serial and f"serial {identity.serial}")
        details = ", ".join(text for text in known if text)
        return f"{address} ({details})" if details else str(address)

    def _is_recent(self, drive: DriveRecord, then: float, now: float) -> bool:
        """True if the time `then` is at most the maximum age away from `now`.

        `then` may be in the future, if the clock was set back since.
        """
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
        identity = completed_identity(drive.identity, kernel, known)
        at = drive.answered_at
        is_fresh = at is not None and self._is_recent(drive, at, now)
        key = key_of(drive.identity)
        wearout = self._wear.remaining(key, now) if self._wear and key else None
        return WatchedDrive(
            label=label,
            serial=identity.serial or "",
            address=str(address),
            identity=identity,
            up=drive.answers,
            was_reached=drive.was_reached,
            has_log_data=drive.has_log_data,
            health=with_kernel_limits(drive.health, kernel) if is_fresh else None,
            last_success_unix_time=document.last_success_at,
            poll_seconds=document.seconds,
            polls=document.counts,
            message=document.message,
            firmware_issues=drive.firmware_issues,
            wearout_seconds=None if wearout is None else wearout[1],
            wearout_method="" if wearout is None else wearout[0],
            blocks=self._blocks.get(address, ()),
            is_stuck=is_stuck,
        )


def is_live(heartbeat: Heartbeat, now: float) -> bool:
    """True if the heartbeat is recent, so that its poller is considered to be running.

    now: the current wall time in seconds of Unix time.
    """
    return abs(now - heartbeat.at) <= _FRESH_INTERVALS * heartbeat.interval_seconds


def _no_result(seconds: float) -> str:
    return f"no result of a poll arrived within {seconds:.0f} s"


def _nothing() -> None:
    return
