"""Answers the requests for the pages of people: HTML, live data, stylesheet and script."""

import gzip
import zlib
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote

from exporter.metrics.negotiation import accepts_gzip
from exporter.pages.drive_history import DriveHistory
from exporter.pages.drive_page import drive_page
from exporter.pages.host_page import host_page
from exporter.pages.live_data import live_json
from exporter.pages.views import DriveView, HostView
from exporter.web.http_message import Request, Response, plain_response

if TYPE_CHECKING:
    from exporter.pages.past.past_pages import PastPages

#: The policy of the pages: only the stylesheet, the script and the live data of this server.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HTML = "text/html; charset=utf-8"
_HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
)
_GZIP, _VARY = ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")
_CSS = "text/css; charset=utf-8"
_ASSETS = {
    "/page.css": _CSS,
    "/page.js": "text/javascript; charset=utf-8",
    "/past.css": _CSS,
}

#: Bodies below this size in bytes are sent as they are: compressing them takes longer than sending.
_LEAST_COMPRESSED = 16_384

#: The largest number of a sample in a request, in digits.
_MAX_DIGITS = 15

#: The largest number of fields in a query. The page sends three at most. Each field costs time and
#: memory, and a request has space for 8 KiB of them.
_MAX_FIELDS = 8


class LiveSite:
    """Answers requests for `/`, `/drive/…`, `/events`, `/live.json` and the assets.

    Several threads may call it.

    read: returns the values of the host and its drives; see `SnapshotReader`.
    history: returns the history of a drive, for the page of the drive. It must not block.
    past: loads the pages of the past; None if there are none. It is called once.
    """

    def __init__(
        self,
        read: Callable[[], HostView],
        history: Callable[[DriveView], DriveHistory] = lambda _drive: DriveHistory(),
        past: "Callable[[], PastPages] | None" = None,
    ) -> None:
        self._read = read
        self._history = history
        self._past = None if past is None else lru_cache(maxsize=1)(past)
        folder = Path(__file__).parent
        self._assets = {path: (folder / path[1:]).read_bytes() for path in _ASSETS}
        self._compressed = {path: gzip.compress(body, 9) for path, body in self._assets.items()}
        self._version = f"{zlib.crc32(b''.join(self._assets.values())):08x}"

    def respond(self, request: Request) -> Response | None:
        """Returns the response; None for a path that is not one of the pages."""
        path = request.path
        if path == "/live.json":
            return self._live(request)
        if path in _ASSETS:
            return self._asset(request, path)
        if path == "/":
            return _page(request, host_page(self._read(), self._version))
        if path == "/events" and self._past is not None:
            return _page(request, self._past().events(self._read(), request.query, self._version))
        return self._drive(request) if path.startswith("/drive/") else None

    def _drive(self, request: Request) -> Response:
        name = unquote(request.path.removeprefix("/drive/"))
        view = self._read()
        drive = next((each for each in view.drives if each.name == name), None)
        if drive is None:
            return plain_response(HTTPStatus.NOT_FOUND, "No drive has this name. See /.")
        return _page(request, self._drive_page(view, drive, request.query))

    def _drive_page(self, view: HostView, drive: DriveView, query: str) -> str:
        past = None
        if query and self._past is not None:
            past = self._past().sections(view, drive, query)
        history = self._history(drive)
        has_past = self._past is not None
        return drive_page(view, drive, history, self._version, past, has_past=has_past)

    def _asset(self, request: Request, path: str) -> Response:
        headers: tuple[tuple[str, str], ...] = (("Cache-Control", "max-age=86400"), _VARY)
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            headers = (*headers, _GZIP)
            return Response(HTTPStatus.OK, _ASSETS[path], self._compressed[path], headers)
        return Response(HTTPStatus.OK, _ASSETS[path], self._assets[path], headers)

    def _live(self, request: Request) -> Response:
        try:
            query = parse_qs(request.query, max_num_fields=_MAX_FIELDS)
        except ValueError:
            text = f"The query has more than {_MAX_FIELDS} fields."
            return plain_response(HTTPStatus.BAD_REQUEST, text)
        since = query.get("since", ["0"])[0]
        number = (
            int(since) if since.isascii() and since.isdigit() and len(since) <= _MAX_DIGITS else 0
        )
        only = query.get("drive", [""])[0]
        body = live_json(self._read(), number, only, with_all="all" in query)
        return _compressed(request, "application/json", body, _HEADERS)


def _page(request: Request, text: str) -> Response:
    return _compressed(request, _HTML, text.encode("utf-8", "replace"), _HEADERS)


def _compressed(
    request: Request, content_type: str, body: bytes, headers: tuple[tuple[str, str], ...]
) -> Response:
    accepted = request.headers.get("accept-encoding", "")
    if len(body) >= _LEAST_COMPRESSED and accepts_gzip(accepted):
        body = gzip.compress(body, 1, mtime=0)
        headers = (*headers, _GZIP, _VARY)
    return Response(HTTPStatus.OK, content_type, body, headers)
