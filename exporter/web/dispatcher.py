"""Authenticates requests, and answers them on the event loop or on worker threads.

bcrypt and the rendering of pages are slow, so they run on worker threads and not on the event loop.
The queues of the worker threads have a maximum length.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus

from exporter.runtime.logs import UnexpectedErrors
from exporter.web.connection import Connection, ConnectionPhase
from exporter.web.http_message import RenderedResponse, Request, Response, plain_response
from exporter.web.password_record import PasswordRecord
from exporter.web.security import ReloadableSecurity
from exporter.web.workers import Job, QueueLimits, WorkerPool

_log = logging.getLogger(__name__)

Respond = Callable[[Request], Response]
#: Functions that build a response on the event loop, keyed by path. They must not block.
FastPaths = Mapping[str, Callable[[], Response]]

_UNAUTHORIZED = plain_response(
    HTTPStatus.UNAUTHORIZED,
    "User name and password required.",
    ("WWW-Authenticate", 'Basic realm="ssd-exporter", charset="UTF-8"'),
)
_BUSY = plain_response(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "Too many requests are waiting; retry in a second.",
    ("Retry-After", "1"),
)
_TOO_MANY = plain_response(
    HTTPStatus.TOO_MANY_REQUESTS,
    "More requests than rate_limit in the web configuration allows.",
)
_FAILED = plain_response(
    HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error; see the log of the exporter."
)


#: The paths that an open page requests by itself.
LIVE_PATHS = frozenset({"/live.json", "/page.css", "/page.js"})

#: The path that Prometheus requests. Its requests go before those for the pages for people.
_SCRAPE_PATH = "/metrics"

#: Number of threads of each pool. Two threads can use two CPUs in bcrypt and in zlib.
_THREADS = 2

#: Requests that are answered after others (pages for people, passwords of addresses whose last
#: password was wrong) may use one of this number of connections to wait. So the others remain for
#: scrapes and health checks. 32 of 64 are enough for five browsers, which open six each.
_MAX_BEHIND_SHARE = 2

#: A client address may use one of this number of connections to wait for bcrypt.
_MAX_CHECKS_SHARE = 4


class RequestDispatcher:
    """Answers a request at once, or passes it to a worker thread.

    bcrypt has its own two threads and its own queue, which is short for each client address, and in
    which addresses with wrong passwords wait behind the others. So requests with wrong passwords
    neither delay authenticated requests, nor occupy all connections, nor keep the right password of
    another address from being checked. Two other threads build the pages. At most one of them
    builds a page for people, and scrapes go first. So a page for people delays no scrape, except by
    the CPU time that it takes meanwhile.

    respond: builds a response; called on a worker thread.
    fast: functions that build a response on the event loop, keyed by path.
    security: the security settings; they are refreshed at each request.
    connections: the maximum number of connections.
    post: makes the event loop run a callback. Other threads may call it.
    deliver: sends a response that was not ready when `dispatch` returned; called on the event loop.
    """

    def __init__(
        self,
        respond: Respond,
        fast: FastPaths,
        security: ReloadableSecurity,
        *,
        connections: int,
        post: Callable[[Callable[[], None]], None],
        deliver: Callable[[Connection, RenderedResponse], None],
    ) -> None:
        self._respond = respond
        self._fast = fast
        self._security = security
        self._post = post
        self._deliver = deliver
        self._errors = UnexpectedErrors(_log)
        self._passwords = PasswordRecord()
        behind = max(1, connections // _MAX_BEHIND_SHARE)
        self._responders = WorkerPool(
            "web-respond",
            _THREADS,
            QueueLimits(
                waiting=connections,
                waiting_of_client=connections,
                waiting_behind=behind,
                running_of_client=_THREADS,
                running_behind=_THREADS - 1,
            ),
        )
        self._authenticators = WorkerPool(
            "web-bcrypt",
            _THREADS,
            QueueLimits(
                waiting=connections,
                waiting_of_client=max(1, connections // _MAX_CHECKS_SHARE),
                waiting_behind=behind,
                running_of_client=1,
                running_behind=_THREADS,
            ),
            finishes_at_exit=True,
        )

    def dispatch(self, connection: Connection, request: Request) -> RenderedResponse | None:
        """Returns the response to a request; None if it will be passed to `deliver` later.

        Call it on the thread of the event loop.

        Raises:
            ConnectionAbortedError: the connection was made under other settings for TLS or client
                certificates, and must be closed without a response.
        """
        self._security.refresh()
        security = self._security.current
        if connection.access != security.access:
            raise ConnectionAbortedError
        connection.extra_headers = security.headers or {}
        field = request.headers.get("authorization")
        is_known = security.auth is None or (field is not None and security.auth.is_cached(field))
        # A page in a browser requests its live data each second. These requests have a limit of
        # their own, so that one viewer does not use up the requests of Prometheus.
        is_live = is_known and request.path in LIVE_PATHS
        limit = security.live_limit if is_live else security.rate_limit
        if limit and not limit.take(time.monotonic()):
            return connection.render(_TOO_MANY)
        if security.auth is None:
            return self._dispatch_authenticated(connection, request)
        if field is None:
            return connection.render(_UNAUTHORIZED)
        if is_known:
            return self._dispatch_authenticated(connection, request)
        run = partial(self._authenticate, connection, request, field)
        rank = partial(self._passwords.rank, connection.peer, connection.network)
        is_queued = self._authenticators.submit(self._job(connection, run, rank))
        return None if is_queued else connection.render(_BUSY)

    def stuck_seconds(self, now: float) -> float:
        """Returns for how long no worker thread has started or ended a job; 0 if none has a job.

        now: the monotonic time.
        """
        pools = (self._responders, self._authenticators)
        stuck = [seconds for pool in pools if (seconds := pool.stuck_seconds(now)) is not None]
        return min(stuck, default=0.0)

    def stop(self) -> None:
        """Drop all queued requests and end the worker threads, without waiting for them."""
        self._responders.stop()
        self._authenticators.stop()

    def _authenticate(self, connection: Connection, request: Request, field: str) -> None:
        """Check the password of a request. This method runs on a worker thread."""
        if connection.phase is ConnectionPhase.PROCESSING:
            # The configuration may have changed, and the same password may have been checked, while
            # this request waited.
            auth = self._security.current.auth
            try:
                is_valid = auth is None or auth.is_cached(field) or auth.verify(field)
            except Exception as e:  # noqa: BLE001
                # An error must not end the worker thread, and must not grant access.
                self._errors.record(e, "checking a password failed")
                self._post(partial(self._deliver, connection, connection.render(_FAILED)))
                return
            # Before this thread takes its next job, because the result changes the order.
            self._passwords.add(connection.peer, connection.network, is_right=is_valid)
            self._post(partial(self._authenticated, connection, request, is_valid))

    def _authenticated(self, connection: Connection, request: Request, is_valid: bool) -> None:
        """Answer a request whose password was checked. This method runs on the event loop."""
        if connection.phase is ConnectionPhase.PROCESSING:
            if not is_valid:
                self._deliver(connection, connection.render(_UNAUTHORIZED))
            elif rendered := self._dispatch_authenticated(connection, request):
                self._deliver(connection, rendered)

    def _dispatch_authenticated(
        self, connection: Connection, request: Request
    ) -> RenderedResponse | None:
        respond_fast = self._fast.get(request.path)
        if respond_fast:
            return self._render(connection, request, respond_fast)
        run = partial(self._work, connection, request)
        rank = 0 if request.path == _SCRAPE_PATH else 1
        is_queued = self._responders.submit(self._job(connection, run, lambda: rank))
        return None if is_queued else connection.render(_BUSY)

    def _job(self, connection: Connection, run: Callable[[], None], rank: Callable[[], int]) -> Job:
        return Job(
            connection.peer,
            run,
            is_needed=lambda: connection.phase is ConnectionPhase.PROCESSING,
            refuse=partial(self._post, partial(self._refuse, connection)),
            rank=rank,
        )

    def _refuse(self, connection: Connection) -> None:
        """Answer a request that has lost its place in a queue. This method runs on the loop."""
        if connection.phase is ConnectionPhase.PROCESSING:
            self._deliver(connection, connection.render(_BUSY))

    def _work(self, connection: Connection, request: Request) -> None:
        """Build the response to a request. This method runs on a worker thread."""
        # The connection may have been closed or timed out while its request waited.
        if connection.phase is ConnectionPhase.PROCESSING:
            rendered = self._render(connection, request, partial(self._respond, request))
            self._post(partial(self._deliver, connection, rendered))

    def _render(
        self, connection: Connection, request: Request, respond: Callable[[], Response]
    ) -> RenderedResponse:
        try:
            return connection.render(respond())
        except Exception as e:  # noqa: BLE001
            # An error while building a page must not end the worker thread.
            self._errors.record(e, f"answering {request.method} {request.path!r:.200} failed")
            return connection.render(_FAILED)
