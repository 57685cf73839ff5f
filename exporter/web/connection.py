"""Handles the connection of one client.

A connection is always in one phase, which is the event that it waits for. If all connections are
in use and a new client connects, the server evicts one: it closes that connection (`eviction.py`).
"""

import enum
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from exporter.web import http_message
from exporter.web.client_network import network_of
from exporter.web.http_message import BadRequest, RenderedResponse, Request, Response
from exporter.web.transport import Transport

if TYPE_CHECKING:
    from exporter.web.tls import ServerTls  # imports ssl

_END_OF_HEAD = b"\r\n\r\n"

#: Maximum number of reads of one connection per turn of the event loop. The limit prevents a client
#: that sends many requests without waiting for responses from delaying the others.
_MAX_READS_PER_TURN = 16


#: Statuses after which a connection closes. Otherwise a client that guesses passwords, or one whose
#: request the server has no capacity for, could try again at once on a connection that others need.
_CLOSING = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.SERVICE_UNAVAILABLE})


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
    network: the network of this address, see `network_of`.
    phase: the current phase.
    phase_since: the monotonic time at which the current phase started.
    sent_at: the monotonic time at which a part of a response was last sent.
    deadline: the monotonic time at which `expire` must be called.
    watched_events: the selector events for which the event loop watches the socket; 0 means none.
    is_last_request: True if the connection closes after the response to the current request.
    access: what the connection fulfils of the security settings, see `ServerTls.access`.
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
        self.network = network_of(peer)
        self.phase_since = self.sent_at = time.monotonic()
        self.deadline = self.phase_since + limits.request_seconds
        self.phase = ConnectionPhase.HANDSHAKE if tls else ConnectionPhase.READING
        self.watched_events = 0
        self.is_last_request = False
        self.access = tls.access if tls else None
        self.extra_headers: Mapping[str, str] = {}
        self.transport = tls.transport(sock) if tls else Transport(sock)
        self._limits = limits
        self._dispatch = dispatch
        self._received = bytearray()
        self._unsent = (memoryview(b""), memoryview(b""))
        self._with_body = True
        self._bytes_before_response = 0

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

        After a response with a status of `_CLOSING` the connection closes.

        Raises:
            ValueError: a header field contains a control character.
        """
        if response.status in _CLOSING:
            self.is_last_request = True
        return http_message.render_response(
            response,
            body=self._with_body,
            keep_alive=not self.is_last_request,
            extra_headers=self.extra_headers,
            unix_time=time.time(),
        )

    def send(self, rendered: RenderedResponse) -> None:
        """Send a rendered response as far as possible now. `advance` sends the rest."""
        self._unsent = (memoryview(rendered.head), memoryview(rendered.body))
        self._enter(ConnectionPhase.WRITING)
        self._bytes_before_response = self.transport.transferred_bytes()
        self._write()

    def transferred_bytes(self) -> int:
        """Returns the number of bytes that the client has sent and acknowledged; 0 if unknown.

        While the client receives a response, only the bytes since its start are counted.
        """
        transferred = self.transport.transferred_bytes()
        if self.phase is ConnectionPhase.WRITING:
            return transferred - self._bytes_before_response
        return transferred

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
            request, keep_alive = http_message.parse_request(head)
        except BadRequest as e:
            self._refuse(e)
            return
        self.is_last_request = not keep_alive
        self._with_body = request.method == "GET"
        self._enter(ConnectionPhase.PROCESSING)
        rendered = self._dispatch(self, request)
        if rendered:
            self.send(rendered)

    def _refuse_head(self) -> None:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self._refuse(BadRequest(status, "The head of the request is too large."))

    def _refuse(self, e: BadRequest) -> None:
        self.is_last_request = True
        self.send(self.render(http_message.error_response(e)))

    def _write(self) -> None:
        while any(self._unsent):
            head, body = self._unsent
            sent = self.transport.send(head, body)
            if not sent:
                return
            self.sent_at = time.monotonic()
            sent_head = min(sent, len(head))
            self._unsent = (head[sent_head:], body[sent - sent_head :])
        if self.is_last_request:
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
