"""Which HTTP server keeps answering scrapes while 1,000 bad clients hold on to it?

    python bench/http_servers.py [candidate ...]

Makes its own virtual environment in a temporary directory, runs every candidate as a process of
its own on loopback, and prints one line of a Markdown table for each. About 40 s a candidate.
Each candidate gets its strictest settings. `docs/http-server.md` holds the outcome.
"""

import importlib
import json
import os
import resource
import select
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

HERE = Path(__file__).resolve()
PACKAGES = ("uvicorn", "hypercorn", "tornado", "waitress", "cheroot", "aiohttp", "h11")
PAGE = (b'ssd_disk_io_now{device="nvme0n1"} 3.0\n' * 6000)[:200_000]
BIG = PAGE * 40
BAD_CLIENTS = 1000
HOLD_SECONDS = 8.0
PATIENCE_SECONDS = 3.0
DEADLINE_SECONDS = 5
CONNECTIONS = 64
HEADER_BYTES = 8192

Tls = tuple[str, str] | None


def wsgi(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    body = BIG if environ["PATH_INFO"] == "/big" else PAGE
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


async def asgi(scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ARG001
    body = BIG if scope["path"] == "/big" else PAGE
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def context(tls: Tls) -> ssl.SSLContext | None:
    if tls is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*tls)
    return made


def prometheus_client(port: int, tls: Tls) -> None:
    client = importlib.import_module("prometheus_client")
    gauge = client.Gauge("ssd_disk_io_now", "In flight.", ["device"])
    for n in range(5000):
        gauge.labels(f"nvme{n}n1").set(n)
    cert, key = tls or (None, None)
    client.start_http_server(port, "127.0.0.1", certfile=cert, keyfile=key)
    threading.Event().wait()


def uvicorn(port: int, tls: Tls) -> None:
    cert, key = tls or (None, None)
    importlib.import_module("uvicorn").run(
        asgi, host="127.0.0.1", port=port, log_level="critical", lifespan="off", loop="asyncio",
        http="h11", backlog=128, limit_concurrency=CONNECTIONS, h11_max_incomplete_event_size=8192,
        timeout_keep_alive=DEADLINE_SECONDS, ssl_certfile=cert, ssl_keyfile=key,
    )  # fmt: skip


def hypercorn(port: int, tls: Tls) -> None:
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.backlog, config.h11_max_incomplete_size = 128, HEADER_BYTES
    config.keep_alive_timeout = config.read_timeout = config.ssl_handshake_timeout = (
        DEADLINE_SECONDS
    )
    config.certfile, config.keyfile = tls or (None, None)
    config.errorlog = None
    serve = importlib.import_module("hypercorn.asyncio").serve
    importlib.import_module("asyncio").run(serve(asgi, config))


def tornado(port: int, tls: Tls) -> None:
    web = importlib.import_module("tornado.web")
    importlib.import_module("logging").disable()

    def get(self: Any) -> None:
        self.finish(BIG if self.request.path == "/big" else PAGE)

    page = type("Page", (web.RequestHandler,), {"get": get, "compute_etag": lambda _self: None})
    loop = importlib.import_module("tornado.ioloop").IOLoop.current()
    server = importlib.import_module("tornado.httpserver").HTTPServer(
        web.Application([("/.*", page)]), ssl_options=context(tls), max_header_size=HEADER_BYTES,
        idle_connection_timeout=DEADLINE_SECONDS, body_timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    server.listen(port, "127.0.0.1")
    loop.start()


def waitress(port: int, tls: Tls) -> None:
    if tls:
        sys.exit("no TLS")
    importlib.import_module("logging").disable()
    importlib.import_module("waitress").serve(
        wsgi, host="127.0.0.1", port=port, threads=2, connection_limit=CONNECTIONS, backlog=128,
        channel_timeout=DEADLINE_SECONDS, cleanup_interval=1, asyncore_use_poll=True,
        max_request_header_size=HEADER_BYTES,
    )  # fmt: skip


def cheroot(port: int, tls: Tls) -> None:
    server = importlib.import_module("cheroot.wsgi").Server(
        ("127.0.0.1", port), wsgi, numthreads=2, request_queue_size=128, timeout=DEADLINE_SECONDS
    )
    server.max_request_header_size = HEADER_BYTES
    server.error_log = lambda *_args, **_kwargs: None
    if tls:
        builtin = importlib.import_module("cheroot.ssl.builtin")
        server.ssl_adapter = builtin.BuiltinSSLAdapter(*tls)
    server.start()


def aiohttp(port: int, tls: Tls) -> None:
    web = importlib.import_module("aiohttp.web")

    async def get(request: Any) -> Any:
        return web.Response(body=BIG if request.path == "/big" else PAGE)

    app = web.Application()
    app.router.add_get("/{path:.*}", get)
    web.run_app(
        app, host="127.0.0.1", port=port, print=None, access_log=None, backlog=128,
        keepalive_timeout=DEADLINE_SECONDS, ssl_context=context(tls),
    )  # fmt: skip


def asyncio_h11(port: int, tls: Tls) -> None:
    """asyncio's streams and h11, with a bound, a deadline and an eviction by hand."""
    asyncio, h11 = importlib.import_module("asyncio"), importlib.import_module("h11")
    everyone: dict[Any, None] = {}
    waiting: dict[Any, None] = {}

    async def answer(reader: Any, writer: Any) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADER_BYTES)
        while True:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await reader.read(65536))
            waiting.pop(writer, None)
            if not isinstance(event, h11.Request):
                return
            body = BIG if event.target == b"/big" else PAGE
            head = h11.Response(status_code=200, headers=[("Content-Length", str(len(body)))])
            connection.next_event()
            data = (head, h11.Data(data=body), h11.EndOfMessage())
            writer.write(b"".join(connection.send(part) for part in data))
            await writer.drain()
            connection.start_next_cycle()

    async def accept(reader: Any, writer: Any) -> None:
        everyone[writer] = waiting[writer] = None
        if len(everyone) > CONNECTIONS:
            oldest = next(iter(waiting if len(waiting) > CONNECTIONS // 2 else everyone))
            waiting.pop(oldest, None)
            everyone.pop(oldest)
            oldest.transport.abort()
        try:
            await asyncio.wait_for(answer(reader, writer), DEADLINE_SECONDS)
        except (OSError, asyncio.TimeoutError, h11.ProtocolError):
            pass
        finally:
            waiting.pop(writer, None)
            everyone.pop(writer, None)
            writer.transport.abort()

    async def main() -> None:
        limit = {"ssl_handshake_timeout": DEADLINE_SECONDS} if tls else {}
        server = await asyncio.start_server(
            accept, "127.0.0.1", port, backlog=128, ssl=context(tls), **limit
        )
        await server.serve_forever()

    asyncio.run(main())


def ours(port: int, tls: Tls) -> None:
    sys.path.insert(0, str(HERE.parent.parent))
    server = importlib.import_module("exporter.web.server")
    web_config = None
    if tls:
        web_config = Path(tls[0]).with_name("web.yml")
        web_config.write_text(
            f"tls_server_config: {{cert_file: '{tls[0]}', key_file: '{tls[1]}'}}\n"
        )
    limits = server.Limits(connections=CONNECTIONS, request_seconds=DEADLINE_SECONDS)

    def respond(request: Any) -> Any:
        return server.Response(200, "text/plain", BIG if request.path == "/big" else PAGE)

    server.Server([("127.0.0.1", port)], respond, limits=limits, web_config=web_config).start()
    threading.Event().wait()


CANDIDATES: dict[str, Callable[[int, Tls], None]] = {
    "prometheus_client": prometheus_client,
    "uvicorn": uvicorn,
    "hypercorn": hypercorn,
    "tornado": tornado,
    "waitress": waitress,
    "cheroot": cheroot,
    "aiohttp": aiohttp,
    "asyncio_h11": asyncio_h11,
    "ours": ours,
}


def nothing(port: int, tls: Tls) -> None:  # noqa: ARG001
    """What the daemon has anyhow: the base that memory is counted from."""
    threading.Event().wait()


class Herd:
    """Bad clients that come back as soon as they are thrown out; `longest` is a stay in seconds."""

    def __init__(self, port: int, kind: str, tls: bool) -> None:
        self.port, self.kind = port, kind
        self.payload = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Pad: " + b"a" * 400
        if tls:
            self.payload = client_hello()
        self.since: dict[socket.socket, float] = {}
        self.asked: set[socket.socket] = set()
        self.longest = 0.0
        self.closed = 0

    def connect(self) -> None:
        client = socket.socket()
        client.setblocking(False)
        if self.kind == "reader":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect_ex(("127.0.0.1", self.port))
        self.since[client] = time.monotonic()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for beat in range(int(seconds * 10)):
            for _ in range(BAD_CLIENTS - len(self.since)):
                self.connect()
            for client, since in list(self.since.items()):
                if not self.poke(client, beat):
                    self.longest = max(self.longest, time.monotonic() - since)
                    self.closed += 1
                    del self.since[client]
                    self.asked.discard(client)
                    client.close()
            time.sleep(max(0.0, end - seconds + (beat + 1) / 10 - time.monotonic()))
        stays = (time.monotonic() - since for since in self.since.values())
        self.longest = max(self.longest, *stays, 0.0)

    def poke(self, client: socket.socket, beat: int) -> bool:
        turn = beat % 10 == client.fileno() % 10
        try:
            if self.kind == "reader":
                if client not in self.asked:
                    client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
                    self.asked.add(client)
                if client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    return False
                return bool(client.recv(1, 0 if turn else socket.MSG_PEEK))
            if turn and self.kind == "slow":
                client.send(self.payload[beat // 10 :][:1])
            return bool(client.recv(4096))
        except BlockingIOError:
            return True
        except OSError:
            return False


def client_hello() -> bytes:
    wire = ssl.MemoryBIO()
    tls = client_context().wrap_bio(ssl.MemoryBIO(), wire)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return wire.read()
    raise AssertionError


def client_context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


@dataclass
class Scraper:
    """A polite client: one request at a time, its connection kept while the server keeps it."""

    port: int
    tls: bool = False
    link: socket.socket | None = None

    def scrape(self) -> float:
        start = time.perf_counter()
        if self.link is None:
            self.link = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS)
            if self.tls:
                self.link = client_context().wrap_socket(self.link)
        self.link.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.some()
        head, _, body = got.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = fields.get(b"content-length")
        size, missing = len(body), int(length) - len(body) if length else 1 << 40
        try:
            while missing > 0:
                missing -= (more := len(self.some()))
                size += more
        except ConnectionError:
            if length:
                raise
        if size < 100_000:
            raise ConnectionError(head[:60])
        if b"HTTP/1.0" in head or fields.get(b"connection") == b"close" or not length:
            self.close()
        return time.perf_counter() - start

    def some(self) -> bytes:
        data = cast("socket.socket", self.link).recv(262_144)
        if not data:
            raise ConnectionError("closed")
        return data

    def close(self) -> None:
        if self.link:
            self.link.close()
        self.link = None


@contextmanager
def running(python: str, name: str, tls: Tls) -> Iterator[tuple[int, int]]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [python, str(HERE), "--serve", name, str(port), *(tls or ())]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            time.sleep(0.05)
            try:
                if name != "nothing":
                    Scraper(port, bool(tls)).scrape()
                break
            except OSError:
                if server.poll() is not None:
                    raise
        yield server.pid, port
    finally:
        server.kill()
        server.wait()


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError


def attacked(python: str, name: str, kind: str, tls: Tls) -> str:
    """Worst scrape in seconds, longest stay of a bad client, sockets held, memory."""
    with running(python, name, tls) as (pid, port):
        command = [sys.executable, str(HERE), "--herd", str(port), kind, str(int(bool(tls)))]
        command.append(str(HOLD_SECONDS))
        herd = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)
        worst: float | None = 0.0
        for _ in range(5):
            scraper = Scraper(port, bool(tls))
            try:
                worst = None if worst is None else max(worst, scraper.scrape())
            except OSError:
                worst = None
            scraper.close()
            time.sleep(1.0)
        held, rss = len(os.listdir(f"/proc/{pid}/fd")), rss_mb(pid)
        longest = json.loads(herd.communicate()[0])["longest"]
        stay = f"{longest:.0f} s" if longest < HOLD_SECONDS - 1.5 else "stays"
        scraped = "**fails**" if worst is None else f"{worst * 1000:.0f} ms"
        return f"{scraped}, {stay}, {held} fd, {rss:.0f} MB"


def header_taken(python: str, name: str) -> str:
    with running(python, name, None) as (_, port):
        link = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        taken = 0
        try:
            link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            while taken < 400 and not select.select([link], [], [], 0.002)[0]:
                link.sendall(b"X-Pad: " + b"a" * 1015 + b"\r\n")
                taken += 1
        except OSError:
            pass
        return f"{taken} KB" if taken < 400 else "none"


def calm(python: str, name: str, base: float) -> str:
    with running(python, name, None) as (pid, port):
        scraper = Scraper(port)
        times = sorted(scraper.scrape() * 1000 for _ in range(2000))
        return f"+{rss_mb(pid) - base:.1f} | {statistics.median(times):.2f} / {times[1979]:.2f}"


def measure(names: list[str], python: str, tls: tuple[str, str]) -> None:
    with running(python, "nothing", None) as (pid, _):
        time.sleep(0.5)
        base = rss_mb(pid)
    print(f"base {base:.1f} MB; {BAD_CLIENTS} bad clients; scrape, longest stay, sockets, memory")
    heads = ["RSS MB", "p50 / p99 ms", "header", "silent", "slow", "slow reader"]
    print("| server |", " | ".join([*heads, "TLS silent", "TLS slow"]), "|")
    print("|---" * 9 + "|")
    herd = partial(attacked, python)
    for name in names:
        cells = [calm(python, name, base), header_taken(python, name)]
        cells += [herd(name, kind, None) for kind in ("silent", "slow", "reader")]
        try:
            cells += [herd(name, kind, tls) for kind in ("silent", "slow")]
        except OSError:
            cells += ["no TLS", "no TLS"]
        print("|", name, "|", " | ".join(cells), "|", flush=True)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--serve"]:
        importlib.import_module("prometheus_client")
        tls = (arguments[3], arguments[4]) if len(arguments) > 3 else None
        {**CANDIDATES, "nothing": nothing}[arguments[1]](int(arguments[2]), tls)
    elif arguments[:1] == ["--herd"]:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        herd = Herd(int(arguments[1]), arguments[2], arguments[3] == "1")
        herd.run(float(arguments[4]))
        print(json.dumps({"longest": herd.longest, "closed": herd.closed}))
    else:
        with tempfile.TemporaryDirectory() as place:
            python = f"{place}/venv/bin/python"
            certificate = (f"{place}/cert.pem", f"{place}/key.pem")
            openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
            files = ["-out", certificate[0], "-keyout", certificate[1]]
            subprocess.run([*openssl, *files], check=True, capture_output=True)
            subprocess.run([sys.executable, "-m", "venv", f"{place}/venv"], check=True)
            pip = [python, "-m", "pip", "install", "-q", *PACKAGES, "prometheus_client", "PyYAML"]
            subprocess.run(pip, check=True)
            measure(arguments or list(CANDIDATES), python, certificate)


if __name__ == "__main__":
    main(sys.argv[1:])
