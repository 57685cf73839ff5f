"""Measures scrapes while other clients attack the HTTP server.

1,000 clients of one kind keep connections open and reconnect as soon as the server closes them
(tests/web/bad_clients.py), or 200 clients send one request after the other
(tests/web/busy_clients.py). The scraper has the address of the attackers, except beside 2,000 busy
clients, and a new connection for each scrape. The server runs in a process of its own.
"""

import contextlib
import http.client
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.machine import slowness
from bench.programs import rss_megabytes
from bench.rows import Row, show_progress
from exporter.web import lobby
from exporter.web.http_message import Request, Response
from exporter.web.server import HttpServer

#: Maximum duration of a scrape during an attack.
_MAX_SECONDS = 1.0
#: Maximum growth of the resident memory of the server during an attack.
_MAX_MEGABYTES = 20.0
_SCRAPES = 40
_PAUSE_SECONDS = 0.2
_BUSY_CLIENTS = 200
#: Number of busy clients of another address, and the maximum duration of a scrape beside them.
_MANY_BUSY_CLIENTS, _MAX_SECONDS_OF_OWN_ADDRESS = 2000, 0.5
_TIMEOUT_SECONDS = 30.0

_PAGE = b"x" * 200_000
_BIG = b"x" * 30_000_000
_CLIENTS = Path(__file__).parents[1] / "tests" / "web"


def rows(scale: float) -> Iterator[Row]:
    """Yields the slowest scrape and the memory of each attack."""
    scrapes = max(5, int(_SCRAPES * scale))
    for kind in ("silent", "slow", "reader"):
        yield from _attack(f"1,000 {kind} clients", scrapes, ("bad_clients.py", kind, "0"))
    for kind in ("silent", "slow"):
        yield from _attack(f"1,000 {kind} TLS clients", scrapes, ("bad_clients.py", kind, "1"))
    busy = ("busy_clients.py", str(_BUSY_CLIENTS), "127.0.0.1")
    yield from _attack(f"{_BUSY_CLIENTS} busy clients", scrapes, busy)
    busy = ("busy_clients.py", str(_MANY_BUSY_CLIENTS), "127.0.0.1")
    name = f"{_MANY_BUSY_CLIENTS:,} busy clients of another address"
    yield from _attack(name, scrapes, busy, _MAX_SECONDS_OF_OWN_ADDRESS, "127.0.0.2")


def _attack(
    name: str,
    scrapes: int,
    command: tuple[str, ...],
    max_seconds: float = _MAX_SECONDS,
    source: str = "127.0.0.1",
) -> Iterator[Row]:
    script, *arguments = command
    tls = arguments[-1] == "1"
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(
            _running(("-m", "bench.web", *([_web_config(place)] if tls else ())))
        )
        port = int(_line(server))
        _scrape(port, place, source, tls=tls)
        before = rss_megabytes(server.pid)
        clients = stack.enter_context(_running((str(_CLIENTS / script), str(port), *arguments)))
        _line(clients)
        slowest, memory = 0.0, 0.0
        for n in range(scrapes):
            show_progress(f"scrapes among {name}: {n + 1} of {scrapes}")
            slowest = max(slowest, _scrape(port, place, source, tls=tls))
            memory = max(memory, rss_megabytes(server.pid) - before)
            time.sleep(_PAUSE_SECONDS)
    most = max_seconds * slowness()
    limit = f"<= {most * 1000:.0f}"
    yield f"slowest scrape, {name}", slowest * 1000, 0.0, "ms", limit, slowest <= most
    limit = f"<= {_MAX_MEGABYTES:.0f}"
    yield "  growth of VmRSS", memory, 0.0, "MB", limit, memory <= _MAX_MEGABYTES


def _scrape(port: int, place: Path, source: str, *, tls: bool) -> float:
    """Returns the duration of a scrape in seconds; infinity if it receives no page."""
    start = time.perf_counter()
    if tls:
        context = ssl.create_default_context(cafile=place / "server.pem")
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            *("localhost", port),
            timeout=_TIMEOUT_SECONDS,
            context=context,
            source_address=(source, 0),
        )
    else:
        connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=_TIMEOUT_SECONDS, source_address=(source, 0)
        )
    try:
        connection.request("GET", "/metrics")
        is_answered = connection.getresponse().read() == _PAGE
    except (OSError, http.client.HTTPException) as e:
        show_progress(f"a scrape failed: {e}")
        is_answered = False
    finally:
        connection.close()
    return time.perf_counter() - start if is_answered else float("inf")


@contextlib.contextmanager
def _running(command: tuple[str, ...]) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    if process.stdout and (line := process.stdout.readline()):
        return line
    raise RuntimeError(f"{process.args!r} ended with {process.wait()}")


def _web_config(place: Path) -> str:
    """Creates a certificate and a web configuration; returns the path of the latter."""
    command = [
        *("openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"),
        *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost"),
        *("-keyout", str(place / "server.key"), "-out", str(place / "server.pem")),
    ]
    subprocess.run(command, check=True, capture_output=True)
    path = place / "web.yml"
    path.write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}\n")
    return str(path)


def _respond(request: Request) -> Response:
    return Response(200, "text/plain", _BIG if request.path == "/big" else _PAGE)


def _serve(web_config: str = "") -> None:
    """Serves until the standard input is closed, and prints the port."""
    lobby.raise_descriptor_limit()
    server = HttpServer(
        [("127.0.0.1", 0)], _respond, web_config=Path(web_config) if web_config else None
    )
    server.start()
    print(server.addresses[0][1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
