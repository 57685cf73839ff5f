"""Unused TCP ports."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Returns `count` different ports, which the kernel does not reuse for a while."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
