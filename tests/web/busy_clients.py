"""Keeps connections busy: each client sends its next request as soon as it has a response.

    python tests/web/busy_clients.py PORT CLIENTS ADDRESS [PASSWORDS]

ADDRESS is the address of the clients. With PASSWORDS `wrong`, each request of each client contains
another wrong password of the user alice. A client whose connection was closed connects again at
once. The program runs until its standard input is closed. It prints `busy` when the clients have
sent as many requests as there are clients and the server has answered one (status 200 or 401), and
at the end the number of responses of each status, as JSON. It is a separate
process, so that the clients do not share the interpreter lock of the server.
"""

import base64
import json
import re
import resource
import selectors
import socket
import sys
from collections import Counter

OPEN_FILES = 4096
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class BusyClients:
    """All clients, in one thread."""

    def __init__(self, port: int, count: int, address: str, *, wrong: bool) -> None:
        self.port, self.count, self.address, self.wrong = port, count, address, wrong
        self.selector = selectors.DefaultSelector()
        self.received: dict[socket.socket, bytes] = {}
        self.waiting: set[socket.socket] = set()
        self.statuses: Counter[int] = Counter()
        self.requests = 0

    def run(self) -> None:
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        for _ in range(self.count):
            self.connect()
        is_announced = False
        while True:
            for key, events in self.selector.select():
                client = key.fileobj
                if not isinstance(client, socket.socket):
                    print(json.dumps(self.statuses), flush=True)
                    return
                try:
                    if events & selectors.EVENT_WRITE:
                        self.request(client)
                    else:
                        self.receive(client)
                except OSError:
                    self.close(client)
                    self.connect()
            is_served = self.statuses[200] or self.statuses[401]
            if not is_announced and is_served and self.requests >= self.count:
                is_announced = True
                print("busy", flush=True)

    def connect(self) -> None:
        client = socket.socket()
        client.setblocking(False)
        client.bind((self.address, 0))
        client.connect_ex(("127.0.0.1", self.port))
        self.received[client] = b""
        self.selector.register(client, selectors.EVENT_WRITE)

    def close(self, client: socket.socket) -> None:
        self.selector.unregister(client)
        del self.received[client]
        client.close()

    def request(self, client: socket.socket) -> None:
        self.requests += 1
        field = b""
        if self.wrong:
            password = base64.b64encode(f"alice:wrong {self.requests}".encode())
            field = b"Authorization: Basic " + password + b"\r\n"
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + field + b"\r\n")
        self.selector.modify(client, selectors.EVENT_READ)

    def receive(self, client: socket.socket) -> None:
        data = client.recv(1 << 16)
        if not data:
            raise ConnectionAbortedError
        data = self.received[client] + data
        self.received[client] = data
        head, end, body = data.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or length is None or len(body) < int(length[1]):
            return
        self.statuses[int(head.split(b" ", 2)[1])] += 1
        self.received[client] = b""
        if b"\r\nconnection: close" in head.lower():
            raise ConnectionAbortedError
        self.request(client)


def main(port: str, count: str, address: str, passwords: str = "") -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, OPEN_FILES), hard))
    BusyClients(int(port), int(count), address, wrong=passwords == "wrong").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
