"""All drives of this host, asked once for a command that somebody waits for."""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from exporter import polling_plan
from exporter.background import addressing
from exporter.background.discovery import Override
from exporter.background.documents import DocumentReader
from exporter.background.drive_labels import labels
from exporter.background.drives import Drives, Surroundings, is_live
from exporter.background.history import History
from exporter.background.inventory import Inventory
from exporter.background.polling import Polling, PollingPlan
from exporter.background.wear import Wear
from exporter.clock import Clock
from exporter.commands.judgement import Answers
from exporter.config import Settings, SmartSource
from exporter.diagnosis.wearout import WearoutRules
from exporter.drives.health import DriveIdentity
from exporter.drives.watched import WatchedDrive
from exporter.errors import ConfigError, SourceError
from exporter.linux import nodes, rootfs, topology
from exporter.linux.topology import Topology
from exporter.tools import old_smartctl
from exporter.tools.children import Children
from exporter.tools.command import StatusRunner
from exporter.tools.document import PollDocument, Roll, poll_document, roll
from exporter.tools.outcome import Result
from exporter.tools.smartctl import Address, may_be_killed

#: A drive's own limit, and what it takes to end a smartctl that does not want to.
_BEYOND_LIMIT_SECONDS = 10.0

#: The look for drives ends by itself before: 30 s, and what it takes to end it.
_SCAN_SECONDS = 45.0

#: How a disk is attached that is one drive, and no volume or virtual disk.
_OF_DRIVES = frozenset({"nvme", "sata", "sas", "usb"})

#: Not in the PATH of an ordinary user of Debian, and smartctl is there.
_BEYOND_PATH = ("/usr/sbin", "/sbin")

_TEXT_SECONDS = 30.0


#: Why smartctl's scan names no drive here, by what the drive hangs on.
_UNASKED = {
    "virtio": "a virtual disk: it has no SMART; look at the host it lives on",
    "usb": (
        "smartctl does not know its USB bridge: set the type of this device in the configuration, "
        "sat for a SATA drive, sntjmicron, sntasmedia or sntrealtek for an NVMe drive"
    ),
}


class Asked:
    """The drives as documents tell of them: the agent's where it is fresh, else our own."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        children: Callable[[], Children],
        runner: StatusRunner,
        *,
        kept: Mapping[str, object],
        history: Callable[[], History] | None,
        progress: Callable[[int], None],
    ) -> None:
        """`kept` and `history` are what the daemon has kept, and are not written.

        progress: hears how many drives have answered.
        """
        path = settings.path
        self._settings = settings
        self._clock = clock
        self._children = children
        self._runner = runner
        self._progress = progress
        self.documents: dict[tuple[str, str], PollDocument] = {}
        self.problem = ""
        self.program = located(settings.path.smartctl, os.environ.get("PATH", os.defpath))
        self._silence = ""
        self._is_scanned = False
        self._left_alone: tuple[Address, ...] = ()
        self._late = "the agent has not told of it yet"
        self._has_polled = False
        self._nodes = nodes.read(path.sysfs, path.rootfs)
        self._inventory = Inventory(kept.get("inventory"))
        parsed = topology.read(path.sysfs, path.procfs, path.rootfs)
        self._topology: Topology = parsed.value
        disks = {name: its.identity for name, its in self._topology.devices.items()}
        self._wear = None if history is None else Wear(history, WearoutRules(), keeps=False)
        self._drives = Drives(
            clock,
            path.sysfs,
            path.rootfs,
            Surroundings(lambda: disks, lambda _device: None, polling_plan.rated_bytes(settings)),
            inventory=self._inventory,
            wear=self._wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )

    def ask(self) -> Answers:
        """Every drive, and at the end the block devices of which no drive is known.

        Raises:
            ConfigError: the settings want an agent, and there is none that can be believed.
        """
        heartbeat = self._heartbeat()
        if heartbeat is not None:
            self._read(heartbeat)
        elif self._settings.smart.source is SmartSource.DIRECTORY:
            raise ConfigError(
                f"no word of the agent: {self._silence}",
                "start ssd-smart-agent, see that you may read what it writes and nobody else may"
                " write there, or set smart.source to exec and run this as root",
            )
        else:
            self._poll()
            self._ask_in_text()
        if self._wear is not None:
            self._wear.work_through()
        heard, unheard = self._drives.watched(), list(self._unheard())
        late = {each.label for each in unheard} if self._has_polled else set()
        left = self._shown_left_alone()
        found = [*heard, *unheard, *left]
        known = {each.label for each in found} | {b for each in found for b in each.blocks}
        known |= {address.path.removeprefix("/dev/") for address in self._left_alone}
        return Answers(
            (*found, *self._without_drive(known)),
            frozenset(late | {each.label for each in heard if self._owes_answer(each)}),
            self.problem,
        )

    def outputs(self) -> dict[str, bytes]:
        """What smartctl said, by a name for each drive, and "scan" as a scan would have it."""
        devices = [
            {"name": path, "type": kind, "protocol": _protocol(document)}
            for (path, kind), document in self.documents.items()
        ]
        found = {"scan": json.dumps({"devices": devices}).encode()}
        for (path, kind), document in self.documents.items():
            name = f"{path.removeprefix('/dev/')} {kind}".strip()
            found[name] = json.dumps(document.report).encode("utf-8", "replace")
        return found

    def _heartbeat(self) -> Roll | None:
        smart = self._settings.smart
        if smart.source is SmartSource.EXEC:
            return None
        try:
            heartbeat = roll(DocumentReader(smart.directory).roll())
        except SourceError as e:
            self._silence = str(e)
            return None
        now = self._clock.wall()
        if is_live(heartbeat, now):
            return heartbeat
        age = now - heartbeat.at
        self._silence = f"{smart.directory}: the last heartbeat is {age:.0f} s old"
        return None

    def _read(self, heartbeat: Roll) -> None:
        refused: list[SourceError] = []
        try:
            for _, text in DocumentReader(self._settings.smart.directory).changed():
                if isinstance(text, SourceError):
                    refused.append(text)
                    continue
                try:
                    self._take(poll_document(text))
                except SourceError as e:
                    refused.append(e)
        except SourceError as e:
            refused.append(e)
        self._call(heartbeat)
        if refused and not self.problem:
            more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
            self.problem = f"the agent's word is not believed: {refused[0]}{more}"

    def _poll(self) -> None:
        path, smart = self._settings.path, self._settings.smart
        polling = Polling(
            self._children(),
            self._clock,
            self._plan(),
            sys=path.sysfs,
            root=path.rootfs,
            take=self._take,
            call=self._call,
        )
        slowest = max(
            smart.timeout_seconds,
            *(each.smart_timeout_seconds or 0.0 for each in self._settings.device.values()),
            0.0,
        )
        limit = slowest + _BEYOND_LIMIT_SECONDS
        self._late = (
            f"nothing was heard of it within {limit:.0f} s: it hangs, or waits for others that do"
        )
        self._has_polled = True
        scan_until, until = self._clock.monotonic() + _SCAN_SECONDS, math.inf
        try:
            while not polling.is_settled and (now := self._clock.monotonic()) < until:
                if until == math.inf and (self._is_scanned or now >= scan_until):
                    until = now + limit
                self._progress(len(self.documents))
                polling.step(0.2)
        finally:
            polling.close()

    def _ask_in_text(self) -> None:
        """A smartctl too old for JSON is asked for text, which pySMART reads."""
        old = [each for each in self.documents.values() if each.result == Result.TOO_OLD.value]
        for document in old:
            address = Address(document.path, document.type)
            try:
                said = old_smartctl.read(self._runner, self.program, address, _TEXT_SECONDS)
            except SourceError as e:
                self._take(replace(document, message=f"{document.message}; as text: {e}"))
                continue
            now = self._clock.wall()
            self._take(
                replace(
                    document,
                    result=Result.SUCCESS.value,
                    began_at=now,
                    last_success_at=now,
                    report=said,
                    message="",
                )
            )

    def _take(self, document: PollDocument) -> None:
        self.documents[document.path, document.type] = document
        self._drives.take(document)

    def _call(self, heartbeat: Roll) -> None:
        self.problem = heartbeat.problem
        self._is_scanned = heartbeat.scanned_at is not None or bool(heartbeat.problem)
        self._drives.call(heartbeat)

    def _plan(self) -> PollingPlan:
        """The daemon's, without the drives that two must not ask at once: it may be asking them."""
        plan = polling_plan.of(self._settings)
        root, kept = self._settings.path.rootfs, []
        left: list[Address] = []
        for path, kind in plan.drives:
            if may_be_killed(kind):
                kept.append((path, kind))
            else:
                left += addressing.expanded(rootfs.resolve(root, path), kind)
        for name, override in plan.overrides.items():
            if override.type and not may_be_killed(override.type):
                path = f"/dev/{name.removeprefix('/dev/').partition(' ')[0]}"
                left.append(Address(path, override.type))
        self._left_alone = tuple(dict.fromkeys(left))
        # Nor by another type: a question through the bridge meets the other's in the middle.
        off = {address.path: Override(off=True) for address in left}
        overrides = {**plan.overrides, **off}
        return replace(plan, program=self.program, drives=tuple(kept), overrides=overrides)

    def _shown_left_alone(self) -> list[WatchedDrive]:
        why = "asked by the daemon only: two that ask through such a bridge at once may do harm"
        return [
            WatchedDrive(label, "", str(address), was_asked=False, message=why)
            for address, label in labels(self._left_alone, self._nodes).items()
        ]

    def _unheard(self) -> Iterator[WatchedDrive]:
        """The drives of the list of which there is no document."""
        heartbeat = self._drives.roll
        addresses = [Address(*each) for each in heartbeat.drives] if heartbeat else []
        shown = labels(addresses, nodes.read(self._settings.path.sysfs, self._settings.path.rootfs))
        for address in addresses:
            if address in self.documents:
                continue
            label, known = shown[address], self._inventory.at(address)
            device = self._topology.devices.get(label)
            who = known or (device.identity if device else DriveIdentity())
            yield WatchedDrive(
                label,
                who.serial or "",
                str(address),
                DriveIdentity(model=who.model, serial=who.serial, firmware=who.firmware),
                was_asked=False,
                message=self._late,
            )

    def _owes_answer(self, drive: WatchedDrive) -> bool:
        """Whether a drive that was asked is there for sure, by the kernel or as it was known."""
        if drive.up or not drive.was_asked or drive.is_missing:
            return False
        address = next((Address(*each) for each in self.documents if _is(drive, each)), None)
        if address is None or self._inventory.at(address) is not None:
            return address is not None
        if not addressing.is_direct(address, self._nodes):
            return False
        device = self._topology.devices.get(drive.label)
        if device is None:
            return True  # an NVMe controller that has no namespace, or lost it
        transport = device.identity.transport
        # An empty card reader is a disk of no size.
        is_empty = transport == "usb" and not device.block.capacity_bytes
        return transport in _OF_DRIVES and not is_empty

    def _without_drive(self, known: set[str]) -> Iterator[WatchedDrive]:
        for name, device in self._topology.devices.items():
            if not device.block.is_leaf or name in known or _is_no_drive(name):
                continue
            who = device.identity
            yield WatchedDrive(
                label=name,
                serial=who.serial or "",
                address=f"/dev/{name}",
                message=_UNASKED.get(who.transport or "")
                or self.problem
                or "smartctl finds no drive here that has SMART",
            )


def located(program: str, path: str, beyond: Iterable[str] = _BEYOND_PATH) -> str:
    """Where a program is: by the PATH, else in root's directories, else as it is called."""
    return shutil.which(program, path=os.pathsep.join((path, *beyond))) or program


def _is(drive: WatchedDrive, address: tuple[str, str]) -> bool:
    return drive.address == str(Address(*address))


def _protocol(document: PollDocument) -> str:
    device = document.report.get("device")
    found = device.get("protocol") if isinstance(device, Mapping) else None
    return found if isinstance(found, str) else ""


def _is_no_drive(name: str) -> bool:
    return name.startswith(("loop", "ram", "zram", "sr", "fd", "nbd"))
