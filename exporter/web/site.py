"""Builds the responses of the exporter: /metrics, the pages for people, and the health checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from exporter.metrics.page import PageCache
from exporter.web.http_message import Request, Response, plain_response


@dataclass(frozen=True, slots=True)
class Site:
    """Builds the response to a request according to its path.

    pages: the rendered metrics pages.
    problem: returns the reason why the metrics are not reliable; an empty string if they are.
    is_ready: returns True once the sampler has taken its first sample.
    live: returns the response to a request for a page for people; None for another path.
    """

    pages: PageCache
    problem: Callable[[], str]
    is_ready: Callable[[], bool]
    live: Callable[[Request], Response | None]

    def respond(self, request: Request) -> Response:
        """Returns the response to a request; an unknown path gets 404."""
        if request.path == "/metrics":
            return self._metrics(request)
        return self.live(request) or plain_response(
            HTTPStatus.NOT_FOUND, "Not found. The metrics are at /metrics."
        )

    def fast(self) -> Mapping[str, Callable[[], Response]]:
        """Returns the functions that answer the health checks, keyed by path.

        They do not need a worker thread, so they respond even if all workers are busy.
        """
        return {"/-/healthy": self._healthy, "/-/ready": self._ready}

    def _metrics(self, request: Request) -> Response:
        page = self.pages.page(
            request.headers.get("accept", ""), request.headers.get("accept-encoding", "")
        )
        headers = [("Vary", "Accept, Accept-Encoding")]
        if page.encoding:
            headers.append(("Content-Encoding", page.encoding))
        return Response(HTTPStatus.OK, page.content_type, page.body, tuple(headers))

    def _healthy(self) -> Response:
        if problem := self.problem():
            return plain_response(HTTPStatus.SERVICE_UNAVAILABLE, f"Unhealthy: {problem}.")
        return plain_response(HTTPStatus.OK, "Healthy.")

    def _ready(self) -> Response:
        if not self.is_ready():
            return plain_response(HTTPStatus.SERVICE_UNAVAILABLE, "Not ready: no sample yet.")
        return plain_response(HTTPStatus.OK, "Ready.")
