"""Parsing of requests and rendering of responses."""

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.web.http_message import (
    BadRequest,
    Request,
    Response,
    parse_request,
    plain_response,
    render_response,
)


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


def test_a_request_has_path_query_and_lower_case_header_names() -> None:
    text = head("GET /metrics?a=%20&b HTTP/1.1", "Host: db1:10177", "ACCEPT:  text/plain \t")
    request = Request("GET", "/metrics", "a=%20&b", {"host": "db1:10177", "accept": "text/plain"})
    assert (request, True) == parse_request(text)


def test_a_repeated_field_is_one_list() -> None:
    text = head("GET / HTTP/1.1", "Host: x", "Accept: a", "Accept: b")
    assert "a, b" == parse_request(text)[0].headers["accept"]


@pytest.mark.parametrize(
    ("line", "field", "kept"),
    [
        ("GET / HTTP/1.1", "Accept: a", True),
        ("GET / HTTP/1.1", "Connection: close", False),
        ("GET / HTTP/1.1", "Connection: TE , Close", False),
        ("GET / HTTP/1.0", "Accept: a", False),
        ("GET / HTTP/1.0", "Connection: keep-alive", False),
    ],
)
def test_a_connection_is_kept_unless_the_client_requests_its_close(
    line: str, field: str, *, kept: bool
) -> None:
    assert kept == parse_request(head(line, "Host: x", field))[1]


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("http://db1:10177/metrics?x", "/metrics", "x"),
        ("HTTP://db1", "/", ""),
        ("http://db1?x", "/", "x"),
        ("//metrics", "//metrics", ""),
        ("/a?b?c", "/a", "b?c"),
    ],
)
def test_a_target_may_be_absolute(target: str, path: str, query: str) -> None:
    request, _ = parse_request(head(f"GET {target} HTTP/1.1", "Host: x"))
    assert (path, query) == (request.path, request.query)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([""], 400),
        (["GET"], 400),
        (["GET /"], 400),
        (["GET  / HTTP/1.1", "Host: x"], 400),
        (["GET / HTTP/1.1 ", "Host: x"], 400),
        (["GET /\x00 HTTP/1.1", "Host: x"], 400),
        (["GET /ü HTTP/1.1", "Host: x"], 400),
        (["GET metrics HTTP/1.1", "Host: x"], 400),
        (["GET * HTTP/1.1", "Host: x"], 400),
        (["GET ?x HTTP/1.1", "Host: x"], 400),
        (["GET / HTTP/1.1"], 400),
        (["GET / HTTP/1.1", "Host: x", "Host: y"], 400),
        (["GET / HTTP/1.1", "Host : x"], 400),
        (["GET / HTTP/1.1", "Host: x", " folded"], 400),
        (["GET / HTTP/1.1", "Host: x\nX-Smuggled: 1"], 400),
        (["GET / HTTP/1.1", "Host: x\rX: 1"], 400),
        (["GET / HTTP/1.1", "Host: x", "X: a\x00b"], 400),
        (["GET / HTTP/1.1", "Host: x", "Authorization: a", "Authorization: b"], 400),
        (["GET / HTTP/1.1", "Host: x", ": empty"], 400),
        (["POST / HTTP/1.1", "Host: x", "Content-Length: 5"], 405),
        (["CONNECT db1:80 HTTP/1.1", "Host: x"], 405),
        (["OPTIONS * HTTP/1.1", "Host: x"], 405),
        (["get / HTTP/1.1", "Host: x"], 405),
        (["GET / HTTP/1.1", "Host: x", "Content-Length: 1"], 413),
        (["GET / HTTP/1.1", "Host: x", "Content-Length: 00"], 413),
        (["GET / HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"], 413),
        (["GET / HTTP/2.0", "Host: x"], 505),
        (["PRI * HTTP/2.0", "Host: x"], 505),
    ],
)
def test_other_requests_than_plain_get_and_head_are_refused(lines: list[str], status: int) -> None:
    with pytest.raises(BadRequest) as e:
        parse_request(head(*lines))
    assert status == e.value.status


def test_a_content_length_of_0_is_accepted() -> None:
    assert parse_request(head("GET / HTTP/1.1", "Host: x", "Content-Length: 0"))[1]


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    try:
        request, _ = parse_request(data)
    except BadRequest:
        return
    assert request.path.startswith("/")


@given(
    st.lists(
        st.sampled_from(
            [b"GET", b" ", b"/", b"HTTP/1.1", b"\r\n", b"\r", b"\n", b"Host", b":", b"x", b"\t",
             b"Content-Length", b"Transfer-Encoding", b"chunked", b"0", b"\xff", b"http://", b"?"]
        )
    )
)  # fmt: skip
def test_any_http_like_text_is_parsed_without_a_body_or_refused(parts: list[bytes]) -> None:
    try:
        request, _ = parse_request(b"".join(parts))
    except BadRequest:
        return
    assert "transfer-encoding" not in request.headers
    assert "0" == request.headers.get("content-length", "0")
    assert not any("\n" in text or "\r" in text for text in request.headers.values())


def test_long_runs_of_spaces_are_parsed_quickly() -> None:
    """A pattern that tries every split of 8,000 spaces would block the loop for seconds."""
    with pytest.raises(BadRequest):
        parse_request(b"GET / HTTP/1.1\r\nHost: x\r\nX:" + b" \t" * 200_000 + b"\x00")


def rendered(response: Response, *, body: bool = True, keep: bool = True) -> bytes:
    extra = {"X-Frame-Options": "deny"}
    return b"".join(
        render_response(response, body=body, keep_alive=keep, extra_headers=extra, unix_time=0)
    )


def test_a_response_has_header_fields_and_a_body() -> None:
    expected = (
        b"HTTP/1.1 200 OK\r\n"
        b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        b"Content-Type: text/plain\r\n"
        b"Content-Length: 3\r\n"
        b"X-Content-Type-Options: nosniff\r\n"
        b"X-Frame-Options: deny\r\n"
        b"Content-Encoding: gzip\r\n"
        b"\r\n"
        b"abc"
    )
    made = Response(200, "text/plain", b"abc", (("Content-Encoding", "gzip"),))
    assert expected == rendered(made)
    assert expected[:-3] == rendered(made, body=False)
    assert b"Connection: close\r\n" in rendered(made, keep=False)


def test_the_body_is_not_copied() -> None:
    made = Response(200, "text/plain", b"abc")
    assert (
        made.body
        is render_response(made, body=True, keep_alive=True, extra_headers={}, unix_time=0).body
    )


@pytest.mark.parametrize("bad", ["a\r\nX: 1", "a\n", "\x00", "\N{SNOWMAN}"])
def test_a_field_cannot_contain_another_field(bad: str) -> None:
    with pytest.raises(ValueError, match=r"control characters|latin-1"):
        rendered(Response(200, bad, b""))
    with pytest.raises(ValueError, match=r"control characters|latin-1"):
        rendered(Response(200, "text/plain", b"", (("X", bad),)))


def test_a_plain_text_response_has_its_content_type() -> None:
    expected = Response(404, "text/plain; charset=utf-8", b"No.\n", (("A", "b"),))
    assert expected == plain_response(HTTPStatus.NOT_FOUND, "No.", ("A", "b"))


@pytest.mark.parametrize("unix_time", [253_402_300_800.0, 1e17, -1e17], ids=["next", "far", "past"])
def test_a_clock_beyond_the_year_9999_costs_only_the_date(unix_time: float) -> None:
    """Before, every response failed with ValueError, because a year has four digits."""
    head, body = render_response(
        Response(200, "text/plain", b"page"),
        body=True,
        keep_alive=True,
        extra_headers={},
        unix_time=unix_time,
    )
    assert b"Date:" not in head
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"page" == body
