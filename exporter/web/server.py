"""Runs the HTTP server. It answers GET and HEAD, and limits everything that a client can use.

One thread handles all connections and never waits for a single client. If all connections are in
use, a new client evicts one: the server closes that connection. docs/http-server.md explains why no
library is used.
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

from exporter.runtime.logs import UnexpectedErrors
from exporter.web.connection import ClientLimits, Connection, ConnectionPhase
from exporter.web.dispatcher import FastPaths, RequestDispatcher, Respond
from exporter.web.event_loop import EventLoop
from exporter.web.eviction import (
    GRACE_SECONDS,
    connection_to_displace,
    connection_to_evict,
    grace_seconds,
)
from exporter.web.http_message import RenderedResponse, Request, Response
from exporter.web.listen import listen
from exporter.web.lobby import Lobby, refuse
from exporter.web.security import ReloadableSecurity

__all__ = ["ClientLimits", "FastPaths", "HttpServer", "Request", "Respond", "Response"]

_log = logging.getLogger(__name__)

#: Errors of accept() that mean that the process or the system has no resources left.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: Seconds until accept() is tried again after such an error.
_EXHAUSTED_PAUSE_SECONDS = 0.1

#: Maximum number of connections that are accepted per turn of the event loop. It takes 5 ms to
#: accept so many. A client behind 2,000 others in the kernel's queue is accepted after eight turns.
_MAX_ACCEPTS_PER_TURN = 256

#: Maximum time in seconds that `stop` waits for the thread of the server.
_STOP_SECONDS = 0.5

_NO_FAST_PATHS: FastPaths = MappingProxyType({})


class HttpServer:
    """Serves HTTP on one or more addresses.

    addresses: pairs of host and port. With port 0 the kernel chooses a free port.
    respond: builds a response on one of two worker threads. An exception becomes a 500 response
        and a log message.
    limits: the limits on connections, sizes and times.
    web_config: the web configuration file; None means neither TLS nor passwords. If the file has
        users, every path requires a password.
    fast: functions that build a response on the event loop, keyed by path. They must not block.
        Their paths respond even if all workers are busy.
    """

    def __init__(
        self,
        addresses: Sequence[tuple[str, int]],
        respond: Respond,
        *,
        limits: ClientLimits = ClientLimits(),  # noqa: B008  frozen
        web_config: Path | None = None,
        fast: FastPaths = _NO_FAST_PATHS,
    ) -> None:
        self.addresses = list(addresses)
        self._respond = respond
        self._limits = limits
        self._web_config = web_config
        self._fast = fast
        self._connections: set[Connection] = set()
        self._lobby = Lobby()
        self._next_deadline = self._listen_again = self._admit_again = float("inf")
        self._is_exhausted = self._stopping = False
        self._errors = UnexpectedErrors(_log)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the server. Afterwards `addresses` contains the ports that are really used.

        Raises:
            ConfigError: an address cannot be bound, or the web configuration is not usable.
        """
        self._security = ReloadableSecurity(self._web_config)
        self._applied_security = self._security.current
        self._listeners = listen(self.addresses)
        self.addresses = [listener.getsockname()[:2] for listener in self._listeners]
        self._loop = EventLoop()
        self._dispatcher = RequestDispatcher(
            self._respond,
            self._fast,
            self._security,
            connections=self._limits.connections,
            post=self._loop.post,
            deliver=self._deliver,
        )
        self._listen()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True while the thread of the server runs."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_encrypted(self) -> bool:
        """True if the server requires TLS."""
        return self._security.current.tls is not None

    def reload(self) -> None:
        """Reload the web configuration, even if the new one protects less than the old one.

        Raises:
            ConfigError: the new configuration is not usable. The old one stays in force.
        """
        self._security.reload()
        # Wakes up the event loop, which closes connections that the new settings do not allow.
        self._loop.post(lambda: None)

    def stop(self) -> None:
        """Close all connections and end the server. Takes at most half a second."""
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
            self._lobby.close()
            for connection in self._connections:
                connection.close()
            self._dispatcher.stop()
            self._loop.close()

    def _tick(self, now: float) -> float:
        """End pauses that are over, and end connections whose deadline has passed.

        Connections that the current security settings do not allow are closed.

        Returns the monotonic time at which it must be called again; infinity means never.
        """
        if now >= self._listen_again:
            self._listen()
        if now >= self._admit_again:
            self._admit_waiting()
        if self._security.current is not self._applied_security:
            self._apply_security()
        if now >= self._next_deadline:
            for connection in [c for c in self._connections if c.deadline <= now]:
                try:
                    connection.expire()
                    self._watch(connection)
                except OSError:
                    self._close(connection, abort=connection.phase is ConnectionPhase.WRITING)
                except Exception as e:  # noqa: BLE001
                    self._abandon(connection, e)
            self._next_deadline = min((c.deadline for c in self._connections), default=float("inf"))
        return min(self._next_deadline, self._listen_again, self._admit_again)

    def _apply_security(self) -> None:
        self._applied_security = self._security.current
        access = self._applied_security.access
        for connection in [c for c in self._connections if c.access != access]:
            self._close(connection, abort=connection.phase is ConnectionPhase.WRITING)

    def _listen(self) -> None:
        self._listen_again = float("inf")
        for listener in self._listeners:
            self._loop.watch(listener, 0, EVENT_READ, partial(self._accept_or_pause, listener))

    def _accept_or_pause(self, listener: socket.socket) -> None:
        try:
            self._accept(listener)
        except Exception as e:  # noqa: BLE001
            self._errors.record(e, "accepting connections failed")
            self._pause_listening(_EXHAUSTED_PAUSE_SECONDS)

    def _accept(self, listener: socket.socket) -> None:
        for accepted in range(_MAX_ACCEPTS_PER_TURN):
            if not self._lobby.can_take:
                self._pause_listening(GRACE_SECONDS)
                break
            try:
                sock, peer = listener.accept()
            except BlockingIOError:
                break
            except OSError as e:
                # After a successful accept the error does not show that a client waits: accept(2)
                # allocates a descriptor before it checks the queue.
                if accepted == 0 and e.errno in _EXHAUSTED:
                    self._handle_exhaustion(e)
                break
            self._is_exhausted = False
            if (excess := self._lobby.add(sock, str(peer[0]))) is not None:
                self._refuse(excess)
        if self._admit_again == float("inf"):
            self._admit_waiting()

    def _admit_waiting(self) -> None:
        """Serve the connections that wait, as far as there is room.

        While all connections are in use, at most one new connection per turn is served. So the
        requests of earlier connections are read before another one is evicted.
        """
        self._admit_again = float("inf")
        admitted = 0
        while self._lobby:
            if len(self._connections) >= self._limits.connections:
                if admitted:
                    self._admit_again = 0.0
                    return
                if not self._make_room():
                    return
            sock, peer = self._lobby.take(self._connections)
            admitted += 1
            try:
                self._admit(sock, peer)
            except Exception as e:  # noqa: BLE001
                self._errors.record(e, f"a new connection of {peer} is closed")
                sock.close()

    def _handle_exhaustion(self, e: OSError) -> None:
        """Refuse or evict a connection to free a descriptor, or pause accepting if there is none.

        Without the pause, a waiting client would keep the event loop busy.
        """
        if (waiting := self._lobby.newest_of_busiest()) is not None:
            self._refuse(waiting)
            return
        if self._connections:
            before = len(self._connections)
            if not self._make_room() or len(self._connections) == before:
                self._pause_listening(max(GRACE_SECONDS, self._admit_again - time.monotonic()))
            return
        if not self._is_exhausted:
            self._is_exhausted = True
            _log.error(
                "cannot accept connections: %s; retrying every %.1f s; raise LimitNOFILE=",
                e.strerror,
                _EXHAUSTED_PAUSE_SECONDS,
            )
        self._pause_listening(_EXHAUSTED_PAUSE_SECONDS)

    def _pause_listening(self, seconds: float) -> None:
        """Stop accepting connections for this time. New clients wait in the kernel's queue.

        The pause ends earlier if a connection is closed or can be evicted.
        """
        if self._listen_again == float("inf"):
            for listener in self._listeners:
                self._loop.watch(listener, EVENT_READ, 0, lambda: None)
        self._listen_again = time.monotonic() + seconds

    def _end_pause(self) -> None:
        if self._listen_again < float("inf"):
            self._listen_again = 0.0
        if self._lobby:
            self._admit_again = 0.0

    def _refuse(self, sock: socket.socket) -> None:
        refuse(sock, is_encrypted=self.is_encrypted)

    def _admit(self, sock: socket.socket, peer: str) -> None:
        self._security.refresh()
        security = self._security.current
        if len(self._connections) >= self._limits.connections and not self._displace(peer):
            self._refuse(sock)
            return
        try:
            connection = Connection(
                sock, peer, self._limits, security.tls, self._dispatcher.dispatch
            )
        except OSError:
            sock.close()
            return
        connection.extra_headers = security.headers or {}
        self._connections.add(connection)
        self._serve(connection)

    def _displace(self, peer: str) -> bool:
        """Drop the request of another client for this one; returns False if it must be refused.

        The other client receives status 503.
        """
        displaced = connection_to_displace(self._connections, peer)
        if displaced is None:
            return False
        with contextlib.suppress(OSError):
            displaced.expire()
        self._close(displaced)
        return True

    def _make_room(self) -> bool:
        """Evict a connection for a new one; returns True if the new connection can be accepted.

        False means that the new connection must wait, until `_admit_again` at the latest. If all
        connections wait for workers that hang, the result is True without an eviction. The caller
        must then accept the new connection, and displace another one or refuse the new one.
        """
        now = time.monotonic()
        stuck_seconds = self._dispatcher.stuck_seconds(now)
        evicted = connection_to_evict(self._connections, stuck_seconds)
        if evicted is None:
            return True
        if evicted.phase is ConnectionPhase.PROCESSING:
            # Its response says `Connection: close`, or the connection closes after it.
            evicted.is_last_request = True
            self._admit_again = now + GRACE_SECONDS
            return False
        if grace := grace_seconds(evicted, now):
            self._admit_again = now + grace
            return False
        # An abort also discards a response that the client has not received.
        abort = evicted.phase not in {ConnectionPhase.IDLE, ConnectionPhase.LINGERING}
        self._close(evicted, abort=abort)
        return True

    def _serve(self, connection: Connection) -> None:
        if connection.phase is ConnectionPhase.CLOSED:
            return
        try:
            has_more = connection.advance()
            self._watch(connection)
        except OSError:
            self._close(connection)
        except Exception as e:  # noqa: BLE001
            self._abandon(connection, e)
        else:
            if connection.phase in {ConnectionPhase.IDLE, ConnectionPhase.LINGERING}:
                self._end_pause()
            if has_more:
                self._loop.post(partial(self._serve, connection))

    def _deliver(self, connection: Connection, rendered: RenderedResponse) -> None:
        if connection.phase is not ConnectionPhase.PROCESSING:
            return
        try:
            connection.send(rendered)
        except OSError:
            self._close(connection)
        except Exception as e:  # noqa: BLE001
            self._abandon(connection, e)
        else:
            self._serve(connection)

    def _watch(self, connection: Connection) -> None:
        """Watch the socket for the events that the connection needs.

        These are none while a worker handles its request.
        """
        is_processing = connection.phase is ConnectionPhase.PROCESSING
        connection.watched_events = self._loop.watch(
            connection.transport.sock,
            connection.watched_events,
            0 if is_processing else connection.transport.needed_events,
            partial(self._serve, connection),
        )
        self._next_deadline = min(self._next_deadline, connection.deadline)

    def _abandon(self, connection: Connection, error: Exception) -> None:
        """Close a connection after an unexpected exception, and log the exception.

        One connection is lost. Without this, the exception would end the server.
        """
        self._errors.record(error, f"the connection of {connection.peer} is closed")
        self._connections.discard(connection)
        self._loop.forget(connection.transport.sock)
        try:
            connection.close(abort=True)
        except Exception:  # noqa: BLE001
            # The state of the connection is unknown.
            connection.transport.sock.close()
        self._end_pause()

    def _close(self, connection: Connection, *, abort: bool = False) -> None:
        connection.watched_events = self._loop.watch(
            connection.transport.sock, connection.watched_events, 0, lambda: None
        )
        self._connections.discard(connection)
        connection.close(abort=abort)
        self._end_pause()
