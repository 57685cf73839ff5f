"""Parses listen addresses as the Prometheus tools write them, and opens listening sockets."""

import contextlib
import errno
import socket
from collections.abc import Sequence

from exporter.runtime.errors import ConfigError

#: Maximum number of connections that wait for accept(). The kernel limits it to net.core.somaxconn.
#: 2,000 clients can connect at the same time without lost SYN packets.
_BACKLOG = 2048

#: Maximum number of bytes that the kernel buffers for a client that does not read. Without a limit
#: the buffer grows to megabytes per client.
_SEND_BUFFER_BYTES = 1 << 18

_HINT = "write HOST:PORT, :PORT for all interfaces, or [::1]:PORT"

_HINTS = {
    errno.EADDRINUSE: "stop the process that listens there (see `ss -ltnp`) or choose another port",
    errno.EACCES: "choose a port above 1023",
    errno.EADDRNOTAVAIL: "use an address of this host (see `ip address`)",
}


def parse_address(text: str) -> tuple[str, int]:
    """Returns the host and the port of a listen address such as ``:9100`` or ``[::1]:9100``.

    An empty host means all interfaces. Port 0 means that the kernel chooses a free port.

    Raises:
        ConfigError: the text is not a listen address.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ConfigError(f"listen address {text!r}: the port number is missing", _HINT)
    if int(port) > 65535:
        raise ConfigError(f"listen address {text!r}: the port is above 65535", _HINT)
    if host.startswith("[") and host.endswith("]") and ":" in host:
        host = host[1:-1]
    elif any(mark in host for mark in ":[]/"):
        raise ConfigError(f"listen address {text!r}: the host is not valid", _HINT)
    if not host.isprintable() or " " in host:
        raise ConfigError(f"listen address {text!r}: the host is not valid", _HINT)
    return host, int(port)


def format_address(host: str, port: int) -> str:
    """Returns host and port as one text, which `parse_address` accepts."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listen(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Open a listening socket for each pair of host and port; returns them in the same order.

    If one address fails, the sockets of the others are closed.

    Raises:
        ConfigError: an address cannot be bound, or a host name cannot be resolved.
    """
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(_open_listener(host, port)) for host, port in addresses]
        opened.pop_all()
    return sockets


def _open_listener(host: str, port: int) -> socket.socket:
    try:
        if not host and socket.has_dualstack_ipv6():
            return _configured(socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
            ))  # fmt: skip
        family, _, _, _, where = socket.getaddrinfo(
            # As text the host would be encoded by the module idna, which needs 0.3 MB.
            (host.encode() if host.isascii() else host) or None,
            port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
        return _configured(socket.create_server(where, family=family, backlog=_BACKLOG))
    except (OSError, UnicodeError) as e:
        number = e.errno if isinstance(e, OSError) else None
        reason = e.strerror or str(e) if isinstance(e, OSError) else "not a valid host name"
        hint = _HINTS.get(number or 0, "correct the listen address")
        shown = format_address(host, port)
        raise ConfigError(f"cannot listen on {shown}: {reason}", hint) from e


def _configured(listener: socket.socket) -> socket.socket:
    listener.setblocking(False)
    # The sockets of accepted connections inherit this size.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
    return listener
