"""The HTTP server: GET and HEAD, bounded in everything that a client can take.

One thread waits for all connections and never for one. docs/http-server.md says why this is not
a library.
"""

import contextlib
import errno
import logging
import socket
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from selectors import EVENT_READ
from types import MappingProxyType

from exporter.web import connection
from exporter.web.connection import ClientLimits, Connection, ConnectionPhase
from exporter.web.dispatcher import Fast, RequestDispatcher, Respond
from exporter.web.event_loop import EventLoop
from exporter.web.http_message import RenderedResponse, Request, Response
from exporter.web.listen import listen
from exporter.web.security import ReloadableSecurity

__all__ = ["ClientLimits", "Fast", "HttpServer", "Request", "Respond", "Response"]

_log = logging.getLogger(__name__)

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS = 0.1
_BATCH = 32

#: Workers that have not answered for so long are not just busy.
_HANG_SECONDS = 0.5
_STOP_SECONDS = 0.5

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
    b"Connection: close\r\n\r\n"
)

_NONE: Fast = MappingProxyType({})


class HttpServer:
    """Serves `respond` and `fast` on `addresses` (host and port; port 0 is any).

    `respond` runs on one of two worker threads and may take its time; whatever it raises becomes
    a 500 and a line in the log. `fast` are paths whose answers are made on the loop itself and
    must be at hand at once: they come even while all workers are busy. Where the web
    configuration asks for a password, it does so for every path.
    """

    def __init__(
        self,
        addresses: Sequence[tuple[str, int]],
        respond: Respond,
        *,
        limits: ClientLimits = ClientLimits(),  # noqa: B008  frozen
        web_config: Path | None = None,
        fast: Fast = _NONE,
    ) -> None:
        self.addresses = list(addresses)
        self._respond = respond
        self._limits = limits
        self._web_config = web_config
        self._fast = fast
        self._connections: set[Connection] = set()
        self._due = self._listen_again = float("inf")
        self._starved = self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen and serve from now on; `addresses` are then the bound ones.

        Raises ConfigError: an address that cannot be had, a bad web configuration.
        """
        self._security = ReloadableSecurity(self._web_config)
        self._listeners = listen(self.addresses)
        self.addresses = [listener.getsockname()[:2] for listener in self._listeners]
        self._loop = EventLoop()
        self._answering = RequestDispatcher(
            self._respond,
            self._fast,
            self._security,
            connections=self._limits.connections,
            post=self._loop.post,
            answered=self._answered,
        )
        self._listen()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_encrypted(self) -> bool:
        return self._security.now.tls is not None

    def reload(self) -> None:
        """Read the web configuration again. Raises ConfigError; the old one then goes on."""
        self._security.reload()

    def stop(self) -> None:
        """Close every connection and end, within half a second."""
        if self._thread is None:
            return
        self._stopping = True
        self._loop.post(lambda: None)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._loop.run(lambda: self._stopping, self._tick)
        finally:
            for listener in self._listeners:
                listener.close()
            for connection in self._connections:
                connection.close()
            self._answering.stop()
            self._loop.close()

    def _tick(self, now: float) -> float:
        """Do what is due; returns when something will be."""
        if now >= self._listen_again:
            self._listen()
        if now >= self._due:
            for connection in [c for c in self._connections if c.deadline <= now]:
                try:
                    connection.expire()
                    self._arm(connection)
                except OSError:
                    self._close(connection, abort=connection.phase is ConnectionPhase.WRITING)
            self._due = min((c.deadline for c in self._connections), default=float("inf"))
        return min(self._due, self._listen_again)

    def _listen(self) -> None:
        self._listen_again = float("inf")
        for listener in self._listeners:
            self._loop.watch(listener, 0, EVENT_READ, partial(self._accept, listener))

    def _accept(self, listener: socket.socket) -> None:
        for turn in range(_BATCH):
            full = len(self._connections) >= self._limits.connections
            # One a turn where another has to go for it: who came last turn has then been read.
            if full and (turn or not self._make_room()):
                return
            try:
                link, peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as e:
                # At a later turn it says nothing: accept(2) takes a descriptor before it looks
                # whether somebody waits.
                if turn == 0 and e.errno in _EXHAUSTED:
                    self._starve(e)
                return
            self._starved = False
            self._admit(link, str(peer[0]))

    def _starve(self, e: OSError) -> None:
        """Without a free descriptor a waiting client would wake the loop over and over."""
        if self._connections:
            self._make_room()
            return
        if not self._starved:
            self._starved = True
            _log.error("cannot accept connections for now: %s; raise LimitNOFILE=", e.strerror)
        self._pause(_PAUSE_SECONDS)

    def _pause(self, seconds: float) -> None:
        """Leave who comes now in the kernel's queue for so long."""
        for listener in self._listeners:
            self._loop.watch(listener, EVENT_READ, 0, lambda: None)
        self._listen_again = time.monotonic() + seconds

    def _admit(self, link: socket.socket, peer: str) -> None:
        self._security.refresh()
        security = self._security.now
        if len(self._connections) >= self._limits.connections:
            with contextlib.suppress(OSError):
                link.setblocking(False)
                if not security.tls:
                    link.send(_FULL)
            link.close()
            return
        try:
            connection = Connection(link, peer, self._limits, security.tls, self._answering.ask)
        except OSError:
            link.close()
            return
        connection.extra = security.headers or {}
        self._connections.add(connection)
        self._serve(connection)

    def _make_room(self) -> bool:
        """Close a connection for the one that waits; False where that has to wait a little.

        True with nothing closed is the third case: all wait for answers that do not come.
        """
        now = time.monotonic()
        victim = connection.connection_to_evict(self._connections, now)
        if victim is None:
            if now - min(c.since for c in self._connections) > _HANG_SECONDS:
                return True
            self._pause(connection.GRACE_SECONDS)
            return False
        # How long ago the victim came, or went over to what it does now.
        age = now - victim.since
        if age < connection.GRACE_SECONDS:
            self._pause(connection.GRACE_SECONDS - age)
            return False
        # An abort also drops what was answered and not yet fetched from the kernel.
        abort = victim.phase not in {ConnectionPhase.IDLE, ConnectionPhase.LINGERING}
        self._close(victim, abort=abort)
        return True

    def _serve(self, connection: Connection) -> None:
        if connection.phase is ConnectionPhase.CLOSED:
            return
        try:
            more = connection.advance()
            self._arm(connection)
        except OSError:
            self._close(connection)
        else:
            if more:
                self._loop.post(partial(self._serve, connection))

    def _answered(self, connection: Connection, rendered: RenderedResponse) -> None:
        if connection.phase is not ConnectionPhase.ANSWERING:
            return
        try:
            connection.answer(rendered)
        except OSError:
            self._close(connection)
        else:
            self._serve(connection)

    def _arm(self, connection: Connection) -> None:
        """Watch for what the connection waits for; nothing while a worker has its request."""
        events = 0 if connection.phase is ConnectionPhase.ANSWERING else connection.wire.waits
        connection.armed = self._loop.watch(
            connection.wire.link, connection.armed, events, partial(self._serve, connection)
        )
        self._due = min(self._due, connection.deadline)

    def _close(self, connection: Connection, *, abort: bool = False) -> None:
        connection.armed = self._loop.watch(connection.wire.link, connection.armed, 0, lambda: None)
        self._connections.discard(connection)
        connection.close(abort=abort)
