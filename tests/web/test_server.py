"""The server as a client sees it."""

import errno
import logging
import selectors
import socket
import subprocess
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.runtime.errors import ConfigError
from exporter.web.event_loop import EventLoop
from exporter.web.http_message import Request, Response
from exporter.web.server import HttpServer
from tests.duration import at_most
from tests.fuzz import examples
from tests.ports import free_ports
from tests.web.http_client import (
    GET,
    GET_HEALTHY,
    PAGE,
    WAIT_SECONDS,
    HangingPage,
    connect,
    get_page,
    is_closed,
    read_response,
    respond_page,
    send_request,
    serving,
)


def test_curl_reads_the_page_and_a_404() -> None:
    with serving() as server:
        url = "http://{}:{}".format(*server.addresses[0])
        code = ["-s", "-w", "%{http_code}"]
        got = [
            subprocess.run(["curl", *code, url + path], capture_output=True, check=True).stdout
            for path in ("/metrics", "/other")
        ]
    assert [PAGE + b"200", b"No such page.\n404"] == got


def test_a_response_has_date_type_and_length() -> None:
    with serving() as server:
        got = send_request(server)
    assert (200, "text/plain", str(len(PAGE))) == (
        got.status,
        got.headers["content-type"],
        got.headers["content-length"],
    )
    assert got.headers["date"].endswith("GMT")
    assert "nosniff" == got.headers["x-content-type-options"]
    assert "server" not in got.headers


def test_respond_receives_the_request() -> None:
    seen: list[Request] = []

    def respond(request: Request) -> Response:
        seen.append(request)
        return Response(200, "text/plain", threading.current_thread().name.encode())

    with serving(respond) as server:
        got = send_request(server, b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: y\r\n\r\n")
    assert [Request("GET", "/a", "b=c", {"host": "x", "accept": "y"})] == seen
    assert got.body.startswith(b"web-respond")


def test_head_returns_the_fields_of_get_without_a_body() -> None:
    with serving() as server, connect(server) as sock:
        sock.sendall(GET.replace(b"GET", b"HEAD") + GET)
        first = read_response(sock, head_only=True)
        assert str(len(PAGE)) == first.headers["content-length"]
        assert PAGE == read_response(sock, first.rest or first.body).body


def test_a_connection_serves_one_request_after_another() -> None:
    with serving() as server, connect(server) as sock:
        for _ in range(50):
            assert PAGE == get_page(sock)


def test_pipelined_requests_are_answered_in_order() -> None:
    def respond(request: Request) -> Response:
        time.sleep(0.02 if request.query == "0" else 0)
        return Response(200, "text/plain", request.query.encode())

    def quick() -> Response:
        return Response(200, "text/plain", b"quick")

    with serving(respond, fast={"/quick": quick}) as server, connect(server) as sock:
        targets = [f"/?{n}" if n % 3 else "/quick" for n in range(99)]
        sock.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % t.encode() for t in targets))
        rest, bodies = b"", []
        for _ in targets:
            got = read_response(sock, rest)
            rest = got.rest
            bodies.append(got.body.decode())
    assert [str(n) if n % 3 else "quick" for n in range(99)] == bodies


def test_a_request_sent_byte_by_byte_is_answered() -> None:
    with serving() as server, connect(server) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"\r\n" + GET:
            sock.sendall(bytes([byte]))
        assert PAGE == read_response(sock).body


def test_a_client_that_closed_its_sending_side_is_answered() -> None:
    with serving() as server, connect(server) as sock:
        sock.sendall(GET)
        sock.shutdown(socket.SHUT_WR)
        assert PAGE == read_response(sock).body
        assert is_closed(sock)


@pytest.mark.parametrize("line", [b"GET /metrics HTTP/1.0", b"GET /metrics HTTP/1.1"])
def test_a_connection_is_closed_on_request(line: bytes) -> None:
    with serving() as server, connect(server) as sock:
        sock.sendall(line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = read_response(sock)
        assert (PAGE, "close") == (got.body, got.headers["connection"])
        assert is_closed(sock)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\x00\xff garbage\r\n\r\n", 400),
        (b"GET /<script>\x00 HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 405),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 413),
        (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 8192 + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * 100_000, 431),
        (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505),
    ],
)
def test_a_refused_request_closes_its_connection(request_: bytes, status: int) -> None:
    with serving() as server, connect(server) as sock:
        sock.sendall(request_ + GET)
        got = read_response(sock)
        assert (status, "close") == (got.status, got.headers["connection"])
        assert b"script" not in got.body
        assert is_closed(sock)
        assert b"" == got.rest
        assert 200 == send_request(server).status


def test_a_refused_method_receives_the_allowed_ones() -> None:
    with serving() as server:
        got = send_request(server, b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (405, "GET, HEAD") == (got.status, got.headers["allow"])


@pytest.mark.parametrize(
    "respond",
    [
        lambda _request: 1 / 0,
        lambda _request: None,
        lambda _request: Response(200, "text/plain", b"", (("X", "a\r\nY: b"),)),
        lambda _request: Response(7, "text/plain", b""),
    ],
)
def test_an_exception_is_a_500_and_one_log_record(
    respond: object, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(respond) as server:  # type: ignore[arg-type]
        got = send_request(server, b"GET /" + b"x" * 1000 + b" HTTP/1.0\r\n\r\n")
        assert (500, b"Internal error; see the log of the exporter.\n") == (got.status, got.body)
        assert 500 == send_request(server).status
    (record,) = (r for r in caplog.records if r.levelno >= logging.ERROR)
    assert len(record.getMessage()) < 300


def test_a_fast_path_responds_while_all_workers_are_busy() -> None:
    page = HangingPage()

    def healthy() -> Response:
        return Response(200, "text/plain", threading.current_thread().name.encode())

    with serving(page.respond, fast={"/-/healthy": healthy}) as server:
        links = [connect(server) for _ in range(6)]
        for sock in links:
            sock.sendall(GET)
        assert b"web" == send_request(server, GET_HEALTHY).body
        page.release.set()
        assert [PAGE] * 6 == [read_response(sock).body for sock in links]
        for sock in links:
            sock.close()


def test_a_port_in_use_is_an_error_with_a_remedy() -> None:
    with serving() as server:
        second = HttpServer(server.addresses, respond_page)
        with pytest.raises(ConfigError) as e:
            second.start()
    assert f"cannot listen on 127.0.0.1:{server.addresses[0][1]}: " in str(e.value)
    assert str(e.value).endswith("or choose another port")
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid", "a" * 70 + ".b", "a..b"])
def test_an_address_of_another_host_is_a_config_error(host: str) -> None:
    with pytest.raises(ConfigError, match="cannot listen on "):
        HttpServer([(host, 0)], respond_page).start()


def test_no_address_stays_bound_if_one_fails() -> None:
    (port,) = free_ports(1)
    free = ("127.0.0.1", port)
    with pytest.raises(ConfigError):
        HttpServer([free, ("203.0.113.7", 0)], respond_page).start()
    with socket.socket() as sock:
        assert errno.ECONNREFUSED == sock.connect_ex(free)


def test_a_server_listens_on_all_addresses_and_all_interfaces() -> None:
    server = HttpServer([("127.0.0.1", 0), ("", 0)], respond_page)
    server.start()
    try:
        for _, port in server.addresses:
            with socket.create_connection(("127.0.0.1", port), 5) as sock:
                assert PAGE == get_page(sock)
    finally:
        server.stop()


def test_stop_takes_half_a_second_even_if_a_page_hangs() -> None:
    page = HangingPage()
    with serving(page.respond) as server, connect(server) as idle, connect(server) as asking:
        asking.sendall(GET)
        assert page.started.wait(WAIT_SECONDS)
        with at_most(0.5):
            server.stop()
        assert not page.ended.is_set()
        assert is_closed(idle)
        assert is_closed(asking)
        with socket.socket() as sock:
            assert errno.ECONNREFUSED == sock.connect_ex(server.addresses[0])
        page.release.set()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(st.binary(max_size=60), st.just(GET), st.just(b"\r\n\r\n")), max_size=6))
def test_any_bytes_on_a_connection_leave_the_server_running(parts: list[bytes]) -> None:
    with serving() as server:
        with connect(server) as sock:
            try:
                for part in parts:
                    sock.sendall(part)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            assert is_closed(sock)
        assert PAGE == send_request(server).body


def wrong(_request: Request | None = None) -> Response:
    """Returns a response whose body is a text, so that it cannot be sent."""
    return Response(200, "text/plain", "not bytes")  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/metrics", "/fast"], ids=["from a worker", "from the loop"])
def test_an_exception_on_the_event_loop_costs_one_connection(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise the thread of the server would end, and no client would get a page any more."""

    def respond(request: Request) -> Response:
        return wrong() if request.path == path else respond_page(request)

    with serving(respond, fast={"/fast": wrong}) as server, connect(server) as other:
        for _ in range(3):
            with connect(server) as sock:
                sock.sendall(GET.replace(b"/metrics", path.encode()))
                assert is_closed(sock)
        other.sendall(GET.replace(b"/metrics", b"/other"))
        assert 404 == read_response(other).status, "earlier connections are still served"
        assert 404 == send_request(server, GET.replace(b"/metrics", b"/other")).status
        assert server.is_alive
    traced = [record for record in caplog.records if record.exc_info]
    assert 1 == len(traced), "the traceback is logged once"
    assert "please report this" in traced[0].message


def test_an_exception_of_a_posted_callback_does_not_end_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop, ran = EventLoop(), threading.Event()
    thread = threading.Thread(target=loop.run, args=(ran.is_set, lambda _now: float("inf")))
    thread.start()
    loop.post(lambda: 1 / 0)  # type: ignore[arg-type]
    loop.post(ran.set)
    thread.join(WAIT_SECONDS)
    loop.close()
    assert ran.is_set()
    assert 1 == sum("ZeroDivisionError" in (r.exc_text or "") for r in caplog.records)


def test_a_socket_whose_callback_raises_is_no_longer_watched() -> None:
    """Its event would occur again at once, and the loop would use a whole CPU."""
    calls: list[int] = []
    done = threading.Event()

    def fail() -> None:
        calls.append(1)
        raise ValueError

    loop, (mine, other) = EventLoop(), socket.socketpair()
    with mine, other:
        other.send(b"x")
        loop.watch(mine, 0, selectors.EVENT_READ, fail)
        for _ in range(20):
            loop.post(lambda: None)
        loop.post(done.set)
        loop.run(done.is_set, lambda _now: float("inf"))
        loop.close()
    assert [1] == calls


def test_an_exception_of_the_timer_does_not_end_the_loop() -> None:
    turns = iter(range(3))

    def timer(_now: float) -> float:
        raise ValueError

    loop = EventLoop()
    loop.post(lambda: None)
    loop.run(lambda: next(turns, None) is None, timer)
    loop.close()
