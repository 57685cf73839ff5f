"""No client address can keep another one out, with real clients in a process of their own."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import bcrypt
import pytest

from exporter.web.connection import ConnectionPhase
from exporter.web.http_message import Request, Response
from exporter.web.lobby import raise_descriptor_limit
from exporter.web.server import HttpServer
from tests.processes import run_program
from tests.web.http_client import (
    GET,
    GET_HEALTHY,
    HEALTHY,
    PAGE,
    PATIENT,
    WAIT_SECONDS,
    HangingPage,
    Received,
    authorized,
    becomes_true,
    connect,
    phases,
    read_response,
    serving,
)

BUSY_CLIENTS = Path(__file__).with_name("busy_clients.py")

SCRAPES = 16


@pytest.fixture(autouse=True)
def clients_are_never_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a client may send its request long after it has connected."""
    monkeypatch.setattr("exporter.web.eviction.GRACE_SECONDS", WAIT_SECONDS)


@dataclass
class Attack:
    """The clients that attack; `statuses` contains the numbers of their responses at the end."""

    statuses: dict[str, int] = field(default_factory=dict)


@contextmanager
def attacked(
    server: HttpServer,
    clients: int,
    address: str = "127.0.0.1",
    *,
    passwords: str = "",
    path: str = "/metrics",
) -> Iterator[Attack]:
    program = [sys.executable, BUSY_CLIENTS, server.addresses[0][1]]
    command = [*program, clients, address, passwords, path]
    attack = Attack()
    with subprocess.Popen(
        list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            assert "busy\n" == process.stdout.readline()
            yield attack
            process.stdin.close()
            attack.statuses = json.loads(process.stdout.readline())
        finally:
            process.kill()


def scrape(server: HttpServer, address: str, request: bytes = GET) -> Received:
    """Send one request on a new connection. An error or a closed connection fails the test."""
    with connect(server, address) as sock:
        sock.sendall(request)
        return read_response(sock)


@pytest.mark.real
@pytest.mark.parametrize("clients", [64, 200])
@pytest.mark.parametrize("path", ["page", "fast"])
def test_busy_clients_of_one_address_do_not_keep_another_address_out(
    clients: int, path: str
) -> None:
    page = Response(200, "text/plain", PAGE)
    fast = {"/metrics": lambda: page} if path == "fast" else {}
    with serving(fast=fast) as server, attacked(server, clients) as attack:
        assert [PAGE] * SCRAPES == [scrape(server, "127.0.0.2").body for _ in range(SCRAPES)]
        assert len(server._connections) <= PATIENT.connections
    assert attack.statuses["200"] > 0


@pytest.mark.real
@pytest.mark.parametrize("clients", [500, 2000])
def test_a_scraper_overtakes_the_waiting_clients_of_another_address(clients: int) -> None:
    """Between its connection and its response, the others get a few responses, not one each.

    The number of their responses is counted instead of a time, which depends on the machine.
    """
    raise_descriptor_limit()
    served: list[str] = []

    def respond(request: Request) -> Response:
        served.append(request.headers.get("x-scraper", ""))
        return Response(200, "text/plain", PAGE)

    request = GET[:-2] + b"X-Scraper: yes\r\n\r\n"
    with serving(respond) as server, attacked(server, clients):
        assert becomes_true(lambda: len(server._lobby) > clients / 2)
        for _ in range(SCRAPES):
            before = len(served)
            assert PAGE == scrape(server, "127.0.0.2", request).body
            place = served.index("yes", before) - before
            assert place < clients / 4, "without the lobby it is behind each waiting client"


#: Duration of the rendering of a page for people in seconds, so that the last of 64 requests waits
#: longer than `HANG_SECONDS`.
RENDERING_SECONDS = 0.03


@pytest.mark.real
@pytest.mark.parametrize("clients", [70, 200])
@pytest.mark.parametrize("path", ["/", "/live.json", "/drive/sda", "/metrics"])
def test_busy_clients_with_an_address_each_keep_neither_scrapes_nor_probes_out(
    clients: int, path: str
) -> None:
    """Together they want more pages for people than the workers can build."""

    def respond(request: Request) -> Response:
        if request.path != "/metrics":
            time.sleep(RENDERING_SECONDS)
        return Response(200, "text/plain", PAGE)

    with (
        serving(respond, fast=HEALTHY) as server,
        attacked(server, clients, "each", path=path) as attack,
    ):
        for _ in range(SCRAPES):
            assert PAGE == scrape(server, "127.0.0.2").body
            assert b"Healthy.\n" == scrape(server, "127.0.0.3", GET_HEALTHY).body
    assert attack.statuses["200"] > 0


@pytest.mark.real
def test_a_page_for_people_is_answered_while_others_have_more_requests_than_fit() -> None:
    """A client that had no turn yet takes the place of one that had a turn."""

    def respond(request: Request) -> Response:
        time.sleep(RENDERING_SECONDS)
        return Response(200, "text/plain", request.path.encode())

    with serving(respond) as server, attacked(server, 100, "each", path="/"):
        assert becomes_true(lambda: len(server._dispatcher._responders._turns) == 100)
        request = GET.replace(b"/metrics", b"/drive/sda")
        assert b"/drive/sda" == scrape(server, "127.0.0.2", request).body


@pytest.mark.real
def test_a_page_for_people_that_hangs_delays_no_scrape() -> None:
    release = threading.Event()

    def respond(request: Request) -> Response:
        if request.path == "/":
            release.wait(WAIT_SECONDS)
        return Response(200, "text/plain", PAGE)

    with serving(respond) as server, ExitStack() as opened:
        pages = [opened.enter_context(connect(server, f"127.0.0.{n}")) for n in range(3, 7)]
        for sock in pages:
            sock.sendall(GET.replace(b"/metrics", b"/"))
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.PROCESSING] * 4)
        assert PAGE == scrape(server, "127.0.0.2").body
        assert not release.is_set()
        release.set()
        assert [PAGE] * 4 == [read_response(sock).body for sock in pages]


@pytest.mark.real
@pytest.mark.parametrize("clients", [64, 200])
def test_a_kept_connection_survives_busy_clients_of_another_address(
    clients: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The workers of a slow machine do not hang.
    monkeypatch.setattr("exporter.web.eviction.HANG_SECONDS", WAIT_SECONDS)
    with serving() as server, connect(server, "127.0.0.2") as kept, attacked(server, clients):
        for _ in range(SCRAPES):
            kept.sendall(GET)
            got = read_response(kept)
            assert (PAGE, None) == (got.body, got.headers.get("connection"))


@pytest.mark.real
@pytest.mark.parametrize("clients", [64, 200])
def test_a_probe_of_the_same_address_is_answered_among_busy_clients(
    clients: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet or a script on the host asks for /-/healthy from the address of the others."""
    # The workers of a slow machine do not hang.
    monkeypatch.setattr("exporter.web.eviction.HANG_SECONDS", WAIT_SECONDS)
    with serving(fast=HEALTHY) as server, attacked(server, clients):
        answers = [scrape(server, "127.0.0.1", GET_HEALTHY).body for _ in range(SCRAPES)]
    assert [b"Healthy.\n"] * SCRAPES == answers


@pytest.mark.real
def test_another_address_gets_in_while_all_connections_wait_for_workers() -> None:
    with serving(limits=replace(PATIENT, connections=4)) as server, attacked(server, 40):
        assert [PAGE] * SCRAPES == [scrape(server, "127.0.0.2").body for _ in range(SCRAPES)]


@pytest.mark.real
@pytest.mark.parametrize(
    ("addresses", "probes"),
    [
        # The busiest address loses a request that waits; one that is as busy does not.
        (["127.0.0.1"] * 4, 4),
        # Each address has one request, so none is the busiest.
        (["127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"], 1),
    ],
    ids=["one address", "many addresses"],
)
def test_probes_of_another_address_are_answered_while_all_workers_hang(
    addresses: list[str], probes: int
) -> None:
    page = HangingPage()

    limits = replace(PATIENT, connections=4)
    with serving(page.respond, limits=limits, fast=HEALTHY) as server, ExitStack() as opened:
        waiting = [opened.enter_context(connect(server, address)) for address in addresses]
        for sock in waiting:
            sock.sendall(GET)
        assert becomes_true(lambda: phases(server) == [ConnectionPhase.PROCESSING] * 4)
        answers = [scrape(server, "127.0.0.2", GET_HEALTHY).body for _ in range(probes)]
        assert [b"Healthy.\n"] * probes == answers
        assert 4 >= len(server._connections)
        page.release.set()
        statuses = sorted(read_response(sock).status for sock in waiting)
        assert [200] * 3 + [503] == statuses


#: bcrypt uses 72 bytes of a password. With more bytes it is right, and another text.
PASSWORD = "swordfish" * 8


@pytest.fixture
def protected(web_yml: Callable[[str], Path]) -> Path:
    """A configuration with a password whose bcrypt hash has the usual cost."""
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(10)).decode()
    return web_yml(f"basic_auth_users: {{alice: {hashed}}}")


@pytest.mark.real
def test_wrong_passwords_do_not_keep_the_right_one_of_another_address_out(protected: Path) -> None:
    """No scrape has a password that is remembered: each has another text."""
    with serving(web_config=protected) as server, attacked(server, 70, passwords="wrong") as attack:
        for n in range(SCRAPES):
            os.utime(protected, (n, n))
            assert PAGE == scrape(server, "127.0.0.2", authorized(f"{PASSWORD}{n}")).body
    assert attack.statuses["401"] > 0
    assert {"401", "503"} >= set(attack.statuses)


@pytest.mark.real
def test_wrong_passwords_of_several_addresses_do_not_keep_another_one_out(protected: Path) -> None:
    """They fill all connections with requests that wait for bcrypt."""
    with serving(web_config=protected) as server, ExitStack() as attacks:
        for n in range(2, 7):
            attacks.enter_context(attacked(server, 20, f"127.0.0.{n}", passwords="wrong"))
        for n in range(SCRAPES):
            request = authorized(f"{PASSWORD}{n}")
            assert PAGE == scrape(server, "127.0.0.9", request).body


@pytest.mark.real
def test_after_a_restart_the_right_password_waits_until_each_other_address_has_failed_once(
    protected: Path,
) -> None:
    """Afterwards it is checked next. No scrape has a password that is remembered."""
    with serving(web_config=protected) as server, attacked(server, 100, "each", passwords="wrong"):

        def is_answered(number: int) -> bool:
            request = authorized(f"{PASSWORD}{number}")
            return scrape(server, "127.0.0.9", request).body == PAGE

        assert becomes_true(lambda: is_answered(0))
        os.utime(protected, (1, 1))
        assert [True] * SCRAPES == [is_answered(n) for n in range(1, SCRAPES + 1)]


@pytest.mark.real
def test_reloads_do_not_forget_a_password_while_others_try_wrong_ones(protected: Path) -> None:
    with serving(web_config=protected) as server:
        assert PAGE == scrape(server, "127.0.0.1", authorized(PASSWORD)).body
        with attacked(server, 70, passwords="wrong") as attack:
            for n in range(SCRAPES):
                os.utime(protected, (n, n))
                if n % 2:
                    server.reload()
                assert PAGE == scrape(server, "127.0.0.1", authorized(PASSWORD)).body
    assert attack.statuses["401"] > 0


#: Ends while both threads check passwords.
STOPPED = """
import sys, time
from contextlib import suppress
from pathlib import Path
from exporter.web.server import HttpServer
from tests.web.http_client import authorized, connect, respond_page

server = HttpServer([("127.0.0.1", 0)], respond_page, web_config=Path(sys.argv[1]))
server.start()
clients = []
while len(server._dispatcher._authenticators._running) < 2:
    # The checks of earlier requests may have ended, and the server may have closed connections.
    for address in ("127.0.0.1", "127.0.0.2"):
        with suppress(OSError):
            clients.append(connect(server, address))
            clients[-1].sendall(authorized(f"wrong {len(clients)}"))
    time.sleep(0.01)
server.stop()
"""


@pytest.mark.real
def test_the_process_ends_normally_while_passwords_are_checked(protected: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", STOPPED, str(protected)]
    done = run_program(command)
    assert (0, "") == (done.returncode, done.stderr)
