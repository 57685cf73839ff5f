"""Runs the agent (`ssd-exporter smart-agent`), the privileged process that polls the drives.

The agent writes the result of each poll as a JSON document to a directory, from which the daemon
reads it. It uses no network. It has the privilege to send any command to any drive, and may use
20 MB of memory (docs/costs.md). It therefore imports only the standard library and few modules of
this package; tests/test_layers.py lists them.
"""

import contextlib
import faulthandler
import gc
import logging
import math
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from exporter.programs.children import SystemChildren
from exporter.runtime import logs, service
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import ConfigError
from exporter.runtime.threads import lower_priority
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import HEARTBEAT_SECONDS, Heartbeat, PollDocument
from exporter.smart.polling.poller import Poller, PollingPlan, adopt_leftovers

if TYPE_CHECKING:
    from exporter.latency.window_schedule import WindowPlan, WindowSchedule
    from exporter.tails.latency_document import LatencyDocument

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

#: With this umask, the documents are readable for the directory's group, and for no other user.
_UMASK = 0o027


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of the agent.

    plan: which drives to poll, and how often.
    directory: the directory to which the agent writes its documents.
    sysfs: the path of /sys.
    root: the path of the / that contains the device nodes.
    log_level, log_format: as in `LogSettings`.
    latency: the windows in which single requests are measured; None: never.
    """

    plan: PollingPlan
    directory: Path
    sysfs: Path
    root: Path
    log_level: str
    log_format: str
    latency: "WindowPlan | None" = None


class Agent:
    """Polls the drives and writes the documents to a directory.

    settings: the settings at the start.
    read_settings: reads the configuration again after SIGHUP. It raises ConfigError if the
        configuration contains a mistake.
    """

    def __init__(self, settings: AgentSettings, read_settings: Callable[[], AgentSettings]) -> None:
        self._settings = settings
        self._read_settings = read_settings
        self._writer = DocumentWriter(settings.directory)
        #: The addresses of the drives whose last document could not be written. None stands for the
        #: heartbeat, the list of drives that is written regularly.
        self._unwritten: set[tuple[str, str] | None] = set()
        self._drives: tuple[tuple[str, str], ...] | None = None
        #: True if documents of removed drives may be left.
        self._must_sweep = False
        self._stopping = self._reloading = False
        self._clock = SystemClock()
        self._children = SystemChildren(self._clock)
        self._poller = self._new_poller()
        self._windows: WindowSchedule | None = None

    def run(self) -> None:
        """Polls the drives until SIGTERM or SIGINT. SIGHUP reloads the settings.

        Raises:
            ConfigError: another agent writes to the directory.
        """
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        self._poller.wake_on_signals()
        _hold(self._writer)
        adopt_leftovers(self._children, self._settings.plan.program)
        log.info("ssd-exporter smart-agent polls the drives; it writes to %s", self._directory)
        self._list_drives()
        self._set_windows()
        service.notify("READY=1", "STATUS=polling the drives")
        seconds = min(HEARTBEAT_SECONDS, (service.watchdog_seconds() or math.inf) / 3)
        while not self._stopping:
            if self._reloading:
                self._reload()
                continue
            windows = self._windows
            self._poller.step(min(seconds, windows.seconds_left()) if windows else seconds)
            if windows is not None:
                windows.step()
            service.notify("WATCHDOG=1")
        # SIGHUP is blocked. When Python exits, it restores the default action of SIGHUP, which
        # would end the process with a wrong exit status.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
        self._poller.close()
        if self._windows is not None:
            self._windows.close()
        service.notify("STOPPING=1")

    @property
    def _directory(self) -> Path:
        return self._settings.directory

    def _new_poller(self) -> Poller:
        return Poller(
            self._children,
            self._clock,
            self._settings.plan,
            sys=self._settings.sysfs,
            root=self._settings.root,
            on_document=self._write,
            on_heartbeat=self._write_heartbeat,
        )

    def _set_windows(self) -> None:
        """Starts, changes or ends the windows of single requests, as the settings say."""
        plan, windows = self._settings.latency, self._windows
        if windows is not None and plan is None:
            windows.close()
            self._windows = None
        elif windows is not None and plan is not None:
            windows.reconfigure(plan)
        elif plan is not None:
            # Imported only if it is used, because the agent's memory is limited.
            from exporter.latency.window_schedule import WindowSchedule  # noqa: PLC0415

            children, boot_id = SystemChildren(self._clock), Moment.now(self._clock).boot_id
            self._windows = WindowSchedule(
                plan, self._clock, children, boot_id, self._write_latency
            )

    def _list_drives(self) -> None:
        """Starts the first scan and writes the first heartbeat, without waiting for a drive.

        The daemon starts after READY=1. Without a heartbeat it would report that no agent runs.
        """
        self._poller.step(0.0)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._reloading = True
        else:
            self._stopping = True

    def _reload(self) -> None:
        """Reloads the settings and starts a new poller.

        If the settings contain a mistake, the previous settings and poller stay in use. The new
        poller takes over the processes that must not or cannot be killed, so that it starts no
        second process for their drives.
        """
        self._reloading = False
        # `systemctl reload` waits for READY=1 after this message.
        service.notify_reloading()
        try:
            settings = self._read_settings()
            writer = self._writer_for(settings.directory)
        except ConfigError as e:
            log.error("reload failed, the previous settings remain active: %s", e)  # noqa: TRY400
            service.notify("READY=1", "STATUS=polling the drives; the last reload failed")
            return
        logs.configure(settings.log_level, settings.log_format)
        # The new poller goes on with the object that tracks the processes.
        earlier = self._poller.hand_over()
        if writer is not self._writer:
            self._writer.close()
        self._settings, self._writer = settings, writer
        self._unwritten, self._drives, self._must_sweep = set(), None, False
        self._poller = self._new_poller()
        self._poller.inherit(earlier)
        self._poller.wake_on_signals()
        # Measured: without this call, each reload adds 1 to 2 KiB to the resident memory, although
        # no object is unreachable. A full collection also empties the interpreter's free lists.
        gc.collect()
        log.info("settings reloaded; documents are written to %s", self._directory)
        self._list_drives()
        self._set_windows()
        service.notify("READY=1", "STATUS=polling the drives")

    def _writer_for(self, directory: Path) -> DocumentWriter:
        """Returns a writer for the directory, which is locked.

        It is the current writer if the directory has not changed.

        Raises:
            ConfigError: another agent writes to the directory.
        """
        if directory == self._directory:
            return self._writer
        writer = DocumentWriter(directory)
        _hold(writer)
        return writer

    def _write_heartbeat(self, heartbeat: Heartbeat) -> None:
        self._write(heartbeat)
        # Documents of an earlier run are kept until the first scan, because their drives may still
        # be present.
        if heartbeat.drives != self._drives and heartbeat.scanned_at is not None:
            self._drives, self._must_sweep = heartbeat.drives, True
            self._unwritten &= {*heartbeat.drives, None}
            self._sweep(logging.WARNING)
        elif self._must_sweep:
            self._sweep(logging.DEBUG)

    def _sweep(self, level: int) -> None:
        """Deletes the documents of removed drives. After an error, the next heartbeat repeats it.

        level: the level of the line about an error.
        """
        try:
            self._writer.sweep(set(self._drives or ()))
            self._must_sweep = False
        except OSError as e:
            log.log(
                level,
                "%s: documents of removed drives could not be deleted: %s",
                *(self._directory, e.strerror),
            )

    def _write(self, document: PollDocument | Heartbeat) -> None:
        address = None if isinstance(document, Heartbeat) else (document.path, document.type)
        try:
            self._writer.write(document)
        except OSError as e:
            if not self._unwritten:
                problem = f"{self._directory} cannot be written: {e.strerror}"
                log.error("%s; poll documents are lost until this is repaired", problem)  # noqa: TRY400
            self._unwritten.add(address)
        else:
            # An almost full disk may accept a short document but no long one. The problem is over
            # only when all documents that failed have been written.
            if self._unwritten == {address}:
                log.info("%s can be written again", self._directory)
            self._unwritten.discard(address)

    def _write_latency(self, document: "LatencyDocument") -> None:
        from exporter.tails.latency_document import (  # noqa: PLC0415  see `_set_windows`
            LATENCY_FILE,
            encoded,
        )

        # An error is reported by the heartbeat, which is written to the same directory. The next
        # document has the same sums.
        with contextlib.suppress(OSError):
            self._writer.write_file(LATENCY_FILE, encoded(document))


def run(settings: AgentSettings, read_settings: Callable[[], AgentSettings]) -> None:
    """Runs the agent in this process until SIGTERM or SIGINT.

    settings, read_settings: as in `Agent`.

    Raises:
        ConfigError: another agent writes to the directory.
    """
    # If the agent hangs, the watchdog of systemd sends SIGABRT, and the traceback is in the log.
    faulthandler.enable()
    os.umask(_UMASK)
    # The systemd unit sets the same niceness. This call sets it if the agent runs without the unit.
    lower_priority()
    Agent(settings, read_settings).run()


def _hold(writer: DocumentWriter) -> None:
    """Locks the writer's directory against other agents.

    A directory that cannot be used is not an error here.

    Raises:
        ConfigError: another agent holds the lock.
    """
    try:
        writer.hold()
    except BlockingIOError:
        raise ConfigError(
            f"another smart-agent writes to {writer.directory}",
            "stop it, or set another smart.directory for this one",
        ) from None
    except OSError:
        # The directory may become usable later. If it does not, the first document that cannot be
        # written reports the cause.
        return
