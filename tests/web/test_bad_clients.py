"""A scrape succeeds while 1,000 bad clients reconnect as soon as the server closes them."""

import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from exporter.web.connection import ClientLimits
from exporter.web.http_message import Request, Response
from tests.web.http_client import send_request, serving

BAD_CLIENTS = Path(__file__).with_name("bad_clients.py")
SECONDS = 4.0
PAGE = b"x" * 200_000
BIG = b"x" * 30_000_000


def respond(request: Request) -> Response:
    return Response(200, "text/plain", BIG if request.path == "/big" else PAGE)


@pytest.mark.real
@pytest.mark.parametrize(
    ("kind", "tls"),
    [("silent", False), ("slow", False), ("reader", False), ("silent", True), ("slow", True)],
)
def test_a_scrape_answers_within_a_second_among_1000_bad_clients(
    pki: Path,
    web_yml: Callable[[str], Path],
    trusting: ssl.SSLContext,
    kind: str,
    *,
    tls: bool,
) -> None:
    text = f"tls_server_config: {{cert_file: {pki}/server.pem, key_file: {pki}/server.key}}"
    interval = sys.getswitchinterval()
    # The scraping client shares the interpreter with the server here; a real scraper does not.
    sys.setswitchinterval(0.0005)
    memory = psutil.Process()
    before = memory.memory_info().rss
    web_config = web_yml(text) if tls else None
    with serving(respond, web_config=web_config) as server, ExitStack() as opened:
        command = [sys.executable, BAD_CLIENTS, server.addresses[0][1], kind, int(tls), SECONDS]
        clients = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        opened.callback(sys.setswitchinterval, interval)
        opened.callback(clients.wait)
        opened.callback(clients.kill)
        times, most, taken = [], 0, 0
        time.sleep(1.0)
        while clients.poll() is None:
            start = time.monotonic()
            assert PAGE == send_request(server, context=trusting if tls else None).body
            times.append(time.monotonic() - start)
            most = max(most, len(server._connections))
            taken = max(taken, memory.memory_info().rss - before)
            time.sleep(0.2)
    print(f"{kind} {tls}: {len(times)} scrapes, worst {max(times):.3f} s, {taken >> 10} KiB")
    assert max(times) < 1.0
    assert len(times) >= 3
    assert 8 < most <= ClientLimits().connections
    assert taken < 20 << 20
