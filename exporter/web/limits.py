"""What one client may take of the server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of the HTTP server.

    `connections` are open ones, of all clients together; a further one takes the place of the
    one that deserves it least. `header_bytes` bound a request's head. `request_seconds` run from
    a connection's acceptance, later from a request's first byte, to the answer's last byte taken
    by the client, TLS handshake included. `idle_seconds` pass between two requests. Prometheus
    scrapes every 15 to 60 s and keeps its connection.
    """

    connections: int = 64
    header_bytes: int = 8192
    request_seconds: float = 5.0
    idle_seconds: float = 150.0
    linger_seconds: float = 1.0
