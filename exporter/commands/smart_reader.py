"""The agent's word: whether it is to be believed, and what it says.

All drives of this host, asked once for a command that somebody waits for.
"""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from exporter.clock import Clock
from exporter.commands import unanswered
from exporter.commands.unanswered import UnansweredDrives
from exporter.config import Settings, SmartSettings, SmartSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wearout import WearoutRules
from exporter.errors import ConfigError, ReadError, SourceError
from exporter.linux import device_nodes, topology
from exporter.programs.children import Children
from exporter.smart import polling_plan
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_problems import Answers
from exporter.smart.drive_registry import DriveRegistry, HostContext, is_live
from exporter.smart.inventory import Inventory
from exporter.smart.poll_document import (
    Heartbeat,
    PollDocument,
    parse_heartbeat,
    parse_poll_document,
)
from exporter.smart.poller import Poller
from exporter.smart.smartctl import Address
from exporter.smart.wear_history import WearHistory
from exporter.smart.wear_recorder import WearRecorder


def heartbeat(smart: SmartSettings, clock: Clock) -> Heartbeat | None:
    """The agent's, if it is fresh; None where it is not to be asked for.

    Raises:
        SourceError: there is none, it is not believed, or it is old.
    """
    if smart.source is SmartSource.EXEC:
        return None
    found = parse_heartbeat(DocumentReader(smart.directory).roll())
    now = clock.wall()
    if not is_live(found, now):
        age = now - found.at
        raise ReadError(f"{smart.directory}: the last heartbeat is {age:.0f} s old")
    return found


def read(smart: SmartSettings, take: Callable[[PollDocument], None]) -> str:
    """Pass the agent's documents to `take`; why some are not believed, for people, else empty."""
    refused: list[SourceError] = []
    try:
        for _, text in DocumentReader(smart.directory).changed():
            if isinstance(text, SourceError):
                refused.append(text)
                continue
            try:
                take(parse_poll_document(text))
            except SourceError as e:
                refused.append(e)
    except SourceError as e:
        refused.append(e)
    if not refused:
        return ""
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return f"the agent's word is not believed: {refused[0]}{more}"


#: A drive's own limit, and what it takes to end a smartctl that does not want to.
_BEYOND_LIMIT_SECONDS = 10.0

#: The look for drives ends by itself before: 30 s, and what it takes to end it.
_SCAN_SECONDS = 45.0

#: Not in the PATH of an ordinary user of Debian, and smartctl is there.
_BEYOND_PATH = ("/usr/sbin", "/sbin")


class SmartReader:
    """The drives as documents tell of them: the agent's where it is fresh, else our own."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        children: Callable[[], Children],
        *,
        kept: Mapping[str, object],
        history: Callable[[], WearHistory] | None,
        progress: Callable[[int], None],
    ) -> None:
        """`kept` and `history` are what the daemon has kept, and are not written.

        progress: hears how many drives have answered.
        """
        path = settings.path
        self._settings = settings
        self._clock = clock
        self._children = children
        self._progress = progress
        self.documents: dict[Address, PollDocument] = {}
        self.problem = ""
        self.program = located(settings.path.smartctl, os.environ.get("PATH", os.defpath))
        self._is_scanned = False
        self._late = "the agent has not told of it yet"
        self._has_polled = False
        self._left_alone: tuple[Address, ...] = ()
        parsed = topology.read(path.sysfs, path.procfs, path.rootfs)
        self._host = UnansweredDrives(
            device_nodes.read(path.sysfs, path.rootfs),
            parsed.value,
            Inventory(kept.get("inventory")),
        )
        disks = {name: its.identity for name, its in parsed.value.devices.items()}
        self._wear = None if history is None else WearRecorder(history, WearoutRules(), keeps=False)
        self._drives = DriveRegistry(
            clock,
            path.sysfs,
            path.rootfs,
            HostContext(lambda: disks, lambda _device: None, polling_plan.rated_bytes(settings)),
            inventory=self._host.inventory,
            wear=self._wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )

    def ask(self) -> Answers:
        """Every drive, and at the end the block devices of which no drive is known.

        Raises:
            ConfigError: the settings want an agent, and there is none that can be believed.
        """
        heartbeat = self._believed()
        if heartbeat is not None:
            refused = read(self._settings.smart, self._take)
            self._call(heartbeat)
            self.problem = self.problem or refused
        else:
            self._poll()
        if self._wear is not None:
            self._wear.work_through()
        heard, unheard = self._heard(), list(self._unheard())
        late = {each.label for each in unheard} if self._has_polled else set()
        left = unanswered.shown(self._left_alone, self._host.nodes)
        found = [*heard, *unheard, *left]
        known = {each.label for each in found} | {b for each in found for b in each.blocks}
        known |= {address.path.removeprefix("/dev/") for address in self._left_alone}
        addresses = {str(address): address for address in self.documents}
        owing = {
            each.label
            for each in heard
            if unanswered.owes_answer(self._host, each, addresses.get(each.address))
        }
        return Answers(
            (*found, *unanswered.without_drive(self._host, known, self.problem)),
            frozenset(late | owing),
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

    def _believed(self) -> Heartbeat | None:
        """The agent's heartbeat; None where we have to ask for ourselves."""
        smart = self._settings.smart
        try:
            return heartbeat(smart, self._clock)
        except SourceError as e:
            if smart.source is SmartSource.DIRECTORY:
                raise ConfigError(
                    f"no word of the agent: {e}",
                    "start ssd-smart-agent, see that you may read what it writes and nobody else"
                    " may write there, or set smart.source to exec and run this as root",
                ) from e
            return None

    def _poll(self) -> None:
        path, smart = self._settings.path, self._settings.smart
        plan, self._left_alone = unanswered.plan(self._settings)
        polling = Poller(
            self._children(),
            self._clock,
            replace(plan, program=self.program),
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

    def _take(self, document: PollDocument) -> None:
        self.documents[Address(document.path, document.type)] = document
        self._drives.take(document)

    def _call(self, heartbeat: Heartbeat) -> None:
        self.problem = heartbeat.problem
        self._is_scanned = heartbeat.scanned_at is not None or bool(heartbeat.problem)
        self._drives.call(heartbeat)

    def _heard(self) -> list[WatchedDrive]:
        """The drives that documents tell of, and those that are gone."""
        heard, path = self._drives.watched(), self._settings.path
        if not self._has_polled:
            return heard
        lacking = unanswered.lacking(path.procfs, path.rootfs)
        return unanswered.explained(heard, lacking)

    def _unheard(self) -> Iterator[WatchedDrive]:
        """The drives of the list of which there is no document."""
        path, heartbeat = self._settings.path, self._drives.roll
        listed = [Address(*each) for each in heartbeat.drives] if heartbeat else []
        host = replace(self._host, nodes=device_nodes.read(path.sysfs, path.rootfs))
        return unanswered.unheard(host, listed, self.documents, self._late)


def located(program: str, path: str, beyond: Iterable[str] = _BEYOND_PATH) -> str:
    """Where a program is: by the PATH, else in root's directories, else as it is called."""
    return shutil.which(program, path=os.pathsep.join((path, *beyond))) or program


def _protocol(document: PollDocument) -> str:
    device = document.report.get("device")
    found = device.get("protocol") if isinstance(device, Mapping) else None
    return found if isinstance(found, str) else ""
