"""A connected socket that never blocks."""

import contextlib
import socket
import struct
from selectors import EVENT_READ, EVENT_WRITE

CHUNK_BYTES = 1 << 14

#: Where tcpi_bytes_acked and tcpi_bytes_received stand in struct tcp_info (linux/tcp.h, 4.1).
_MOVED = 120
_MOVED_END = 136

_NO_LINGER = struct.pack("ii", 1, 0)


class Transport:
    """Bytes in and out; after an operation that could not go on, `waits` is the event it needs.

    Everything may raise OSError: the connection is then of no more use.
    """

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waits = EVENT_READ
        self.link = link

    def handshake(self) -> bool:
        """Whether all that comes before the first request is done."""
        return True

    def receive(self) -> bytes | None:
        """What has come; None where nothing has, b"" where the client has ended."""
        self.waits = EVENT_READ
        try:
            return self.link.recv(CHUNK_BYTES)
        except BlockingIOError:
            return None

    def send(self, head: memoryview, body: memoryview) -> int:
        """How many bytes of both were taken; 0 where the client does not read.

        Head and body leave in one write: of two, the second can wait for the first one's
        acknowledgement.
        """
        try:
            return self.link.sendmsg((head, body))
        except BlockingIOError:
            self.waits = EVENT_WRITE
        return 0

    def moved_bytes(self) -> int:
        """What the client has sent and taken so far, TLS and all; 0 if the kernel does not say."""
        try:
            info = self.link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MOVED_END)
        except OSError:
            return 0
        return sum(struct.unpack("QQ", info[_MOVED:])) if len(info) == _MOVED_END else 0

    def end(self) -> None:
        """Say that nothing more will be sent; what the client still sends can be received."""
        self.link.shutdown(socket.SHUT_WR)

    def close(self, *, abort: bool = False) -> None:
        """Close; with `abort` the kernel forgets what the client has not fetched."""
        with contextlib.suppress(OSError):
            if abort:
                self.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.link.close()
