"""`ssd-exporter smart-agent`: the half that has rights. It has no network and no input.

It asks the drives on its own clock and leaves what they say in a directory. The standard library
only: it stays on every host, with the rights to send any command to any drive.
"""

import dataclasses
import gc
import logging
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from exporter import handover, logs, service
from exporter.clock import SystemClock
from exporter.handover import Handover
from exporter.programs.child import Finished
from exporter.programs.children import SystemChildren
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.poll_document import Heartbeat, PollDocument
from exporter.smart.poller import HEARTBEAT_SECONDS, Poller, PollingPlan
from exporter.threads import lower_priority

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

#: So long may it take to read the settings; nobody is asked meanwhile.
_READ_SECONDS = 10.0

#: Set for a process that is to say what it would become, and not to become it.
_SAY_ONLY = "SSD_SMART_AGENT_SAYS_ITS_PLAN"

#: How soon a stop is noticed meanwhile.
_NOTICE_SECONDS = 0.2


class Agent:
    """A poller whose documents go to a directory."""

    def __init__(self, plan: PollingPlan, directory: Path, *, sysfs: Path, root: Path) -> None:
        self._writer = DocumentWriter(directory)
        #: Whose documents are missing for lack of room or rights; None is the heartbeat's.
        self._unwritten: set[tuple[str, str] | None] = set()
        self._drives: tuple[tuple[str, str], ...] | None = None
        self._stopping = self._reloading = self._has_said_to_wait = False
        self._clock = SystemClock()
        self._polling = Poller(
            SystemChildren(self._clock),
            self._clock,
            plan,
            sys=sysfs,
            root=root,
            take=self._write,
            call=self._call,
        )

    def run(self, again: Sequence[str]) -> None:
        """Ask the drives until SIGTERM or SIGINT; at SIGHUP begin as with the arguments `again`.

        Where these are a mistake by then, it is said and all goes on as before.

        Raises:
            BlockingIOError: another agent writes to the directory.
        """
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        self._polling.wake_on_signals()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        self._hold()
        log.info("ssd-exporter smart-agent asks the drives; it leaves %s", self._writer.directory)
        service.notify("READY=1", "STATUS=asking the drives")
        seconds = min(HEARTBEAT_SECONDS, (service.watchdog_seconds() or math.inf) / 3)
        while not self._stopping:
            self._polling.step(seconds)
            service.notify("WATCHDOG=1")
            if self._reloading and not self._stopping:
                self._reload(again)
        # Python gives SIGHUP back to the kernel before it has ended, and it would be our end.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
        self._polling.close()
        service.notify("STOPPING=1")

    def _hold(self) -> None:
        try:
            self._writer.hold()
        except BlockingIOError:
            raise
        except OSError:
            # It may be mended; the first document says what is wrong.
            return

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._reloading = True
        else:
            self._stopping = True

    def _reload(self, again: Sequence[str]) -> None:
        """Begin anew, unless the settings are a mistake or a process would be lost from sight."""
        if not self._polling.may_end:
            if not self._has_said_to_wait:
                self._has_said_to_wait = True
                log.warning(
                    "the new settings wait: a smartctl runs that may not be killed or cannot be,"
                    " and no second one may be started for its drive"
                )
                _tell_reloaded("the new settings wait for a smartctl to end")
            return
        self._reloading = self._has_said_to_wait = False
        handed, problem = self._read_again(again)
        if self._stopping:
            return
        try:
            reading = -1 if problem else handover.pipe_with(handed)
        except OSError as e:
            problem = f"they cannot be handed over: {e.strerror}"
        if problem:
            log.error("the settings stay as they were: %s", problem)
            _tell_reloaded("asking the drives, by the settings before a mistake")
            return
        # Kept for the next one, which takes them when it is ready to.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        if self._stopping:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            return
        self._polling.close()
        service.notify_reloading()
        _become(reading)

    def _read_again(self, again: Sequence[str]) -> tuple[bytes, str]:
        """What is handed over by the settings as they are now, or what is wrong with them.

        They are read once: what was found good is what is taken, whatever the file holds then.
        """
        children = SystemChildren(self._clock, environment={**os.environ, _SAY_ONLY: "1"})
        children.start("settings", [sys.executable, *again], _READ_SECONDS)
        done: list[Finished] = []
        while not done and not self._stopping:
            done = children.wait(_NOTICE_SECONDS)
        children.close()
        if not done or done[0].status == 0:
            return (done[0].output if done else b""), ""
        said = done[0].errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        problem = done[0].message or said or f"they cannot be read: exit status {done[0].status}"
        return b"", problem

    def _call(self, roll: Heartbeat) -> None:
        self._write(roll)
        # Before the first look there are documents of drives that are still to be found.
        if roll.drives != self._drives and roll.scanned_at is not None:
            self._drives = roll.drives
            self._unwritten &= {*roll.drives, None}
            try:
                self._writer.sweep(set(roll.drives))
            except OSError as e:
                log.warning("%s: %s", self._writer.directory, e.strerror)

    def _write(self, document: PollDocument | Heartbeat) -> None:
        which = None if isinstance(document, Heartbeat) else (document.path, document.type)
        try:
            self._writer.write(document)
        except OSError as e:
            if not self._unwritten:
                problem = f"{self._writer.directory} cannot be written: {e.strerror}"
                log.error("%s; what the drives say is lost until it can", problem)  # noqa: TRY400
            self._unwritten.add(which)
        else:
            # In a directory that is full a short document has room where a long one has not.
            if self._unwritten == {which}:
                log.info("%s can be written again", self._writer.directory)
            self._unwritten.discard(which)


def _tell_reloaded(status: str) -> None:
    # A reload that is begun and never ended would hold up systemctl until its time is over.
    service.notify_reloading()
    service.notify("READY=1", f"STATUS={status}")


def begin(plan: PollingPlan, directory: Path, *, sysfs: Path, root: Path, level: str) -> NoReturn:
    """Become the agent: this process anew, without the code that has read the configuration.

    That code and what it leaves behind are a fifth of the 16 MB that the agent may hold. Where an
    agent that runs asks what the settings are now, it is told, and this process ends.

    Raises:
        OSError: the plan is larger than what can be handed over.
    """
    again = tuple(sys.orig_argv[1:])
    text = handover.packed(Handover(plan, directory, sysfs, root, level, again))
    if os.environ.get(_SAY_ONLY):
        sys.stdout.buffer.write(text)
        raise SystemExit(0)
    _become(handover.pipe_with(text))


def _become(reading: int) -> NoReturn:
    """Begin this process anew as the agent, which is handed what the pipe holds."""
    package = str(Path(__file__).parents[1])
    # Isolated, or Python would look for modules in the directory that root happens to stand in;
    # without site-packages, whose .pth files run code and cost 250 KB. Our own place comes last:
    # where it is site-packages, nothing in it takes the name of a module of Python's. A traceback
    # where the watchdog ends it.
    code = "import sys; sys.path.append(sys.argv[1]); from exporter.agent import main; main()"
    options = ("-I", "-S", "-X", "faulthandler", "-c")
    # Until there is somebody to take it, a SIGHUP would end us.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    argv = [sys.executable, *options, code, package, str(reading)]
    os.execv(sys.executable, argv)  # noqa: S606  an argument list of our own


def _let_go() -> None:
    """Free what only the definition of records has needed: a sixteenth of what we may hold.

    dataclasses imports inspect, with ast and dis, for what it does once a class.
    """
    for name in ("inspect", "ast", "dis", "opcode"):
        sys.modules.pop(name, None)
    vars(dataclasses).pop("inspect", None)
    gc.collect()


def main() -> None:
    """What `begin` becomes. The files are for the directory's group, and nobody else's."""
    _let_go()
    with open(int(sys.argv[2]), "rb") as pipe:
        handed = handover.unpacked(pipe.read())
    logs.configure(handed.level, "logfmt")
    os.umask(0o027)
    # As the unit has it, also where there is none.
    lower_priority()
    directory = handed.directory
    try:
        agent = Agent(handed.plan, directory, sysfs=handed.sysfs, root=handed.root)
        agent.run(handed.again)
    except BlockingIOError:
        sys.stderr.write(
            f"ssd-exporter: another smart-agent writes to {directory};"
            " end it, or give this one a smart.directory of its own\n"
        )
        raise SystemExit(2) from None
