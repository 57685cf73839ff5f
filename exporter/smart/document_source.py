"""Where this process hears of its drives: from the agent's directory, or by asking itself."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from exporter.clock import Clock
from exporter.collector_status import CollectorStatus
from exporter.config import SmartSource
from exporter.errors import CommandError, NotAvailable, ParseError, ReadError, SourceError
from exporter.linux import capabilities
from exporter.linux.files import Parsed
from exporter.programs.children import Children
from exporter.smart.document_directory import DocumentReader
from exporter.smart.drive_registry import DriveRegistry, is_live
from exporter.smart.poll_document import Heartbeat, parse_heartbeat, parse_poll_document
from exporter.smart.poller import HEARTBEAT_SECONDS, Poller

log = logging.getLogger(__name__)

#: How often the agent's directory is looked at.
_LOOK_SECONDS = 5.0

#: A `step` returns after so long where nobody is to be asked. Drives that come hurry it; each wake
#: costs a millisecond of CPU, with cold caches.
STEP_SECONDS = 60.0


class DocumentSource:
    """Takes documents from where they come to `drives`, `step` by step, on one thread.

    `begin_polling` makes what asks the drives from here; it is called where that is needed. The
    next one inherits the processes of the last that cannot be ended.
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
        new_poller: Callable[[], Poller],
    ) -> None:
        self._source = source
        self._reader = DocumentReader(directory)
        self._drives = drives
        self._clock = clock
        self._collector_status = collector_status
        self._proc = proc
        self._new_poller = new_poller
        self._polling: Poller | None = None
        self._children: Children | None = None
        self._is_stale = False
        #: Whoever wakes the poller must not meet one that is being closed.
        self._waking = threading.Lock()
        #: Documents that were refused, until they change or go; and why there is no heartbeat.
        self._refused: dict[str, SourceError] = {}
        self._no_heartbeat = ""
        self._woken = threading.Event()
        self._said = ""

    @property
    def polls_itself(self) -> bool:
        return self._polling is not None

    def rescan_soon(self) -> None:
        """A device has come or gone. For other threads."""
        with self._waking:
            if self._polling is not None:
                self._polling.rescan_soon()
        self.wake()

    def wake(self) -> None:
        """Let the `step` under way return soon. For other threads."""
        self._woken.set()
        with self._waking:
            if self._polling is not None:
                self._polling.wake()

    def restart_polling(self) -> None:
        """Let whoever polls begin anew, by `begin_polling`. For other threads."""
        self._is_stale = True
        self.wake()

    def step(self) -> None:
        """One round: what has changed in the directory, or whoever is due to be asked."""
        faults: tuple[SourceError, ...] = ()
        heartbeat = self._heartbeat()
        if heartbeat is not None or self._source is SmartSource.DIRECTORY:
            self._say(f"SMART comes from the agent, by {self._reader.directory}")
            self._end_polling()
            faults = self._read(heartbeat)
            self._note(faults)
            self._woken.wait(_LOOK_SECONDS)
            self._woken.clear()
        elif self._source is SmartSource.EXEC or capabilities.may_send_drive_commands(self._proc):
            self._say("SMART comes from smartctl, run by this process")
            self._ask()
        else:
            self._note((self._nobody(),))
            self._woken.wait(_LOOK_SECONDS)
            self._woken.clear()

    def close(self) -> None:
        """End what runs, within a bounded time, and keep what is known."""
        self._end_polling()
        if self._children is not None:
            self._children.close()
            self._children = None

    def _ask(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self._end_polling()
        if self._polling is None:
            polling = self._new_poller()
            if self._children is not None:
                polling.inherit(self._children)
            self._polling = polling
        # Where an agent has been, one may begin again, and two are not to ask the same drives.
        is_alone = self._source is SmartSource.EXEC or not os.path.exists(self._reader.directory)
        self._polling.step(STEP_SECONDS if is_alone else HEARTBEAT_SECONDS)
        known = self._drives.heartbeat
        self._note((CommandError(known.problem),) if known and known.problem else ())

    def _end_polling(self) -> None:
        with self._waking:
            polling, self._polling = self._polling, None
        if polling is not None:
            self._children = polling.hand_over()

    def _heartbeat(self) -> Heartbeat | None:
        """The agent's, where it is fresh; None where it is not, or nobody asked for it."""
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
        return heartbeat if is_live(heartbeat, self._clock.wall()) else None

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
                ReadError(f"{self._reader.directory}: the agent is silent; is it running?")
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

    def _nobody(self) -> ReadError:
        if self._no_heartbeat:
            return ReadError(f"nobody asks the drives that we could believe: {self._no_heartbeat}")
        return ReadError(
            f"nobody asks the drives: no agent speaks in {self._reader.directory}, and this process"
            " has not the rights to; start ssd-smart-agent, or run as root"
        )

    def _note(self, faults: tuple[SourceError, ...]) -> None:
        self._collector_status.collect("smart", "poll", lambda: Parsed(None, faults))

    def _say(self, source: str) -> None:
        if source != self._said:
            log.info("%s", source)
        self._said = source
