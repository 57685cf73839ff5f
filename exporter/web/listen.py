"""Sockets to accept connections from."""

import contextlib
import errno
import socket
from collections.abc import Sequence

from exporter.errors import ConfigError
from exporter.web import address

#: The kernel cuts it to net.core.somaxconn. Two herds of 1,000 wait here without lost SYNs.
_BACKLOG = 2048

#: What the kernel keeps for a client that does not read; left alone it grows to megabytes each.
_SEND_BYTES = 1 << 18

_HINTS = {
    errno.EADDRINUSE: "stop what listens there (`ss -ltnp` names it) or choose another port",
    errno.EACCES: "choose a port above 1023",
    errno.EADDRNOTAVAIL: "use an address of this host (`ip address` lists them)",
}


def listen(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """One listening socket for each address, or none at all. Raises ConfigError."""
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(_listener(host, port)) for host, port in addresses]
        opened.pop_all()
    return sockets


def _listener(host: str, port: int) -> socket.socket:
    try:
        if not host and socket.has_dualstack_ipv6():
            return _made(socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
            ))  # fmt: skip
        family, _, _, _, where = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _made(socket.create_server(where, family=family, backlog=_BACKLOG))
    except (OSError, UnicodeError) as e:
        number = e.errno if isinstance(e, OSError) else None
        what = e.strerror or str(e) if isinstance(e, OSError) else "not a host's name"
        hint = _HINTS.get(number or 0, "correct the listen address")
        shown = address.show(host, port)
        raise ConfigError(f"cannot listen on {shown}: {what}", hint) from e


def _made(listener: socket.socket) -> socket.socket:
    listener.setblocking(False)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)  # inherited
    return listener
