"""Scrapes succeed while 1,000 bad clients reconnect as soon as the server closes them.

`make bench` measures how long these scrapes take.
"""

import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest

from exporter.web.connection import ClientLimits
from exporter.web.http_message import Request, Response
from tests.duration import at_most
from tests.web.bad_clients import CONNECTIONS
from tests.web.http_client import WAIT_SECONDS, send_request, serving

BAD_CLIENTS = Path(__file__).with_name("bad_clients.py")
SCRAPES = 4
PAGE = b"x" * 200_000
BIG = b"x" * 30_000_000

#: The page is sent in more time on a slow machine.
LIMITS = ClientLimits(request_seconds=WAIT_SECONDS)


def respond(request: Request) -> Response:
    return Response(200, "text/plain", BIG if request.path == "/big" else PAGE)


@contextmanager
def bad_clients(port: int, kind: str, *, tls: bool) -> Iterator[IO[str]]:
    """Run the bad clients; yields their output, one line for every tenth of a second."""
    command = [sys.executable, BAD_CLIENTS, port, kind, int(tls)]
    with subprocess.Popen(
        list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as clients:
        assert clients.stdout
        try:
            while int(clients.stdout.readline()) < CONNECTIONS:
                pass
            yield clients.stdout
        finally:
            clients.kill()


@pytest.mark.real
@pytest.mark.parametrize(
    ("kind", "tls"),
    [("silent", False), ("slow", False), ("reader", False), ("silent", True), ("slow", True)],
)
def test_scrapes_are_answered_among_1000_bad_clients(
    tls_yml: Path,
    trusting: ssl.SSLContext,
    kind: str,
    *,
    tls: bool,
) -> None:
    """From another address every scrape is answered. From their address a scrape may need several
    connections on a busy machine: a scraper that does not send its request at once is one of them.
    """
    memory = psutil.Process()
    before = memory.memory_info().rss
    web_config = tls_yml if tls else None
    context = trusting if tls else None
    most, taken = 0, 0
    with (
        serving(respond, limits=LIMITS, web_config=web_config) as server,
        bad_clients(server.addresses[0][1], kind, tls=tls) as beats,
    ):
        for _ in range(SCRAPES):
            with at_most(1.0, "a scrape"):
                assert PAGE == send_request(server, context=context, source="127.0.0.2").body
            most = max(most, len(server._connections))
            taken = max(taken, memory.memory_info().rss - before)
            beats.readline()
        end = time.monotonic() + WAIT_SECONDS
        answered = 0
        while answered < SCRAPES:
            assert time.monotonic() < end
            try:
                with at_most(1.0, "a scrape from their address"):
                    answered += send_request(server, context=context).body == PAGE
            except OSError:
                continue
            most = max(most, len(server._connections))
            taken = max(taken, memory.memory_info().rss - before)
            beats.readline()
    print(f"{kind} {tls}: {taken >> 10} KiB")
    assert 8 < most <= LIMITS.connections
    assert taken < 20 << 20
