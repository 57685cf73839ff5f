"""Telling systemd how the service fares: sd_notify(3) in so few lines that a package is no gain."""

import os
import socket
import time


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
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as s:
            s.settimeout(1)
            s.sendto("\n".join(states).encode(), address)
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
