"""Parses HTTP/1.1 requests and renders responses: GET and HEAD without request bodies (RFC 9112).

An ambiguous request is refused and its connection is closed. Otherwise a proxy in front of this
server and the server could disagree about the end of a request (request smuggling).
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from exporter.errors import ExporterError
from exporter.printable import printable

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/(\d)\.(\d)")
# strip() removes white space around a value later. A pattern for it would take quadratic time.
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)")
_ABSOLUTE_PREFIX = re.compile(r"https?://[^/?#]+", re.IGNORECASE)

#: Header fields that must not be repeated. Of two values, a proxy and this server could use
#: different ones.
_NOT_REPEATABLE = frozenset({"host", "authorization", "content-length", "content-type"})

#: Names in the field Date. Those of strftime depend on the locale. email.utils needs 0.4 MB.
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request, parsed.

    method: GET or HEAD.
    path: the path of the request target; not percent-decoded.
    query: the part after the question mark, or an empty string; not percent-decoded.
    headers: the values of the header fields, keyed by lower-case name.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Response:
    """A response before it is rendered as bytes.

    status: the HTTP status code.
    content_type: the value of the Content-Type field.
    body: the body; it is also given for a HEAD request.
    headers: names and values of header fields that `render_response` does not add itself.
    """

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class RenderedResponse(NamedTuple):
    """A response as bytes.

    head: the status line, the header fields, and the empty line after them.
    body: the body; empty for a HEAD request.
    """

    head: bytes
    body: bytes


class BadRequest(ExporterError):
    """Raised for a request that is refused. The message is the body of the response.

    status: the HTTP status of the response.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def plain_response(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Response:
    """Returns a plain-text response of one line. `text` must not contain data from the client."""
    return Response(status, _PLAIN, f"{printable(text)}\n".encode(), headers)


def error_response(e: BadRequest) -> Response:
    """Returns the response to a refused request, with the status and the message of `e`."""
    allow = (("Allow", "GET, HEAD"),) if e.status is HTTPStatus.METHOD_NOT_ALLOWED else ()
    return plain_response(e.status, str(e), *allow)


def parse_request(head: bytes) -> tuple[Request, bool]:
    """Returns the parsed request, and True if the connection stays open after the response.

    head: the head of the request, without the empty line at its end.

    Raises:
        BadRequest: the status is 400 if the head is not valid HTTP, 405 if the method is neither
            GET nor HEAD, 413 if the request has a body, and 505 if the version is not HTTP/1.
    """
    first, *rest = head.split(b"\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    if not line:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "The request line is not valid HTTP.")
    if line[3] != b"1":
        raise BadRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "Use HTTP/1.1.")
    headers = _fields(rest)
    method, target = line[1].decode(), line[2].decode()
    is_http_1_0 = line[4] == b"0"
    if not is_http_1_0 and "host" not in headers:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "HTTP/1.1 requires the Host field.")
    if method not in {"GET", "HEAD"}:
        raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET or HEAD.")
    if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
        raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Requests must not have a body.")
    path, _, query = _ABSOLUTE_PREFIX.sub("", target, count=1).partition("?")
    if not path.startswith("/"):
        if path or target.startswith("?"):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "The request target is not a path.")
        path = "/"
    options = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    return Request(method, path, query, headers), not is_http_1_0 and "close" not in options


def render_response(
    response: Response,
    *,
    body: bool,
    keep_alive: bool,
    extra_headers: Mapping[str, str],
    unix_time: float,
) -> RenderedResponse:
    """Returns the response as bytes. The body is not copied, so many slow clients can share it.

    body: True for GET. False for HEAD, which has no body in the response.
    keep_alive: True if the connection stays open after the response.
    extra_headers: the header fields of the web configuration, keyed by name.
    unix_time: the time for the Date field, in seconds since 1970.

    Raises:
        ValueError: a header field contains a control character.
    """
    status = HTTPStatus(response.status)
    fields = {
        **_date(unix_time),
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "X-Content-Type-Options": "nosniff",
        **extra_headers,
    }
    if not keep_alive:
        fields["Connection"] = "close"
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in (*fields.items(), *response.headers)]
    for text in lines:
        if not text.isprintable():
            raise ValueError(f"a header field with control characters: {text!r}")
    head = "\r\n".join((*lines, "\r\n")).encode("latin-1")
    return RenderedResponse(head, response.body if body else b"")


def _date(unix_time: float) -> dict[str, str]:
    """Returns the Date field; empty if the clock is wrong, because a year has four digits.

    Without a usable clock, a server must not send the field (RFC 9110, 6.6.1).
    """
    try:
        return {"Date": _http_date(unix_time)}
    except (OverflowError, ValueError, OSError):
        return {}


def _http_date(unix_time: float) -> str:
    """Returns a time in the format of HTTP (RFC 9110, 5.6.7), which is English in every locale."""
    at = time.gmtime(unix_time)
    if not 1 <= at.tm_year <= 9999:
        raise ValueError("the year does not have four digits")
    return (
        f"{_WEEKDAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} {at.tm_year:04}"
        f" {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    )


def _fields(lines: list[bytes]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for text in lines:
        # Folded lines, white space before the colon, and a bare CR or LF do not match.
        field = _FIELD.fullmatch(text)
        if not field:
            raise BadRequest(HTTPStatus.BAD_REQUEST, "A header field is not valid HTTP.")
        name, value = field[1].decode().lower(), field[2].decode("latin-1").strip(" \t")
        if name in fields:
            if name in _NOT_REPEATABLE:
                raise BadRequest(HTTPStatus.BAD_REQUEST, "A header field is repeated.")
            value = f"{fields[name]}, {value}"
        fields[name] = value
    return fields
