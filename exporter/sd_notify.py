"""Telling systemd how the service fares: sd_notify(3) in so few lines that a package is no gain."""

import os
import time

# Not socket: its enumerations of all constants are 0.6 MB of an agent that may hold 16.
from _socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, socket


def tell(*states: str) -> None:
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


def tell_reloading() -> None:
    """A reload begins; Type=notify-reload wants the monotonic time with it."""
    tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog_seconds() -> float | None:
    """How long systemd waits for WATCHDOG=1 before it restarts us; None without a watchdog."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) else None
