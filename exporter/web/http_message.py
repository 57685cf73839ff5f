"""HTTP/1.1 messages, as much of RFC 9112 as a scrape needs: GET and HEAD, and no bodies.

A request that could be read in two ways is refused and its connection closed, so nothing between
a client and this server can disagree with it about where a request ends.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple

from exporter.errors import ExporterError

_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")
# The spaces around a value are stripped later: a pattern that knows them takes quadratic time.
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)")
_ABSOLUTE = re.compile(r"https?://[^/?#]+", re.IGNORECASE)

#: Twice the same field with different values would mean different requests to different readers.
_SINGLE = frozenset({"host", "authorization", "content-length", "content-type"})

_PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """`path` and `query` are as sent, not percent-decoded; names of `headers` are lower-case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class RenderedResponse(NamedTuple):
    head: bytes
    body: bytes


class BadRequest(ExporterError):
    """A request that is refused before anything looks at it; `status` says why."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def plain_response(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Response:
    """An answer of one line. `text` must not repeat what the client sent."""
    return Response(status, _PLAIN, f"{text}\n".encode(), headers)


def refusal_response(e: BadRequest) -> Response:
    allow = (("Allow", "GET, HEAD"),) if e.status is HTTPStatus.METHOD_NOT_ALLOWED else ()
    return plain_response(e.status, str(e), *allow)


def parse_request(head: bytes) -> tuple[Request, bool]:
    """A request from its head, without the empty line; and whether its connection is kept.

    Raises BadRequest: 400 what is no HTTP, 405 another method, 413 a body, 505 another version.
    """
    first, *rest = head.split(b"\r\n")
    line = _LINE.fullmatch(first)
    if not line:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "The request line is not HTTP.")
    if line[3] != b"1":
        raise BadRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "Use HTTP/1.1.")
    headers = _fields(rest)
    method, target, old = line[1].decode(), line[2].decode(), line[4] == b"0"
    if not old and "host" not in headers:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "HTTP/1.1 needs the Host field.")
    if method not in {"GET", "HEAD"}:
        raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET or HEAD.")
    if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
        raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Requests have no body here.")
    path, _, query = _ABSOLUTE.sub("", target, count=1).partition("?")
    if not path.startswith("/"):
        if path or target.startswith("?"):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "The request target is not a path.")
        path = "/"
    options = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    return Request(method, path, query, headers), not old and "close" not in options


def render_response(
    response: Response,
    *,
    body: bool,
    keep: bool,
    extra: Mapping[str, str],
    seconds: float,
) -> RenderedResponse:
    """The answer as it is written; the body is not copied, so many slow readers share one.

    `extra` are the fields of the web configuration, `seconds` the time since the epoch. Raises
    ValueError where a field would break the message.
    """
    status = HTTPStatus(response.status)
    fields = {
        "Date": formatdate(seconds, usegmt=True),
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "X-Content-Type-Options": "nosniff",
        **extra,
    }
    if not keep:
        fields["Connection"] = "close"
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in (*fields.items(), *response.headers)]
    for text in lines:
        if not text.isprintable():
            raise ValueError(f"a header field with control characters: {text!r}")
    head = "\r\n".join((*lines, "\r\n")).encode("latin-1")
    return RenderedResponse(head, response.body if body else b"")


def _fields(lines: list[bytes]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for text in lines:
        # A folded line, a space before the colon and a bare CR or LF do not match.
        field = _FIELD.fullmatch(text)
        if not field:
            raise BadRequest(HTTPStatus.BAD_REQUEST, "A header field is not HTTP.")
        name, value = field[1].decode().lower(), field[2].decode("latin-1").strip(" \t")
        if name in fields:
            if name in _SINGLE:
                raise BadRequest(HTTPStatus.BAD_REQUEST, "A header field stands twice.")
            value = f"{fields[name]}, {value}"
        fields[name] = value
    return fields
