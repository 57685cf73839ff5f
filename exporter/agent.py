"""`ssd-exporter smart-agent`: the privileged process. It polls the drives and has no network.

It writes one JSON document for each drive and poll to a directory, from which the daemon reads
them. It has the privilege to send any command to any drive, and may use 20 MB of memory
(docs/costs.md). It therefore imports the standard library and few modules of this package only;
tests/test_layers.py lists them.
"""

import faulthandler
import logging
import math
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from exporter import logs, service
from exporter.clock import SystemClock
from exporter.errors import ConfigError
from exporter.programs.children import SystemChildren
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.poll_document import Heartbeat, PollDocument
from exporter.smart.poller import HEARTBEAT_SECONDS, Poller, PollingPlan
from exporter.threads import lower_priority

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

#: The documents are readable for the directory's group, and for no other user.
_UMASK = 0o027


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of the agent.

    directory: where it writes its documents. sysfs, root: the paths of /sys, and of the / that
    contains the device nodes. log_level, log_format: as in `LogSettings`.
    """

    plan: PollingPlan
    directory: Path
    sysfs: Path
    root: Path
    log_level: str
    log_format: str


class Agent:
    """Polls the drives and writes the documents to a directory.

    read_settings: reads the configuration, at SIGHUP. Raises ConfigError for a mistake in it.
    """

    def __init__(self, settings: AgentSettings, read_settings: Callable[[], AgentSettings]) -> None:
        self._settings = settings
        self._read_settings = read_settings
        self._writer = DocumentWriter(settings.directory)
        #: The addresses whose last document could not be written; None for the heartbeat.
        self._unwritten: set[tuple[str, str] | None] = set()
        self._drives: tuple[tuple[str, str], ...] | None = None
        self._stopping = self._reloading = False
        self._clock = SystemClock()
        self._poller = self._new_poller()

    def run(self) -> None:
        """Poll the drives until SIGTERM or SIGINT. SIGHUP reloads the settings.

        Raises:
            BlockingIOError: another agent writes to the directory.
        """
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        self._poller.wake_on_signals()
        _hold(self._writer)
        log.info("ssd-exporter smart-agent polls the drives; it writes to %s", self._directory)
        service.notify("READY=1", "STATUS=polling the drives")
        seconds = min(HEARTBEAT_SECONDS, (service.watchdog_seconds() or math.inf) / 3)
        while not self._stopping:
            if self._reloading:
                self._reload()
                continue
            self._poller.step(seconds)
            service.notify("WATCHDOG=1")
        # At its exit Python restores the default action of SIGHUP, which would end the process
        # with a wrong exit status.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
        self._poller.close()
        service.notify("STOPPING=1")

    @property
    def _directory(self) -> Path:
        return self._settings.directory

    def _new_poller(self) -> Poller:
        return Poller(
            SystemChildren(self._clock),
            self._clock,
            self._settings.plan,
            sys=self._settings.sysfs,
            root=self._settings.root,
            on_document=self._write,
            on_heartbeat=self._write_heartbeat,
        )

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._reloading = True
        else:
            self._stopping = True

    def _reload(self) -> None:
        """Reload the settings and start a new poller. A mistake in the settings changes nothing.

        The new poller inherits the processes that must not be killed and those that cannot be. It
        starts no second process for their drives.
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
        children = self._poller.hand_over()
        if writer is not self._writer:
            self._writer.close()
        self._settings, self._writer = settings, writer
        self._unwritten, self._drives = set(), None
        self._poller = self._new_poller()
        self._poller.inherit(children)
        self._poller.wake_on_signals()
        log.info("settings reloaded; documents are written to %s", self._directory)
        service.notify("READY=1", "STATUS=polling the drives")

    def _writer_for(self, directory: Path) -> DocumentWriter:
        """Returns the current writer if the directory is the same, else a new one with its lock.

        Raises:
            ConfigError: another agent writes to the directory.
        """
        if directory == self._directory:
            return self._writer
        writer = DocumentWriter(directory)
        try:
            _hold(writer)
        except BlockingIOError:
            raise another_agent(directory) from None
        return writer

    def _write_heartbeat(self, heartbeat: Heartbeat) -> None:
        self._write(heartbeat)
        # Documents of an earlier run are kept until the first scan: their drives may be present.
        if heartbeat.drives != self._drives and heartbeat.scanned_at is not None:
            self._drives = heartbeat.drives
            self._unwritten &= {*heartbeat.drives, None}
            try:
                self._writer.sweep(set(heartbeat.drives))
            except OSError as e:
                log.warning(
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
            # A full disk may accept a short document and no long one: all must succeed again.
            if self._unwritten == {address}:
                log.info("%s can be written again", self._directory)
            self._unwritten.discard(address)


def run(settings: AgentSettings, read_settings: Callable[[], AgentSettings]) -> None:
    """Run the agent in this process until SIGTERM or SIGINT.

    Raises:
        ConfigError: another agent writes to the directory.
    """
    # The watchdog of systemd sends SIGABRT: the traceback is then in the log.
    faulthandler.enable()
    os.umask(_UMASK)
    # The niceness of the systemd unit, also when the agent runs without it.
    lower_priority()
    try:
        Agent(settings, read_settings).run()
    except BlockingIOError:
        raise another_agent(settings.directory) from None


def another_agent(directory: Path) -> ConfigError:
    """Returns the error for a directory that another agent writes to."""
    return ConfigError(
        f"another smart-agent writes to {directory}",
        "stop it, or set another smart.directory for this one",
    )


def _hold(writer: DocumentWriter) -> None:
    """Lock the directory against other agents.

    Raises:
        BlockingIOError: another agent holds it.
    """
    try:
        writer.hold()
    except BlockingIOError:
        raise
    except OSError:
        # The directory may become usable later; the first document that fails reports the cause.
        return
