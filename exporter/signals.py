"""What signals ask of the daemon, and a wait that none of them is lost to."""

import select
import signal
from types import FrameType
from typing import Any

from exporter.threads import Wake


class Signals:
    """What SIGTERM, SIGINT and SIGHUP ask for while it is entered. For the main thread."""

    def __init__(self) -> None:
        self.stop = self.reload = False
        self._wake = Wake()
        self._before: dict[int, Any] = {}

    def wait(self, seconds: float) -> None:
        """Until a signal comes, or so long."""
        poll = select.poll()
        poll.register(self._wake.reading, select.POLLIN)
        poll.poll(seconds * 1000)
        self._wake.clear()

    def __enter__(self) -> "Signals":  # noqa: PYI034 - Self came with Python 3.11
        self._wake.hear_signals()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._wake.close()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload = True
        else:
            self.stop = True
