"""Which HTTP server keeps answering scrapes while 1,000 bad clients hold on to it?

    python -m bench.http_servers [candidate ...]

Makes its own virtual environment in a temporary directory, runs every candidate as a process of
its own on loopback, and prints one line of a Markdown table for each. About 40 s a candidate.
Each candidate gets its strictest settings. `docs/http-server.md` holds the outcome.
"""

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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from bench import http_candidates
from bench.http_candidates import CANDIDATES, Tls

PACKAGES = ("uvicorn", "hypercorn", "tornado", "waitress", "cheroot", "aiohttp", "h11")
BAD_CLIENTS = 1000
HOLD_SECONDS = 8.0
PATIENCE_SECONDS = 3.0


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
    script = os.path.abspath(http_candidates.__file__)
    command = [python, script, name, str(port), *(tls or ())]
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
        command = [sys.executable, "-m", "bench.http_servers", "--herd"]
        command += [str(port), kind, str(int(bool(tls)))]
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
    if arguments[:1] == ["--herd"]:
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
