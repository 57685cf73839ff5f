"""Listen addresses as people and the Prometheus tools write them.

Sockets to accept connections from.
"""

import contextlib
import errno
import socket
from collections.abc import Sequence

from exporter.errors import ConfigError

_HINT = "write HOST:PORT, :PORT for all interfaces, or [::1]:PORT"


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of a listen address; an empty host means all interfaces.

    Port 0 lets the kernel choose. Raises ConfigError.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ConfigError(f"listen address {text!r}: no port number", _HINT)
    if int(port) > 65535:
        raise ConfigError(f"listen address {text!r}: ports end at 65535", _HINT)
    if host.startswith("[") and host.endswith("]") and ":" in host:
        host = host[1:-1]
    elif any(mark in host for mark in ":[]/"):
        raise ConfigError(f"listen address {text!r}: not a host", _HINT)
    if not host.isprintable() or " " in host:
        raise ConfigError(f"listen address {text!r}: not a host", _HINT)
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """The address as `parse` takes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
        shown = format_address(host, port)
        raise ConfigError(f"cannot listen on {shown}: {what}", hint) from e


def _made(listener: socket.socket) -> socket.socket:
    listener.setblocking(False)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)  # inherited
    return listener
