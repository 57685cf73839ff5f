"""What is served where: the metrics, two checks, and a short page that links to them."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

from exporter.metrics.page import PageCache
from exporter.web import status_page
from exporter.web.http_message import Request, Response, plain_response

_HTML = "text/html; charset=utf-8"

#: A heading and the rows below it, as plain text.
Table = Sequence[Sequence[str]]


class Site:
    """Answers requests.

    `problem` says why the page is not to be trusted, empty if it is; `is_ready` whether there is
    one; `overview` what is watched, a heading first.
    """

    def __init__(
        self,
        pages: PageCache,
        problem: Callable[[], str],
        is_ready: Callable[[], bool],
        overview: Callable[[], Table],
    ) -> None:
        self._pages = pages
        self._problem = problem
        self._is_ready = is_ready
        self._overview = overview
        self._paths: Mapping[str, Callable[[Request], Response]] = {
            "/metrics": self._metrics,
            "/": self._index,
        }

    def respond(self, request: Request) -> Response:
        """The answer to one request."""
        answer = self._paths.get(request.path)
        if answer is None:
            return plain_response(
                HTTPStatus.NOT_FOUND, "Nothing is served here. Metrics are at /metrics."
            )
        return answer(request)

    def fast(self) -> Mapping[str, Callable[[], Response]]:
        """What is answered at once, whatever the workers do."""
        return {"/-/healthy": self._healthy, "/-/ready": self._ready}

    def _metrics(self, request: Request) -> Response:
        page = self._pages.page(
            request.headers.get("accept", ""), request.headers.get("accept-encoding", "")
        )
        headers = [("Vary", "Accept, Accept-Encoding")]
        if page.encoding:
            headers.append(("Content-Encoding", page.encoding))
        return Response(HTTPStatus.OK, page.content_type, page.body, tuple(headers))

    def _healthy(self) -> Response:
        if problem := self._problem():
            return plain_response(HTTPStatus.SERVICE_UNAVAILABLE, f"Unhealthy: {problem}.")
        return plain_response(HTTPStatus.OK, "Healthy.")

    def _ready(self) -> Response:
        if not self._is_ready():
            return plain_response(HTTPStatus.SERVICE_UNAVAILABLE, "Not ready: no sample yet.")
        return plain_response(HTTPStatus.OK, "Ready.")

    def _index(self, _request: Request) -> Response:
        problem = self._problem()
        state = f"Not well: {problem}." if problem else "All is being sampled."
        page = status_page.render_page(state, self._overview())
        return Response(HTTPStatus.OK, _HTML, page.encode("utf-8", "replace"))
