"""Keeps connections busy: each client sends its next request as soon as it has a response.

    python tests/web/busy_clients.py PORT CLIENTS ADDRESS [PASSWORDS [PATH]]

ADDRESS is the address of the clients; `each` means that each client has its own, from 127.0.1.1 on.
With PASSWORDS `wrong`, each request of each client contains another wrong password of the user
alice. PATH is the path of the requests; without it they are scrapes. A client whose connection was
closed connects again at once. The program runs until its standard input is closed. It prints `busy`
when the clients have sent as many requests as there are clients and the server has answered one
(status 200 or 401), and at the end the number of responses of each status, as JSON. It is a
separate process, so that the clients do not share the interpreter lock of the server.
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

    def __init__(self, port: int, count: int, address: str, path: str, *, wrong: bool) -> None:
        self.port, self.count, self.path, self.wrong = port, count, path, wrong
        self.addresses = [address] * count
        if address == "each":
            self.addresses = [f"127.0.{1 + n // 250}.{1 + n % 250}" for n in range(count)]
        self.address_of: dict[socket.socket, str] = {}
        self.selector = selectors.DefaultSelector()
        self.received: dict[socket.socket, bytes] = {}
        self.waiting: set[socket.socket] = set()
        self.statuses: Counter[int] = Counter()
        self.requests = 0

    def run(self) -> None:
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        for address in self.addresses:
            self.connect(address)
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
                    self.connect(self.close(client))
            is_served = self.statuses[200] or self.statuses[401]
            if not is_announced and is_served and self.requests >= self.count:
                is_announced = True
                print("busy", flush=True)

    def connect(self, address: str) -> None:
        client = socket.socket()
        client.setblocking(False)
        client.bind((address, 0))
        self.address_of[client] = address
        client.connect_ex(("127.0.0.1", self.port))
        self.received[client] = b""
        self.selector.register(client, selectors.EVENT_WRITE)

    def close(self, client: socket.socket) -> str:
        """Close a connection; returns the address of its client."""
        self.selector.unregister(client)
        del self.received[client]
        client.close()
        return self.address_of.pop(client)

    def request(self, client: socket.socket) -> None:
        self.requests += 1
        field = b""
        if self.wrong:
            password = base64.b64encode(f"alice:wrong {self.requests}".encode())
            field = b"Authorization: Basic " + password + b"\r\n"
        client.sendall(f"GET {self.path} HTTP/1.1\r\nHost: x\r\n".encode() + field + b"\r\n")
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


def main(port: str, count: str, address: str, passwords: str = "", path: str = "/metrics") -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, OPEN_FILES), hard))
    BusyClients(int(port), int(count), address, path, wrong=passwords == "wrong").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
