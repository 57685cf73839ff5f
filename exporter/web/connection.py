"""What one client may take of the server.

One client's connection: what it does now, until when it may, and what moves it on.

Which connection makes room for another when the server is full.
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


@dataclass(frozen=True, slots=True)
class ClientLimits:
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


_END = b"\r\n\r\n"

#: Receptions and requests of one turn: one client's pipeline must not stop the others.
_STEPS = 16


class ConnectionPhase(enum.Enum):
    CLOSED = 0
    LINGERING = 1  # all is said; reads what still comes, so that the kernel sends no reset
    SHAKING = 2  # TLS handshake
    READING = 3
    IDLE = 4  # has been answered, and asks nothing now
    WRITING = 5
    ANSWERING = 6  # a worker has the request


class Connection:
    """Reads a request, gives it to `ask`, writes the answer, and again.

    `ask` returns what `render` made, or None and later calls `answer`. All but `render` runs on
    the server's loop. OSError from `advance`, `answer` and `expire` means: to be closed.
    """

    def __init__(
        self,
        link: socket.socket,
        peer: str,
        limits: ClientLimits,
        security: "ServerTls | None",
        ask: Callable[["Connection", Request], RenderedResponse | None],
    ) -> None:
        self.peer = peer
        self.since = time.monotonic()
        self.deadline = self.since + limits.request_seconds
        self.phase = ConnectionPhase.SHAKING if security else ConnectionPhase.READING
        self.armed = 0  # the events that the selector watches for
        self.extra: Mapping[str, str] = {}
        self.wire = security.wire(link) if security else Transport(link)
        self._limits = limits
        self._ask = ask
        self._received = bytearray()
        self._out = (memoryview(b""), memoryview(b""))
        self._body = self._keep = True

    def advance(self) -> bool:
        """Go on as far as the client lets it; True where it stopped only to let others go on."""
        if self.phase is ConnectionPhase.SHAKING:
            if not self.wire.handshake():
                return False
            self.phase = ConnectionPhase.READING
        if self.phase is ConnectionPhase.WRITING:
            self._write()
        for _ in range(_STEPS):
            if self.phase not in {ConnectionPhase.READING, ConnectionPhase.IDLE}:
                break
            if not self._read():
                return False
        if self.phase is ConnectionPhase.LINGERING:
            self._drain()
        return self.phase in {ConnectionPhase.READING, ConnectionPhase.IDLE}

    def render(self, response: Response) -> RenderedResponse:
        """The answer to the request at hand, as it is written. On any thread.

        Raises ValueError where a field of it would break HTTP.
        """
        return http_message.render_response(
            response, body=self._body, keep=self._keep, extra=self.extra, seconds=time.time()
        )

    def answer(self, rendered: RenderedResponse) -> None:
        """Write what `render` made."""
        self._out = (memoryview(rendered.head), memoryview(rendered.body))
        self._enter(ConnectionPhase.WRITING)
        self._write()

    def expire(self) -> None:
        """The deadline has passed: say so where the client can still be told, else give it up."""
        if self.phase is ConnectionPhase.READING and self._received:
            e = BadRequest(HTTPStatus.REQUEST_TIMEOUT, "The request took too long.")
        elif self.phase is ConnectionPhase.ANSWERING:
            e = BadRequest(HTTPStatus.SERVICE_UNAVAILABLE, "The answer took too long.")
        else:
            raise TimeoutError
        self._refuse(e)
        if any(self._out):
            raise TimeoutError

    def close(self, *, abort: bool = False) -> None:
        self.phase = ConnectionPhase.CLOSED
        self.wire.close(abort=abort)

    def _read(self) -> bool:
        """Take in a request's head, or some of it; False where the client must move first."""
        end = self._received.find(_END)
        if end < 0:
            if len(self._received) > self._limits.header_bytes:
                self._refuse_head()
                return False
            data = self.wire.receive()
            if data is None:
                return False
            if not data:
                raise ConnectionAbortedError
            self._received += data
            if self.phase is ConnectionPhase.IDLE:
                self._begin()
            return True
        if end > self._limits.header_bytes:
            self._refuse_head()
            return False
        head = bytes(self._received[:end])
        del self._received[: end + len(_END)]
        self._handle(head.lstrip(b"\r\n"))
        return True

    def _begin(self) -> None:
        self._enter(ConnectionPhase.READING)
        self._body = True
        self.deadline = self.since + self._limits.request_seconds

    def _handle(self, head: bytes) -> None:
        try:
            request, self._keep = http_message.parse_request(head)
        except BadRequest as e:
            self._refuse(e)
            return
        self._body = request.method == "GET"
        self._enter(ConnectionPhase.ANSWERING)
        rendered = self._ask(self, request)
        if rendered:
            self.answer(rendered)

    def _refuse_head(self) -> None:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self._refuse(BadRequest(status, "The request's head is too large."))

    def _refuse(self, e: BadRequest) -> None:
        self._keep = False
        self.answer(self.render(http_message.refusal_response(e)))

    def _write(self) -> None:
        while any(self._out):
            head, body = self._out
            taken = self.wire.send(head, body)
            if not taken:
                return
            of_head = min(taken, len(head))
            self._out = (head[of_head:], body[taken - of_head :])
        if not self._keep:
            self.wire.end()
            self._enter(ConnectionPhase.LINGERING)
            self.deadline = self.since + self._limits.linger_seconds
            self._received.clear()
        elif self._received:
            self._begin()
        else:
            self._enter(ConnectionPhase.IDLE)
            self.deadline = self.since + self._limits.idle_seconds

    def _drain(self) -> None:
        data = self.wire.receive()
        if data == b"":
            raise ConnectionAbortedError

    def _enter(self, phase: ConnectionPhase) -> None:
        self.phase = phase
        self.since = time.monotonic()


#: Nobody is thrown out sooner. 64 connections then change hands 2,560 times a second, so behind
#: 1,000 others a scraper waits 0.4 s in the kernel's queue.
GRACE_SECONDS = 0.025

#: Of these groups the largest loses a connection. So a herd that is silent, idle or slow to read
#: crowds out its like, and never the others.
_GROUPS = {
    ConnectionPhase.LINGERING: "asking",
    ConnectionPhase.SHAKING: "asking",
    ConnectionPhase.READING: "asking",
    ConnectionPhase.IDLE: "idle",
    ConnectionPhase.WRITING: "writing",
}

#: How many are asked what they have moved: all of them would cost too much at each accept.
_CANDIDATES = 8


def connection_to_evict(connections: Collection[Connection], now: float) -> Connection | None:
    """Who is to go; None where all wait for their answers.

    Of the largest group, and in it of the client with most connections, one of the oldest: the
    one that has sent and taken least. A scraper is quick to do both, so it stays while its
    handshake goes back and forth, however fast a herd of silent clients comes and goes. Where
    the grace (`GRACE_SECONDS` before `now`) protects them all, it is the oldest.
    """
    found = [c for c in connections if c.phase in _GROUPS]
    if not found:
        return None
    group = _most_frequent(_GROUPS[c.phase] for c in found)
    found = [c for c in found if _GROUPS[c.phase] == group]
    peer = _most_frequent(c.peer for c in found)
    crowd = (c for c in found if c.peer == peer)
    oldest = heapq.nsmallest(_CANDIDATES, crowd, key=lambda c: c.since)
    free = [c for c in oldest if c.since <= now - GRACE_SECONDS]
    return min(free or oldest[:1], key=lambda c: c.wire.moved_bytes())


def _most_frequent(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]
