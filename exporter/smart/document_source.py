"""Passes poll documents from the agent's directory or from a poller of this process to the drives.

A poll document is the result of one poll of a drive. A document that cannot be read or parsed is
reported, and costs only itself: it is read again at the next step if reading failed.
"""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.config.settings import SmartSource
from exporter.linux import capabilities
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
from exporter.smart.document_directory import HEARTBEAT_FILE, DocumentReader, UntrustedDocument
from exporter.smart.drive_registry import DriveRegistry
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import (
    HEARTBEAT_SECONDS,
    Heartbeat,
    parse_heartbeat,
    parse_poll_document,
)

if TYPE_CHECKING:
    from exporter.smart.polling.poll_scheduler import Handover
    from exporter.smart.polling.poller import Poller

log = logging.getLogger(__name__)

#: Interval at which the agent's directory is read, in seconds.
_READ_SECONDS = 5.0

#: The longest duration of a `step`, in seconds, if no drive must be polled. A new drive ends it
#: early. It is long because each wake-up costs a millisecond of CPU time with cold caches.
STEP_SECONDS = 60.0

#: In `read_once`, the longest step of the poller, in seconds.
_ONCE_STEP_SECONDS = 0.2

#: The problem of a document for which there was not enough memory.
_NO_MEMORY = "there is not enough memory to read it; it is read again"


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
        #: file changes, can be read, or is removed.
        self._refused: dict[str, SourceError] = {}
        #: The last heartbeat that was read, and why the last reading failed.
        self._last_heartbeat: Heartbeat | None = None
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
        self._poller.step(STEP_SECONDS if is_alone else HEARTBEAT_SECONDS)
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
        smartctl itself. If the file cannot be read, the last heartbeat is used while it is recent.
        """
        if self._source is SmartSource.EXEC:
            return None
        self._no_heartbeat = ""
        try:
            self._last_heartbeat = parse_heartbeat(self._reader.read_heartbeat())
        except NotAvailable:
            self._last_heartbeat = None
        except UntrustedDocument as e:
            self._last_heartbeat, self._no_heartbeat = None, str(e)
        except SourceError as e:
            self._no_heartbeat = str(e)
        except MemoryError:
            self._no_heartbeat = f"{HEARTBEAT_FILE}: {_NO_MEMORY}"
        heartbeat = self._last_heartbeat
        is_live = heartbeat is not None and heartbeat.is_live(Moment.now(self._clock))
        return heartbeat if is_live else None

    def _read(self, heartbeat: Heartbeat | None) -> tuple[SourceError, ...]:
        faults: list[SourceError] = []
        try:
            self._take_documents()
            faults += self._refused.values()
        except NotAvailable as e:
            faults.append(ReadError(f"{e}: is ssd-smart-agent running?"))
        except SourceError as e:
            faults.append(e)
        if self._no_heartbeat:
            faults.insert(0, ReadError(self._no_heartbeat))
        if heartbeat is not None:
            self._drives.update(heartbeat)
            if heartbeat.problem:
                faults.append(CommandError(heartbeat.problem))
        elif not faults:
            faults.append(
                ReadError(f"{self._reader.directory}: the agent stopped writing; is it running?")
            )
        return tuple(faults)

    def _take_documents(self) -> None:
        """Records the documents that have changed.

        Raises:
            SourceError: the directory cannot be read.
        """
        for name, text in self._reader.changed():
            self._refused.pop(name, None)
            if isinstance(text, ReadError):
                self._refused[name] = text
                continue
            try:
                self._drives.record(parse_poll_document(text))
            except ParseError as e:
                self._refused[name] = ParseError(f"{name}: {e}")
            except MemoryError:
                self._refused[name] = ReadError(f"{name}: {_NO_MEMORY}")
                self._reader.read_again(name)
        if (limit := self._reader.limit) is not None:
            self._refused[""] = limit
        for gone in self._refused.keys() - self._reader.names - ({""} if limit else set()):
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
