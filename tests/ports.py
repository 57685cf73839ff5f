"""TCP ports for programs that must be told their port before they start."""

import atexit
import random
import socket
from contextlib import ExitStack

#: The kernel gives ports from 32768 on to clients and to servers that select port 0
#: (net.ipv4.ip_local_port_range). A port below cannot be taken by them in the meantime.
_PORTS = range(10_000, 32_768)

#: One Unix socket for each port that this process has reserved.
_RESERVED = ExitStack()
atexit.register(_RESERVED.close)


def free_ports(count: int) -> list[int]:
    """Returns `count` different ports, which no other process of the tests gets.

    They are reserved until this process ends.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_PORTS)
        if _reserve(port) and _is_free(port):
            found.append(port)
    return found


def free_row_of_ports(count: int) -> int:
    """Returns the first of `count` successive ports, which no other process of the tests gets."""
    while True:
        row = range(first := random.choice(_PORTS), first + count)
        if row[-1] in _PORTS and all(_reserve(port) and _is_free(port) for port in row):
            return first


def _reserve(port: int) -> bool:
    """Binds an abstract Unix socket: only one process can, and the kernel removes it at the end."""
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0ssd-exporter-test-port-{port}")
    except OSError:
        reservation.close()
        return False
    _RESERVED.enter_context(reservation)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
