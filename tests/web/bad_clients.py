"""Opens 1,000 connections that misbehave, and reopens each one that the server closes.

    python tests/web/bad_clients.py PORT KIND TLS

KIND is `silent` (sends nothing), `slow` (sends one byte of a request per second) or `reader`
(requests `/big` and reads one byte of the response per second). TLS is 0 or 1: with 1, `slow` sends
a TLS ClientHello instead of an HTTP request. Ten times per second the program opens the missing
connections and prints the number of connections that it has opened so far. It runs until its
standard input is closed. It is a separate process, so that the clients do not share the interpreter
lock of the server.
"""

import itertools
import resource
import select
import socket
import ssl
import sys
import time

CONNECTIONS = 1000
#: The kernel's default limit of 1,024 leaves too little room for 1,000 sockets.
OPEN_FILES = 4096
BEATS_PER_SECOND = 10


class BadClients:
    """Keeps `CONNECTIONS` connections of one kind open."""

    def __init__(self, port: int, kind: str, *, tls: bool) -> None:
        self.port, self.kind = port, kind
        http = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Pad: " + b"a" * 400
        self.payload = client_hello() if tls else http
        self.connections: set[socket.socket] = set()
        self.requested: set[socket.socket] = set()
        self.opened = 0

    def run(self) -> None:
        start = time.monotonic()
        for beat in itertools.count():
            for _ in range(CONNECTIONS - len(self.connections)):
                self.connect()
            for client in list(self.connections):
                if not self.is_open_after(client, beat):
                    self.connections.discard(client)
                    self.requested.discard(client)
                    client.close()
            print(self.opened, flush=True)
            next_beat = start + (beat + 1) / BEATS_PER_SECOND
            if select.select([sys.stdin], [], [], max(0.0, next_beat - time.monotonic()))[0]:
                return

    def connect(self) -> None:
        client = socket.socket()
        client.setblocking(False)
        if self.kind == "reader":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect_ex(("127.0.0.1", self.port))
        self.connections.add(client)
        self.opened += 1

    def is_open_after(self, client: socket.socket, beat: int) -> bool:
        """Sends or reads what is due in this beat; False if the server closed the connection."""
        due = beat % BEATS_PER_SECOND == client.fileno() % BEATS_PER_SECOND
        try:
            if self.kind == "reader":
                if client not in self.requested:
                    client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
                    self.requested.add(client)
                if client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    return False
                return bool(client.recv(1, 0 if due else socket.MSG_PEEK))
            if due and self.kind == "slow":
                client.send(self.payload[beat // BEATS_PER_SECOND :][:1])
            return bool(client.recv(4096))
        except BlockingIOError:
            return True
        except OSError:
            return False


def client_hello() -> bytes:
    """The first TLS message of a client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError


def main(port: str, kind: str, tls: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, OPEN_FILES), hard))
    BadClients(int(port), kind, tls=tls == "1").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
