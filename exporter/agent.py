"""`ssd-exporter smart-agent`: the half that has rights. It has no network and no input.

It asks the drives on its own clock and leaves what they say in a directory. The standard library
only: it stays on every host, with the rights to send any command to any drive.
"""

import logging
import os
import signal
from pathlib import Path
from types import FrameType

from exporter import notify
from exporter.background.documents import DocumentWriter
from exporter.background.polling import ROLL_SECONDS, Polling, PollingPlan
from exporter.clock import SystemClock
from exporter.tools.children import SystemChildren
from exporter.tools.document import PollDocument, Roll

log = logging.getLogger(__name__)


class Agent:
    """A poller whose documents go to a directory."""

    def __init__(self, plan: PollingPlan, directory: Path, *, sys: Path, root: Path) -> None:
        self._writer = DocumentWriter(directory)
        self._problem = ""
        self._drives: tuple[tuple[str, str], ...] | None = None
        self._stopping = False
        clock = SystemClock()
        self._polling = Polling(
            SystemChildren(clock),
            clock,
            plan,
            sys=sys,
            root=root,
            take=self._write,
            call=self._call,
        )

    def run(self) -> None:
        """Ask the drives until SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        log.info("ssd-exporter smart-agent asks the drives; it leaves %s", self._writer.directory)
        notify.tell("READY=1", "STATUS=asking the drives")
        while not self._stopping:
            self._polling.step(ROLL_SECONDS)
            notify.tell("WATCHDOG=1")
        notify.tell("STOPPING=1")
        self._polling.close()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True
        self._polling.wake()

    def _call(self, roll: Roll) -> None:
        self._write(roll)
        if roll.drives != self._drives:
            self._drives = roll.drives
            try:
                self._writer.sweep(set(roll.drives))
            except OSError as e:
                log.warning("%s: %s", self._writer.directory, e.strerror)

    def _write(self, document: PollDocument | Roll) -> None:
        try:
            self._writer.write(document)
        except OSError as e:
            problem = f"{self._writer.directory} cannot be written: {e.strerror}"
            if problem != self._problem:
                log.error("%s; what the drives say is lost until it can", problem)  # noqa: TRY400
            self._problem = problem
        else:
            if self._problem:
                log.info("%s can be written again", self._writer.directory)
            self._problem = ""


def main(plan: PollingPlan, directory: Path, *, sys: Path, root: Path) -> None:
    """Run until told to end. The files are for the directory's group, and nobody else's."""
    os.umask(0o027)
    Agent(plan, directory, sys=sys, root=root).run()
