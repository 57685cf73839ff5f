"""What signals ask of the daemon, and a wait that none of them is lost to.

Telling systemd how the service fares: sd_notify(3) in so few lines that a package is no gain.
"""

import os
import select
import signal
import time
from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, socket
from types import FrameType
from typing import Any

from exporter.threads import WakePipe


class Signals:
    """What SIGTERM, SIGINT and SIGHUP ask for while it is entered. For the main thread."""

    def __init__(self) -> None:
        self.stop = self.reload = False
        self._wake = WakePipe()
        self._before: dict[int, Any] = {}

    def wait(self, seconds: float) -> None:
        """Until a signal comes, or so long."""
        poll = select.poll()
        poll.register(self._wake.reading, select.POLLIN)
        poll.poll(seconds * 1000)
        self._wake.clear()

    def __enter__(self) -> "Signals":  # noqa: PYI034 - Self came with Python 3.11
        self._wake.wake_on_signals()
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


# Not socket: its enumerations of all constants are 0.6 MB of an agent that may hold 16.


def notify(*states: str) -> None:
    """Send states such as READY=1; nothing where no manager listens.

    A manager that went away costs the message and nothing else.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address[0] == "@":  # an abstract socket: its name begins with a zero byte
        address = "\0" + address[1:]
    try:
        s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC)
        try:
            s.settimeout(1)
            s.sendto("\n".join(states).encode(), address)
        finally:
            s.close()
    except OSError:
        return


def notify_reloading() -> None:
    """A reload begins; Type=notify-reload wants the monotonic time with it."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog_seconds() -> float | None:
    """How long systemd waits for WATCHDOG=1 before it restarts us; None without a watchdog."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) else None
