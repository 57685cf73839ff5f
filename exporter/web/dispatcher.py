"""A few threads for what must not run on the server's loop, with a bounded queue before them.

Who answers a request: nobody without the password, the loop, or a worker.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from exporter.web.connection import Connection, ConnectionPhase
from exporter.web.http_message import RenderedResponse, Request, Response, plain_response
from exporter.web.security import ReloadableSecurity

if TYPE_CHECKING:
    from exporter.web.auth import BasicAuth  # imports bcrypt

Job = Callable[[], None]


class WorkerPool:
    """Daemon threads, not concurrent.futures: those are joined at exit, hung ones for ever.

    They start at once, for a limit on threads must stop the start and not the first request. A job
    must not raise.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._queue: queue.Queue[Job | None] = queue.Queue(waiting)
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> bool:
        """Queue a job; False where the queue is full. Called from one thread only."""
        try:
            self._queue.put_nowait(job)
        except queue.Full:
            return False
        return True

    def stop(self) -> None:
        """Forget what waits and end the threads once their present jobs end; wait for none."""
        while True:
            try:
                self._queue.get_nowait()
            except queue.Empty:
                break
        self._queue.put_nowait(None)

    def _work(self) -> None:
        while job := self._queue.get():
            job()
        try:
            self._queue.put_nowait(None)  # for the next thread
        except queue.Full:
            return


_log = logging.getLogger(__name__)

Respond = Callable[[Request], Response]
Fast = Mapping[str, Callable[[], Response]]

_UNAUTHORIZED = plain_response(
    HTTPStatus.UNAUTHORIZED,
    "A name and a password are needed.",
    ("WWW-Authenticate", 'Basic realm="ssd-exporter", charset="UTF-8"'),
)
_BUSY = plain_response(
    HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests wait.", ("Retry-After", "1")
)
_FAILED = plain_response(HTTPStatus.INTERNAL_SERVER_ERROR, "The exporter failed; its log says why.")


class RequestDispatcher:
    """Passes requests on. `answered` is called on the loop with what a worker made.

    bcrypt has two threads and a short queue of its own, so wrong passwords neither hold up those
    that are known nor take all connections. A page's queue has room for all.
    """

    def __init__(
        self,
        respond: Respond,
        fast: Fast,
        security: ReloadableSecurity,
        *,
        connections: int,
        post: Callable[[Callable[[], None]], None],
        answered: Callable[[Connection, RenderedResponse], None],
    ) -> None:
        self._respond = respond
        self._fast = fast
        self._security = security
        self._post = post
        self._answered = answered
        self._responders = WorkerPool("web-respond", 2, connections)
        self._checkers = WorkerPool("web-bcrypt", 2, max(1, connections // 4))

    def ask(self, connection: Connection, request: Request) -> RenderedResponse | None:
        """The answer as rendered, or None where a worker will give it."""
        self._security.refresh()
        security = self._security.now
        connection.extra = security.headers or {}
        if security.auth is None:
            return self._pass(connection, request)
        field = request.headers.get("authorization")
        if field is None:
            return connection.render(_UNAUTHORIZED)
        if security.auth.remembers(field):
            return self._pass(connection, request)
        if self._checkers.submit(partial(self._check, connection, request, security.auth, field)):
            return None
        return connection.render(_BUSY)

    def stop(self) -> None:
        self._responders.stop()
        self._checkers.stop()

    def _check(
        self, connection: Connection, request: Request, auth: "BasicAuth", field: str
    ) -> None:
        if connection.phase is ConnectionPhase.ANSWERING:
            # It may have waited behind the same password.
            right = auth.remembers(field) or auth.verify(field)
            self._post(partial(self._checked, connection, request, right))

    def _checked(self, connection: Connection, request: Request, right: bool) -> None:
        if connection.phase is ConnectionPhase.ANSWERING:
            if not right:
                self._answered(connection, connection.render(_UNAUTHORIZED))
            elif rendered := self._pass(connection, request):
                self._answered(connection, rendered)

    def _pass(self, connection: Connection, request: Request) -> RenderedResponse | None:
        quick = self._fast.get(request.path)
        if quick:
            return self._guarded(connection, request, quick)
        if self._responders.submit(partial(self._work, connection, request)):
            return None
        return connection.render(_BUSY)

    def _work(self, connection: Connection, request: Request) -> None:
        # A connection that was given up while it waited costs nothing more.
        if connection.phase is ConnectionPhase.ANSWERING:
            rendered = self._guarded(connection, request, partial(self._respond, request))
            self._post(partial(self._answered, connection, rendered))

    def _guarded(
        self, connection: Connection, request: Request, call: Callable[[], Response]
    ) -> RenderedResponse:
        try:
            return connection.render(call())
        except Exception:  # noqa: BLE001
            # The one place: whatever a page breaks on must cost that page, and not the server.
            _log.exception("answering %s %.200r failed", request.method, request.path)
            return connection.render(_FAILED)
