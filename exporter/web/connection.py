"""Handles the connection of one client, and selects a connection to close for a new client.

A connection is always in one phase, which is the event that it waits for. If all connections are
in use and a new client connects, the server evicts one: it closes that connection.
"""

import enum
import heapq
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from exporter.web import http_message
from exporter.web.http_message import BadRequest, RenderedResponse, Request, Response
from exporter.web.transport import Transport

if TYPE_CHECKING:
    from exporter.web.tls import ServerTls  # imports ssl

#: Minimum time in seconds that a connection is in a phase before it can be evicted. With 64
#: connections, 2,560 per second can be replaced. So a scraper that connects after 1,000 other
#: clients waits 0.4 s in the kernel's queue.
GRACE_SECONDS = 0.025

_END_OF_HEAD = b"\r\n\r\n"

#: Maximum number of reads of one connection per turn of the event loop. The limit prevents a client
#: that sends many requests without waiting for responses from delaying the others.
_MAX_READS_PER_TURN = 16

#: Maximum number of connections whose transferred bytes are compared for an eviction. Comparing all
#: of them at each accept would take too much CPU time.
_MAX_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The maximum of everything that the clients of the HTTP server can use.

    connections: the maximum number of open connections of all clients. When all are in use, a new
        connection evicts another one.
    header_bytes: the maximum size of the head of a request.
    request_seconds: the maximum time from the first byte of a request until the client has received
        the response. For the first request of a connection, the time starts at the accept and
        includes the TLS handshake.
    idle_seconds: the maximum time between two requests on one connection. Prometheus scrapes every
        15 to 60 s on one connection.
    linger_seconds: the maximum time between the end of the last response and the close of the
        connection.
    """

    connections: int = 64
    header_bytes: int = 8192
    request_seconds: float = 5.0
    idle_seconds: float = 150.0
    linger_seconds: float = 1.0


class ConnectionPhase(enum.Enum):
    """The phases of a connection. The comment of each phase names the event that it waits for."""

    CLOSED = 0
    LINGERING = 1  # the client closes; data is still read, so that the kernel sends no reset
    HANDSHAKE = 2  # the TLS handshake ends
    READING = 3  # the rest of a request's head arrives
    IDLE = 4  # the next request arrives
    WRITING = 5  # the client receives the response
    PROCESSING = 6  # a worker builds the response


class Connection:
    """Reads a request, passes it to `dispatch`, sends the response, and repeats.

    Other threads may call `render`. Call every other method on the thread of the event loop. If
    `advance`, `send` or `expire` raises OSError, the caller must close the connection.

    dispatch: returns the rendered response, or None if `send` will be called with it later.
    peer: the address of the client.
    phase: the current phase.
    phase_since: the monotonic time at which the current phase started.
    deadline: the monotonic time at which `expire` must be called.
    watched_events: the selector events for which the event loop watches the socket; 0 means none.
    extra_headers: the header fields of the web configuration, keyed by name.
    """

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        limits: ClientLimits,
        tls: "ServerTls | None",
        dispatch: Callable[["Connection", Request], RenderedResponse | None],
    ) -> None:
        self.peer = peer
        self.phase_since = time.monotonic()
        self.deadline = self.phase_since + limits.request_seconds
        self.phase = ConnectionPhase.HANDSHAKE if tls else ConnectionPhase.READING
        self.watched_events = 0
        self.extra_headers: Mapping[str, str] = {}
        self.transport = tls.transport(sock) if tls else Transport(sock)
        self._limits = limits
        self._dispatch = dispatch
        self._received = bytearray()
        self._unsent = (memoryview(b""), memoryview(b""))
        self._with_body = self._keep_alive = True

    def advance(self) -> bool:
        """Continue as far as possible without waiting for the client.

        Returns True if it stopped only to let other connections continue. The caller must then call
        it again soon. False means that it needs an event of the socket or a response.
        """
        if self.phase is ConnectionPhase.HANDSHAKE:
            if not self.transport.handshake():
                return False
            self.phase = ConnectionPhase.READING
        if self.phase is ConnectionPhase.WRITING:
            self._write()
        for _ in range(_MAX_READS_PER_TURN):
            if self.phase not in {ConnectionPhase.READING, ConnectionPhase.IDLE}:
                break
            if not self._read():
                return False
        if self.phase is ConnectionPhase.LINGERING:
            self._drain()
        return self.phase in {ConnectionPhase.READING, ConnectionPhase.IDLE}

    def render(self, response: Response) -> RenderedResponse:
        """Returns the bytes of the response to the current request. Other threads may call it.

        Raises:
            ValueError: a header field contains a control character.
        """
        return http_message.render_response(
            response,
            body=self._with_body,
            keep_alive=self._keep_alive,
            extra_headers=self.extra_headers,
            unix_time=time.time(),
        )

    def send(self, rendered: RenderedResponse) -> None:
        """Send a rendered response as far as possible now. `advance` sends the rest."""
        self._unsent = (memoryview(rendered.head), memoryview(rendered.body))
        self._enter(ConnectionPhase.WRITING)
        self._write()

    def expire(self) -> None:
        """End the connection, because its deadline has passed.

        If the client waits for a response, it receives an error response. The connection then
        closes like after any last response.

        Raises:
            TimeoutError: the client waits for no response, or does not receive all of it at once.
        """
        if self.phase is ConnectionPhase.READING and self._received:
            e = BadRequest(HTTPStatus.REQUEST_TIMEOUT, "The request took too long.")
        elif self.phase is ConnectionPhase.PROCESSING:
            e = BadRequest(HTTPStatus.SERVICE_UNAVAILABLE, "The response took too long.")
        else:
            raise TimeoutError
        self._refuse(e)
        if any(self._unsent):
            raise TimeoutError

    def close(self, *, abort: bool = False) -> None:
        """Close the socket at once. With `abort`, data that was not acknowledged is discarded."""
        self.phase = ConnectionPhase.CLOSED
        self.transport.close(abort=abort)

    def _read(self) -> bool:
        """Read the head of a request, or a part of it.

        Returns False if more data must arrive first, or if the head is too large and was refused.
        """
        end = self._received.find(_END_OF_HEAD)
        if end < 0:
            if len(self._received) > self._limits.header_bytes:
                self._refuse_head()
                return False
            data = self.transport.receive()
            if data is None:
                return False
            if not data:
                raise ConnectionAbortedError
            self._received += data
            if self.phase is ConnectionPhase.IDLE:
                self._start_request()
            return True
        if end > self._limits.header_bytes:
            self._refuse_head()
            return False
        head = bytes(self._received[:end])
        del self._received[: end + len(_END_OF_HEAD)]
        self._handle(head.lstrip(b"\r\n"))
        return True

    def _start_request(self) -> None:
        self._enter(ConnectionPhase.READING)
        self._with_body = True
        self.deadline = self.phase_since + self._limits.request_seconds

    def _handle(self, head: bytes) -> None:
        try:
            request, self._keep_alive = http_message.parse_request(head)
        except BadRequest as e:
            self._refuse(e)
            return
        self._with_body = request.method == "GET"
        self._enter(ConnectionPhase.PROCESSING)
        rendered = self._dispatch(self, request)
        if rendered:
            self.send(rendered)

    def _refuse_head(self) -> None:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self._refuse(BadRequest(status, "The head of the request is too large."))

    def _refuse(self, e: BadRequest) -> None:
        self._keep_alive = False
        self.send(self.render(http_message.error_response(e)))

    def _write(self) -> None:
        while any(self._unsent):
            head, body = self._unsent
            sent = self.transport.send(head, body)
            if not sent:
                return
            sent_head = min(sent, len(head))
            self._unsent = (head[sent_head:], body[sent - sent_head :])
        if not self._keep_alive:
            self.transport.end()
            self._enter(ConnectionPhase.LINGERING)
            self.deadline = self.phase_since + self._limits.linger_seconds
            self._received.clear()
        elif self._received:
            self._start_request()
        else:
            self._enter(ConnectionPhase.IDLE)
            self.deadline = self.phase_since + self._limits.idle_seconds

    def _drain(self) -> None:
        data = self.transport.receive()
        if data == b"":
            raise ConnectionAbortedError

    def _enter(self, phase: ConnectionPhase) -> None:
        self.phase = phase
        self.phase_since = time.monotonic()


#: The group of each phase, for eviction. The largest group loses a connection. So a large number of
#: silent, idle or slow clients evicts only connections of its own group.
_GROUPS = {
    ConnectionPhase.LINGERING: "requesting",
    ConnectionPhase.HANDSHAKE: "requesting",
    ConnectionPhase.READING: "requesting",
    ConnectionPhase.IDLE: "idle",
    ConnectionPhase.WRITING: "writing",
}


def connection_to_evict(connections: Collection[Connection], now: float) -> Connection | None:
    """Returns the connection to close for a new one; None if all of them wait for a worker.

    The choice has three steps. The first selects the group with the most connections, see
    `_GROUPS`. The second selects the client address with the most connections in this group. The
    third compares the oldest connections of this address, and selects the one that has transferred
    the fewest bytes. A scraper transfers bytes at once. So it keeps its connection during its TLS
    handshake, even while many silent clients connect and disconnect.

    The third step omits connections that have been in their phase for less than `GRACE_SECONDS`. If
    this omits all of them, it selects the oldest one.

    now: the monotonic time.
    """
    evictable = [c for c in connections if c.phase in _GROUPS]
    if not evictable:
        return None
    group = _most_frequent(_GROUPS[c.phase] for c in evictable)
    evictable = [c for c in evictable if _GROUPS[c.phase] == group]
    peer = _most_frequent(c.peer for c in evictable)
    candidates = (c for c in evictable if c.peer == peer)
    oldest = heapq.nsmallest(_MAX_CANDIDATES, candidates, key=lambda c: c.phase_since)
    past_grace = [c for c in oldest if c.phase_since <= now - GRACE_SECONDS]
    return min(past_grace or oldest[:1], key=lambda c: c.transport.transferred_bytes())


def _most_frequent(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]
