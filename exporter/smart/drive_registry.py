"""Keeps the state of all drives of this host, from poll documents and heartbeats.

A poll document is the result of one poll of a drive. A heartbeat is the list of drives that the
poller sends regularly. The inventory is the list of all drives ever seen. One thread records
documents, and other threads read the state. A lock protects the state.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from exporter.drives.drive_identity import identity_key, is_same_identity
from exporter.drives.health import DriveHealth, DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.linux import device_nodes
from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.runtime.clock import Clock
from exporter.smart import forgetting, presence
from exporter.smart.answer_log import AnswerLog, FirstDocuments, no_document
from exporter.smart.drive_labels import blocks_behind, labels
from exporter.smart.drive_record import DriveRecord
from exporter.smart.inventory import Inventory, KnownDrive, Sighting
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import Heartbeat, PollDocument
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.presence import HostContext
from exporter.smart.smartctl import Address
from exporter.smart.watched_drives import (
    Place,
    completed_identity,
    missing_drive,
    polled_drive,
    silent_drive,
)
from exporter.wear.wear_recorder import WearRecorder


class DriveRegistry:
    """The state of each drive, keyed by address, and the inventory of all drives ever seen.

    An age does not change if the wall clock is set (`Moment`).

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
        #: The drives whose last wear waits for a key; see `_record_wear`.
        self._unrecorded: set[Address] = set()
        self._max_age_intervals = max_age_intervals
        self._first_documents = FirstDocuments(clock, first_answer_seconds)
        self._answer_log = answer_log
        self._drives: dict[Address, DriveRecord] = {}
        self._heartbeat: Heartbeat | None = None
        self._nodes = DeviceNodes()
        self._labels: dict[Address, str] = {}
        self._blocks: dict[Address, tuple[str, ...]] = {}
        self._changed: Callable[[], None] = lambda: None
        self._lock = threading.RLock()

    def on_change(self, changed: Callable[[], None]) -> None:
        """Sets the function that is called when a drive is added, removed or replaced."""
        self._changed = changed

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The last list of drives that a running poller has sent; None before the first one."""
        return self._heartbeat

    def record(self, document: PollDocument) -> None:
        """Updates the state of a drive with the result of one poll.

        Of a document that is older than the last one of the same address, only the error and
        self-test logs are used.
        """
        address = Address(document.path, document.type)
        with self._lock:
            drive = self._drives.get(address)
            if drive is None:
                drive = self._drives[address] = DriveRecord(document)
            elif drive.is_ahead_of(document, Moment.now(self._clock)):
                drive.record_logs(document)
                return
            label = self._labels.get(address, "")
            drive.record(document, self._context.written_bytes(label))
            if label:
                self._log_poll(address)
            self._unrecorded.add(address)
            self._record_wear(address)

    def update(self, heartbeat: Heartbeat) -> None:
        """Replaces the list of drives by that of a heartbeat, and updates the inventory.

        If the poller has not scanned since its start, the drives that were known before remain.
        """
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
            first = self._first_documents
            first.expect(address for address in present if address not in self._drives)
            self._unrecorded.intersection_update(present)
            for address, seconds in first.waiting():
                if seconds >= first.limit_seconds:
                    self._log_answer(address, answers=False, message=no_document(seconds))
            if self._answer_log is not None:
                self._answer_log.keep(present)
            identities = {address: drive.identity for address, drive in self._drives.items()}
            self._blocks = blocks_behind(identities, self._nodes, self._context.disks())
            self._update_inventory(heartbeat)
            if first.are_over:
                self.settle()

    def settle(self) -> None:
        """Gives each drive its key, and records the wear of drives that had no key before.

        Call it when all drives of the host are known: then it is clear which of them share a WWN or
        a serial number. `update` calls it. A command calls it after its last poll.
        """
        with self._lock:
            self._inventory.assign_keys()
            for address in self._drives:
                self._record_wear(address)

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
            self._first_documents.limit_seconds = first_answer_seconds

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

        The method uses no lock: the thread that samples I/O counters calls it, and must not wait.
        """
        for address, shown in self._labels.items():
            drive = self._drives.get(address) if shown == label else None
            if drive is not None and drive.answered_at is not None:
                is_fresh = drive.is_fresh(Moment.now(self._clock), self._max_age_intervals)
                kernel = self._context.disks().get(label)
                return drive.with_kernel_limits(kernel) if is_fresh else None
        return None

    def watched(self) -> list[WatchedDrive]:
        """Returns all drives in the order of their labels, followed by the missing drives.

        While a poller runs, the result contains all its drives, also those that do not answer in
        time or have no poll document. Without a running poller, it contains a drive until the last
        poll of the drive is too old.
        """
        now = Moment.now(self._clock)
        with self._lock:
            disks = self._context.disks()
            stuck = {Address(*each) for each in self._heartbeat.stuck} if self._heartbeat else set()
            polled = self._polled(now)
            found = [
                self._watched(address, drive, now, disks, is_stuck=address in stuck)
                for address, drive in self._drives.items()
                if address in self._labels
                and (address in polled or drive.was_polled(now, self._max_age_intervals))
            ]
            found += self._silent(polled, stuck, disks)
            missing = [missing_drive(known) for known in self._inventory.missing]
        # At the address of a missing drive no other drive has answered.
        gone = {drive.label for drive in missing}
        found = [each for each in found if each.up or each.is_known or each.label not in gone]
        found.sort(key=lambda drive: (len(drive.label), drive.label))
        # A drive that has not reported an identity may have the label and serial number of a
        # missing drive, which is then left out: they must be unique.
        shown = {(drive.label, drive.serial) for drive in found}
        return found + [each for each in missing if (each.label, each.serial) not in shown]

    def _update_inventory(self, heartbeat: Heartbeat) -> None:
        addresses = [Address(*each) for each in heartbeat.drives]
        sightings = []
        for address in addresses:
            drive = self._drives.get(address)
            if (
                drive
                and drive.document.result == PollResult.NO_ANSWER
                and not self._is_listed(address)
            ):
                continue  # the slot is empty now
            who = drive.identity if drive and identity_key(drive.identity) else None
            label = self._labels.get(address, address.path)
            sightings.append(Sighting(address, label, who))
        # A drive for which no document arrives must not prevent other drives from being found to be
        # missing.
        complete = heartbeat.scanned_at is not None and self._first_documents.are_over
        before = {(drive.names, drive.missing) for drive in self._inventory.drives}
        self._inventory.update(sightings, self._clock.wall(), complete=complete)
        if before != {(drive.names, drive.missing) for drive in self._inventory.drives}:
            self._changed()

    def _polled(self, now: Moment) -> set[Address]:
        """Returns the addresses in the last heartbeat; empty if the poller has ended."""
        heartbeat = self._heartbeat
        if heartbeat is None or not heartbeat.is_live(now):
            return set()
        return {Address(*each) for each in heartbeat.drives}

    def _silent(
        self, polled: set[Address], stuck: set[Address], disks: Mapping[str, DeviceIdentity]
    ) -> Iterator[WatchedDrive]:
        """Yields the drives for which no document arrived in time, with the kernel's identity."""
        limit_seconds = self._first_documents.limit_seconds
        for address, seconds in self._first_documents.waiting():
            is_shown = address in polled and address in self._labels
            if is_shown and (seconds >= limit_seconds or address in stuck):
                place = self._place(address, disks, is_stuck=address in stuck)
                yield silent_drive(place, no_document(seconds))

    def _place(
        self, address: Address, disks: Mapping[str, DeviceIdentity], *, is_stuck: bool
    ) -> Place:
        label = self._labels[address]
        return Place(
            address,
            label,
            disks.get(label),
            self._known_at(address),
            self.is_known(address),
            is_stuck,
            self._blocks.get(address, ()),
        )

    def is_known(self, address: Address) -> bool:
        """True if a drive has answered at an address, or is certainly there."""
        drive = self._drives.get(address)
        if drive is not None and (drive.answers or drive.is_nameless):
            return True
        return self._inventory.at(address) is not None or self._is_listed(address)

    def _is_listed(self, address: Address) -> bool:
        """True if the kernel, the controller or a scan lists a drive at an address."""
        heartbeat, label = self._heartbeat, self._labels.get(address, "")
        only_configured = heartbeat is not None and tuple(address) in heartbeat.only_configured
        return presence.is_certain(
            address, label, self._nodes, self._context, only_configured=only_configured
        )

    def _known_at(self, address: Address) -> KnownDrive | None:
        """Returns what the inventory knows about the drive at an address.

        None if the inventory still has the drive that was there before.
        """
        known, drive = self._inventory.at(address), self._drives.get(address)
        if known is None or drive is None or identity_key(drive.identity) is None:
            return known
        return known if is_same_identity(drive.identity, known) else None

    def _record_wear(self, address: Address) -> None:
        """Passes the wear of a drive to the recorder, once after each poll.

        A drive has no key before all drives of the host were polled once. Until then, its wear
        waits.
        """
        drive = self._drives.get(address)
        if self._wear is None or drive is None or address not in self._unrecorded:
            return
        known, seen = self._known_at(address), drive.wear() if drive.answers else None
        if seen is not None:
            if known is None or known.key is None:
                return
            rated_bytes = self._context.rated_bytes.get(self._labels.get(address, ""))
            self._wear.record(known.key, seen, rated_bytes, known.former_key)
        self._unrecorded.discard(address)

    def _log_poll(self, address: Address) -> None:
        """Passes the last poll of a drive to the log of answers.

        The label of the drive must be known: it is the key of the identity from the kernel.
        """
        drive = self._drives.get(address)
        if drive is not None and drive.was_reached:
            self._log_answer(address, answers=drive.answers, message=drive.document.message)

    def _log_answer(self, address: Address, *, answers: bool, message: str) -> None:
        if self._answer_log is None:
            return
        if not answers and not self.is_known(address):
            self._answer_log.record_empty(address, message)
            return
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

    def _watched(
        self,
        address: Address,
        drive: DriveRecord,
        now: Moment,
        disks: Mapping[str, DeviceIdentity],
        *,
        is_stuck: bool,
    ) -> WatchedDrive:
        place = self._place(address, disks, is_stuck=is_stuck)
        is_fresh = drive.is_fresh(now, self._max_age_intervals)
        wearout = (
            self._wear.remaining(place.key, now.unix_time) if self._wear and place.key else None
        )
        return polled_drive(place, drive, is_fresh=is_fresh, wearout=wearout)
