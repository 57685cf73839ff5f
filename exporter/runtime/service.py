"""Communicates with the service manager: receives signals and sends sd_notify(3) messages.

sd_notify takes few lines, so this module implements it instead of using a library.
"""

import os
import select
import signal
import time

# The C module is used instead of `socket`, whose enumerations take 0.6 MB of memory. The agent's
# limit is 20 MB.
from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, socket
from types import FrameType
from typing import Any

from exporter.runtime.threads import WakePipe


class Signals:
    """Context manager that records signals: SIGTERM and SIGINT as `stop`, SIGHUP as `reload`.

    Use it on the main thread, because Python runs signal handlers there.

    stop: True after SIGTERM or SIGINT.
    reload: True after SIGHUP; the user of this object sets it to False.
    """

    def __init__(self) -> None:
        self.stop = self.reload = False
        self._wake = WakePipe()
        self._previous_handlers: dict[int, Any] = {}

    def wait(self, seconds: float) -> None:
        """Block until a signal arrives or `seconds` have passed."""
        poll = select.poll()
        poll.register(self._wake.reading, select.POLLIN)
        poll.poll(seconds * 1000)
        self._wake.clear()

    def __enter__(self) -> "Signals":  # noqa: PYI034 - typing.Self requires Python 3.11
        self._wake.wake_on_signals()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._previous_handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._wake.close()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload = True
        else:
            self.stop = True


def notify(*states: str) -> None:
    """Send messages such as READY=1 to the service manager.

    Without a service manager this does nothing. An error is ignored, because only this message is
    lost.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address[0] == "@":  # an abstract socket, whose name starts with a zero byte
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
    """Notify the service manager that a reload starts.

    systemd's Type=notify-reload requires the monotonic time in this message.
    """
    notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog_seconds() -> float | None:
    """Returns the watchdog timeout of the service in seconds; None means that there is no watchdog.

    systemd restarts the service if it receives no WATCHDOG=1 within this time.
    """
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) else None
