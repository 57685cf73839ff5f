"""Asking a daemon over HTTP: what is read, and what is said without an answer."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from exporter.config.settings import Settings
from exporter.runtime.errors import ConfigError
from exporter.top import daemon_page
from exporter.top.daemon_page import DEFAULT_URL, REFRESH_SECONDS, DaemonPage, daemon_url, parse
from exporter.top.frame import DaemonDrive
from tests.duration import PATIENCE_SECONDS, at_most

PAGE = """\
# HELP ssd_smart_temperature_celsius Temperature
ssd_smart_temperature_celsius{device="sda",serial="S1",sensor="drive"} 35
ssd_smart_temperature_celsius{device="sda",serial="S1",sensor="1"} 60
ssd_smart_endurance_used_ratio{device="sda",serial="S1"} 0.03
ssd_smart_spare_ratio{device="sda",serial="S1"} 0.99
ssd_smart_media_errors_total{device="sda",serial="S1"} 7
ssd_disk_await_baseline_seconds{device="sda",op="read"} 0.0003
ssd_disk_await_baseline_seconds{device="sda",op="write"} NaN
ssd_disk_await_baseline_seconds{device="sdb",op="write"} x
ssd_smart_slowest_request_seconds{device="sda",serial="S1",op="write"} 0.038
ssd_smart_slowest_request_seconds{device="sda",serial="S1",op="discard"} 0.5
ssd_disk_slow_inside_drive{device="sda",op="read"} 0
ssd_disk_slow_inside_drive{device="sda",op="write"} 2
ssd_disk_reads_completed_total{device="sda"} 5
garbage
"""

LIMITS = daemon_page._WAIT_SECONDS, daemon_page._ANSWER_SECONDS


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, the servers of these tests may answer late."""
    monkeypatch.setattr(daemon_page, "_WAIT_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(daemon_page, "_ANSWER_SECONDS", PATIENCE_SECONDS)


@contextmanager
def daemon(status: int, body: str) -> Iterator[tuple[str, list[str]]]:
    """A server that answers each request in this way, its URL, and the paths of the requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_values_of_a_page() -> None:
    assert {"sda": DaemonDrive(35, 0.03, 0.99, 7, 0.0003, None, None, 0.038, 0)} == parse(
        PAGE.splitlines()
    )


def test_a_daemon_is_asked_every_15_seconds() -> None:
    with daemon(200, PAGE) as (url, asked):
        page = DaemonPage(url)
        for now in (0.0, 1.0, REFRESH_SECONDS - 0.1, REFRESH_SECONDS):
            page.refresh(now)
    assert ["/metrics", "/metrics"] == asked
    assert (35, "") == (page.drives["sda"].temperature_celsius, page.note)


@pytest.mark.parametrize(("status", "note"), [(401, "requires a password"), (503, "status 503")])
def test_a_refusal_is_a_note(status: int, note: str) -> None:
    with daemon(status, "") as (url, _):
        page = DaemonPage(url)
        page.refresh(0)
    assert {} == page.drives
    assert note in page.note


def test_without_a_daemon_there_is_one_line() -> None:
    page = DaemonPage("http://127.0.0.1:9")
    page.refresh(0)
    assert "no daemon answers" in page.note
    assert "\n" not in page.note


def test_tls_is_a_note() -> None:
    page = DaemonPage("https://localhost:10177")
    page.refresh(0)
    assert "does not support TLS" in page.note


@contextmanager
def raw_server(greeting: bytes) -> Iterator[str]:
    """A server that sends these bytes to the first client, and closes only at the end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()

        def serve() -> None:
            client, _ = listening.accept()
            with client:
                client.sendall(greeting)
                done.wait()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize(
    "greeting",
    [b"\x15\x03\x01\x00\x02\x02\x46", b"J\x00\x00\x00\n8.0.36\x00", b"SSH-2.0-OpenSSH_9.2p1\r\n"],
    ids=["TLS alert", "MySQL", "SSH"],
)
def test_a_server_that_speaks_something_else_is_a_note(greeting: bytes) -> None:
    """The server keeps the connection open; top does not wait for more."""
    with raw_server(greeting) as url:
        page = DaemonPage(url)
        page.refresh(0)
    assert "does not answer in plain HTTP (TLS?)" in page.note


def test_a_closed_connection_is_a_note() -> None:
    """The daemon with TLS resets the connection: a plain request is no handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def reset() -> None:
            client, _ = listening.accept()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()

        thread = threading.Thread(target=reset)
        thread.start()
        page = DaemonPage(f"http://127.0.0.1:{listening.getsockname()[1]}")
        page.refresh(0)
        thread.join()
    assert "(TLS?)" in page.note


def test_a_daemon_that_hangs_delays_the_screen_by_a_second_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon_page, "_WAIT_SECONDS", LIMITS[0])
    monkeypatch.setattr(daemon_page, "_ANSWER_SECONDS", LIMITS[1])
    with raw_server(b"") as url, at_most(1.5):
        DaemonPage(url).refresh(0)


@pytest.mark.parametrize("start", [b"HTTP/", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_sends_one_byte_after_the_other_delays_the_screen_no_longer(
    monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    """The deadline includes the status line and the headers."""
    monkeypatch.setattr(daemon_page, "_ANSWER_SECONDS", LIMITS[1])
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.sendall(start)
                while not ended.wait(0.05):
                    client.sendall(b"X")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            page = DaemonPage(f"http://127.0.0.1:{listening.getsockname()[1]}")
            with at_most(2):
                page.refresh(0)
        finally:
            ended.set()
            thread.join()
    assert "does not answer in time" in page.note


def test_the_parts_of_an_answer_may_be_of_any_size() -> None:
    """TCP promises no limits between the parts."""
    answer = b"HTTP/1.0 200 OK\r\n\r\n" + PAGE.encode()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def send_bytes() -> None:
            client, _ = listening.accept()
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.recv(1000)
                for byte in answer:
                    client.sendall(bytes((byte,)))

        thread = threading.Thread(target=send_bytes)
        thread.start()
        page = DaemonPage(f"http://127.0.0.1:{listening.getsockname()[1]}")
        page.refresh(0)
        thread.join()
    assert (35, "") == (page.drives["sda"].temperature_celsius, page.note)


def test_an_answer_that_is_cut_off_is_not_used() -> None:
    """The last number of a part of a page may be cut off too."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(1000)
                client.sendall(head + PAGE.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        page = DaemonPage(f"http://127.0.0.1:{listening.getsockname()[1]}")
        page.refresh(0)
        thread.join()
    assert {} == page.drives


@pytest.mark.parametrize("value", ["1e308", "-1e308", "NaN", "+Inf", "301", "-101"])
def test_a_value_that_no_drive_has_is_left_out(value: str) -> None:
    line = f'ssd_smart_temperature_celsius{{device="sda",sensor="drive"}} {value}'
    assert {} == parse([line])


def test_the_daemon_is_asked_at_the_address_on_which_it_listens() -> None:
    """Another user's program may listen on ::1, which is often the first address of localhost."""
    assert DEFAULT_URL == f"http://{Settings().web.listen_address[0]}"
    assert DEFAULT_URL == daemon_url(Settings().web.listen_address[0])


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (":10180", "http://127.0.0.1:10180"),
        ("0.0.0.0:10177", "http://127.0.0.1:10177"),
        ("[::]:10177", "http://[::1]:10177"),
        ("[fd00::2]:1", "http://[fd00::2]:1"),
        ("10.0.0.5:10177", "http://10.0.0.5:10177"),
    ],
)
def test_a_daemon_on_all_addresses_is_asked_on_loopback(address: str, url: str) -> None:
    assert url == daemon_url(address)


def test_a_page_of_any_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_page, "_MAX_PAGE_BYTES", 100)
    with daemon(200, PAGE) as (url, _):
        page = DaemonPage(url)
        page.refresh(0)
    assert {} == page.drives


@pytest.mark.parametrize(
    "url", ["", "db1", "ftp://db1", "http://", "http://db1:x", "http://a:99999"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="--url"):
        DaemonPage(url)
