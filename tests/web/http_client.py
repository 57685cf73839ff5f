"""An HTTP client on a plain socket, so that tests can check every byte."""

import base64
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from exporter.web.connection import ClientLimits, ConnectionPhase
from exporter.web.http_message import Request, Response
from exporter.web.server import FastPaths, HttpServer
from tests.duration import PATIENCE_SECONDS

#: Limit of a wait, in seconds.
WAIT_SECONDS = PATIENCE_SECONDS

GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
PAGE = b"ssd_disk_io_now 3.0\n"
#: For requests that end before a deadline, on a machine of any speed.
PATIENT = ClientLimits(request_seconds=WAIT_SECONDS, idle_seconds=2 * WAIT_SECONDS)


#: The fast path of a health check, and a request for it.
HEALTHY = {"/-/healthy": lambda: Response(200, "text/plain", b"Healthy.\n")}
GET_HEALTHY = GET.replace(b"/metrics", b"/-/healthy")


def authorized(password: str) -> bytes:
    """Returns a request of the user alice."""
    value = base64.b64encode(f"alice:{password}".encode())
    return GET[:-2] + b"Authorization: Basic " + value + b"\r\n\r\n"


def respond_page(request: Request) -> Response:
    found = request.path == "/metrics"
    return Response(200 if found else 404, "text/plain", PAGE if found else b"No such page.\n")


class HangingPage:
    """A page that is built only after its release."""

    def __init__(self) -> None:
        self.started, self.release, self.ended = (threading.Event() for _ in range(3))

    def respond(self, _request: Request) -> Response:
        self.started.set()
        self.release.wait(WAIT_SECONDS)
        self.ended.set()
        return Response(200, "text/plain", PAGE)


@contextlib.contextmanager
def serving(
    respond: Callable[[Request], Response] = respond_page,
    *,
    limits: ClientLimits = PATIENT,
    web_config: Path | None = None,
    fast: FastPaths = MappingProxyType({}),
) -> Iterator[HttpServer]:
    server = HttpServer(
        [("127.0.0.1", 0)], respond, limits=limits, web_config=web_config, fast=fast
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()
        # On a busy machine, its thread ends later. It must not close descriptors in the next test.
        assert becomes_true(lambda: not server.is_alive)


def connect(server: HttpServer, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(server.addresses[0], WAIT_SECONDS, source_address=(source, 0))


def send_request(
    server: HttpServer,
    request: bytes = GET,
    context: ssl.SSLContext | None = None,
    source: str = "127.0.0.1",
) -> "Received":
    with contextlib.ExitStack() as opened:
        sock = opened.enter_context(connect(server, source))
        if context:
            sock = opened.enter_context(context.wrap_socket(sock, server_hostname="localhost"))
        sock.sendall(request)
        return read_response(sock, head_only=request.startswith(b"HEAD"))


def get_page(sock: socket.socket, request: bytes = GET) -> bytes:
    """Send a request on this connection, and return the body of its response."""
    sock.sendall(request)
    return read_response(sock).body


@dataclass
class Received:
    status: int
    headers: dict[str, str]
    body: bytes
    rest: bytes = field(default=b"", repr=False)


def read_response(
    sock: socket.socket, received: bytes = b"", *, head_only: bool = False
) -> Received:
    """Read the next response. `rest` contains bytes of the one after it."""
    while b"\r\n\r\n" not in received:
        received += receive(sock)
    head, _, begun = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
    length = 0 if head_only else int(headers["content-length"])
    # A bytearray: TLS returns 16 KB per read, and copying 30 MB for each read takes seconds.
    body = bytearray(begun)
    while len(body) < length:
        body += receive(sock)
    return Received(int(first.split()[1]), headers, bytes(body[:length]), bytes(body[length:]))


def receive(sock: socket.socket) -> bytes:
    data = sock.recv(1 << 18)
    if not data:
        raise ConnectionAbortedError("closed by the server")
    return data


def is_closed(sock: socket.socket, seconds: float = WAIT_SECONDS) -> bool:
    """True if the server closes the connection within this time. Ignores received data."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            if not sock.recv(1 << 16):
                return True
        except TimeoutError:
            return False
        except OSError:
            return True
    return False


def phases(server: HttpServer) -> list[ConnectionPhase]:
    """Returns the phases of all open connections."""
    return [connection.phase for connection in list(server._connections)]


def becomes_true(holds: Callable[[], bool], seconds: float = WAIT_SECONDS) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return holds()
