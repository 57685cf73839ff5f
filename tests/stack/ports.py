"""Ports that nobody uses."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """So many different ones; the kernel gives none of them again for a while."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
