"""All drives of this host, asked once for a command that somebody waits for."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from exporter import polling_plan
from exporter.background.documents import DocumentReader
from exporter.background.drives import Drives, Surroundings
from exporter.background.history import History
from exporter.background.inventory import Inventory
from exporter.background.polling import Polling
from exporter.background.wear import Wear
from exporter.clock import Clock
from exporter.config import Settings, SmartSource
from exporter.diagnosis.wearout import WearoutRules
from exporter.drives.watched import WatchedDrive
from exporter.errors import ConfigError, ParseError, SourceError
from exporter.linux import topology
from exporter.linux.topology import Topology
from exporter.tools import old_smartctl
from exporter.tools.children import Children
from exporter.tools.command import StatusRunner
from exporter.tools.document import PollDocument, Roll, poll_document, roll
from exporter.tools.outcome import Result
from exporter.tools.smartctl import Address

#: A drive's own limit, and what it takes to end a smartctl that does not want to.
_BEYOND_LIMIT_SECONDS = 10.0

#: An agent that was not heard of for so many of its own intervals is gone.
_FRESH_INTERVALS = 4

_TEXT_SECONDS = 30.0


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
        parsed = topology.read(path.sysfs, path.procfs, path.rootfs)
        self._topology: Topology = parsed.value
        disks = {name: its.identity for name, its in self._topology.devices.items()}
        self._wear = None if history is None else Wear(history, WearoutRules(), keeps=False)
        self._drives = Drives(
            clock,
            path.sysfs,
            path.rootfs,
            Surroundings(lambda: disks, lambda _device: None, polling_plan.rated_bytes(settings)),
            inventory=Inventory(kept.get("inventory")),
            wear=self._wear,
            max_age_intervals=settings.smart.max_age_intervals,
        )

    def ask(self) -> list[WatchedDrive]:
        """Every drive, and at the end the block devices of which no drive is known.

        Raises:
            ConfigError: the settings want an agent, and there is none.
        """
        heartbeat = self._heartbeat()
        if heartbeat is not None:
            self._read(heartbeat)
        elif self._settings.smart.source is SmartSource.DIRECTORY:
            raise ConfigError(
                f"no agent has left anything of late in {self._settings.smart.directory}",
                "start ssd-smart-agent, or set smart.source to exec and run this as root",
            )
        else:
            self._poll()
            self._ask_in_text()
        if self._wear is not None:
            self._wear.work_through()
        found = self._drives.watched()
        known = {each.label for each in found} | {b for each in found for b in each.blocks}
        return [*found, *self._without_drive(known)]

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
        with contextlib.suppress(SourceError):
            heartbeat = roll(DocumentReader(smart.directory).roll())
            age = self._clock.wall() - heartbeat.at
            if age <= _FRESH_INTERVALS * heartbeat.interval_seconds:
                return heartbeat
        return None

    def _read(self, heartbeat: Roll) -> None:
        for _, text in DocumentReader(self._settings.smart.directory).changed():
            if isinstance(text, bytes):
                with contextlib.suppress(ParseError):
                    self._take(poll_document(text))
        self._call(heartbeat)

    def _poll(self) -> None:
        path, smart = self._settings.path, self._settings.smart
        polling = Polling(
            self._children(),
            self._clock,
            polling_plan.of(self._settings),
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
        until = self._clock.monotonic() + slowest + _BEYOND_LIMIT_SECONDS
        try:
            while not polling.is_settled and self._clock.monotonic() < until:
                self._progress(len(self.documents))
                polling.step(0.2)
        finally:
            polling.close()

    def _ask_in_text(self) -> None:
        """A smartctl too old for JSON is asked for text, which pySMART reads."""
        old = [each for each in self.documents.values() if each.result == Result.TOO_OLD.value]
        for document in old:
            address = Address(document.path, document.type)
            program = self._settings.path.smartctl
            try:
                found = old_smartctl.read(self._runner, program, address, _TEXT_SECONDS)
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
                    report=found,
                    message="",
                )
            )

    def _take(self, document: PollDocument) -> None:
        self.documents[document.path, document.type] = document
        self._drives.take(document)

    def _call(self, heartbeat: Roll) -> None:
        self.problem = heartbeat.problem
        self._drives.call(heartbeat)

    def _without_drive(self, known: set[str]) -> Iterator[WatchedDrive]:
        for name, device in self._topology.devices.items():
            if not device.block.is_leaf or name in known or _is_no_drive(name):
                continue
            who = device.identity
            virtual = who.transport == "virtio"
            yield WatchedDrive(
                label=name,
                serial=who.serial or "",
                address=f"/dev/{name}",
                message="a virtual disk: it has no SMART; look at the host it lives on"
                if virtual
                else self.problem or "smartctl finds no drive here that has SMART",
            )


def _protocol(document: PollDocument) -> str:
    device = document.report.get("device")
    found = device.get("protocol") if isinstance(device, Mapping) else None
    return found if isinstance(found, str) else ""


def _is_no_drive(name: str) -> bool:
    return name.startswith(("loop", "ram", "zram", "sr", "fd", "nbd"))
