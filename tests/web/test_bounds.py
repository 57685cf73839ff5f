"""The limits on what one client can use, and the eviction of connections."""

import base64
import os
import resource
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import bcrypt
import pytest

from exporter.web.connection import ClientLimits, ConnectionPhase
from exporter.web.http_message import Request, Response
from exporter.web.server import HttpServer
from tests.web.talk import (
    GET,
    PAGE,
    QUICK,
    answer,
    ask,
    closed,
    connect,
    eventually,
    more,
    page,
    serving,
)

BIG = Response(200, "text/plain", b"x" * 30_000_000)


def big(request: Request) -> Response:
    return BIG if request.path == "/big" else page(request)


def held(server: HttpServer) -> int:
    return len(server._connections)


@contextmanager
def many(
    server: HttpServer, count: int, source: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        yield [opened.enter_context(connect(server, source)) for _ in range(count)]


def test_a_silent_client_is_closed_at_the_deadline_without_a_response() -> None:
    with serving(limits=QUICK) as server, connect(server) as link:
        start = time.monotonic()
        assert b"" == link.recv(100)
        assert 0.3 < time.monotonic() - start < 0.8


def test_a_slow_request_receives_408() -> None:
    with serving(limits=QUICK) as server, connect(server) as link:
        start = time.monotonic()
        link.settimeout(0.05)
        data = b""
        for byte in GET * 3:
            try:
                link.sendall(bytes([byte]))
                data = link.recv(4096)
                break
            except TimeoutError:
                continue
        assert data.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert time.monotonic() - start < 0.8
        assert closed(link)


def test_the_idle_timeout_is_longer_than_the_request_timeout() -> None:
    with serving(limits=QUICK) as server, connect(server) as link:
        link.sendall(GET)
        assert PAGE == answer(link).body
        time.sleep(QUICK.request_seconds + 0.2)
        link.sendall(GET)
        assert PAGE == answer(link).body
        start = time.monotonic()
        assert b"" == link.recv(100)
        assert 0.6 < time.monotonic() - start < 1.2


def test_each_request_of_a_connection_has_its_own_deadline() -> None:
    with serving(limits=QUICK) as server, connect(server) as link:
        link.sendall(GET + GET[:10])
        got = answer(link)
        late = got.rest or more(link)
        assert late.startswith(b"HTTP/1.1 408 ")


def test_a_client_that_reads_its_response_too_slowly_is_reset() -> None:
    with serving(big, limits=QUICK) as server, connect(server) as link:
        link.sendall(GET.replace(b"/metrics", b"/big"))
        link.recv(1)
        assert eventually(lambda: held(server) == 0, 1.0)
        assert PAGE == ask(server).body


def test_a_client_receives_all_of_a_large_response() -> None:
    limits = ClientLimits(request_seconds=20)
    with serving(big, limits=limits) as server:
        assert BIG.body == ask(server, GET.replace(b"/metrics", b"/big")).body


def test_a_client_receives_all_of_a_large_response_over_tls(
    pki: Path, web_yml: Callable[[str], Path], trusting: ssl.SSLContext
) -> None:
    text = f"tls_server_config: {{cert_file: {pki}/server.pem, key_file: {pki}/server.key}}"
    with serving(big, limits=ClientLimits(request_seconds=20), web_config=web_yml(text)) as server:
        for size in (1, 2):
            request = GET.replace(b"/metrics", b"/big") * size
            assert BIG.body == ask(server, request, trusting).body


def test_a_response_that_takes_too_long_is_a_503() -> None:
    release = threading.Event()

    def respond(_request: Request) -> Response:
        release.wait(5)
        return Response(200, "text/plain", PAGE)

    with serving(respond, limits=QUICK) as server, connect(server) as link:
        link.sendall(GET)
        got = answer(link)
        assert (503, "close") == (got.status, got.headers["connection"])
        release.set()
        assert closed(link)
        assert b"" == got.rest
        assert 200 == ask(server).status


def test_an_unfinished_tls_handshake_is_closed_and_does_not_delay_others(
    pki: Path, web_yml: Callable[[str], Path], trusting: ssl.SSLContext
) -> None:
    text = f"tls_server_config: {{cert_file: {pki}/server.pem, key_file: {pki}/server.key}}"
    with (
        serving(limits=QUICK, web_config=web_yml(text)) as server,
        connect(server) as silent,
        connect(server) as torn,
    ):
        torn.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert PAGE == ask(server, context=trusting).body
        assert closed(silent, 1.0)
        assert closed(torn, 1.0)


def test_a_full_server_evicts_the_oldest_connection_without_a_request() -> None:
    with serving(limits=ClientLimits(connections=8)) as server, many(server, 8) as silent:
        assert eventually(lambda: held(server) == 8)
        with connect(server) as link:
            link.sendall(GET)
            assert PAGE == answer(link).body
            assert closed(silent[0])
            assert not closed(silent[1], 0.1)
            assert 8 == held(server)


def test_a_keep_alive_connection_survives_many_silent_ones() -> None:
    with serving(limits=ClientLimits(connections=8)) as server, connect(server) as link:
        link.sendall(GET)
        assert PAGE == answer(link).body
        with many(server, 30):
            assert eventually(lambda: held(server) == 8)
            link.sendall(GET)
            assert PAGE == answer(link).body


def test_many_idle_connections_are_evicted_for_a_slow_new_one() -> None:
    with serving(limits=ClientLimits(connections=8)) as server, many(server, 20) as herd:
        for link in herd:
            try:
                link.sendall(GET)
                answer(link)
            except OSError:
                continue
        with connect(server) as slow, many(server, 2):
            time.sleep(0.1)
            slow.sendall(GET)
            assert PAGE == answer(slow).body


def test_many_connections_of_one_address_do_not_evict_another_address() -> None:
    with (
        serving(limits=ClientLimits(connections=8)) as server,
        connect(server, "127.0.0.2") as slow,
        many(server, 40),
    ):
        assert eventually(lambda: held(server) == 8)
        slow.sendall(GET)
        assert PAGE == answer(slow).body


def test_a_client_within_its_handshake_survives_many_silent_ones(
    pki: Path, web_yml: Callable[[str], Path], trusting: ssl.SSLContext
) -> None:
    text = f"tls_server_config: {{cert_file: {pki}/server.pem, key_file: {pki}/server.key}}"
    limits = ClientLimits(connections=8)
    with serving(limits=limits, web_config=web_yml(text)) as server, connect(server) as link:
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = trusting.wrap_bio(received, sent, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            hello.do_handshake()
        link.sendall(sent.read())
        received.write(more(link))
        with many(server, 40):
            assert eventually(lambda: held(server) == 8)
            while sent.pending == 0:
                try:
                    hello.do_handshake()
                except ssl.SSLWantReadError:
                    received.write(more(link))
            hello.write(GET)
            link.sendall(sent.read())
            assert more(link)


def test_a_sent_response_can_be_read_after_its_connection_was_evicted() -> None:
    body = b"x" * 200_000

    def metrics() -> Response:
        return Response(200, "text/plain", body)

    limits = ClientLimits(connections=4)
    with serving(limits=limits, fast={"/metrics": metrics}) as server, many(server, 4) as links:
        for link in links:
            link.sendall(GET)
        assert eventually(
            lambda: [ConnectionPhase.IDLE] * 4 == [c.phase for c in server._connections]
        )
        with many(server, 2) as newer:
            for link in newer:
                link.sendall(GET)
                assert body == answer(link).body
            assert [body] * 4 == [answer(link).body for link in links]


def test_slow_readers_are_evicted_for_a_new_connection() -> None:
    with serving(big, limits=ClientLimits(connections=8)) as server, many(server, 8) as readers:
        for link in readers:
            link.sendall(GET.replace(b"/metrics", b"/big"))
            link.recv(1)
        assert PAGE == ask(server).body


def test_a_server_whose_workers_hang_responds_503_and_limits_its_queue() -> None:
    release = threading.Event()

    def respond(_request: Request) -> Response:
        release.wait(10)
        return Response(200, "text/plain", PAGE)

    with serving(respond, limits=ClientLimits(connections=8)) as server, many(server, 8) as links:
        for link in links:
            link.sendall(GET)
        start = time.monotonic()
        assert 503 == ask(server).status
        assert time.monotonic() - start < 1.5
        release.set()
        assert [200] * 8 == [answer(link).status for link in links]


def test_a_new_client_waits_while_all_workers_are_busy() -> None:
    def respond(_request: Request) -> Response:
        time.sleep(0.05)
        return Response(200, "text/plain", PAGE)

    with serving(respond, limits=ClientLimits(connections=4)) as server, many(server, 16) as links:
        for link in links:
            link.sendall(GET[:-2] + b"Connection: close\r\n\r\n")
        assert [200] * 16 == [answer(link).status for link in links]


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
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving() as server, ExitStack() as opened:
        links = [opened.enter_context(socket.socket()) for _ in range(20)]
        with no_descriptor_left():
            before = time.process_time()
            for link in links:
                link.connect(server.addresses[0])
            time.sleep(0.5)
            used = time.process_time() - before
        for link in links:
            link.sendall(GET)
            assert PAGE == answer(link).body
    assert used < 0.1
    assert 1 == len(caplog.records)
    assert "LimitNOFILE=" in caplog.text


def test_without_free_descriptors_a_scrape_evicts_a_silent_client() -> None:
    with serving() as server, connect(server) as silent, socket.socket() as scraper:
        assert eventually(lambda: held(server) == 1)
        with no_descriptor_left():
            scraper.settimeout(1)
            scraper.connect(server.addresses[0])
            scraper.sendall(GET)
            assert PAGE == answer(scraper).body
        assert closed(silent)


def authorized(password: str) -> bytes:
    field = base64.b64encode(f"alice:{password}".encode())
    return GET[:-2] + b"Authorization: Basic " + field + b"\r\n\r\n"


def test_only_the_right_password_is_accepted(web_yml: Callable[[str], Path], hashed: str) -> None:
    with serving(web_config=web_yml(f"basic_auth_users: {{alice: {hashed}}}")) as server:
        statuses = [
            ask(server, request).status
            for request in (GET, authorized("no"), authorized("swordfish"), authorized("no"))
        ]
        assert [401, 401, 200, 401] == statuses
        assert ask(server).headers["www-authenticate"].startswith("Basic realm=")


def test_a_flood_of_wrong_passwords_does_not_delay_authenticated_clients(
    web_yml: Callable[[str], Path],
) -> None:
    slow = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(10)).decode()
    limits = ClientLimits(connections=40)
    path = web_yml(f"basic_auth_users: {{alice: {slow}}}")
    with serving(limits=limits, web_config=path) as server, connect(server) as known:
        known.sendall(authorized("swordfish"))
        assert PAGE == answer(known).body
        with many(server, 30) as flood:
            for n, link in enumerate(flood):
                link.sendall(authorized(f"wrong {n}"))
            start = time.monotonic()
            known.sendall(authorized("swordfish"))
            assert PAGE == answer(known).body
            assert time.monotonic() - start < 0.5
            statuses = {answer(link).status for link in flood}
    assert {401, 503} == statuses


def test_many_requests_with_the_same_password_are_accepted(web_yml: Callable[[str], Path]) -> None:
    slow = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(10)).decode()
    with (
        serving(web_config=web_yml(f"basic_auth_users: {{alice: {slow}}}")) as server,
        many(server, 10) as links,
    ):
        for link in links:
            link.sendall(authorized("swordfish"))
        assert [PAGE] * 10 == [answer(link).body for link in links]
