"""The limits on what one client can use, and the eviction of connections."""

import os
import resource
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import bcrypt
import pytest

from exporter.web.connection import Connection, ConnectionPhase
from exporter.web.eviction import GRACE_SECONDS
from exporter.web.http_message import Request, Response
from exporter.web.server import HttpServer
from tests.duration import at_most, wait_until
from tests.web.http_client import (
    GET,
    PAGE,
    PATIENT,
    WAIT_SECONDS,
    HangingPage,
    authorized,
    becomes_true,
    connect,
    get_page,
    is_closed,
    phases,
    read_response,
    receive,
    respond_page,
    send_request,
    serving,
)

BIG = Response(200, "text/plain", b"x" * 30_000_000)


def big(request: Request) -> Response:
    return BIG if request.path == "/big" else respond_page(request)


def open_connections(server: HttpServer) -> int:
    return len(server._connections)


def ends_after(connection: Connection, phase: ConnectionPhase, seconds: float) -> bool:
    """True if the connection is in this phase and has this time from its start to its deadline."""
    deadline = connection.phase_since + seconds
    return (phase, deadline) == (connection.phase, connection.deadline)


def bring_deadlines_forward(server: HttpServer) -> None:
    """Changes the deadline of each connection to a moment from now.

    A test that waited for a deadline of a few seconds would fail if the machine needs longer than
    that to bring the connection into the phase of the test.
    """

    def change() -> None:
        for connection in server._connections:
            connection.deadline = time.monotonic() + 0.2
            server._watch(connection)

    server._loop.post(change)


@contextmanager
def connected(
    server: HttpServer, count: int, source: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        yield [opened.enter_context(connect(server, source)) for _ in range(count)]


def test_a_silent_client_is_closed_at_the_deadline_without_a_response() -> None:
    with serving(limits=replace(PATIENT, request_seconds=0.4)) as server:
        start = time.monotonic()
        with connect(server) as sock, at_most(0.8):
            assert b"" == sock.recv(100)
        assert 0.4 <= time.monotonic() - start


def test_a_slow_request_receives_408() -> None:
    """Bytes that arrive do not extend the deadline."""

    def response() -> bytes:
        with connect(server) as sock:
            with at_most(2.4):
                sock.settimeout(0.05)
                data = b""
                for byte in GET[:-2]:
                    try:
                        sock.sendall(bytes([byte]))
                        data = sock.recv(4096)
                        break
                    except TimeoutError:
                        continue
                sock.settimeout(WAIT_SECONDS)
                data = data or sock.recv(4096)
            assert is_closed(sock)
            return data

    with serving(limits=replace(PATIENT, request_seconds=2.0)) as server:
        # If the process stalls until the deadline before it reads a byte, there is no response.
        while not (received := response()):
            pass
        assert received.startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_an_idle_connection_has_another_deadline_than_a_request() -> None:
    limits = replace(PATIENT, idle_seconds=0.4)
    with serving(limits=limits) as server:
        start = time.monotonic()
        with connect(server) as sock:
            assert PAGE == get_page(sock)
            with at_most(0.8):
                assert b"" == sock.recv(100)
        assert 0.4 <= time.monotonic() - start


def test_an_idle_connection_outlives_the_deadline_of_its_request() -> None:
    with serving() as server, connect(server) as sock:
        assert PAGE == get_page(sock)
        (connection,) = server._connections
        assert becomes_true(
            lambda: ends_after(connection, ConnectionPhase.IDLE, PATIENT.idle_seconds)
        )
        sock.sendall(GET[:10])
        assert becomes_true(
            lambda: ends_after(connection, ConnectionPhase.READING, PATIENT.request_seconds)
        )
        assert PAGE == get_page(sock, GET[10:])


def test_each_request_of_a_connection_has_its_own_deadline() -> None:
    with serving() as server, connect(server) as sock:
        assert PAGE == get_page(sock, GET + GET[:10])
        (connection,) = server._connections
        assert becomes_true(
            lambda: ends_after(connection, ConnectionPhase.READING, PATIENT.request_seconds)
        )
        bring_deadlines_forward(server)
        assert receive(sock).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_reads_its_response_too_slowly_is_reset() -> None:
    """Bytes that it reads do not extend the deadline."""
    with serving(big) as server, connect(server) as sock:
        assert becomes_true(lambda: open_connections(server) == 1)
        (connection,) = server._connections
        deadline = connection.deadline
        sock.sendall(GET.replace(b"/metrics", b"/big"))
        sock.recv(1)
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.WRITING])
        assert deadline == connection.deadline
        with at_most(0.8):
            bring_deadlines_forward(server)
            assert becomes_true(lambda: open_connections(server) == 0)
        assert PAGE == send_request(server).body


def test_a_client_receives_all_of_a_large_response() -> None:
    with serving(big) as server:
        assert BIG.body == send_request(server, GET.replace(b"/metrics", b"/big")).body


def test_a_client_receives_all_of_a_large_response_over_tls(
    tls_yml: Path, trusting: ssl.SSLContext
) -> None:
    with serving(big, web_config=tls_yml) as server:
        for size in (1, 2):
            request = GET.replace(b"/metrics", b"/big") * size
            assert BIG.body == send_request(server, request, trusting).body


def test_a_response_that_takes_too_long_is_a_503() -> None:
    page = HangingPage()

    with serving(page.respond) as server, connect(server) as sock:
        assert becomes_true(lambda: open_connections(server) == 1)
        (connection,) = server._connections
        deadline = connection.deadline
        sock.sendall(GET)
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.PROCESSING])
        assert deadline == connection.deadline
        bring_deadlines_forward(server)
        got = read_response(sock)
        assert (503, "close") == (got.status, got.headers["connection"])
        page.release.set()
        assert is_closed(sock)
        assert b"" == got.rest
        assert 200 == send_request(server).status


def test_an_unfinished_tls_handshake_is_closed_and_does_not_delay_others(
    tls_yml: Path, trusting: ssl.SSLContext
) -> None:
    with (
        serving(web_config=tls_yml) as server,
        connect(server) as silent,
        connect(server) as torn,
    ):
        torn.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert PAGE == send_request(server, context=trusting).body
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.HANDSHAKE] * 2)
        for connection in server._connections:
            assert ends_after(connection, ConnectionPhase.HANDSHAKE, PATIENT.request_seconds)
        with at_most(1.2):
            bring_deadlines_forward(server)
            assert is_closed(silent)
            assert is_closed(torn)


def test_a_full_server_evicts_the_oldest_connection_without_a_request() -> None:
    with serving(limits=replace(PATIENT, connections=8)) as server, connected(server, 8) as silent:
        assert becomes_true(lambda: open_connections(server) == 8)
        with connect(server) as sock:
            assert PAGE == get_page(sock)
            assert is_closed(silent[0])
            assert not is_closed(silent[1], 0.1)
            assert 8 == open_connections(server)


def test_a_keep_alive_connection_survives_many_silent_ones() -> None:
    with serving(limits=replace(PATIENT, connections=8)) as server, connect(server) as sock:
        assert PAGE == get_page(sock)
        with connected(server, 30):
            assert becomes_true(lambda: open_connections(server) == 8)
            assert PAGE == get_page(sock)


def test_many_idle_connections_are_evicted_for_a_slow_new_one() -> None:
    with serving(limits=replace(PATIENT, connections=8)) as server, connected(server, 20) as herd:
        for sock in herd:
            try:
                sock.sendall(GET)
                read_response(sock)
            except OSError:
                continue
        with connect(server) as slow, connected(server, 2):
            time.sleep(0.1)
            assert PAGE == get_page(slow)


def test_many_connections_of_one_address_do_not_evict_another_address() -> None:
    with (
        serving(limits=replace(PATIENT, connections=8)) as server,
        connect(server, "127.0.0.2") as slow,
        connected(server, 40),
    ):
        assert becomes_true(lambda: open_connections(server) == 8)
        assert PAGE == get_page(slow)


@pytest.mark.parametrize("round_trip_seconds", [0.0, 4 * GRACE_SECONDS])
def test_a_client_within_its_handshake_survives_many_silent_ones(
    tls_yml: Path,
    trusting: ssl.SSLContext,
    round_trip_seconds: float,
) -> None:
    limits = replace(PATIENT, connections=8)
    with serving(limits=limits, web_config=tls_yml) as server, connect(server) as sock:
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = trusting.wrap_bio(received, sent, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            hello.do_handshake()
        sock.sendall(sent.read())
        received.write(receive(sock))
        time.sleep(round_trip_seconds)
        with connected(server, 40):
            assert becomes_true(lambda: open_connections(server) == 8)
            while sent.pending == 0:
                try:
                    hello.do_handshake()
                except ssl.SSLWantReadError:
                    received.write(receive(sock))
            hello.write(GET)
            sock.sendall(sent.read())
            assert receive(sock)


def test_a_sent_response_can_be_read_after_its_connection_was_evicted() -> None:
    body = b"x" * 200_000

    def metrics() -> Response:
        return Response(200, "text/plain", body)

    limits = replace(PATIENT, connections=4)
    with (
        serving(limits=limits, fast={"/metrics": metrics}) as server,
        connected(server, 4) as links,
    ):
        for sock in links:
            sock.sendall(GET)
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.IDLE] * 4)
        with connected(server, 2) as newer:
            for sock in newer:
                assert body == get_page(sock)
            assert [body] * 4 == [read_response(sock).body for sock in links]


def test_slow_readers_are_evicted_for_a_new_connection() -> None:
    with (
        serving(big, limits=replace(PATIENT, connections=8)) as server,
        connected(server, 8) as readers,
    ):
        for sock in readers:
            sock.sendall(GET.replace(b"/metrics", b"/big"))
            sock.recv(1)
        assert PAGE == send_request(server).body


def test_bytes_of_earlier_responses_do_not_protect_a_client_that_has_stopped_reading() -> None:
    """The other one is new, and has read more of its response."""
    request = GET.replace(b"/metrics", b"/big")
    with (
        serving(big, limits=replace(PATIENT, connections=2)) as server,
        connect(server) as old,
        connect(server) as new,
    ):
        for sock in (old, new):
            # Otherwise the kernel may acknowledge all of a response that its client does not read.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        assert BIG.body == get_page(old, request)
        for sock, least in ((old, 1), (new, len(BIG.body) * 2 // 3)):
            sock.sendall(request)
            received = len(receive(sock))
            while received < least:
                received += len(receive(sock))
        assert PAGE == send_request(server).body
        assert is_closed(old)
        while received < len(BIG.body):
            received += len(receive(new))


def test_a_server_whose_workers_hang_responds_503_and_limits_its_queue() -> None:
    page = HangingPage()

    with (
        serving(page.respond, limits=replace(PATIENT, connections=8)) as server,
        connected(server, 8) as links,
    ):
        for sock in links:
            sock.sendall(GET)
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.PROCESSING] * 8)
        with at_most(1.5):
            assert 503 == send_request(server).status
        assert not page.release.is_set()
        page.release.set()
        assert [200] * 8 == [read_response(sock).status for sock in links]


def test_a_new_client_waits_while_all_workers_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    # No request of a slow client is late, and no worker hangs.
    monkeypatch.setattr("exporter.web.eviction.GRACE_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr("exporter.web.eviction.HANG_SECONDS", WAIT_SECONDS)

    def respond(_request: Request) -> Response:
        time.sleep(0.05)
        return Response(200, "text/plain", PAGE)

    with (
        serving(respond, limits=replace(PATIENT, connections=4)) as server,
        connected(server, 16) as links,
    ):
        for sock in links:
            sock.sendall(GET[:-2] + b"Connection: close\r\n\r\n")
        assert [200] * 16 == [read_response(sock).status for sock in links]


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(lowest)


def test_without_free_descriptors_the_server_waits_without_spinning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[float] = []
    turns: list[float] = []
    accept, tick = HttpServer._accept, HttpServer._tick

    def counted_accept(server: HttpServer, listener: socket.socket) -> None:
        attempts.append(time.monotonic())
        accept(server, listener)

    def counted_tick(server: HttpServer, now: float) -> float:
        turns.append(now)
        return tick(server, now)

    monkeypatch.setattr(HttpServer, "_accept", counted_accept)
    monkeypatch.setattr(HttpServer, "_tick", counted_tick)
    with serving() as server, ExitStack() as opened:
        links = [opened.enter_context(socket.socket()) for _ in range(20)]
        with no_descriptor_left():
            for sock in links:
                sock.connect(server.addresses[0])
            wait_until(lambda: len(attempts) >= 5, "five attempts")
            gaps = [b - a for a, b in pairwise(attempts)]
            waiting = [turn for turn in turns if attempts[0] <= turn < attempts[4]]
        for sock in links:
            assert PAGE == get_page(sock)
    assert min(gaps) > 0.09
    assert len(waiting) < 20, "the event loop does nothing between two attempts"
    assert 1 == len(caplog.records)
    assert "LimitNOFILE=" in caplog.text


def test_without_free_descriptors_a_scrape_evicts_a_silent_client() -> None:
    with serving() as server, connect(server) as silent, socket.socket() as scraper:
        assert becomes_true(lambda: open_connections(server) == 1)
        with no_descriptor_left():
            scraper.settimeout(WAIT_SECONDS)
            scraper.connect(server.addresses[0])
            assert PAGE == get_page(scraper)
        assert is_closed(silent)


def test_only_the_right_password_is_accepted(web_yml: Callable[[str], Path], hashed: str) -> None:
    with serving(web_config=web_yml(f"basic_auth_users: {{alice: {hashed}}}")) as server:
        statuses = [
            send_request(server, request).status
            for request in (GET, authorized("no"), authorized("swordfish"), authorized("no"))
        ]
        assert [401, 401, 200, 401] == statuses
        assert send_request(server).headers["www-authenticate"].startswith("Basic realm=")


def test_a_flood_of_wrong_passwords_does_not_delay_authenticated_clients(
    web_yml: Callable[[str], Path],
) -> None:
    """The response of a client whose password is known arrives before all others are checked."""
    # 30 checks take several seconds. On a busy machine, the test must send all requests meanwhile.
    slow = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(12)).decode()
    limits = replace(PATIENT, connections=40)
    path = web_yml(f"basic_auth_users: {{alice: {slow}}}")
    with serving(limits=limits, web_config=path) as server, connect(server) as known:
        assert PAGE == get_page(known, authorized("swordfish"))
        with connected(server, 30) as flood:
            for n, sock in enumerate(flood):
                sock.sendall(authorized(f"wrong {n}"))
            with at_most(0.5):
                assert PAGE == get_page(known, authorized("swordfish"))
            answered, _, _ = select.select(flood, [], [], 0)
            assert len(answered) < len(flood)
            responses = [read_response(sock) for sock in flood]
    assert {(401, "close"), (503, "close")} == {
        (response.status, response.headers["connection"]) for response in responses
    }


def test_many_requests_with_the_same_password_are_accepted(web_yml: Callable[[str], Path]) -> None:
    slow = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(10)).decode()
    with (
        serving(web_config=web_yml(f"basic_auth_users: {{alice: {slow}}}")) as server,
        connected(server, 10) as links,
    ):
        for sock in links:
            sock.sendall(authorized("swordfish"))
        assert [PAGE] * 10 == [read_response(sock).body for sock in links]
