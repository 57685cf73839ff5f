"""One client's connection: what it does now, until when it may, and what moves it on."""

import enum
import socket
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from exporter.web import message
from exporter.web.limits import Limits
from exporter.web.message import BadRequest, Rendered, Request, Response
from exporter.web.wire import Wire

if TYPE_CHECKING:
    from exporter.web.tls import Tls  # imports ssl

_END = b"\r\n\r\n"

#: Receptions and requests of one turn: one client's pipeline must not stop the others.
_STEPS = 16


class Phase(enum.Enum):
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
        limits: Limits,
        security: "Tls | None",
        ask: Callable[["Connection", Request], Rendered | None],
    ) -> None:
        self.peer = peer
        self.since = time.monotonic()
        self.deadline = self.since + limits.request_seconds
        self.phase = Phase.SHAKING if security else Phase.READING
        self.armed = 0  # the events that the selector watches for
        self.extra: Mapping[str, str] = {}
        self.wire = security.wire(link) if security else Wire(link)
        self._limits = limits
        self._ask = ask
        self._received = bytearray()
        self._out = (memoryview(b""), memoryview(b""))
        self._body = self._keep = True

    def advance(self) -> bool:
        """Go on as far as the client lets it; True where it stopped only to let others go on."""
        if self.phase is Phase.SHAKING:
            if not self.wire.handshake():
                return False
            self.phase = Phase.READING
        if self.phase is Phase.WRITING:
            self._write()
        for _ in range(_STEPS):
            if self.phase not in {Phase.READING, Phase.IDLE}:
                break
            if not self._read():
                return False
        if self.phase is Phase.LINGERING:
            self._drain()
        return self.phase in {Phase.READING, Phase.IDLE}

    def render(self, response: Response) -> Rendered:
        """The answer to the request at hand, as it is written. On any thread.

        Raises ValueError where a field of it would break HTTP.
        """
        return message.render(
            response, body=self._body, keep=self._keep, extra=self.extra, seconds=time.time()
        )

    def answer(self, rendered: Rendered) -> None:
        """Write what `render` made."""
        self._out = (memoryview(rendered.head), memoryview(rendered.body))
        self._enter(Phase.WRITING)
        self._write()

    def expire(self) -> None:
        """The deadline has passed: say so where the client can still be told, else give it up."""
        if self.phase is Phase.READING and self._received:
            e = BadRequest(HTTPStatus.REQUEST_TIMEOUT, "The request took too long.")
        elif self.phase is Phase.ANSWERING:
            e = BadRequest(HTTPStatus.SERVICE_UNAVAILABLE, "The answer took too long.")
        else:
            raise TimeoutError
        self._refuse(e)
        if any(self._out):
            raise TimeoutError

    def close(self, *, abort: bool = False) -> None:
        self.phase = Phase.CLOSED
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
            if self.phase is Phase.IDLE:
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
        self._enter(Phase.READING)
        self._body = True
        self.deadline = self.since + self._limits.request_seconds

    def _handle(self, head: bytes) -> None:
        try:
            request, self._keep = message.parse(head)
        except BadRequest as e:
            self._refuse(e)
            return
        self._body = request.method == "GET"
        self._enter(Phase.ANSWERING)
        rendered = self._ask(self, request)
        if rendered:
            self.answer(rendered)

    def _refuse_head(self) -> None:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self._refuse(BadRequest(status, "The request's head is too large."))

    def _refuse(self, e: BadRequest) -> None:
        self._keep = False
        self.answer(self.render(message.refusal(e)))

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
            self._enter(Phase.LINGERING)
            self.deadline = self.since + self._limits.linger_seconds
            self._received.clear()
        elif self._received:
            self._begin()
        else:
            self._enter(Phase.IDLE)
            self.deadline = self.since + self._limits.idle_seconds

    def _drain(self) -> None:
        data = self.wire.receive()
        if data == b"":
            raise ConnectionAbortedError

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.since = time.monotonic()
