"""`ssd-exporter smart-agent`: the half that has rights. It has no network and no input.

It asks the drives on its own clock and leaves what they say in a directory. The standard library
only: it stays on every host, with the rights to send any command to any drive.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from exporter import logs, notify
from exporter.background.discovery import Override
from exporter.background.documents import DocumentWriter
from exporter.background.polling import ROLL_SECONDS, Polling, PollingPlan
from exporter.clock import SystemClock
from exporter.tools.children import SystemChildren
from exporter.tools.document import PollDocument, Roll

log = logging.getLogger(__name__)


class Agent:
    """A poller whose documents go to a directory."""

    def __init__(self, plan: PollingPlan, directory: Path, *, sysfs: Path, root: Path) -> None:
        self._writer = DocumentWriter(directory)
        #: Whose documents are missing for lack of room or rights; None is the heartbeat's.
        self._unwritten: set[tuple[str, str] | None] = set()
        self._drives: tuple[tuple[str, str], ...] | None = None
        self._stopping = self._is_reloading = False
        clock = SystemClock()
        self._polling = Polling(
            SystemChildren(clock),
            clock,
            plan,
            sys=sysfs,
            root=root,
            take=self._write,
            call=self._call,
        )

    def run(self, again: Sequence[str]) -> None:
        """Ask the drives until SIGTERM or SIGINT; at SIGHUP begin as with the arguments `again`."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        log.info("ssd-exporter smart-agent asks the drives; it leaves %s", self._writer.directory)
        notify.tell("READY=1", "STATUS=asking the drives")
        while not self._stopping:
            self._polling.step(ROLL_SECONDS)
            notify.tell("WATCHDOG=1")
        self._polling.close()
        if self._is_reloading:
            notify.tell_reloading()
            os.execv(sys.executable, [sys.executable, *again])  # noqa: S606  as it was started
        notify.tell("STOPPING=1")

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._stopping = True
        self._is_reloading = number == signal.SIGHUP
        self._polling.wake()

    def _call(self, roll: Roll) -> None:
        self._write(roll)
        # Before the first look there are documents of drives that are still to be found.
        if roll.drives != self._drives and roll.scanned_at is not None:
            self._drives = roll.drives
            self._unwritten &= {*roll.drives, None}
            try:
                self._writer.sweep(set(roll.drives))
            except OSError as e:
                log.warning("%s: %s", self._writer.directory, e.strerror)

    def _write(self, document: PollDocument | Roll) -> None:
        which = None if isinstance(document, Roll) else (document.path, document.type)
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


def begin(plan: PollingPlan, directory: Path, *, sysfs: Path, root: Path, level: str) -> NoReturn:
    """Become the agent: this process anew, without the code that has read the configuration.

    That code and what it leaves behind are a fifth of the 16 MB that the agent may hold.
    """
    handed = json.dumps(
        {
            "plan": {
                **_values(plan),
                "overrides": {k: _values(o) for k, o in plan.overrides.items()},
            },
            "directory": str(directory),
            "sysfs": str(sysfs),
            "root": str(root),
            "level": level,
            "again": sys.orig_argv[1:],
        }
    )
    package = str(Path(__file__).parents[1])
    # Isolated, or Python would look for modules in the directory that root happens to stand in;
    # without site-packages, whose .pth files run code and cost 250 KB. Our own place comes last:
    # where it is site-packages, nothing in it takes the name of a module of Python's.
    code = "import sys; sys.path.append(sys.argv[1]); from exporter.agent import main; main()"
    argv = [sys.executable, "-I", "-S", "-c", code, package, handed]
    os.execv(sys.executable, argv)  # noqa: S606  an argument list of our own


def _values(record: PollingPlan | Override) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def main() -> None:
    """What `begin` becomes. The files are for the directory's group, and nobody else's."""
    handed = json.loads(sys.argv[2])
    logs.begin(handed["level"], "logfmt")
    os.umask(0o027)
    given = handed["plan"]
    plan = PollingPlan(
        **{
            **given,
            "drives": tuple((path, kind) for path, kind in given["drives"]),
            "overrides": {name: Override(**each) for name, each in given["overrides"].items()},
        }
    )
    root, sysfs = Path(handed["root"]), Path(handed["sysfs"])
    Agent(plan, Path(handed["directory"]), sysfs=sysfs, root=root).run(handed["again"])
