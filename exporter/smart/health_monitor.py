"""Builds the objects that poll the drives of this host and keep their health.

A poll document is the result of one poll of a drive. The documents come from the agent, which
writes them to a directory, or from a poller in this process. This module starts no thread.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.config.settings import Settings, SmartSource
from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.drives.wearout import WearoutRules
from exporter.linux import capabilities
from exporter.linux.device import Device
from exporter.programs.children import Children
from exporter.runtime.clock import Clock
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import (
    CommandError,
    NotAvailable,
    Parsed,
    ParseError,
    ReadError,
    SourceError,
)
from exporter.smart import mmc_drives
from exporter.smart.answer_log import AnswerLog
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.inventory import Inventory
from exporter.smart.polling.poll_document import (
    HEARTBEAT_SECONDS,
    Heartbeat,
    parse_heartbeat,
    parse_poll_document,
)
from exporter.smart.presence import HostContext, empty_devices
from exporter.wear.wear_recorder import WearRecorder

if TYPE_CHECKING:
    from exporter.smart.polling.poll_scheduler import Handover
    from exporter.smart.polling.poller import Poller
    from exporter.wear.wear_history import WearHistory

log = logging.getLogger(__name__)

#: Interval at which the agent's directory is read, in seconds.
_READ_SECONDS = 5.0

#: The longest duration of a `step`, in seconds, if no drive must be polled. A new drive ends it
#: early. It is long because each wake-up costs a millisecond of CPU time with cold caches.
_STEP_SECONDS = 60.0

#: In `read_once`, the maximum time for the scan for drives, the time to end a smartctl that ignores
#: SIGTERM, and the longest step, in seconds. The scan itself has a timeout of 30 s.
_ONCE_SCAN_SECONDS, _ONCE_END_SECONDS, _ONCE_STEP_SECONDS = 45.0, 10.0, 0.2

#: A drive is reported as not answering if no result of a poll arrives within its timeout plus this
#: time, in seconds. smartctl needs up to 5 s to be ended, the documents are read every 5 s, and
#: after the start many drives wait for each other.
_FIRST_ANSWER_MARGIN_SECONDS = 30.0


class HealthMonitor:
    """Holds the source of poll documents (`source`), the drives and the wear recorder (`wear`).

    devices: returns the block devices as the kernel reports them, keyed by name.
    written_bytes: returns the bytes that the kernel has written to the device with a given name
        since boot; None means unknown.
    children: creates the object that runs smartctl.
    saved_inventory: the value that `drives.to_state` returned in an earlier run; None means that
        there is none.
    history: opens the wear history. None means that there is no state directory; `wear` is then
        None too.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        collector_status: CollectorStatus,
        *,
        devices: Callable[[], Mapping[str, Device]],
        written_bytes: Callable[[str], int | None],
        children: Callable[[], Children],
        saved_inventory: Any,
        history: "Callable[[], WearHistory] | None",
    ) -> None:
        self._clock = clock
        self._children = children
        self._devices = devices
        self._is_alone = True
        self.settings = settings
        path = settings.path
        self.wear = None if history is None else WearRecorder(history, WearoutRules())
        self.drives = DriveRegistry(
            clock,
            path.sysfs,
            path.rootfs,
            HostContext(
                lambda: {name: device.identity for name, device in devices().items()},
                written_bytes,
                settings.rated_bytes(),
                lambda: empty_devices(devices()),
            ),
            inventory=Inventory(saved_inventory),
            wear=self.wear,
            max_age_intervals=settings.smart.max_age_intervals,
            first_answer_seconds=_first_answer_seconds(settings),
            answer_log=AnswerLog(clock),
        )
        self.source = DocumentSource(
            settings.smart.source,
            settings.smart.directory,
            self.drives,
            clock=clock,
            collector_status=collector_status,
            # The capabilities of this process are read, so that path.procfs does not apply: it may
            # be another host's /proc.
            proc=Path("/proc"),
            new_poller=self._new_poller,
        )

    def watched(self) -> list[WatchedDrive]:
        """Returns the drives of `drives.watched`, followed by the eMMC, which are not polled."""
        devices, polled = self._devices(), self.drives.watched()
        known = {drive.label for drive in polled if not drive.is_missing}
        kernel = {name: device.identity for name, device in devices.items()}
        return [
            *(mmc_drives.with_ufs_limit(drive, kernel.get(drive.label)) for drive in polled),
            *(drive for drive in mmc_drives.watched(devices) if drive.label not in known),
        ]

    def health_of(self, label: str) -> DriveHealth | None:
        """Returns the last health of a drive; None if it is too old or the drive is not known."""
        device = self._devices().get(label)
        mmc = None if device is None else device.state.mmc
        polled = self.drives.health_of(label)
        return mmc_drives.mmc_health(mmc) if polled is None and mmc is not None else polled

    def reconfigure(self, settings: Settings) -> None:
        """Applies reloaded settings. If the polling plan has changed, the poller is restarted.

        `smart.source` and `smart.directory` change only at a restart.
        """
        before, self.settings = self.settings, settings
        self.drives.reconfigure(
            settings.rated_bytes(),
            settings.smart.max_age_intervals,
            _first_answer_seconds(settings),
        )
        from exporter.smart import polling_plan  # noqa: PLC0415  see `_new_poller`

        if polling_plan.of(before) != polling_plan.of(settings):
            self.source.restart_polling()

    def read_once(self) -> None:
        """Reads the agent's documents, or polls each drive once, and returns.

        Another process may poll the drives at the same time. On some drives, two smartctl processes
        disturb each other. These drives are left out. Problems are reported to the collector
        status. The call takes at most the longest timeout of a drive plus one minute.
        """
        self._is_alone = False
        longest = self.settings.longest_smart_timeout_seconds()
        try:
            self.source.read_once(_ONCE_SCAN_SECONDS + longest + _ONCE_END_SECONDS)
        finally:
            self.source.close()

    def _new_poller(self) -> "Poller":
        # Not imported beside an agent: it takes 0.4 MB.
        from exporter.smart import polling_plan  # noqa: PLC0415
        from exporter.smart.polling.poller import Poller  # noqa: PLC0415

        path = self.settings.path
        plan = polling_plan.of(self.settings)
        return Poller(
            self._children(),
            self._clock,
            plan if self._is_alone else polling_plan.shared(self.settings)[0],
            sys=path.sysfs,
            root=path.rootfs,
            on_document=self.drives.record,
            on_heartbeat=self.drives.update,
            heartbeat_seconds=_STEP_SECONDS,
        )


def _first_answer_seconds(settings: Settings) -> float:
    return settings.smart.timeout_seconds + _FIRST_ANSWER_MARGIN_SECONDS


class DocumentSource:
    """Passes poll documents from the agent or from a poller of this process to `drives`.

    One thread calls `step` repeatedly.

    source: where the documents come from.
    directory: the directory that the agent writes to.
    proc: the path of /proc, from which the capabilities of this process are read.
    new_poller: creates the poller of this process when one is needed. A new poller takes over the
        processes of the one before it that cannot be ended.
    """

    def __init__(
        self,
        source: SmartSource,
        directory: Path,
        drives: DriveRegistry,
        *,
        clock: Clock,
        collector_status: CollectorStatus,
        proc: Path,
        new_poller: "Callable[[], Poller]",
    ) -> None:
        self._source = source
        self._reader = DocumentReader(directory)
        self._drives = drives
        self._clock = clock
        self._collector_status = collector_status
        self._proc = proc
        self._new_poller = new_poller
        self._poller: Poller | None = None
        self._handover: Handover | None = None
        self._is_stale = False
        #: The lock that a thread holds while it wakes or replaces the poller.
        self._waking = threading.Lock()
        #: Errors of the documents that were refused, keyed by file name. An error is kept until the
        #: file changes or is removed.
        self._refused: dict[str, SourceError] = {}
        self._no_heartbeat = ""
        self._woken = threading.Event()
        self._logged_source = ""

    @property
    def polls_itself(self) -> bool:
        """True if this process runs smartctl itself, False if it reads the agent's documents."""
        return self._poller is not None

    def rescan_soon(self) -> None:
        """Makes the poller look for drives soon, after one was added or removed.

        Other threads may call it.
        """
        with self._waking:
            if self._poller is not None:
                self._poller.rescan_soon()
        self.wake()

    def wake(self) -> None:
        """Makes the current `step` return soon. Other threads may call it."""
        self._woken.set()
        with self._waking:
            if self._poller is not None:
                self._poller.wake()

    def restart_polling(self) -> None:
        """Makes the next `step` close this process's poller and create a new one, if it has one."""
        self._is_stale = True
        self.wake()

    def step(self) -> None:
        """Reads the agent's documents that have changed, or polls the drives that are due.

        It then waits, at most 60 seconds. Problems are reported to the collector status.
        """
        faults: tuple[SourceError, ...] = ()
        heartbeat = self._heartbeat()
        if heartbeat is not None or self._source is SmartSource.DIRECTORY:
            self._log_source(f"SMART data comes from the agent, through {self._reader.directory}")
            self._close_poller()
            faults = self._read(heartbeat)
            self._report(faults)
            self._woken.wait(_READ_SECONDS)
            self._woken.clear()
        elif self._source is SmartSource.EXEC or capabilities.may_send_drive_commands(self._proc):
            self._log_source("SMART data comes from smartctl, run by this process")
            self._poll()
        else:
            self._report((self._no_source(),))
            self._woken.wait(_READ_SECONDS)
            self._woken.clear()

    def read_once(self, limit_seconds: float) -> None:
        """Reads the agent's documents, or polls each drive once within the limit, and returns."""
        heartbeat = self._heartbeat()
        if heartbeat is not None or self._source is SmartSource.DIRECTORY:
            self._report(self._read(heartbeat))
        elif self._source is SmartSource.EXEC or capabilities.may_send_drive_commands(self._proc):
            poller = self._poller = self._new_poller()
            until = self._clock.monotonic() + limit_seconds
            while not poller.is_settled and self._clock.monotonic() < until:
                poller.step(_ONCE_STEP_SECONDS)
            problem = self._drives.heartbeat.problem if self._drives.heartbeat else ""
            self._report((CommandError(problem),) if problem else ())
        else:
            self._report((self._no_source(),))

    def close(self) -> None:
        """Ends the running processes within a bounded time. The state of the drives is kept."""
        self._close_poller()
        if self._handover is not None:
            self._handover.children.close()
            self._handover = None

    def _poll(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self._close_poller()
        if self._poller is None:
            poller = self._new_poller()
            if self._handover is not None:
                poller.inherit(self._handover)
            self._poller = poller
        # If the directory exists, an agent may start at any time. This process and the agent would
        # then both poll the drives. The shorter step limits this to one heartbeat interval.
        is_alone = self._source is SmartSource.EXEC or not os.path.exists(self._reader.directory)
        self._poller.step(_STEP_SECONDS if is_alone else HEARTBEAT_SECONDS)
        heartbeat = self._drives.heartbeat
        self._report((CommandError(heartbeat.problem),) if heartbeat and heartbeat.problem else ())

    def _close_poller(self) -> None:
        with self._waking:
            poller, self._poller = self._poller, None
        if poller is not None:
            self._handover = poller.hand_over()

    def _heartbeat(self) -> Heartbeat | None:
        """Returns the agent's heartbeat (its list of drives), which shows that the agent runs.

        None means that there is no recent heartbeat, or that this process is configured to run
        smartctl itself.
        """
        if self._source is SmartSource.EXEC:
            return None
        self._no_heartbeat = ""
        try:
            heartbeat = parse_heartbeat(self._reader.read_heartbeat())
        except NotAvailable:
            return None
        except SourceError as e:
            self._no_heartbeat = str(e)
            return None
        return heartbeat if heartbeat.is_live(self._clock.wall()) else None

    def _read(self, heartbeat: Heartbeat | None) -> tuple[SourceError, ...]:
        faults: list[SourceError] = []
        try:
            self._take_documents()
            faults += self._refused.values()
        except NotAvailable as e:
            faults.append(ReadError(f"{e}: is ssd-smart-agent running?"))
        except SourceError as e:
            faults.append(e)
        if heartbeat is not None:
            self._drives.update(heartbeat)
            if heartbeat.problem:
                faults.append(CommandError(heartbeat.problem))
        elif self._no_heartbeat:
            faults.insert(0, ReadError(self._no_heartbeat))
        elif not faults:
            faults.append(
                ReadError(f"{self._reader.directory}: the agent stopped writing; is it running?")
            )
        return tuple(faults)

    def _take_documents(self) -> None:
        for name, text in self._reader.changed():
            self._refused.pop(name, None)
            if isinstance(text, ReadError):
                self._refused[name] = text
                continue
            try:
                self._drives.record(parse_poll_document(text))
            except ParseError as e:
                self._refused[name] = ParseError(f"{name}: {e}")
        for gone in self._refused.keys() - self._reader.names:
            del self._refused[gone]

    def _no_source(self) -> ReadError:
        if self._no_heartbeat:
            return ReadError(f"no trusted agent polls the drives: {self._no_heartbeat}")
        return ReadError(
            f"no process polls the drives: no agent writes to {self._reader.directory}, and this"
            " process lacks the privileges; start ssd-smart-agent, or run as root"
        )

    def _report(self, faults: tuple[SourceError, ...]) -> None:
        self._collector_status.collect("smart", "poll", lambda: Parsed(None, faults))

    def _log_source(self, source: str) -> None:
        if source != self._logged_source:
            log.info("%s", source)
        self._logged_source = source
