"""Reads the SMART data of every drive once, for a command.

The agent is the privileged process that polls the drives for the daemon. It writes a document for
each poll, and at regular intervals a heartbeat with the list of drives. If the agent is running,
the reader uses these files. Otherwise it polls the drives itself, with the agent's poller. It also
reads the daemon's wear history and inventory (the list of all drives that the daemon ever saw), but
does not change them.
"""

import json
import logging
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from exporter.commands import megaraid_rights, unpolled_drives
from exporter.commands.unpolled_drives import HostDrives
from exporter.config.settings import Settings, SmartSettings, SmartSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wearout import WearoutRules
from exporter.linux import device_nodes, topology
from exporter.programs.children import Children, SystemChildren
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.errors import ConfigError, ReadError, SourceError
from exporter.runtime.printable import printable, with_control_characters
from exporter.runtime.state import StateFile, existing_directory
from exporter.smart import mmc_drives, polling_plan
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_labels import labels
from exporter.smart.drive_problems import Answers
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import (
    Heartbeat,
    PollDocument,
    parse_heartbeat,
    parse_poll_document,
)
from exporter.smart.polling.poller import Poller
from exporter.smart.presence import HostContext, empty_devices
from exporter.smart.smartctl import Address
from exporter.wear.wear_history import WearHistory
from exporter.wear.wear_recorder import WearRecorder

log = logging.getLogger(__name__)

#: The time to end a smartctl that ignores SIGTERM, in seconds. It is added to the longest timeout
#: of a drive.
_TERMINATION_SECONDS = 10.0

#: Maximum time to wait for the scan for drives, in seconds. The scan itself has a timeout of 30 s.
_MAX_SCAN_SECONDS = 45.0

#: Directories that may contain smartctl, and are not in the PATH of an ordinary user on Debian.
_SYSTEM_DIRECTORIES = ("/usr/sbin", "/sbin")


@dataclass(frozen=True, slots=True)
class PollProgress:
    """The progress of the poll of all drives.

    answered: the number of drives that have answered.
    waiting: the names of the drives that have not answered yet.
    """

    answered: int
    waiting: tuple[str, ...]

    def words(self, width: int) -> str:
        """Returns one line, such as "Reading SMART: 4 of 5 drives, waiting for sdb".

        width: the maximum number of characters. Names that do not fit are replaced by "...".
        """
        total = self.answered + len(self.waiting)
        words = f"Reading SMART: {self.answered} of {total} drive{'' if total == 1 else 's'}"
        if not total:
            words = "Reading SMART: looking for drives"
        elif self.waiting:
            words += f", waiting for {', '.join(self.waiting)}"
        words = printable(words)
        return words if len(words) <= width else f"{words[: max(width - 3, 0)]}..."


class SmartReader:
    """Reads the SMART data of all drives once.

    documents: the result of each poll, keyed by the address of the drive.
    program: the path of smartctl.
    problem: why the scan for drives failed, or why documents of the agent were rejected; else
        empty.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        children: Callable[[], Children],
        *,
        kept: Mapping[str, object],
        history: Callable[[], WearHistory] | None,
        progress: Callable[[PollProgress], None],
    ) -> None:
        """Reads the block devices of the host from the kernel. No drive is polled yet.

        children: creates the object that starts smartctl; called only if the drives are polled.
        kept: the content of the daemon's state file, which is not written.
        history: opens the daemon's wear history, which is not written. None means no history.
        progress: called repeatedly while drives are polled.
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
        self._unanswered_message = "the agent has not polled it yet"
        self._has_polled = False
        self._excluded: tuple[Address, ...] = ()
        parsed = topology.read(path.sysfs, path.procfs, path.rootfs)
        self._host = HostDrives(
            device_nodes.read(path.sysfs, path.rootfs),
            parsed.value,
            Inventory(kept.get("inventory")),
        )
        self._mountpoints = topology.mountpoints_by_drive(parsed.value)
        disks = {name: device.identity for name, device in parsed.value.devices.items()}
        self._wear = None if history is None else WearRecorder(history, WearoutRules(), keeps=False)
        self._drives = DriveRegistry(
            clock,
            path.sysfs,
            path.rootfs,
            HostContext(
                lambda: disks,
                lambda _device: None,
                settings.rated_bytes(),
                lambda: empty_devices(parsed.value.devices),
            ),
            inventory=self._host.inventory,
            wear=self._wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )

    def read(self) -> Answers:
        """Returns every drive with its SMART data.

        At the end are block devices for which the scan found no drive.

        Raises:
            ConfigError: smart.source requires the agent, and no running agent was found. A running
                agent writes its heartbeat file regularly.
        """
        heartbeat = self._agent_heartbeat()
        if heartbeat is not None:
            rejected = read_agent_documents(self._settings.smart, self._take)
            self._take_heartbeat(heartbeat)
            self.problem = self.problem or rejected
        else:
            self._poll()
        self._drives.settle()
        if self._wear is not None:
            self._wear.process_queue()
        excluded = unpolled_drives.excluded_drives(self._excluded, self._host.nodes)
        drives = [*self._answered(), *self._unanswered(), *excluded]
        cards = mmc_drives.watched(self._host.topology.devices)
        drives += [card for card in cards if card.label not in {drive.label for drive in drives}]
        known = {drive.label for drive in drives} | {b for drive in drives for b in drive.blocks}
        known |= {address.path.removeprefix("/dev/") for address in self._excluded}
        without_drive = unpolled_drives.devices_without_drive(self._host, known, self.problem)
        return Answers(tuple(map(self._completed, (*drives, *without_drive))), self.problem)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names of the drives that have not answered yet; empty before they are known."""
        heartbeat = self._drives.heartbeat
        listed = [Address(*drive) for drive in heartbeat.drives] if heartbeat else []
        names = labels(listed, self._host.nodes)
        return tuple(label for address, label in names.items() if address not in self.documents)

    def outputs(self) -> dict[str, bytes]:
        """Returns smartctl's JSON output for each drive, keyed by the drive's path and type.

        The value of the key "scan" is the output of a scan that lists these drives.
        """
        devices = [
            {"name": path, "type": kind, "protocol": _protocol(document)}
            for (path, kind), document in self.documents.items()
        ]
        outputs = {"scan": json.dumps({"devices": devices}).encode()}
        for (path, kind), document in self.documents.items():
            name = f"{path.removeprefix('/dev/')} {kind}".strip()
            outputs[name] = json.dumps(document.report).encode("utf-8", "replace")
        return outputs

    def _agent_heartbeat(self) -> Heartbeat | None:
        """Returns the agent's heartbeat; None if this process must poll the drives.

        Raises:
            ConfigError: smart.source requires the agent, and the agent has no usable heartbeat.
        """
        smart = self._settings.smart
        try:
            return read_agent_heartbeat(smart, self._clock)
        except SourceError as e:
            if smart.source is SmartSource.DIRECTORY:
                raise ConfigError(
                    f"no SMART data from the agent: {e}",
                    "start it (systemctl start ssd-smart-agent), check that you may read its"
                    " directory and that only its owner may write there, or set smart.source to"
                    " exec and run this command as root",
                ) from e
            return None

    def _poll(self) -> None:
        path = self._settings.path
        plan, self._excluded = polling_plan.shared(self._settings)
        poller = Poller(
            self._children(),
            self._clock,
            replace(plan, program=self.program),
            sys=path.sysfs,
            root=path.rootfs,
            on_document=self._take,
            on_heartbeat=self._take_heartbeat,
        )
        limit = self._settings.longest_smart_timeout_seconds() + _TERMINATION_SECONDS
        self._unanswered_message = (
            f"no answer within {limit:.0f} s: it hangs, or it waits for drives that hang"
        )
        self._has_polled = True
        scan_until, until = self._clock.monotonic() + _MAX_SCAN_SECONDS, math.inf
        try:
            while not poller.is_settled and (now := self._clock.monotonic()) < until:
                if until == math.inf and (self._is_scanned or now >= scan_until):
                    until = now + limit
                self._progress(PollProgress(len(self.documents), self.waiting))
                poller.step(0.2)
        finally:
            poller.close()

    def _take(self, document: PollDocument) -> None:
        self.documents[Address(document.path, document.type)] = document
        self._drives.record(document)

    def _take_heartbeat(self, heartbeat: Heartbeat) -> None:
        self.problem = heartbeat.problem
        self._is_scanned = heartbeat.scanned_at is not None or bool(heartbeat.problem)
        self._drives.update(heartbeat)

    def _completed(self, drive: WatchedDrive) -> WatchedDrive:
        """Returns the drive with its mountpoints, and with the reason for a missing estimate."""
        names = dict.fromkeys((drive.label, *drive.blocks))
        places = (place for name in names for place in self._mountpoints.get(name, ()))
        return replace(
            drive,
            mountpoints=tuple(dict.fromkeys(places)),
            wearout_missing=drive.wearout_missing or self._wearout_missing(drive),
        )

    def _wearout_missing(self, drive: WatchedDrive) -> str:
        """Returns why there is no estimate; empty if there is one, or no SMART data."""
        health = drive.health
        if drive.wearout_seconds is not None or health is None or health.unreadable:
            return ""
        if drive.identity.rotational:
            return "a hard disk has no rated endurance"
        if health.endurance is not None and health.endurance.used_ratio >= 1:
            return "the rated endurance is used up"
        if health.endurance is None:
            return "the drive does not report its wear"
        if self._wear is None:
            return "no wear history; the running daemon records it"
        return self._wear.missing_reason(drive.key, self._clock.wall())

    def _answered(self) -> list[WatchedDrive]:
        """Returns the drives that have a document, and the missing drives of the inventory."""
        path, devices = self._settings.path, self._host.topology.devices
        kernel = {name: device.identity for name, device in devices.items()}
        drives = [
            mmc_drives.with_ufs_limit(drive, kernel.get(drive.label))
            for drive in self._drives.watched()
        ]
        if not self._has_polled:
            return drives
        missing = megaraid_rights.missing_capabilities(path.procfs, path.rootfs)
        return megaraid_rights.with_missing_rights(drives, missing)

    def _unanswered(self) -> Iterator[WatchedDrive]:
        """Yields the drives that the heartbeat lists, and that have no document."""
        path, heartbeat = self._settings.path, self._drives.heartbeat
        listed = [Address(*drive) for drive in heartbeat.drives] if heartbeat else []
        host = replace(self._host, nodes=device_nodes.read(path.sysfs, path.rootfs))
        return unpolled_drives.unanswered_drives(
            host,
            listed,
            self.documents,
            self._unanswered_message,
            is_known=self._drives.is_known,
            is_late=self._has_polled,
        )


def system_reader(settings: Settings) -> SmartReader:
    """Returns a reader that uses this system's clock, processes and state directory.

    It shows the progress on stderr if that is a terminal.
    """
    clock = SystemClock()
    state = existing_directory(settings.state.directory, dict(os.environ))
    if state is None and settings.state.directory is not None:
        log.warning(
            "the state directory %s does not exist, so missing drives and the wear history are"
            " unknown; name that of the daemon with --state.directory",
            settings.state.directory,
        )
    history = state / "history.sqlite" if state else None
    # Path.exists() raises PermissionError if this user may not enter the directory.
    has_history = history is not None and os.path.exists(history)
    return SmartReader(
        settings,
        clock,
        lambda: SystemChildren(clock),
        kept=StateFile(state).load_read_only() if state else {},
        history=(lambda: WearHistory.open(history, read_only=True))
        if history and has_history
        else None,
        progress=_show_progress,
    )


def read_agent_heartbeat(smart: SmartSettings, clock: Clock) -> Heartbeat | None:
    """Returns the agent's heartbeat; None if smart.source is `exec`: no agent is used then.

    The heartbeat is the list of drives. A running agent writes it regularly.

    Raises:
        SourceError: the file of the heartbeat is missing or too old, or it cannot be read or
            parsed. Or the file is not trusted, because another user could have written it.
    """
    if smart.source is SmartSource.EXEC:
        return None
    heartbeat = parse_heartbeat(DocumentReader(smart.directory).read_heartbeat())
    now = Moment.now(clock)
    if not heartbeat.is_live(now):
        age = now.seconds_since(heartbeat.sent)
        raise ReadError(f"{smart.directory}: the last heartbeat is {age:.0f} s old")
    return heartbeat


def read_agent_documents(smart: SmartSettings, take: Callable[[PollDocument], None]) -> str:
    """Passes each document of the agent to `take`.

    Returns a text that says why documents could not be read; empty if all could be read.
    """
    rejected: list[SourceError] = []
    try:
        for _, text in DocumentReader(smart.directory).changed():
            if isinstance(text, SourceError):
                rejected.append(text)
                continue
            try:
                take(parse_poll_document(text))
            except SourceError as e:
                rejected.append(e)
    except SourceError as e:
        rejected.append(e)
    if not rejected:
        return ""
    more = f" (and {len(rejected) - 1} more)" if len(rejected) > 1 else ""
    return f"documents of the agent rejected: {rejected[0]}{more}"


def located(program: str, path: str, more_directories: Iterable[str] = _SYSTEM_DIRECTORIES) -> str:
    """Returns the path of a program; its name if no directory has it.

    path: the value of PATH. more_directories: directories to search after those of PATH.
    """
    return shutil.which(program, path=os.pathsep.join((path, *more_directories))) or program


def _show_progress(progress: PollProgress) -> None:
    # Progress is shown only on a terminal: Nagios reads the first line of the output as the result.
    if sys.stderr.isatty():
        words = progress.words(shutil.get_terminal_size().columns - 1)
        out = with_control_characters(sys.stderr)
        out.write(f"\r\033[K{words}\r")
        out.flush()


def _protocol(document: PollDocument) -> str:
    device = document.report.get("device")
    protocol = device.get("protocol") if isinstance(device, Mapping) else None
    return protocol if isinstance(protocol, str) else ""
